"""Traces: one record for each event of the points that are to write one.

What waits in the ring is appended, as it is, to a file beside the data set; the records of the data
set are made of it at the end, so that the measured system pays little. Memory is bounded by the
ring, and what finds no room in it is counted by the kernel side.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sesame.measurement.probes import EVENT, LoadedProbes, subsystems

BATCH = 1 << 16


class TraceWriter:
    """`with TraceWriter(path, probes) as trace:`; EventPump calls `write`.

    A full disk does not end the measurement: what comes then is counted as lost.
    """

    def __init__(self, path: Path, probes: dict[str, LoadedProbes]) -> None:
        self._probes = probes
        self._file = path.open("wb")
        self._before = self._presented_and_lost()
        self._written = 0
        self._unwritten = 0
        self.trouble: OSError | None = None

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def write(self, events: NDArray[np.void]) -> None:
        if self.trouble is None:
            try:
                self._file.write(np.ascontiguousarray(events).tobytes())
                self._file.flush()
                self._written += len(events)
                return
            except OSError as error:
                self.trouble = error
        self._unwritten += len(events)

    def _presented_and_lost(self) -> tuple[int, int]:
        each = [one.presented_and_lost for one in self._probes.values()]
        return sum(a for a, _ in each), sum(b for _, b in each)

    def counts(self) -> dict[str, int]:
        """What came of the events that were to be traced; `seen` is the sum of the others."""
        presented, lost = self._presented_and_lost()
        return {
            "seen": presented - self._before[0],
            "written": self._written,
            "lost": lost - self._before[1] + self._unwritten,
        }


def read_events(path: Path, begin_ns: int) -> Iterator[dict[str, Any]]:
    """Columns of kernel_event, a batch at a time, from what a TraceWriter wrote."""
    names = _Names()
    with path.open("rb") as file:
        while data := file.read(BATCH * EVENT.itemsize):
            events = np.frombuffer(data, EVENT, len(data) // EVENT.itemsize)
            plain = {
                name: events[name]
                for name in ("duration_ns", "where", "bytes", "what", "pid", "cpu")
            }
            time = events["time_ns"].astype(np.int64) - begin_ns
            yield {"time_ns": time, **plain, **names.of(events)}
    path.unlink()


class _Names:
    """Numbers of subsystems, points and classes as dictionary columns."""

    def __init__(self) -> None:
        known = list(subsystems().values())
        self._subsystems = pa.array([one.name for one in known])
        self._points, self._first_point = _numbered([[p.name for p in one.points] for one in known])
        self._classes, self._first_class = _numbered([list(one.classes) for one in known])

    def of(self, events: NDArray[np.void]) -> dict[str, pa.DictionaryArray]:
        subsystem = events["subsystem"].astype(np.int32)
        point = self._first_point[subsystem] + events["point"]
        class_ = self._first_class[subsystem] + events["class"]
        made = pa.DictionaryArray.from_arrays
        return {
            "subsystem": made(pa.array(subsystem), self._subsystems),
            "point": made(pa.array(point.astype(np.int32)), self._points),
            "class": made(pa.array(class_.astype(np.int32)), self._classes),
        }


def _numbered(names: list[list[str]]) -> tuple[pa.Array, NDArray[np.int32]]:
    """All of them in one list, and where those of each subsystem begin."""
    first = np.cumsum([0] + [len(some) for some in names[:-1]]).astype(np.int32)
    return pa.array([name for some in names for name in some]), first
