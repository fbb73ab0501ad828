"""A workload's tables, drawn: one page of HTML with a plot for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from sesame.analysis.curve import COLOURS
from sesame.analysis.plots import CONFIG, GRID, LAYOUT
from sesame.errors import OutputError

Table = dict[str, dict[str, Any]]  # columns by name: unit, values


def table_figure(name: str, table: Table) -> go.Figure:
    """The first column is the axis; bars when it holds names, else lines."""
    (axis, first), *others = table.items()
    figure = go.Figure()
    figure.update_layout(**{**LAYOUT, "height": 420, "margin": {**LAYOUT["margin"], "t": 60}})
    figure.update_layout(title=name)
    named = any(isinstance(value, str) for value in first["values"])
    for i, (column, part) in enumerate(others):
        colour = COLOURS[i % len(COLOURS)]
        points = {"x": first["values"], "y": part["values"], "name": _title(column, part["unit"])}
        if named:
            figure.add_bar(**points, marker={"color": colour})
        else:
            figure.add_scatter(**points, mode="lines+markers", line={"color": colour})
    figure.update_xaxes(title=_title(axis, first["unit"]), **GRID)
    units = {part["unit"] for _, part in others}
    figure.update_yaxes(title=units.pop() if len(units) == 1 else "", **GRID)
    if not named and _wants_logarithms(first["values"]):
        figure.update_xaxes(type="log")
    figure.update_layout(showlegend=True)
    return figure


def _wants_logarithms(values: list[float]) -> bool:
    """Sizes that double from one to the next crowd at the left of a linear axis."""
    return len(values) > 2 and min(values) > 0 and max(values) >= 1000 * min(values)


def _title(column: str, unit: str) -> str:
    return f"{column}, {unit}" if unit else column


def write_plots(tables: dict[str, Table], path: Path) -> None:
    """All plots on one page that needs nothing else and no network."""
    parts = [
        table_figure(name, table).to_html(full_html=False, include_plotlyjs=i == 0, config=CONFIG)
        for i, (name, table) in enumerate(tables.items())
    ]
    text = '<!doctype html>\n<html><head><meta charset="utf-8"></head><body>\n'
    try:
        path.write_text(text + "\n".join(parts) + "\n</body></html>\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {error.strerror}") from error
