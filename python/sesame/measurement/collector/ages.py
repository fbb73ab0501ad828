"""The ages of files, by a clock that cannot be set.

The time of day may be wrong for a while, by years. If ages followed it, a clock that jumps ahead
would remove everything that a collector keeps, and one that jumps back would keep too much. So the
age of each file is counted, and kept in a file with the time since the machine was started. Only
what passed while the machine was off is taken from the time of day.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sesame.measurement.replaced_file import replace_file

AGES = ".ages.json"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Now:
    boot: str
    """Identifies the start of the machine."""
    since_boot_s: float
    """Also while it was suspended."""
    time_s: float
    """Of day, since 1970."""

    def passed_since(self, last: Now) -> float:
        is_same_boot = self.boot == last.boot
        passed = (
            self.since_boot_s - last.since_boot_s if is_same_boot else self.time_s - last.time_s
        )
        return max(passed, 0.0)


def now() -> Now:
    boot = BOOT_ID.read_text().strip()
    return Now(boot, time.clock_gettime(time.CLOCK_BOOTTIME), time.time())


class Ages:
    """The ages of files in one directory. Not thread-safe."""

    def __init__(self, directory: Path, clock: Callable[[], Now] = now) -> None:
        self._path, self._clock = directory / AGES, clock
        self._ages: dict[str, float] | None = None  # at `_last`; None: nothing is known
        self._last = clock()
        # None yet, or damaged: then the times of the files are used.
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self._last, self._ages = _parsed(json.loads(self._path.read_text()))

    def update(self, found: Mapping[str, float]) -> dict[str, float]:
        """The ages in seconds of all files. `found`: by name when each was changed, in s since
        1970, which is used where nothing is known yet. A file that is new since the last call has
        age 0."""
        here = self._clock()
        passed, before = here.passed_since(self._last), self._ages
        if before is None:
            ages = {name: max(here.time_s - changed, 0.0) for name, changed in found.items()}
        else:
            ages = {name: before[name] + passed if name in before else 0.0 for name in found}
        self._last, self._ages = here, ages
        if before is None or before.keys() != ages.keys():
            with suppress(OSError):  # a full disk; the next change saves it
                self._save()
        return ages

    def _save(self) -> None:
        kept = {"now": asdict(self._last), "ages": self._ages}
        replace_file(self._path, json.dumps(kept).encode())


def _parsed(found: Any) -> tuple[Now, dict[str, float]]:
    """Raises ValueError, TypeError, KeyError or AttributeError."""
    last = Now(**found["now"])
    parts = (last.since_boot_s, last.time_s, *found["ages"].values())
    if not all(type(one) in (int, float) and 0 <= one < 1e12 for one in parts):
        raise ValueError("expected seconds")
    return last, {str(name): float(age) for name, age in found["ages"].items()}
