"""Plots of a workload's tables. Only columns that can be compared share a plot.

A table is columns by name, each with a unit and values. Its first column is the axis. Columns with
a unit are measured: those of one unit share a plot. Columns without a unit that have few values
(direction, size of a record, region) tell series apart. Rows that agree in all of these are
repetitions: the line is their median, the band their range.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sesame.analysis.quantities import format_quantity
from sesame.web.chart import Chart, curve_colour

Table = dict[str, dict[str, Any]]  # columns by name: unit, values

# Values of a column that tells series apart; more are counts or measurements.
MOST_SERIES = 24
# Columns of repetitions: their values mean nothing by themselves.
REPEATS = ("repeat", "rank", "sample")
# What varies by a larger ratio is drawn on a logarithmic scale.
LOGARITHMIC_RATIO = 50.0


@dataclass(frozen=True)
class StudyPlot:
    """A plot made for a workload: the same columns of several tables, over one axis."""

    title: str
    about: str
    tables: tuple[str, ...]
    columns: tuple[str, ...]


# The plots of a workload, by its name, in the order of the questions that it answers. If a workload
# is not listed, all its tables are drawn. Tables of a listed workload that no plot names are on the
# page only as tables.
STUDIES: dict[str, tuple[StudyPlot, ...]] = {
    "iow": (
        StudyPlot(
            "Transfer rate by record size",
            "Median rate, and the regions of performance fitted to it (dotted).",
            ("write_regions", "read_regions"),
            ("rate", "fit"),
        ),
        StudyPlot(
            "Repetitions of writing",
            "What the repetitions of each size gave.",
            ("write",),
            ("rate",),
        ),
        StudyPlot(
            "Repetitions of reading",
            "What the repetitions of each size gave.",
            ("read",),
            ("rate",),
        ),
        StudyPlot(
            "Time of each write", "By the position of the record.", ("write_record",), ("time",)
        ),
        StudyPlot(
            "Time of each read", "By the position of the record.", ("read_record",), ("time",)
        ),
    ),
    "messages": (
        StudyPlot(
            "Ping-pong",
            "Half the round trip between two ranks.",
            ("ping_pong",),
            ("best", "median"),
        ),
        StudyPlot("Bandwidth", "Of one rank to another.", ("bandwidth",), ("bandwidth",)),
        StudyPlot(
            "Streams",
            "Time between messages sent one after the other, one way and both ways.",
            ("stream",),
            ("interval", "exchange"),
        ),
        StudyPlot(
            "All ranks at once",
            "Bandwidth of a rank, mean and slowest, by who sends to whom.",
            ("neighbours", "random_pairs", "all_pairs"),
            ("mean", "slowest"),
        ),
    ),
}


@dataclass(frozen=True)
class Line:
    """One series: at each place on the axis a median, and the range of the repetitions."""

    name: str
    x: list[Any]
    y: list[float]
    low: list[float]
    high: list[float]
    is_fit: bool = False

    @property
    def has_range(self) -> bool:
        return any(low < high for low, high in zip(self.low, self.high, strict=True))


@dataclass(frozen=True)
class Panel:
    """One plot: lines of one unit over one axis."""

    title: str
    about: str
    axis: str
    axis_unit: str
    unit: str
    lines: list[Line] = field(default_factory=list)

    @property
    def axis_title(self) -> str:
        return f"{self.axis} ({self.axis_unit})" if self.axis_unit else self.axis


def panels_of(workload: str, tables: dict[str, Table]) -> list[Panel]:
    """The plots made for the workload; all tables of a workload that has none of its own."""
    study = STUDIES.get(workload)
    if study is None:
        return [panel for name, table in tables.items() for panel in table_panels(name, table)]
    return [panel for plot in study if (panel := _study_panel(plot, tables)) is not None]


def _study_panel(plot: StudyPlot, tables: dict[str, Table]) -> Panel | None:
    """None when the run has none of its tables, or these have no rows."""
    panel = None
    for name in plot.tables:
        table = tables.get(name)
        if table is None or not next(iter(table.values()))["values"]:
            continue
        axis, first = next(iter(table.items()))
        unit = table[plot.columns[0]]["unit"]
        panel = panel or Panel(plot.title, plot.about, axis, first["unit"], unit)
        keys = [key for key in _keys(table) if key not in plot.columns]
        prefix = (
            name.removesuffix("_regions").replace("_", " ") + " " if len(plot.tables) > 1 else ""
        )
        for column in plot.columns:
            lines = lines_of(table, axis, column, keys)
            panel.lines.extend(replace(line, name=prefix + line.name) for line in lines)
    return panel


def table_panels(name: str, table: Table) -> list[Panel]:
    """A plot for each unit among the table's measured columns; none for a table without rows."""
    (axis, first), *others = table.items()
    if not first["values"]:
        return []
    keys = _keys(table)
    panels: dict[str, Panel] = {}
    for column, part in others:
        if column in keys or column in REPEATS or _is_given(part, first, others):
            continue
        lines = lines_of(table, axis, column, keys)
        unit = part["unit"]
        title = name.replace("_", " ").capitalize()
        panel = panels.setdefault(unit, Panel(title, "", axis, first["unit"], unit))
        panel.lines.extend(lines)
    return list(panels.values())


def _keys(table: Table) -> list[str]:
    """The columns that tell series apart."""
    (_, first), *others = table.items()
    return [key for key, part in others if key not in REPEATS and _tells_apart(part, table, first)]


def lines_of(table: Table, axis: str, column: str, keys: Sequence[str]) -> list[Line]:
    """The series of a column, one for each combination of values of the keys."""
    grouped: dict[tuple[Any, ...], dict[Any, list[float]]] = {}
    for row in _rows(table):
        series = grouped.setdefault(tuple(row[key] for key in keys), {})
        series.setdefault(row[axis], []).append(row[column])
    return [
        Line(
            _series_name(column, table, dict(zip(keys, values, strict=True))),
            list(places),
            [statistics.median(found) for found in places.values()],
            [min(found) for found in places.values()],
            [max(found) for found in places.values()],
            is_fit=column == "fit",
        )
        for values, places in grouped.items()
    ]


def _rows(table: Table) -> Iterable[dict[str, Any]]:
    for values in zip(*(part["values"] for part in table.values()), strict=True):
        yield dict(zip(table, values, strict=True))


def _tells_apart(part: dict[str, Any], table: Table, first: dict[str, Any]) -> bool:
    """Whether rows of one place on the axis differ in this column, of a few values in all."""
    values = part["values"]
    if any(isinstance(value, str) for value in values):
        return True
    if part["unit"] and part["unit"] not in ("byte", "B"):
        return False
    places = len(set(first["values"]))
    pairs = len(set(zip(first["values"], values, strict=True)))
    return 1 < len(set(values)) <= MOST_SERIES and pairs > places and len(table) > 2


def _is_given(part: dict[str, Any], first: dict[str, Any], others: list[Any]) -> bool:
    """Whether a column was set and not measured: a count, or in the unit of the axis."""
    if part["unit"] == first["unit"] != "":
        return True
    return not part["unit"] and any(other["unit"] for _, other in others)


def _series_name(column: str, table: Table, values: dict[str, Any]) -> str:
    parts = [
        value if isinstance(value, str) else f"{key} {format_quantity(value, table[key]['unit'])}"
        for key, value in values.items()
    ]
    return ", ".join([column, *parts])


def panel_chart(panel: Panel) -> Chart:
    """Bars over names, lines with bands over numbers. A logarithmic axis leaves out zeros."""
    names = [value for line in panel.lines for value in line.x if isinstance(value, str)]
    chart = Chart(380, legend=True)
    if names:
        _add_bars(chart, panel, list(dict.fromkeys(names)))
        return chart
    for i, line in enumerate(panel.lines):
        _add_line(chart, line, curve_colour(i, len(panel.lines)))
    places = (value for line in panel.lines for value in line.x)
    is_size = panel.axis_unit in ("B", "byte")
    is_spread = bool(panel.axis_unit) and _wants_logarithms(places)
    chart.x(panel.axis_title, log=is_spread, bytes=is_size)
    is_log = _wants_logarithms(value for line in panel.lines for value in line.y)
    is_time = panel.unit == "s"
    title = "time" if is_time else panel.unit or "value"
    chart.y(title, log=is_log, zero=bool(panel.unit) and not is_log, seconds=is_time)
    return chart


def _add_bars(chart: Chart, panel: Panel, names: list[str]) -> None:
    """Adds the bars of each line; those of one name stand side by side."""
    width = 0.8 / len(panel.lines)
    for i, line in enumerate(panel.lines):
        at = [names.index(value) for value in line.x]
        ranges = {"low": line.low, "high": line.high} if line.has_range else {}
        chart.columns(
            line.name,
            [place + (i + 0.5) * width - 0.4 for place in at],
            line.y,
            curve_colour(i, len(panel.lines)),
            width=width,
            at=at,
            **ranges,
        )
    chart.x(panel.axis_title, names=names, grid=False)
    is_time = panel.unit == "s"
    chart.y("time" if is_time else panel.unit or "value", zero=True, seconds=is_time)


def _add_line(chart: Chart, line: Line, colour: str) -> None:
    ranges = {"low": line.low, "high": line.high} if line.has_range else {}
    few = len(line.x) <= 64 and not line.is_fit
    chart.line(line.name, line.x, line.y, colour, dashed=line.is_fit, points=few, **ranges)


def _wants_logarithms(values: Iterable[float]) -> bool:
    """Values that double from one to the next crowd at the low end of a linear axis."""
    found = [value for value in values if value != 0]
    return len(found) > 2 and min(found) > 0 and max(found) >= LOGARITHMIC_RATIO * min(found)
