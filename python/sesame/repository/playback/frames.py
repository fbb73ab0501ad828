"""Values by time bin and node, as a browser takes them: one array of 16-bit numbers a field.

A field's file has a row for each bin and a number for each unit, little-endian. `q` stands for
most * q / LARGEST; of a field of classes it is the number of the class. ABSENT: no value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
ABSENT, LARGEST = 65535, 65534
CELLS, LEAST_BINS, MOST_BINS = 1 << 20, 200, 1500  # cells of a field, time bins


@dataclass(frozen=True)
class Clock:
    """The bins of a run: `bins` of `bin_s` seconds each, from its begin on."""

    bins: int
    bin_s: float

    @staticmethod
    def of(seconds: float, units: int) -> Clock:
        """As many bins as CELLS allows."""
        bins = int(np.clip(CELLS // max(units, 1), LEAST_BINS, MOST_BINS))
        return Clock(bins, max(seconds, 1e-12) / bins)

    @property
    def seconds(self) -> float:
        return self.bins * self.bin_s

    def at(self, seconds: Array) -> Array:
        """The bin of each time."""
        return np.clip((seconds / self.bin_s).astype(np.int64), 0, self.bins - 1)


@dataclass(frozen=True)
class FieldOfFrames:
    """A field with its value in every bin of every unit; NaN where there is none. `classes` are the
    names and colours of a field whose values are their numbers."""

    key: str
    title: str
    unit: str  # "" for a share of the time, of which 1 is all
    values: Array  # [bin][unit]
    classes: Sequence[tuple[str, str]] = ()

    def most(self) -> float:
        if self.classes:
            return float(LARGEST)
        found = float(np.nanmax(self.values, initial=0.0))
        return min(found, 1.0) if not self.unit and found > 0.5 else found

    def encoded(self) -> bytes:
        most = self.most()
        scale = LARGEST / most if most > 0 else 0.0
        numbers = np.round(np.clip(np.nan_to_num(self.values, nan=0.0) * scale, 0, LARGEST))
        numbers = np.where(np.isnan(self.values), ABSENT, numbers)
        return np.ascontiguousarray(numbers.astype("<u2")).tobytes()

    def described(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "title": self.title,
            "unit": self.unit,
            "most": self.most(),
            "classes": [list(one) for one in self.classes],
        }


@dataclass(frozen=True)
class Light:
    """A lamp at a node: on while the field is above 0. `level` is program or system."""

    title: str
    level: str
    colour: str
    field: str  # key


@dataclass
class Shown:
    """The fields of a run, and which the parts of a node show. `processor` are stacked in one bar,
    from below, with their colours."""

    fields: list[FieldOfFrames] = field(default_factory=list)
    processor: list[tuple[str, str]] = field(default_factory=list)
    memory: str | None = None
    phase: str | None = None
    lights: list[Light] = field(default_factory=list)

    def add(self, other: Shown) -> None:
        """Adds what another source knows; what this one shows already stays."""
        known = {one.key for one in self.fields}
        self.fields += [one for one in other.fields if one.key not in known]
        if any(key.startswith("cpu_") for key, _ in other.processor) or not self.processor:
            self.processor = other.processor or self.processor
        self.memory = self.memory or other.memory
        self.phase = other.phase or self.phase
        lit = {(one.title, one.level) for one in self.lights}
        self.lights += [one for one in other.lights if (one.title, one.level) not in lit]

    def described(self) -> dict[str, Any]:
        return {
            "fields": [one.described() for one in self.fields],
            "processor": [list(one) for one in self.processor],
            "memory": self.memory,
            "phase": self.phase,
            "lights": [vars(one) for one in self.lights],
        }


class Spans:
    """Adds up how much of each bin intervals of rows cover, exactly, a batch at a time.

    The cover of a bin is its share of an interval's first and last bin; the whole bins between come
    from differences, which are summed at the end.
    """

    def __init__(self, rows: int, clock: Clock) -> None:
        self._shape = (rows, clock.bins + 1)
        self._clock = clock
        self._cover, self._step = (np.zeros(rows * (clock.bins + 1)) for _ in range(2))

    def add(self, row: Array, begin_s: Array, end_s: Array, weight: Array | None = None) -> None:
        bins, size = self._clock.bins, len(self._cover)
        begin = np.clip(begin_s / self._clock.bin_s, 0, bins)
        end = np.clip(end_s / self._clock.bin_s, 0, bins)
        first, last = (np.minimum(one.astype(np.int64), bins - 1) for one in (begin, end))
        base = row.astype(np.int64) * (bins + 1)
        much = 1.0 if weight is None else weight
        self._cover += np.bincount(base + last, (end - last) * much, size)
        self._cover -= np.bincount(base + first, (begin - first) * much, size)
        self._step += np.bincount(base + first, weight, size)
        self._step -= np.bincount(base + last, weight, size)

    def cells(self) -> Array:
        """Covered bins, by row and bin."""
        whole = self._cover.reshape(self._shape) + np.cumsum(self._step.reshape(self._shape), 1)
        return np.maximum(whole[:, :-1], 0.0)


class Sums:
    """Adds amounts up by bin and unit."""

    def __init__(self, units: int, clock: Clock) -> None:
        self._units, self._clock = units, clock
        self._sums = np.zeros(clock.bins * units)

    def add(self, unit: Array, at_s: Array, amount: Array | None = None) -> None:
        at = self._clock.at(at_s) * self._units + unit
        self._sums += np.bincount(at, amount, len(self._sums))

    def sums(self) -> Array:
        """By bin and unit."""
        return self._sums.reshape(self._clock.bins, self._units)

    def rates(self) -> Array:
        """The same a second."""
        return self.sums() / self._clock.bin_s
