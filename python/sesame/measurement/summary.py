"""Summaries: what the points have counted since the last pull, as records of a data set.

Counters only grow, so a pull is a difference and costs the measured system nothing. The maxima of
durations are kept in two places that take turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sesame.measurement.probes import CELL, Probes, Subsystem

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

    def rows(self, cells: Cells) -> Iterator[dict[str, Any]]:
        """A record for each cell, without what depends on the interval."""
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
