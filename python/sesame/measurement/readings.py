"""The reading of one node at the end of an interval, as the daemon sends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import orjson

from sesame.datasets import record_type
from sesame.measurement.clocks import Offset
from sesame.measurement.processors import rows_of
from sesame.measurement.summary import Cells, Layout


@dataclass(frozen=True)
class Phase:
    """A phase that a program reported; times are of the node's monotonic clock."""

    name: str
    begin_ns: int
    end_ns: int
    pid: int


@dataclass(frozen=True)
class SubsystemCost:
    """The cost of measuring a subsystem, as the governor estimates it."""

    detail: int
    events: int
    estimated_ns: int


@lru_cache(64)
def _encoded(layouts: tuple[Layout, ...]) -> orjson.Fragment:
    return orjson.Fragment(orjson.dumps({one.subsystem: vars(one) for one in layouts}))


@dataclass(frozen=True)
class Reading:
    """The reading of a node. Times are of its monotonic clock in ns.

    `start` identifies the run of the daemon, `sequence` the reading in it. `dropped` counts the
    readings that were dropped before. `cells`, `details` (by point), `active_ns` and `costs` are by
    subsystem. `processors` has columns of the type cpu_time.
    """

    node: str
    start: str
    sequence: int
    begin_ns: int
    end_ns: int
    cpu_ns: int
    dropped: int
    offset: Offset
    cells: dict[str, Cells]
    details: dict[str, list[int]]
    active_ns: dict[str, int]
    costs: dict[str, SubsystemCost]
    layouts: dict[str, Layout]  # of subsystems that have cells
    processors: dict[str, list[int]]
    phases: list[Phase] = field(default_factory=list)

    path: ClassVar[str] = "/v1/readings"

    @property
    def key(self) -> str:
        return f"{self.node} {self.start}"

    @property
    def number(self) -> int:
        return self.sequence

    def after(self, _known: int) -> Reading:
        """The item to store (see Block.after): a reading does not depend on the one before."""
        return self

    def encode(self, offset: Offset | None = None) -> bytes:
        """A line of JSON; `offset` replaces the reading's own."""
        # Called at each reading, so nothing is copied, and layouts are encoded once.
        parts = vars(self) | {
            "offset": vars(offset or self.offset),
            "cells": {name: one.to_text() for name, one in self.cells.items()},
            "costs": {name: vars(one) for name, one in self.costs.items()},
            "layouts": _encoded(tuple(self.layouts.values())),
        }
        return orjson.dumps(parts, option=orjson.OPT_APPEND_NEWLINE)

    @staticmethod
    def from_json(text: str | bytes) -> Reading:
        """Raises ValueError unless it is valid: with a wrong reading no data set can be written."""
        try:
            reading = Reading._from_parts(orjson.loads(text))
            reading._check()
        except (TypeError, KeyError, AttributeError, IndexError) as error:
            raise ValueError("not a reading") from error
        return reading

    @staticmethod
    def _from_parts(parts: dict[str, Any]) -> Reading:
        layouts = {
            name: Layout(
                one["subsystem"],
                tuple(one["points"]),
                tuple(one["classes"]),
                one["groups"],
                tuple(one["limits"]),
            )
            for name, one in parts["layouts"].items()
        }
        return Reading(
            **parts
            | {
                "offset": Offset(**parts["offset"]),
                "cells": {name: Cells.from_text(one) for name, one in parts["cells"].items()},
                "costs": {name: SubsystemCost(**one) for name, one in parts["costs"].items()},
                "layouts": layouts,
                "phases": [Phase(**one) for one in parts["phases"]],
            }
        )

    def _check(self) -> None:
        """Raises ValueError unless its values fit the record types."""
        if {name for name, one in self.cells.items() if one.packed} - self.layouts.keys():
            raise ValueError("cells without a layout")
        for name, records in RECORDS.items():
            for row in records(self, 0):
                for one in record_type(name).fields:
                    _check_value(row[one.name], one.type)

    def summaries(self, begin_ns: int) -> Iterator[dict[str, Any]]:
        """Records of the type kernel_summary; `begin_ns` is the begin of the data set."""
        times = self._times(self, begin_ns)
        for row in self.rows():
            yield times | row

    def rows(self) -> Iterator[dict[str, Any]]:
        """The records of `summaries` without times and node."""
        for name, layout in self.layouts.items():
            cells = self.cells[name]
            active_ns = self.active_ns[name]
            for (index, *_), row in zip(cells, layout.rows(cells), strict=True):
                detail = self.details[name][layout.point_of(index)]
                yield row | {"detail": detail, "active_ns": active_ns}

    def cost_records(self, begin_ns: int) -> Iterator[dict[str, Any]]:
        times = self._times(self, begin_ns)
        for name, spent in self.costs.items():
            yield times | vars(spent) | {"subsystem": name, "active_ns": self.active_ns[name]}

    def processor_records(self, begin_ns: int) -> Iterator[dict[str, Any]]:
        times = self._times(self, begin_ns)
        for row in rows_of(self.processors):
            yield times | row

    def phase_records(self, begin_ns: int) -> Iterator[dict[str, Any]]:
        for phase in self.phases:
            yield self._times(phase, begin_ns) | {"name": phase.name, "pid": phase.pid}

    def records(self, begin_ns: int) -> Iterator[dict[str, Any]]:
        """The record of the reading itself."""
        yield self._times(self, begin_ns) | {
            "start": self.start,
            "sequence": self.sequence,
            "dropped": self.dropped,
            "offset_ns": self.offset.offset_ns,
            "uncertainty_ns": self.offset.uncertainty_ns,
            "cpu_ns": self.cpu_ns,
        }

    def _times(self, of: Reading | Phase, begin_ns: int) -> dict[str, Any]:
        shift = self.offset.offset_ns - begin_ns
        return {"begin_ns": of.begin_ns + shift, "end_ns": of.end_ns + shift, "node": self.node}


Records = Callable[[Reading, int], Iterator[dict[str, Any]]]
RECORDS: dict[str, Records] = {
    "kernel_summary": Reading.summaries,
    "measurement_cost": Reading.cost_records,
    "cpu_time": Reading.processor_records,
    "kernel_phase": Reading.phase_records,
    "kernel_reading": Reading.records,
}
RANGES = {
    "int64": (-(2**63), 2**63),
    "uint64": (0, 2**64),
    "uint32": (0, 2**32),
    "uint16": (0, 2**16),
    "uint8": (0, 2**8),
}


def _check_value(value: Any, kind: str) -> None:
    if kind == "text":
        if not isinstance(value, str):
            raise ValueError(f"expected text, got {value!r}")
        return
    least, beyond = RANGES[kind]
    if type(value) is not int or not least <= value < beyond:
        raise ValueError(f"expected {kind}, got {value!r}")
