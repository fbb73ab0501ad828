"""What a view shows: charts, small pictures, and the same numbers as rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sesame.analysis.quantities import format_quantity
from sesame.errors import InputError
from sesame.repository.looks.described import NUMBER, ShownField, Table, to_json
from sesame.repository.looks.levels import Levels
from sesame.repository.looks.pairs import MOST_POINTS
from sesame.repository.looks.prepared import Prepared
from sesame.repository.looks.rates import Ask, Counted, counted
from sesame.repository.looks.scan import Selection
from sesame.repository.looks.view import LEVEL, LOG, PAIR, RATE, SHOWN, View
from sesame.web.chart import SERIES, Chart

Array = np.ndarray[Any, Any]
SMALL_BINS, MOST_SMALL = 96, 256  # of small pictures on a page
LARGE, LEVEL_HEIGHT = 340, 190  # pixels


@dataclass(frozen=True)
class Small:
    """A small picture for each node: what the address calls it, its name, and a row of values."""

    keys: Sequence[str]
    names: Sequence[str]
    said: Sequence[str]  # of each node in words
    values: Array
    most: float

    def packed(self) -> dict[str, Any]:
        return {
            "keys": list(self.keys),
            "names": list(self.names),
            "said": list(self.said),
            "bins": self.values.shape[1],
            "most": self.most,
            "values": self.values.astype(np.float32).ravel(),
        }


@dataclass(frozen=True)
class Shown:
    """`charts` are pairs of a label and a chart. `rows` are the numbers, `columns` their names."""

    title: str
    about: str
    charts: Sequence[tuple[str, Chart]]
    columns: Sequence[str]
    rows: Callable[[], Iterable[Sequence[Any]]]
    small: Small | None = None

    def packed(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "about": self.about,
            "charts": [
                {"label": label, "chart": chart.description()} for label, chart in self.charts
            ],
            "small": None if self.small is None else self.small.packed(),
        }


def show(prepared: Prepared | None, levels: Levels | None, view: View, ask: Ask) -> Shown:
    """Raises InputError."""
    if view.look == LEVEL:
        assert levels is not None
        return _level(levels, view)
    if prepared is None:
        raise InputError("choose a record type")
    if view.look == RATE:
        return _rate(counted(prepared, view, ask), view)
    if array := array_of(prepared.table, view):
        return _elements(prepared.table, array, view, ask)
    return _pair(prepared.table, view, ask)


# ---- Count and rate ----


def _rate(found: Counted, view: View) -> Shown:
    title = f"{_what(found)} {SHOWN[found.show]}"
    shown_nodes = _nodes_in_words(found)
    chart = Chart(LARGE, legend=False)
    _time_axis(chart, found.table.begin, found.table.end, view)
    chart.y(f"{_what(found)} ({found.unit})" if found.unit else _what(found), zero=True)
    if found.unit == "s":
        chart.y(_what(found), zero=True, seconds=True)
    _limits(chart, "y", view.yscale == LOG, view.ymin, view.ymax)
    x = found.edges()
    values = found.together()
    y = np.append(values, values[-1])
    filled = view.yscale != LOG
    chart.line(shown_nodes, x, y, "blue", stepped=True, filled=filled, width=1.2)
    width = format_quantity(found.grid.width, "s")
    source = "from the sums made at import" if found.is_prepared else "from the records"
    about = f"{found.grid.bins:,} intervals of {width}, {source}."
    small = _small(found, view) if not view.node and len(found.nodes) > 1 else None
    return Shown(
        title,
        about,
        [(f"{title}, {shown_nodes}", chart)],
        ["node", "from_s", "to_s", "records", *_column_names(found)],
        lambda: _rate_rows(found),
        small,
    )


def _what(found: Counted) -> str:
    if found.of is None:
        return f"{found.table.name} records"
    return f"{found.table.name}.{found.of.name}"


def _nodes_in_words(found: Counted) -> str:
    if len(found.nodes) == 1:
        return found.table.nodes.name(found.nodes[0])
    nodes = f"{len(found.nodes):,} {found.table.nodes.word or 'node'}s"
    return f"the largest of {nodes}" if found.show == "most" else f"{nodes} together"


def _small(found: Counted, view: View) -> Small:
    chosen = slice(view.first, view.first + MOST_SMALL)
    nodes = found.nodes[chosen]
    values = found.coarser(SMALL_BINS).values()[chosen]
    totals = found.amounts.sums[chosen].sum(axis=1)
    peaks = np.nanmax(found.values()[chosen], axis=1, initial=0.0)
    said = [
        f"{_amount(float(total), found.of)}, at most {_short(float(peak), found.unit)}"
        for total, peak in zip(totals, peaks, strict=True)
    ]
    names = [found.table.nodes.name(node) for node in nodes]
    keys = [found.table.nodes.key(node) for node in nodes]
    return Small(keys, names, said, values, float(np.nanmax(values, initial=0.0)))


def _amount(total: float, of: ShownField | None) -> str:
    return f"{total:,.0f} records" if of is None else _short(total, of.unit)


def _short(value: float, unit: str) -> str:
    """Three digits and a unit."""
    if unit in ("s", "B", "B/s"):
        return format_quantity(value, unit)
    digits = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"{digits}/s" if unit == "1/s" else f"{digits} {unit}".rstrip()


def _column_names(found: Counted) -> list[str]:
    if found.of is None:
        return ["rate_per_s"]
    return [f"{found.of.name}_sum", f"{found.of.name}_per_s", f"{found.of.name}_most"]


def _rate_rows(found: Counted) -> Iterable[Sequence[Any]]:
    edges, amounts = found.edges().tolist(), found.amounts
    for row, node in enumerate(found.nodes):
        name = found.table.nodes.name(node)
        for i, (begin, end) in enumerate(itertools.pairwise(edges)):
            count = amounts.counts[row, i]
            if count == 0 and amounts.sums[row, i] == 0:
                continue
            numbers = [count / (end - begin)]
            if found.of is not None:
                total, most = amounts.sums[row, i], amounts.most[row, i]
                numbers = [total, total / (end - begin), most if np.isfinite(most) else ""]
            yield [name, begin, end, count, *numbers]


# ---- Two fields, and single records ----


def array_of(table: Table, view: View) -> ShownField | None:
    """The array of single records whose elements are shown."""
    if view.look == PAIR:
        return None
    return next((one for one in table.arrays if one.name in (view.of, view.y)), None)


def pair_fields(table: Table, view: View) -> tuple[ShownField, ShownField]:
    """The fields of both axes; those that the view does not name are the most telling ones. Raises
    InputError."""
    among = [*table.numbers, *table.names]
    names = [one.name for one in among]
    usual_y = next((one for one in ("duration", table.length) if one in names), "")
    amounts = [one.name for one in table.amounts]
    usual_y = usual_y or next(iter(amounts), names[0])
    if view.look == PAIR:
        usual_x = next((one for one in ("bytes", *amounts) if one in names and one != usual_y), "")
        usual_x = usual_x or table.when or NUMBER
    else:
        usual_x = NUMBER
    return table.get(view.x or usual_x, among), table.get(view.y or usual_y, among)


def _pair(table: Table, view: View, ask: Ask) -> Shown:
    x, y = pair_fields(table, view)
    answer = ask(_pair_request(table, view, x, y))
    count = int(answer["count"][0])
    title = f"{table.name}: {y.name} by {x.name}"
    chart = Chart(LARGE + 80, legend=False, zoomY=True)
    _axis(chart, "x", x, view.xscale == LOG, view.xmin, view.xmax)
    _axis(chart, "y", y, view.yscale == LOG, view.ymin, view.ymax)
    about = f"{count:,} records"
    if "cells" in answer:
        _add_cells(chart, view, answer["cells"], answer["ends"])
        about += f", more than {MOST_POINTS:,}: the shade is how many are in a cell, logarithmic."
        columns = [x.name, y.name, "records"]
        rows: list[Sequence[Any]] = _cell_rows(view, answer)
    else:
        chart.points("records", answer["x"], answer["y"], "blue", size=4)
        about += ", a point each." if count else "; there are none in this range."
        columns = [x.name, y.name, "node"]
        rows = [
            (a, b, table.nodes.name(int(node)))
            for a, b, node in zip(answer["x"], answer["y"], answer["node"], strict=True)
        ]
    return Shown(title, about, [(title, chart)], columns, lambda: rows)


def _pair_request(table: Table, view: View, x: ShownField, y: ShownField) -> dict[str, Any]:
    selection = Selection.of_view(table, view)
    x_log, y_log = view.xscale == LOG, view.yscale == LOG
    ends = (*_ends(x, x_log, view.xmin, view.xmax), *_ends(y, y_log, view.ymin, view.ymax))
    limits = (view.xmin, view.xmax, view.ymin, view.ymax)
    known = ends if selection == Selection() or None not in limits else None
    return {
        "what": "pairs",
        "table": to_json(table),
        "x": {"field": x.name, "low": view.xmin, "high": view.xmax, "is_log": x_log},
        "y": {"field": y.name, "low": view.ymin, "high": view.ymax, "is_log": y_log},
        "known": known,
        "selection": vars(selection),
    }


def _ends(
    field: ShownField, is_log: bool, low: float | None, high: float | None
) -> tuple[float, float]:
    if field.kind == "name":
        return -0.5, max(len(field.values), 1) - 0.5
    least = field.positive if is_log else field.least
    first = least if low is None else low
    last = field.most if high is None else high
    return first, last if last > first else first + max(abs(first), 1.0)


def _add_cells(chart: Chart, view: View, cells: Array, ends: Array) -> None:
    lines, columns = cells.shape
    x_log, y_log = view.xscale == LOG, view.yscale == LOG
    shades = np.where(cells > 0, np.log1p(cells), np.nan)
    chart.amounts(
        shades.astype(np.float32),
        _steps(ends[0], ends[1], columns, x_log),
        _steps(ends[2], ends[3], lines, y_log),
        counts=cells.astype(np.int64).ravel(),
        unit="records",
        mostText=f"{int(cells.max(initial=0)):,} records in a cell",
        logX=x_log,
        logY=y_log,
    )


def _steps(low: float, high: float, count: int, is_log: bool) -> tuple[float, float]:
    low, high = float(low), float(high)
    if is_log:
        return low, float((high / low) ** (1 / count)) if high > low else 1.1
    return low, (high - low) / count or 1.0


def cell_at(begin: float, step: float, number: float, *, is_log: bool) -> float:
    """Where a cell of a grid begins, as assets/marks.js has it."""
    return begin * step**number if is_log else begin + step * number


def _cell_rows(view: View, answer: dict[str, Array]) -> list[Sequence[Any]]:
    """The middle of each cell that has records, and how many."""
    cells, ends = answer["cells"], answer["ends"]
    x_log, y_log = view.xscale == LOG, view.yscale == LOG
    x0, dx = _steps(ends[0], ends[1], cells.shape[1], x_log)
    y0, dy = _steps(ends[2], ends[3], cells.shape[0], y_log)
    return [
        (
            cell_at(x0, dx, column + 0.5, is_log=x_log),
            cell_at(y0, dy, line + 0.5, is_log=y_log),
            int(cells[line, column]),
        )
        for line, column in zip(*np.nonzero(cells), strict=True)
    ]


def _elements(table: Table, array: ShownField, view: View, ask: Ask) -> Shown:
    request = {"what": "elements", "table": to_json(table), "field": array.name, "row": view.row}
    values = ask(request)["values"]
    first = min(view.first, max(len(values) - 1, 0))
    shown = values[first : first + MOST_POINTS]
    title = f"{table.name} {view.row}: {array.name}"
    chart = Chart(LARGE, legend=False, zoomY=True)
    chart.x("element", whole=True)
    _limits(chart, "x", view.xscale == LOG, view.xmin, view.xmax)
    _axis(chart, "y", array, view.yscale == LOG, view.ymin, view.ymax)
    at = np.arange(first, first + len(shown), dtype=float)
    chart.points(array.name, at, shown, "blue", size=4)
    about = f"{len(values):,} elements of one record."
    if len(shown) < len(values):
        about += f" Those from {first:,} to {first + len(shown) - 1:,} are shown."
    rows = zip(at.tolist(), shown.tolist(), strict=True)
    return Shown(title, about, [(title, chart)], ["element", array.name], lambda: rows)


# ---- Program and system ----


def _level(levels: Levels, view: View) -> Shown:
    panels, begin, width = levels.panels(view)
    charts = []
    for panel in panels:
        chart = Chart(LEVEL_HEIGHT, legend=True)
        _time_axis(chart, 0.0, levels.seconds, view)
        chart.y(panel.title, zero=True)
        _limits(chart, "y", view.yscale == LOG and panel.unit != "", None, None)
        x = begin + width * np.arange(panel.values.shape[1] + 1)
        for title, colour, values in zip(panel.titles, SERIES, panel.values, strict=False):
            chart.line(title, x, np.append(values, values[-1:]), colour, stepped=True, width=1.2)
        charts.append((panel.title, chart))
    names = [f"{panel.level}: {title}" for panel in panels for title in panel.titles]
    table = np.concatenate([panel.values for panel in panels])

    def rows() -> Iterable[Sequence[Any]]:
        for i in range(table.shape[1]):
            yield [begin + i * width, *(_or_empty(one) for one in table[:, i])]

    about = f"{levels.nodes_in_words(view)}, in intervals of {format_quantity(width, 's')}."
    return Shown(
        "What the program did above what the system did", about, charts, ["from_s", *names], rows
    )


def _or_empty(value: float) -> Any:
    return "" if np.isnan(value) else value


# ---- Axes ----


def _time_axis(chart: Chart, begin: float, end: float, view: View) -> None:
    chart.x("time", seconds=True, range=[begin, end])
    if view.begin is not None or view.end is not None:
        low = begin if view.begin is None else view.begin
        high = end if view.end is None else view.end
        chart.axes["x"]["shown"] = [low, high]


def _axis(
    chart: Chart,
    which: str,
    field: ShownField,
    is_log: bool,
    low: float | None,
    high: float | None,
) -> None:
    title = field.stem if field.unit == "s" else field.title
    settings: dict[str, Any] = {"seconds": True} if field.unit == "s" else {}
    if field.kind == "name":
        settings = {"names": list(field.values) or ["none"]}
    elif which == "y" and field.least >= 0:
        settings["zero"] = True
    (chart.x if which == "x" else chart.y)(title, **settings)
    if field.kind != "name":
        _limits(chart, which, is_log, low, high, _ends(field, is_log, None, None))


def _limits(
    chart: Chart,
    which: str,
    is_log: bool,
    low: float | None,
    high: float | None,
    whole: tuple[float, float] | None = None,
) -> None:
    """The scale of an axis, and what is seen of it if it has limits."""
    axis = chart.axes[which]
    if is_log:
        axis |= {"log": True, "zero": False}
    if low is None and high is None:
        return
    ends = [low, high]
    if whole is not None:
        filled = [end if given is None else given for given, end in zip(ends, whole, strict=True)]
        axis["range"] = [min(whole[0], filled[0]), max(whole[1], filled[1])]
        axis["shown"] = filled
    elif None not in ends:
        axis["range"] = ends
