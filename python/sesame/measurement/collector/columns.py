"""Columns of the record types of a data set, from many readings at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sesame.measurement.probes import CELL_READING
from sesame.measurement.processors import COLUMNS
from sesame.measurement.readings import Reading
from sesame.measurement.summary import Layout

Columns = dict[str, Any]
CELL_COLUMNS = {
    "count": "count",
    "bytes": "bytes",
    "timed": "timed",
    "duration_ns": "total_ns",
    "max_duration_ns": "max_ns",
}


class Readings:
    """Some readings; `begin_ns` is the begin of the data set."""

    def __init__(self, readings: Sequence[Reading], begin_ns: int) -> None:
        self.all = readings
        # Names are converted by Arrow: a row has the number of its reading.
        self._nodes = pa.array([one.node for one in readings], pa.string())
        shift = np.array([one.offset.offset_ns - begin_ns for one in readings], np.int64)
        self._shift = shift
        self._begin = np.array([one.begin_ns for one in readings], np.int64) + shift
        self._end = np.array([one.end_ns for one in readings], np.int64) + shift

    def times(self, of: NDArray[np.intp]) -> Columns:
        """The columns that all record types have. `of`: the number of each row's reading."""
        return {
            "begin_ns": self._begin[of],
            "end_ns": self._end[of],
            "node": self._nodes.take(pa.array(of)),
        }

    def summaries(self) -> Columns | None:
        """kernel_summary; None if there are no rows."""
        found = [
            _summaries(layout, [(number, self.all[number]) for number in numbers])
            for layout, numbers in self._by_layout().items()
        ]
        found = [one for one in found if len(one["of"])]
        if not found:
            return None
        of = np.concatenate([one.pop("of") for one in found])
        order = np.argsort(of, kind="stable")
        columns = {name: _joined([one[name] for one in found], order) for name in found[0]}
        return self.times(of[order]) | columns

    def _by_layout(self) -> dict[Layout, list[int]]:
        """The numbers of the readings with each layout."""
        found: dict[Layout, list[int]] = {}
        for number, reading in enumerate(self.all):
            for layout in reading.layouts.values():
                found.setdefault(layout, []).append(number)
        return found

    def costs(self) -> Columns:
        """measurement_cost"""
        each = [
            (number, name, cost, one.active_ns[name])
            for number, one in enumerate(self.all)
            for name, cost in one.costs.items()
        ]
        return self.times(_numbers(one[0] for one in each)) | {
            "subsystem": [one[1] for one in each],
            "detail": [one[2].detail for one in each],
            "events": [one[2].events for one in each],
            "estimated_ns": [one[2].estimated_ns for one in each],
            "active_ns": [one[3] for one in each],
        }

    def processors(self) -> Columns:
        """cpu_time"""
        counts = [len(one.processors["cpu"]) for one in self.all]
        columns: Columns = {
            name: list(chain.from_iterable(one.processors[name] for one in self.all))
            for name in ("cpu", *COLUMNS)
        }
        return self.times(np.repeat(np.arange(len(self.all)), counts)) | columns

    def phases(self) -> Columns:
        """kernel_phase"""
        each = [(number, phase) for number, one in enumerate(self.all) for phase in one.phases]
        of = _numbers(number for number, _ in each)
        return self.times(of) | {
            "begin_ns": np.array([one.begin_ns for _, one in each], np.int64) + self._shift[of],
            "end_ns": np.array([one.end_ns for _, one in each], np.int64) + self._shift[of],
            "name": [one.name for _, one in each],
            "pid": [one.pid for _, one in each],
        }

    def readings(self) -> Columns:
        """kernel_reading"""
        return self.times(np.arange(len(self.all))) | {
            "start": [one.start for one in self.all],
            "sequence": [one.sequence for one in self.all],
            "dropped": [one.dropped for one in self.all],
            "offset_ns": [one.offset.offset_ns for one in self.all],
            "uncertainty_ns": [one.offset.uncertainty_ns for one in self.all],
            "cpu_ns": [one.cpu_ns for one in self.all],
        }


RECORDS: dict[str, Callable[[Readings], Columns | None]] = {
    "kernel_summary": Readings.summaries,
    "measurement_cost": Readings.costs,
    "cpu_time": Readings.processors,
    "kernel_phase": Readings.phases,
    "kernel_reading": Readings.readings,
}


def _numbers(values: Iterator[int]) -> NDArray[np.intp]:
    return np.fromiter(values, np.intp)


def _joined(columns: list[Any], order: NDArray[np.intp]) -> Any:
    if isinstance(columns[0], pa.Array):
        return pa.chunked_array(columns).take(pa.array(order)).combine_chunks()
    return np.concatenate(columns)[order]


def _summaries(layout: Layout, numbered: list[tuple[int, Reading]]) -> Columns:
    """The columns of one subsystem without times; `of`: the number of each row's reading."""
    name = layout.subsystem
    packed = [one.cells[name].packed for _, one in numbered]
    cells = np.frombuffer(b"".join(packed), CELL_READING)
    counts = [len(one) // CELL_READING.itemsize for one in packed]
    row = np.repeat(np.arange(len(numbered)), counts)  # the position in `numbered`
    place, group = np.divmod(cells["index"].astype(np.int64), layout.groups)
    point, class_ = np.divmod(place, len(layout.classes))
    limits = np.array([0, *layout.limits, 0], np.uint64)
    details = np.array([one.details[name][: len(layout.points)] for _, one in numbered], np.uint8)
    active = np.array([one.active_ns[name] for _, one in numbered], np.int64)
    return {field: cells[cell] for field, cell in CELL_COLUMNS.items()} | {
        "of": _numbers(number for number, _ in numbered)[row],
        "subsystem": pa.array([name], pa.string()).take(pa.array(np.zeros(len(row), np.int64))),
        "point": pa.array(layout.points, pa.string()).take(pa.array(point)),
        "class": pa.array(layout.classes, pa.string()).take(pa.array(class_)),
        "at_least_bytes": limits[group],
        "below_bytes": limits[group + 1],
        "detail": details[row, point],
        "active_ns": active[row],
    }
