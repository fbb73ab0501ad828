"""The reading of one node at the end of an interval, as the daemon sends it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import orjson

from sesame.measurement.bounds import LAYOUT, UnfitError, check_cells, check_reading
from sesame.measurement.clocks import Offset
from sesame.measurement.summary import Cells, Layout

# Of layouts that nodes send. Many nodes have the same ones, others differ by their mounts. A node
# could send large ones again and again, so these are not kept. Together they need up to 64 MB.
CACHED_LAYOUTS = 1024
MOST_CACHED = 1 << 14  # characters of the names; and NAME_BYTES for each
NAME_BYTES = 64  # of memory for a short name and the reference to it


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


@lru_cache(1)  # the layouts of a node seldom change
def _encoded(layouts: tuple[Layout, ...]) -> orjson.Fragment:
    return orjson.Fragment(orjson.dumps({one.subsystem: vars(one) for one in layouts}))


def _layout_of(parts: Any) -> Layout:
    """Readings of all nodes have few different layouts. Raises ValueError."""
    try:
        points, classes = tuple(parts["points"]), tuple(parts["classes"])
        names = points + classes
        is_small = len(names) * NAME_BYTES + sum(map(len, names)) <= MOST_CACHED
        make = _known_layout if is_small else _known_layout.__wrapped__
        return make(parts["subsystem"], points, classes, parts["groups"], tuple(parts["limits"]))
    except (TypeError, KeyError):
        LAYOUT(parts)
        raise


@lru_cache(CACHED_LAYOUTS)
def _known_layout(
    subsystem: str,
    points: tuple[str, ...],
    classes: tuple[str, ...],
    groups: int,
    limits: tuple[int, ...],
) -> Layout:
    parts = {"points": list(points), "classes": list(classes), "limits": list(limits)}
    LAYOUT(parts | {"subsystem": subsystem, "groups": groups})
    return Layout(subsystem, points, classes, groups, limits)


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
        """Raises ValueError (see bounds.py) unless it is valid: with a wrong reading no data set
        can be written."""
        parts = orjson.loads(text)
        check_reading(parts)
        reading = Reading(
            **parts
            | {
                "offset": Offset(**parts["offset"]),
                "cells": {name: Cells.from_text(one) for name, one in parts["cells"].items()},
                "costs": {name: SubsystemCost(**one) for name, one in parts["costs"].items()},
                "layouts": {name: _layout_of(one) for name, one in parts["layouts"].items()},
                "phases": [Phase(**one) for one in parts["phases"]],
            }
        )
        reading._check_cells()
        return reading

    def _check_cells(self) -> None:
        for name, layout in self.layouts.items():
            if layout.subsystem != name:
                raise UnfitError(f"layouts.{name}: expected its own subsystem")
            sizes = (len(layout.points), len(layout.classes), layout.groups, len(layout.limits))
            check_cells(self.cells[name].fields(), *sizes, len(self.details[name]))

    def summaries(self, begin_ns: int) -> Iterator[dict[str, Any]]:
        """Records of the type kernel_summary; `begin_ns` is the begin of the data set."""
        shift = self.offset.offset_ns - begin_ns
        times = {"begin_ns": self.begin_ns + shift, "end_ns": self.end_ns + shift}
        for row in self.rows():
            yield times | row | {"node": self.node}

    def rows(self) -> Iterator[dict[str, Any]]:
        """The records of `summaries` without times and node."""
        for name, layout in self.layouts.items():
            cells = self.cells[name]
            active_ns = self.active_ns[name]
            for (index, *_), row in zip(cells, layout.rows(cells), strict=True):
                detail = self.details[name][layout.point_of(index)]
                yield row | {"detail": detail, "active_ns": active_ns}
