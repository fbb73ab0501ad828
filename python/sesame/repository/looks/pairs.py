"""Two fields of records against each other: points where there are few, else how many are in each
cell of a grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sesame.datasets import DataSet
from sesame.repository.looks.described import ShownField, Table
from sesame.repository.looks.scan import Selection, scan

Array = np.ndarray[Any, Any]
MOST_POINTS = 20_000
COLUMNS, LINES = 240, 150  # of the grid


@dataclass(frozen=True)
class Axis:
    """A field, its limits (None: as the records have it) and its scale."""

    field: str
    low: float | None
    high: float | None
    is_log: bool

    def inside(self, values: Array) -> Array:
        found = np.isfinite(values)
        if self.is_log:
            found &= values > 0
        if self.low is not None:
            found &= values >= self.low
        if self.high is not None:
            found &= values <= self.high
        return found

    def bent(self, values: Any) -> Any:
        return np.log10(values) if self.is_log else values

    def cells(self, values: Array, ends: tuple[float, float], count: int) -> Array:
        low, high = self.bent(ends[0]), self.bent(ends[1])
        found = (self.bent(values) - low) * (count / max(high - low, 1e-300))
        cells: Array = np.clip(found.astype(np.int64), 0, count - 1)
        return cells


@dataclass(frozen=True)
class Pairing:
    """`known`: the ends of both axes, if the records need not be read to know them."""

    x: Axis
    y: Axis
    known: tuple[float, float, float, float] | None

    @staticmethod
    def of(request: Mapping[str, Any]) -> Pairing:
        known = request["known"]
        return Pairing(
            Axis(**request["x"]), Axis(**request["y"]), None if known is None else tuple(known)
        )


@dataclass
class _Gathered:
    """Points until there are too many, and the ends of all."""

    points: list[tuple[Array, ...]]
    count: int = 0
    low: tuple[float, float] = (np.inf, np.inf)
    high: tuple[float, float] = (-np.inf, -np.inf)

    def add(self, x: Array, y: Array, node: Array) -> None:
        if not len(x):
            return
        self.count += len(x)
        self.low = (min(self.low[0], float(x.min())), min(self.low[1], float(y.min())))
        self.high = (max(self.high[0], float(x.max())), max(self.high[1], float(y.max())))
        if self.count <= MOST_POINTS:
            self.points.append((x, y, node))
        else:
            self.points = []

    def ends(self) -> tuple[float, float, float, float]:
        return self.low[0], self.high[0], self.low[1], self.high[1]


def paired(
    data_set: DataSet, table: Table, pairing: Pairing, selection: Selection
) -> dict[str, Array]:
    """`count`, the number of records, with `x`, `y` and `node` of each; or, of more than
    MOST_POINTS, with `cells`, a row for each step of y, and their `ends` (x from, x to, y from,
    y to)."""
    fields = [_field(table, pairing.x.field), _field(table, pairing.y.field)]
    shape = (_steps(fields[1], LINES), _steps(fields[0], COLUMNS))
    cells = np.zeros(shape[0] * shape[1]) if pairing.known else None
    gathered = _Gathered([])
    for x, y, node in _points(data_set, table, fields, pairing, selection):
        gathered.add(x, y, node)
        if cells is not None and pairing.known:
            _add(cells, shape, pairing, pairing.known, x, y)
    count = np.array([gathered.count], np.float64)
    if gathered.count <= MOST_POINTS:
        return {"count": count, **_joined(gathered.points)}
    ends = pairing.known or gathered.ends()
    if cells is None:
        cells = np.zeros(shape[0] * shape[1])
        for x, y, _ in _points(data_set, table, fields, pairing, selection):
            _add(cells, shape, pairing, ends, x, y)
    return {"count": count, "cells": cells.reshape(shape), "ends": np.array(ends, np.float64)}


def _field(table: Table, name: str) -> ShownField:
    return table.get(name, [*table.numbers, *table.names])


def _steps(field: ShownField, usual: int) -> int:
    """Names have a step each."""
    return max(len(field.values), 1) if field.kind == "name" else usual


def _points(
    data_set: DataSet,
    table: Table,
    fields: Sequence[ShownField],
    pairing: Pairing,
    selection: Selection,
) -> Iterator[tuple[Array, Array, Array]]:
    for batch in scan(data_set, table, fields, selection):
        x, y = batch.values
        kept = pairing.x.inside(x) & pairing.y.inside(y)
        yield x[kept], y[kept], batch.node[kept]


def _add(
    cells: Array,
    shape: tuple[int, int],
    pairing: Pairing,
    ends: Sequence[float],
    x: Array,
    y: Array,
) -> None:
    column = pairing.x.cells(x, (ends[0], ends[1]), shape[1])
    line = pairing.y.cells(y, (ends[2], ends[3]), shape[0])
    cells += np.bincount(line * shape[1] + column, minlength=len(cells))


def _joined(points: Sequence[tuple[Array, ...]]) -> dict[str, Array]:
    if not points:
        return {"x": np.zeros(0), "y": np.zeros(0), "node": np.zeros(0)}
    x, y, node = (np.concatenate(one).astype(np.float64) for one in zip(*points, strict=True))
    return {"x": x, "y": y, "node": node}
