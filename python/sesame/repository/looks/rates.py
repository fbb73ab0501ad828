"""How many records, and how much of a field, each node has over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sesame.errors import InputError
from sesame.repository.looks.bins import Amounts, Grid, coarser
from sesame.repository.looks.described import ShownField, Table, to_json
from sesame.repository.looks.prepared import Prepared
from sesame.repository.looks.scan import Selection
from sesame.repository.looks.view import View

Array = np.ndarray[Any, Any]
Ask = Callable[[Mapping[str, Any]], dict[str, Array]]
BINS = 512  # of a view that does not say how many; of small pictures a fraction
MOST_SHARES = 8  # prepared bins are shown if they are at most this many times wider than asked for


@dataclass(frozen=True)
class Counted:
    """`of`: the field, None for the records. Arrays have a row for each of the `nodes`."""

    table: Table
    of: ShownField | None
    show: str
    grid: Grid
    nodes: tuple[int, ...]
    amounts: Amounts
    is_prepared: bool
    last: float = 1.0  # how long the last interval is, of the others

    def values(self) -> Array:
        """What is shown, by node and bin; NaN where there is nothing."""
        return _shown(self.amounts, self.show, self._lengths())

    def edges(self) -> Array:
        """Where intervals begin, and where the last ends."""
        found = self.grid.begin + self.grid.width * np.arange(self.grid.bins + 1)
        found[-1] = found[-2] + self.grid.width * self.last
        return found

    def _lengths(self) -> Array:
        found = np.full(self.grid.bins, self.grid.width)
        found[-1] *= self.last
        return found

    def together(self) -> Array:
        """The same of all nodes together."""
        every = Amounts(
            self.amounts.counts.sum(axis=0),
            self.amounts.sums.sum(axis=0),
            self.amounts.most.max(axis=0, initial=-np.inf),
        )
        return _shown(every, self.show, self._lengths())

    def coarser(self, bins: int) -> Counted:
        """With at most `bins` intervals, if there are more."""
        each = -(-self.grid.bins // bins)
        if each == 1:
            return self
        amounts = coarser(self.amounts, each)
        count = amounts.counts.shape[1]
        grid = Grid(self.grid.begin, self.grid.width * each, count, self.grid.nodes)
        last = (self.grid.bins - each * (count - 1)) / each
        return replace(self, grid=grid, amounts=amounts, last=last)

    @property
    def unit(self) -> str:
        unit = self.of.unit if self.of is not None else ""
        return f"{unit or 1}/s" if self.show == "rate" else unit


def _shown(amounts: Amounts, show: str, width: Array) -> Array:
    if show == "rate":
        return amounts.sums / width
    if show == "count":
        return amounts.sums
    if show == "sum":
        return np.cumsum(amounts.sums, axis=-1)
    if show == "mean":
        there = amounts.counts > 0
        return np.where(there, amounts.sums / np.where(there, amounts.counts, 1), np.nan)
    return np.where(np.isfinite(amounts.most), amounts.most, np.nan)


def usual_field(table: Table) -> str:
    """What a counter counts; of other records nothing but their number."""
    return "count" if table.is_counter and any(f.name == "count" for f in table.amounts) else ""


def counted(prepared: Prepared, view: View, ask: Ask) -> Counted:
    """Raises InputError."""
    table = prepared.table
    if prepared.grid is None:
        raise InputError(f"records of type {table.name} have no time", hint="choose two fields")
    of = None
    if view.of:
        of = table.get(view.of, table.amounts)
    elif view.show in ("mean", "most"):
        raise InputError("choose a field, of which the mean or the largest is shown")
    nodes = tuple(table.nodes.chosen(view.node or view.nodes))
    begin, end = view.within(table.begin, table.end)
    is_prepared = _is_fine_enough(prepared, view, begin, end)
    if is_prepared:
        grid, amounts = _of_prepared(prepared, view.of, begin, end)
    else:
        grid, amounts = _of_records(table, view, begin, end, ask)
    found = Counted(table, of, view.show, grid, nodes, amounts[list(nodes)], is_prepared)
    return found.coarser(view.bins or BINS)


def _is_fine_enough(prepared: Prepared, view: View, begin: float, end: float) -> bool:
    assert prepared.grid is not None
    if view.only or not prepared.has(view.of):
        return False
    if view.begin is None and view.end is None:
        return view.bins is None or view.bins <= prepared.grid.bins
    return (end - begin) / prepared.grid.width * MOST_SHARES >= (view.bins or BINS)


def _of_prepared(prepared: Prepared, field: str, begin: float, end: float) -> tuple[Grid, Amounts]:
    """The prepared bins of all nodes that the range touches."""
    grid = prepared.grid
    assert grid is not None
    first, last = grid.touched(begin, end)
    part = Grid(grid.begin + first * grid.width, grid.width, last - first, grid.nodes)
    return part, prepared.amounts(field)[:, first:last]


def _of_records(
    table: Table, view: View, begin: float, end: float, ask: Ask
) -> tuple[Grid, Amounts]:
    """Bins of all nodes; those that the view does not show are empty."""
    bins = view.bins or BINS
    # A record at the very end is one of the last bin.
    last = None if end == table.end else end
    request = {
        "what": "bins",
        "table": to_json(table),
        "field": view.of,
        "begin": begin,
        "end": end,
        "bins": bins,
        "selection": vars(replace(Selection.of_view(table, view), begin=begin, end=last)),
    }
    found = ask(request)
    grid = Grid.over(begin, end, bins, table.nodes.count)
    if not view.of:
        return grid, Amounts.of_records(found["counts"])
    return grid, Amounts(found["counts"], found["sums"], found["most"])
