"""Summaries: the events that points counted between two readings, as records of a data set.

Counters only grow. A reading takes differences, so the measured system need not reset counters.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sesame.measurement.probes import CELL_READING, Probes

_CELL = struct.Struct(f"<{CELL_READING.itemsize // 8}Q")


@dataclass(frozen=True)
class Cells:
    """The counters of one subsystem that changed in one interval, each a CELL_READING.

    They stay packed as the probes gave them until their records are needed.
    """

    packed: bytes

    def to_text(self) -> str:
        return base64.b64encode(self.packed).decode()

    @staticmethod
    def from_text(text: str) -> Cells:
        """Raises ValueError unless these are whole cells."""
        packed = base64.b64decode(text, validate=True)
        if len(packed) % _CELL.size:
            raise ValueError("an incomplete cell")
        return Cells(packed)

    def fields(self) -> tuple[int, ...]:
        """The fields of all cells, one after the other."""
        return struct.unpack(f"<{len(self.packed) // 8}Q", self.packed)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return _CELL.iter_unpack(self.packed)


@dataclass(frozen=True)
class Layout:
    """Maps the number of a cell to point, class and size group of a subsystem. Valid until the size
    groups or the names of classes change."""

    subsystem: str
    points: tuple[str, ...]
    classes: tuple[str, ...]
    groups: int
    limits: tuple[int, ...]

    @staticmethod
    def of(probes: Probes) -> Layout:
        """The layout of the cells read last. Call it after `read`, which may add classes."""
        one = probes.subsystem
        points = tuple(point.name for point in one.points)
        return Layout(one.name, points, probes.classes, one.groups, probes.limits[: one.groups - 1])

    def point_of(self, index: int) -> int:
        return index // self.groups // len(self.classes)

    def rows(self, cells: Cells) -> Iterator[dict[str, Any]]:
        """A record for each cell, without the fields that depend on the interval."""
        for index, count, size, timed, duration_ns, max_duration_ns in cells:
            number, group = divmod(index, self.groups)
            point, class_ = divmod(number, len(self.classes))
            yield {
                "subsystem": self.subsystem,
                "point": self.points[point],
                "class": self.classes[class_],
                "at_least_bytes": self.limits[group - 1] if group > 0 else 0,
                "below_bytes": self.limits[group] if group < len(self.limits) else 0,
                "count": count,
                "bytes": size,
                "timed": timed,
                "duration_ns": duration_ns,
                "max_duration_ns": max_duration_ns,
            }
