"""Which items were stored: an item that is sent twice is stored once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from sesame.datasets import DataSet
from sesame.errors import SesameError
from sesame.measurement.defaults import BEYOND_NS
from sesame.measurement.replaced_file import replace_file

MOST_KEYS = 100_000  # starts of daemons; above this the oldest ones are forgotten
OLD_SECONDS = 90 * 86_400  # a start without new items for so long is forgotten
KEYS = {"kernel_reading": ("sequence", ""), "kernel_trace": ("seen", " events")}


class Received:
    """The last number stored of each key (a node, the start of its daemon, readings or events).

    They are kept in a file. Where that is damaged it is renamed, and the numbers are read from the
    data sets beside it. Not thread-safe.
    """

    def __init__(self, path: Path, say: Callable[[str], None]) -> None:
        """Raises OSError."""
        self._path = path
        self._last: dict[str, tuple[int, int]] = {}  # number, and when it came in s since 1970
        try:
            self._last = _parsed(path.read_text())
        except FileNotFoundError:
            pass
        except (ValueError, RecursionError):
            aside = path.with_name(f"damaged-{path.name.lstrip('.')}")
            path.replace(aside)
            say(f"{path}: damaged, kept as {aside}; read from the data sets again")
            for data_set in sorted(path.parent.glob("*.sesame")):
                with suppress(SesameError, OSError, ValueError):
                    for key, number in _in_data_set(data_set):
                        self.add(key, number)

    def last(self, key: str) -> int:
        """-1 if no item of the key was stored."""
        return self._last.get(key, (-1, 0))[0]

    def add(self, key: str, number: int) -> None:
        if number > self.last(key):
            self._last[key] = number, int(time.time())

    def encode(self) -> str:
        """The text for `save`; forgets old keys."""
        after = time.time() - OLD_SECONDS
        kept = [one for one in self._last.items() if one[1][1] > after]
        kept.sort(key=lambda one: one[1][1])
        self._last = dict(kept[-MOST_KEYS:])
        return json.dumps(self._last)

    def save(self, text: str) -> None:
        """Replaces the file. Raises OSError. Any thread may call it."""
        replace_file(self._path, text.encode())


def _parsed(text: str) -> dict[str, tuple[int, int]]:
    """Raises ValueError. Collectors before this format stored numbers only."""
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("expected an object")
    now = int(time.time())
    last = {key: (one, now) if isinstance(one, int) else tuple(one) for key, one in found.items()}
    for one in last.values():
        if len(one) != 2 or not all(type(part) is int and -1 <= part < BEYOND_NS for part in one):
            raise ValueError("expected a number and a time")
    return last


def _in_data_set(path: Path) -> Iterator[tuple[str, int]]:
    data_set = DataSet(path)
    for name, (number, suffix) in KEYS.items():
        if name in data_set.tables:
            columns = data_set.table(name).select(["node", "start", number])
            last = columns.group_by(["node", "start"]).aggregate([(number, "max")])
            for row in last.to_pylist():
                yield f"{row['node']} {row['start']}{suffix}", row[f"{number}_max"]
