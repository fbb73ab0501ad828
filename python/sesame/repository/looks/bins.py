"""Records added up by node and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sesame.datasets import DataSet
from sesame.repository.looks.described import ShownField, Table
from sesame.repository.looks.scan import Batch, Selection, scan
from sesame.repository.playback.frames import Clock, Spans

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Grid:
    """`bins` intervals of `width` seconds from `begin` on, for each of `nodes` nodes."""

    begin: float
    width: float
    bins: int
    nodes: int

    @staticmethod
    def over(begin: float, end: float, bins: int, nodes: int) -> Grid:
        return Grid(begin, (end - begin) / bins, bins, nodes)

    @property
    def end(self) -> float:
        return self.begin + self.bins * self.width

    @property
    def shape(self) -> tuple[int, int]:
        return self.nodes, self.bins

    def touched(self, begin: float, end: float) -> tuple[int, int]:
        """The first bin that a time range touches, and the one after the last. What is less than
        1e-9 of a bin is rounding."""
        low, high = (begin - self.begin) / self.width, (end - self.begin) / self.width
        first = int(np.clip(np.floor(low + 1e-9), 0, self.bins - 1))
        return first, int(np.clip(np.ceil(high - 1e-9), first + 1, self.bins))

    def cells(self, node: Array, at: Array) -> Array:
        """The cell of each record; -1 outside. A record at the end is in the last bin."""
        bins = np.floor((at - self.begin) / self.width)
        bins = np.where(at == self.end, self.bins - 1, bins)
        inside = (bins >= 0) & (bins < self.bins)
        return np.where(inside, node * self.bins + np.where(inside, bins, 0).astype(np.int64), -1)


@dataclass(frozen=True)
class Amounts:
    """Of each node and bin: the number of records, and of a field its sum and largest value (-inf
    without a record)."""

    counts: Array
    sums: Array
    most: Array

    @staticmethod
    def of_records(counts: Array) -> Amounts:
        """Of the records themselves: the value of each is 1."""
        return Amounts(counts, counts, np.where(counts > 0, 1.0, -np.inf))

    def __getitem__(self, cells: Any) -> Amounts:
        return Amounts(self.counts[cells], self.sums[cells], self.most[cells])


class Adding:
    """Adds up batches: their number, and for each field the sum and the largest."""

    def __init__(self, grid: Grid, fields: int, *, is_spread: bool = False) -> None:
        """`is_spread`: the records are counters, whose intervals are spread over the bins."""
        size = grid.nodes * grid.bins
        self._grid = grid
        self._counts: Array = np.zeros(size)
        self._sums: list[Array] = [np.zeros(size) for _ in range(fields)]
        self._most: list[Array] = [np.full(size, -np.inf) for _ in range(fields)]
        clock = Clock(grid.bins, grid.width)
        spreads = fields + 1 if is_spread else 0  # the records themselves, then the fields
        self._spread = [Spans(grid.nodes, clock) for _ in range(spreads)]

    def add(self, batch: Batch) -> None:
        assert batch.begin is not None
        if batch.end is not None:
            self._add_spread(batch)
            return
        cells = self._grid.cells(batch.node, batch.begin)
        inside = cells >= 0
        cells = cells[inside]
        self._counts += np.bincount(cells, minlength=len(self._counts))
        for i, values in enumerate(batch.values):
            self._add_values(i, cells, np.nan_to_num(values[inside]))

    def _add_values(self, field: int, cells: Array, values: Array) -> None:
        self._sums[field] += np.bincount(cells, values, minlength=len(self._counts))
        np.maximum.at(self._most[field], cells, values)

    def _add_spread(self, batch: Batch) -> None:
        """An interval is in each bin by its share; one of no length is left out."""
        assert batch.begin is not None and batch.end is not None
        kept = batch.end > batch.begin
        node, begin, end = batch.node[kept], batch.begin[kept], batch.end[kept]
        each = self._grid.width / (end - begin)
        begin, end = begin - self._grid.begin, end - self._grid.begin
        self._spread[0].add(node, begin, end, each)
        middle = self._grid.cells(node, self._grid.begin + (begin + end) / 2)
        for i, values in enumerate(batch.values):
            amount = np.nan_to_num(values[kept])
            self._spread[i + 1].add(node, begin, end, amount * each)
            np.maximum.at(self._most[i], middle[middle >= 0], amount[middle >= 0])

    def counts(self) -> Array:
        found = self._counts.reshape(self._grid.shape)
        return found + self._spread[0].cells() if self._spread else found

    def amounts(self, field: int) -> Amounts:
        sums = self._sums[field].reshape(self._grid.shape)
        if self._spread:
            sums = sums + self._spread[field + 1].cells()
        return Amounts(self.counts(), sums, self._most[field].reshape(self._grid.shape))


def added(
    data_set: DataSet,
    table: Table,
    fields: Sequence[ShownField],
    selection: Selection,
    grid: Grid,
) -> Adding:
    """All selected records on a grid."""
    adding = Adding(grid, len(fields), is_spread=table.is_counter)
    for batch in scan(data_set, table, fields, selection):
        adding.add(batch)
    return adding


def coarser(amounts: Amounts, each: int) -> Amounts:
    """The same with `each` bins as one; the last may have fewer of them."""
    starts = np.arange(0, amounts.counts.shape[1], each)
    return Amounts(
        np.add.reduceat(amounts.counts, starts, axis=1),
        np.add.reduceat(amounts.sums, starts, axis=1),
        np.maximum.reduceat(amounts.most, starts, axis=1),
    )
