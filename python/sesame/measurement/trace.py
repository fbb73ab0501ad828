"""Traces: one record for each event of the traced points.

Events from the ring buffer are appended unchanged to a file beside the data set and converted to
records at the end, so that the measured system pays little. The ring buffer bounds the memory; the
kernel side counts the events lost because it was full.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sesame.measurement.probes import EVENT, Probes, subsystems

if TYPE_CHECKING:
    import pyarrow as pa  # imported where columns are made: a daemon has no use for its 25 MB

BATCH = 1 << 16


class TraceWriter:
    """Writes events to a file; EventPump calls `write`.

    A full disk does not end the measurement: later events are counted as lost, and `trouble` has
    the error.
    """

    def __init__(self, path: Path, probes: Mapping[str, Probes]) -> None:
        self._probes = probes
        self._file = path.open("wb")
        self._before = self._presented_and_lost()
        self._written = 0
        self._unwritten = 0
        self.trouble: OSError | None = None

    def close(self) -> None:
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
        """Numbers of events to be traced (`seen`), and of those `written` and `lost`."""
        presented, lost = self._presented_and_lost()
        return {
            "seen": presented - self._before[0],
            "written": self._written,
            "lost": lost - self._before[1] + self._unwritten,
        }


def read_events(
    path: Path, probes: Mapping[str, Probes], node: str, begin_ns: int
) -> Iterator[dict[str, Any]]:
    """Columns of kernel_event, a batch at a time, from a TraceWriter's file, which is removed."""
    names = Names(names_here(probes))
    with path.open("rb") as file:
        while data := file.read(BATCH * EVENT.itemsize):
            events = np.frombuffer(data, EVENT, len(data) // EVENT.itemsize)
            yield names.columns(events, node, begin_ns)
    path.unlink()


def _text(names: NDArray[np.bytes_]) -> pa.DictionaryArray:
    """Names of threads as a dictionary column; they may contain any bytes."""
    import pyarrow as pa

    known, numbers = np.unique(names, return_inverse=True)
    texts = pa.array([name.decode(errors="replace") for name in known.tolist()], pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(numbers.astype(np.int32)), texts)


Named = tuple[str, list[str], list[str]]  # a subsystem, its points, its classes


def names_here(probes: Mapping[str, Probes]) -> list[Named]:
    """The names for the numbers in events until now; `probes` are those that write the events."""
    classes = {name: one.classes for name, one in probes.items()}
    return [
        (one.name, [point.name for point in one.points], list(classes.get(one.name, one.classes)))
        for one in subsystems().values()
    ]


class Names:
    """Converts the numbers of subsystems, points and classes to names (dictionary columns)."""

    def __init__(self, known: list[Named]) -> None:
        import pyarrow as pa

        self._subsystems = pa.array([name for name, _, _ in known])
        self._points, self._first_point = _numbered([points for _, points, _ in known])
        self._classes, self._first_class = _numbered([classes for _, _, classes in known])

    def hold(self, events: NDArray[np.void]) -> bool:
        """Whether all numbers have a name."""
        subsystem = events["subsystem"].astype(np.int32)
        if (subsystem >= len(self._subsystems)).any():
            return False
        points = self._first_point[subsystem] + events["point"] < self._first_point[subsystem + 1]
        classes = self._first_class[subsystem] + events["class"] < self._first_class[subsystem + 1]
        return bool(points.all() and classes.all())

    def columns(self, events: NDArray[np.void], node: str, begin_ns: int) -> dict[str, Any]:
        """Columns of the type kernel_event; `begin_ns` is the begin of the data set."""
        import pyarrow as pa

        plain = ("duration_ns", "where", "bytes", "what", "pid", "cpu", "process")
        subsystem = events["subsystem"].astype(np.int32)
        point = self._first_point[subsystem] + events["point"]
        class_ = self._first_class[subsystem] + events["class"]
        made = pa.DictionaryArray.from_arrays
        return {name: events[name] for name in plain} | {
            "time_ns": events["time_ns"].astype(np.int64) - begin_ns,
            "node": made(pa.array(np.zeros(len(events), np.int32)), pa.array([node])),
            "subsystem": made(pa.array(subsystem), self._subsystems),
            "point": made(pa.array(point.astype(np.int32)), self._points),
            "class": made(pa.array(class_.astype(np.int32)), self._classes),
            "command": _text(events["command"]),
        }


def _numbered(names: list[list[str]]) -> tuple[pa.Array, NDArray[np.int32]]:
    """All names in one list; the index of each subsystem's first name, and of the end."""
    import pyarrow as pa

    first = np.cumsum([0] + [len(some) for some in names]).astype(np.int32)
    return pa.array([name for some in names for name in some]), first
