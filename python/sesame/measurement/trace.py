"""Traces: one record for each event of the points that are to write one.

A thread takes what waits in the ring and appends it, as it is, to a file beside the data set; the
records of the data set are made of it at the end, so that the measured system pays little. Memory
is bounded by the ring, and what finds no room in it is counted by the kernel side.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sesame.datasets.fields import Field, RecordType
from sesame.errors import OutputError
from sesame.measurement.probes import EVENT, LoadedProbes, subsystems, take_events

BATCH = 1 << 16
POLL_MS = 100

EVENTS = RecordType(
    "kernel_event",
    "One event at an instrumentation point of the kernel",
    (
        Field("time_ns", "int64", "ns", "end of the event, since the begin of the data set"),
        Field("duration_ns", "uint64", "ns", "how long it took; 0 when that was not measured"),
        Field("subsystem", "name", "", "the subsystem"),
        Field("point", "name", "", "the instrumentation point"),
        Field("class", "name", "", "the kind of event; what there is depends on the subsystem"),
        Field("where", "uint64", "", "place of the event; what that is depends on the subsystem"),
        Field("bytes", "uint64", "B", "its size"),
        Field("what", "uint32", "", "what it concerns; what that is depends on the subsystem"),
        Field("pid", "uint32", "", "thread that was running"),
        Field("cpu", "uint16", "", "its CPU"),
    ),
)


class TraceWriter:
    """`with TraceWriter(file, probes) as trace:`; what is over in the ring is taken at the end."""

    def __init__(self, path: Path, probes: dict[str, LoadedProbes]) -> None:
        self._path = path
        self._probes = probes
        self._file = path.open("wb")
        self._before = self._presented_and_lost()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._take, daemon=True)
        self._trouble: OSError | None = None
        self.written = 0
        self.unwritten = 0  # taken, and not written since the disk was full

    def __enter__(self) -> TraceWriter:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._file.close()
        if self._trouble is not None and kind is None:
            raise OutputError(
                f"{self._path.parent}: cannot write: {self._trouble.strerror}",
                hint=f"{self.written:,} events were written, {self.unwritten:,} more came",
            )

    def _presented_and_lost(self) -> tuple[int, int]:
        each = [one.presented_and_lost for one in self._probes.values()]
        return sum(a for a, _ in each), sum(b for _, b in each)

    def _take(self) -> None:
        room = np.empty(BATCH, EVENT)
        while True:
            is_last = self._stop.is_set()
            events = take_events(room, 0 if is_last else POLL_MS)
            self._write(events)
            if is_last and len(events) == 0:
                return

    def _write(self, events: NDArray[np.void]) -> None:
        if self._trouble is None:
            try:
                self._file.write(memoryview(events).cast("B") if len(events) else b"")
                self.written += len(events)
                return
            except OSError as error:
                self._trouble = error
        self.unwritten += len(events)

    def counts(self) -> dict[str, int]:
        """What came of the events that were to be traced; `seen` is the sum of the others."""
        presented, lost = self._presented_and_lost()
        return {
            "seen": presented - self._before[0],
            "written": self.written,
            "lost": lost - self._before[1] + self.unwritten,
        }


def read_events(path: Path, begin_ns: int) -> Iterator[dict[str, Any]]:
    """Columns of EVENTS, a batch at a time, from what a TraceWriter wrote."""
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
    os.unlink(path)


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
