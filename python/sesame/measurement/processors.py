"""The subsystem cpu: what processors did, by the scheduler's own accounting (/proc/stat)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sesame.errors import SesameError

# In the order of a line of /proc/stat (proc(5)); guests' time is in user and nice already.
STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


class ProcessorReader:
    """`pull` gives a row for each CPU, without times of the interval."""

    def __init__(self, path: Path = Path("/proc/stat")) -> None:
        self._path = path
        self._tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
        self._before = self._read()

    def _read(self) -> dict[int, list[int]]:
        """Ticks in each state, by CPU."""
        try:
            lines = self._path.read_text().splitlines()
        except OSError as error:
            raise SesameError(f"{self._path}: {error.strerror}") from error
        words = [line.split() for line in lines if line[:3] == "cpu" and line[3:4].isdigit()]
        return {int(w[0][3:]): [int(ticks) for ticks in w[1 : len(STATES) + 1]] for w in words}

    def pull(self) -> list[dict[str, Any]]:
        now, before = self._read(), self._before
        self._before = now
        return [
            {"cpu": cpu}
            | {
                f"{state}_ns": (ticks - earlier) * self._tick_ns
                for state, ticks, earlier in zip(STATES, counts, before[cpu], strict=True)
            }
            for cpu, counts in now.items()
            if cpu in before  # one that came meanwhile begins with the next interval
        ]
