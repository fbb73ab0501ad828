"""The time of each processor by state, from the scheduler's accounting (/proc/stat)."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from pathlib import Path

from sesame.errors import SesameError

# In the order of a line of /proc/stat (proc(5)). The time of guests is included in user and nice.
STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")

COLUMNS = tuple(f"{state}_ns" for state in STATES)
FIRST_BYTES = 1 << 16  # bytes of the file to read at first


def rows_of(columns: dict[str, list[int]]) -> Iterator[dict[str, int]]:
    for row in zip(*columns.values(), strict=True):
        yield dict(zip(columns, row, strict=True))


def _ticks(text: bytes) -> dict[int, list[int]]:
    """The clock ticks in each state, by CPU."""
    first = text.partition(b"\nintr")[0]  # the rest of the file is long
    lines = (line.split() for line in first.splitlines()[1:])  # the first line is the total
    return {int(name[3:]): [*map(int, ticks[: len(STATES)])] for name, *ticks in lines}


class ProcessorReader:
    """Reads the times of all CPUs since the last call, in columns of the type cpu_time (ns)."""

    def __init__(self, path: Path = Path("/proc/stat")) -> None:
        try:
            self.file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise SesameError(f"{path}: {error.strerror}") from error
        weakref.finalize(self, os.close, self.file)
        self._tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
        self._bytes = FIRST_BYTES
        self._before = _ticks(self._read())

    def _read(self) -> bytes:
        while True:
            text = os.pread(self.file, self._bytes, 0)
            if b"\nintr" in text or len(text) < self._bytes:
                return text
            self._bytes *= 2

    def read(self, text: bytes | None = None) -> dict[str, list[int]]:
        """The times since the last call. `text`: the file's contents at the end of the interval, if
        that was earlier than now."""
        now, before = _ticks(self._read() if text is None else text), self._before
        self._before = now
        cpus = [cpu for cpu in now if cpu in before]  # new CPUs begin with the next interval
        passed = (
            [self._tick_ns * (b - a) for a, b in zip(before[c], now[c], strict=True)] for c in cpus
        )
        times = zip(*passed, strict=True) if cpus else [()] * len(STATES)
        return {"cpu": cpus} | dict(zip(COLUMNS, map(list, times), strict=True))
