"""Summaries: what the points have counted since the last pull, as records of a data set.

Counters only grow, so a pull is a difference and costs the measured system nothing. The maxima of
durations are kept in two places that take turns.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sesame.datasets.fields import Field, RecordType
from sesame.measurement.probes import CELL, Probes, Subsystem

SUMMARY = RecordType(
    "kernel_summary",
    "Events of one kind at one instrumentation point of the kernel in one pull interval",
    (
        Field("begin_ns", "int64", "ns", "begin of the interval, since the begin of the data set"),
        Field("end_ns", "int64", "ns", "its end"),
        Field("node", "text", "", "the machine on which they were counted"),
        Field("subsystem", "text", "", "the subsystem"),
        Field("point", "text", "", "the instrumentation point"),
        Field("class", "text", "", "the kind of event; what there is depends on the subsystem"),
        Field("at_least_bytes", "uint64", "B", "the size group: sizes from this on"),
        Field("below_bytes", "uint64", "B", "and below this; 0: no limit, or no size groups"),
        Field("count", "uint64", "", "events"),
        Field("bytes", "uint64", "B", "their sizes together"),
        Field("timed", "uint64", "", "events whose duration was taken"),
        Field("duration_ns", "uint64", "ns", "their durations together"),
        Field("max_duration_ns", "uint64", "ns", "the longest of them"),
        Field("detail", "uint8", "", "how closely the point looked at the end of the interval"),
    ),
)
COUNTERS = ("count", "bytes", "timed", "total_ns")


@dataclass(frozen=True)
class Cells:
    """What one subsystem has counted in one interval: the cells with events, in columns.

    A place is the number of a cell in [point, class, group].
    """

    places: list[int]
    count: list[int]
    bytes: list[int]
    timed: list[int]
    duration_ns: list[int]
    max_duration_ns: list[int]


@dataclass(frozen=True)
class Layout:
    """What the places of a subsystem are, as long as its size groups stay as they are."""

    subsystem: str
    points: tuple[str, ...]
    classes: tuple[str, ...]
    groups: int
    limits: tuple[int, ...]

    @staticmethod
    def of(subsystem: Subsystem, limits: tuple[int, ...]) -> Layout:
        points = tuple(point.name for point in subsystem.points)
        groups = subsystem.groups
        return Layout(subsystem.name, points, subsystem.classes, groups, limits[: groups - 1])

    def point_of(self, place: int) -> int:
        return place // self.groups // len(self.classes)

    def rows(self, cells: Cells, details: list[int]) -> Iterator[dict[str, Any]]:
        """A record for each cell, without its times and node."""
        for number, place in enumerate(cells.places):
            rest, group = divmod(place, self.groups)
            point, class_ = divmod(rest, len(self.classes))
            yield {
                "subsystem": self.subsystem,
                "point": self.points[point],
                "class": self.classes[class_],
                "at_least_bytes": self.limits[group - 1] if group > 0 else 0,
                "below_bytes": self.limits[group] if group < len(self.limits) else 0,
                "count": cells.count[number],
                "bytes": cells.bytes[number],
                "timed": cells.timed[number],
                "duration_ns": cells.duration_ns[number],
                "max_duration_ns": cells.max_duration_ns[number],
                "detail": details[point],
            }


class SummaryReader:
    """Pulls one subsystem. Nothing is counted twice or lost between two pulls.

    A pull must cost little, so it takes all counters of a CPU in one step.
    """

    def __init__(self, probes: Probes) -> None:
        self.probes = probes
        cells = probes.cells
        self._counters = cells.view("u8").reshape(len(cells), -1, CELL.itemsize // 8)
        self._before = self._sums()

    def _sums(self) -> NDArray[np.uint64]:
        sums: NDArray[np.uint64] = self._counters[:, :, : len(COUNTERS)].sum(axis=0)
        return sums

    def pull(self) -> Cells:
        now = self._sums()
        new = now - self._before
        self._before = now
        maxima = self._counters[:, :, len(COUNTERS) + self.probes.next_epoch()]
        most = maxima.max(axis=0)
        maxima[...] = 0
        places = np.flatnonzero(new[:, 0])
        columns: list[list[int]] = new[places].T.tolist()
        count, size, timed, duration = columns
        return Cells(places.tolist(), count, size, timed, duration, most[places].tolist())

    @property
    def layout(self) -> Layout:
        return Layout.of(self.probes.subsystem, self.probes.limits)

    def details(self) -> list[int]:
        return [int(self.probes.detail(i)) for i in range(len(self.probes.subsystem.points))]


class Puller:
    """Pulls several subsystems at once; keeps the rows until they are written."""

    def __init__(self, probes: Mapping[str, Probes]) -> None:
        self._readers = [SummaryReader(one) for one in probes.values()]
        self._node = platform.node()
        self.begin_ns = self._last = time.monotonic_ns()
        self.rows: list[dict[str, Any]] = []

    def pull(self) -> None:
        now = time.monotonic_ns()
        times = {"begin_ns": self._last - self.begin_ns, "end_ns": now - self.begin_ns}
        for reader in self._readers:
            rows = reader.layout.rows(reader.pull(), reader.details())
            self.rows += [times | {"node": self._node} | row for row in rows]
        self._last = now

    def columns(self) -> dict[str, list[Any]]:
        return {field.name: [row[field.name] for row in self.rows] for field in SUMMARY.fields}
