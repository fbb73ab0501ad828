"""Summaries: what the points have counted since the last pull, as records of a data set.

Counters only grow, so a pull is a difference and costs the measured system nothing. The maxima of
durations are kept in two places that take turns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sesame.measurement.probes import CELL, DEFAULT_LIMITS, LoadedProbes

COUNTERS = ("count", "bytes", "timed", "total_ns")


class SummaryReader:
    """Pulls one subsystem. Nothing is counted twice or lost between two pulls."""

    def __init__(self, probes: LoadedProbes) -> None:
        self._probes = probes
        self._before = self._sums()

    def _sums(self) -> NDArray[np.void]:
        """Over the CPUs: [point, class, group]."""
        cells = self._probes.cells
        sums = np.zeros(cells.shape[1:], CELL)
        for name in COUNTERS:
            sums[name] = cells[name].sum(axis=0)
        return sums

    def _maxima(self) -> NDArray[np.uint64]:
        epoch = self._probes.next_epoch()
        maxima: NDArray[np.uint64] = self._probes.cells["max_ns"][..., epoch]
        most: NDArray[np.uint64] = maxima.max(axis=0)
        maxima[...] = 0
        return most

    def pull(self) -> list[dict[str, Any]]:
        """A row for each cell with events, without what depends on the interval."""
        now, most = self._sums(), self._maxima()
        new = {name: now[name] - self._before[name] for name in COUNTERS}
        self._before = now
        return [self._row(tuple(place), new, most) for place in np.argwhere(new["count"])]

    def _row(
        self,
        place: tuple[int, ...],
        new: dict[str, NDArray[np.uint64]],
        most: NDArray[np.uint64],
    ) -> dict[str, Any]:
        point, class_, group = place
        subsystem = self._probes.subsystem
        limits = DEFAULT_LIMITS[: subsystem.groups - 1]
        return {
            "subsystem": subsystem.name,
            "point": subsystem.points[point].name,
            "class": subsystem.classes[class_],
            "at_least_bytes": limits[group - 1] if group > 0 else 0,
            "below_bytes": limits[group] if group < len(limits) else 0,
            "count": int(new["count"][place]),
            "bytes": int(new["bytes"][place]),
            "timed": int(new["timed"][place]),
            "duration_ns": int(new["total_ns"][place]),
            "max_duration_ns": int(most[place]),
        }
