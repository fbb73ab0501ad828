"""The subsystem cpu: what processors did, by the scheduler's own accounting (/proc/stat)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from sesame.errors import SesameError

# In the order of a line of /proc/stat (proc(5)); guests' time is in user and nice already.
STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def rows_of(columns: dict[str, list[int]]) -> Iterator[dict[str, int]]:
    for row in zip(*columns.values(), strict=True):
        yield dict(zip(columns, row, strict=True))


class ProcessorReader:
    """`pull` gives the times of all CPUs since the last one, in columns of the type cpu_time."""

    def __init__(self, path: Path = Path("/proc/stat")) -> None:
        self._path = path
        self._tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
        self._before = self._read()

    def _read(self) -> dict[int, list[int]]:
        """Ticks in each state, by CPU."""
        try:
            text = self._path.read_bytes()
        except OSError as error:
            raise SesameError(f"{self._path}: {error.strerror}") from error
        first, _, _ = text.partition(b"\nintr")  # what follows is long
        words = [line.split() for line in first.splitlines()]
        cpus = [w for w in words if w[0][:3] == b"cpu" and w[0][3:].isdigit()]
        return {int(w[0][3:]): [int(ticks) for ticks in w[1 : len(STATES) + 1]] for w in cpus}

    def pull(self) -> dict[str, list[int]]:
        now, before = self._read(), self._before
        self._before = now
        cpus = [cpu for cpu in now if cpu in before]  # others begin with the next interval
        return {"cpu": cpus} | {
            f"{state}_ns": [(now[cpu][i] - before[cpu][i]) * self._tick_ns for cpu in cpus]
            for i, state in enumerate(STATES)
        }
