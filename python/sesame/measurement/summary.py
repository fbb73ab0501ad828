"""Summaries: what the points have counted since the last pull, as records of a data set.

Counters only grow, so a pull is a difference and costs the measured system nothing. The maxima of
durations are kept in two places that take turns.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sesame.datasets.fields import Field, RecordType
from sesame.measurement.probes import CELL, DEFAULT_LIMITS, LoadedProbes

SUMMARY = RecordType(
    "kernel_summary",
    "Events of one kind at one instrumentation point of the kernel in one pull interval",
    (
        Field("begin_ns", "int64", "ns", "begin of the interval, since the begin of the data set"),
        Field("end_ns", "int64", "ns", "its end"),
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
        most = maxima.max(axis=0)
        maxima[...] = 0
        return most

    def pull(self) -> list[dict[str, Any]]:
        """A row for each cell with events, without its times."""
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
            "detail": int(self._probes.detail(point)),
        }


class Puller:
    """Pulls several subsystems at once; keeps the rows until they are written."""

    def __init__(self, probes: dict[str, LoadedProbes]) -> None:
        self._readers = [SummaryReader(one) for one in probes.values()]
        self.begin_ns = self._last = time.monotonic_ns()
        self.rows: list[dict[str, Any]] = []

    def pull(self) -> None:
        now = time.monotonic_ns()
        times = {"begin_ns": self._last - self.begin_ns, "end_ns": now - self.begin_ns}
        for reader in self._readers:
            self.rows += [times | row for row in reader.pull()]
        self._last = now

    def columns(self) -> dict[str, list[Any]]:
        return {field.name: [row[field.name] for row in self.rows] for field in SUMMARY.fields}
