"""The figures of a report. Each takes a data set and gives a plotly figure and a note."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from sesame.analysis.calls import (
    CLASS_COLOURS,
    CLASS_NAMES,
    COMPUTE,
    FILE_ACCESS,
    IO_COLOUR,
    call_class,
)
from sesame.analysis.quantities import format_bytes, format_seconds, format_size
from sesame.analysis.timeline import OVER, bin_timeline, own_file_calls, rank_spans
from sesame.datasets import DataSet

# As much as a browser draws with ease.
MOST_DRAWN_CALLS = 6_000
MOST_DRAWN_MESSAGES = 1_500
MOST_DRAWN_RANKS = 64
MOST_BARS = 256
MOST_MATRIX_CELLS = 256

LAYOUT: dict[str, Any] = {
    "font": {"family": "system-ui, sans-serif", "size": 13, "color": "#1d2733"},
    "margin": {"l": 70, "r": 20, "t": 20, "b": 50},
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "#ffffff",
    "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
    "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "#b4bec8", "activecolor": "#5b6b7b"},
    "hoverlabel": {"font": {"family": "system-ui, sans-serif"}},
}
CONFIG = {
    "displaylogo": False,
    "responsive": True,
    # One of them would send the data away.
    "modeBarButtonsToRemove": ["sendChartToCloud", "select2d", "lasso2d"],
}
GRID = {"gridcolor": "#e8ecf0", "zeroline": False}


@dataclass(frozen=True)
class Plot:
    figure: go.Figure
    note: str = ""  # what was left out or added up


def new_figure(height: int, **layout: Any) -> go.Figure:
    figure = go.Figure()
    figure.update_layout(**{**LAYOUT, "height": height, **layout})
    figure.update_xaxes(**GRID)
    figure.update_yaxes(**GRID)
    return figure


def time_unit(seconds: float) -> tuple[float, str]:
    """(factor to multiply seconds with, unit) for an axis that ends at `seconds`."""
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return factor, unit
    return 1e6, "µs"


def timeline_plot(data_set: DataSet) -> Plot:
    ranks = int(data_set.info["ranks"])
    calls = sum(
        data_set.record_types[name]["rows"] for name in ("call", "io") if data_set.has(name)
    )
    if calls <= MOST_DRAWN_CALLS and ranks <= MOST_DRAWN_RANKS:
        return _drawn_timeline(data_set)
    return _binned_timeline(data_set)


def _end_s(data_set: DataSet) -> float:
    return float(data_set.table("rank", ["end_s"]).column("end_s").to_numpy().max())


def _timeline_figure(ranks: int, rows: int) -> go.Figure:
    figure = new_figure(max(220, min(620, 90 + 22 * rows)), barmode="overlay", bargap=0.25)
    figure.update_yaxes(title="rank", autorange="reversed", showgrid=False)
    if ranks <= MOST_DRAWN_RANKS // 2:
        figure.update_yaxes(dtick=1)
    return figure


def _legend_entry(figure: go.Figure, kind: int) -> None:
    """A square in the legend for a class that is drawn without a trace of its own."""
    marker = {"symbol": "square", "size": 12, "color": CLASS_COLOURS[kind]}
    figure.add_scatter(
        x=[None], y=[None], mode="markers", marker=marker, name=CLASS_NAMES[kind], showlegend=True
    )


def _drawn_timeline(data_set: DataSet) -> Plot:
    """Every call as a bar; messages as lines where there are few."""
    factor, unit = time_unit(_end_s(data_set))
    scale = factor * 1e-12
    begin_s, end_s = rank_spans(data_set)
    figure = _timeline_figure(len(end_s), len(end_s))
    figure.add_bar(
        orientation="h",
        base=begin_s * factor,
        x=(end_s - begin_s) * factor,
        y=np.arange(len(end_s)),
        marker={"color": CLASS_COLOURS[COMPUTE], "line": {"width": 0}},
        name=CLASS_NAMES[COMPUTE],
        hoverinfo="skip",
    )
    arrays, kinds = _calls_to_draw(data_set)
    for kind in range(1, len(CLASS_NAMES)):
        chosen = kinds == kind
        if chosen.any():
            _add_calls(figure, {k: v[chosen] for k, v in arrays.items()}, kind, scale, unit)
    note = "Drag to zoom, double-click to see the whole."
    if data_set.has("message"):
        note += _add_messages(figure, data_set, scale)
    figure.update_xaxes(title=f"simulated time ({unit})")
    return Plot(figure, note)


def _calls_to_draw(data_set: DataSet) -> tuple[dict[str, Any], Any]:
    """Calls of MPI and the program's own calls on files: columns, and the class of each."""
    columns = ["rank", "call", "begin_ps", "end_ps", "bytes", "peer"]
    table = data_set.table("call", columns).to_pydict()
    arrays = {name: np.array(values) for name, values in table.items()}
    kinds = np.array([call_class(name) for name in table["call"]], np.int64)
    files = own_file_calls(data_set)
    if files is None:
        return arrays, kinds
    files["peer"] = np.full(len(files["rank"]), -1)
    kinds = np.concatenate([kinds, np.full(len(files["rank"]), FILE_ACCESS)])
    return {name: np.concatenate([arrays[name], files[name]]) for name in columns}, kinds


def _add_calls(
    figure: go.Figure, calls: dict[str, Any], kind: int, scale: float, unit: str
) -> None:
    duration = calls["end_ps"] - calls["begin_ps"]
    texts = [
        f"{name}, {format_seconds(time * 1e-12)}, {format_bytes(size)}"
        + (f", rank {peer}" if peer >= 0 else "")
        for name, time, size, peer in zip(
            calls["call"], duration, calls["bytes"], calls["peer"], strict=True
        )
    ]
    figure.add_bar(
        orientation="h",
        base=calls["begin_ps"] * scale,
        x=duration * scale,
        y=calls["rank"],
        marker={"color": CLASS_COLOURS[kind], "line": {"width": 0}},
        name=CLASS_NAMES[kind],
        text=texts,
        textposition="none",
        hovertemplate=f"rank %{{y}} at %{{base:.6g}} {unit}<br>%{{text}}<extra></extra>",
    )


def _add_messages(figure: go.Figure, data_set: DataSet, scale: float) -> str:
    if data_set.record_types["message"]["rows"] > MOST_DRAWN_MESSAGES:
        return " Messages are not drawn: there are too many."
    columns = ["source", "destination", "send_ps", "receive_complete_ps"]
    table = data_set.table("message", columns).to_pydict()
    x: list[float | None] = []
    y: list[int | None] = []
    for source, to, send, received in zip(*table.values(), strict=True):
        x += [send * scale, received * scale, None]
        y += [source, to, None]
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines",
        line={"color": "#1d2733", "width": 0.7},
        opacity=0.6,
        hoverinfo="skip",
        name="messages",
    )
    return ""


def _binned_timeline(data_set: DataSet) -> Plot:
    timeline = bin_timeline(data_set)
    rows, columns = timeline.states.shape
    factor, unit = time_unit(_end_s(data_set))
    figure = _timeline_figure(int(data_set.info["ranks"]), rows)
    # A class is a step of the colour scale, below them white for ranks that have ended.
    colours = ("#ffffff", *CLASS_COLOURS)
    scale = [
        [(step + side) / len(colours), colour]
        for step, colour in enumerate(colours)
        for side in (0, 1)
    ]
    figure.add_heatmap(
        z=timeline.states,
        x=(np.arange(columns) + 0.5) * timeline.cell_s * factor,
        y=(np.arange(rows) + 0.5) * timeline.ranks_per_row - 0.5,
        zmin=OVER - 0.5,
        zmax=len(CLASS_COLOURS) - 0.5,
        colorscale=scale,
        showscale=False,
        hovertemplate=f"rank %{{y:.0f}} at %{{x:.6g}} {unit}<extra></extra>",
    )
    for kind in range(len(CLASS_COLOURS)):
        if (timeline.states == kind).any():
            _legend_entry(figure, kind)
    figure.update_xaxes(title=f"simulated time ({unit})", showgrid=False)
    return Plot(figure, _binned_note(timeline.records, timeline.ranks_per_row, timeline.cell_s))


def _binned_note(records: int, ranks_per_row: int, cell_s: float) -> str:
    who = "one rank" if ranks_per_row == 1 else f"{ranks_per_row} ranks"
    return (
        f"{records:,} calls are drawn in cells of {who} and {format_seconds(cell_s)}; a cell shows "
        "what most of it went into."
    )


def rank_plot(data_set: DataSet) -> Plot:
    """Computation, communication, waiting and I/O of every rank, stacked."""
    table = data_set.table("rank")
    ranks = table.num_rows
    per_bar = -(-ranks // MOST_BARS)
    longest = float(table.column("end_s").to_numpy().max())
    factor, unit = time_unit(longest)
    figure = new_figure(320, barmode="stack", bargap=0.15 if ranks <= 64 else 0)
    starts = np.arange(0, ranks, per_bar)
    counts = np.diff(np.append(starts, ranks))
    for name, key, colour in (
        ("computation", "compute_s", CLASS_COLOURS[0]),
        ("communication", "communication_s", CLASS_COLOURS[1]),
        ("waiting", "wait_s", CLASS_COLOURS[2]),
        ("file systems", "io_s", IO_COLOUR),
    ):
        if key not in table.column_names:  # recorded before file systems were simulated
            continue
        mean = np.add.reduceat(table.column(key).to_numpy(), starts) / counts
        figure.add_bar(
            x=starts,
            y=mean * factor,
            width=None if per_bar == 1 else float(per_bar),
            name=name,
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate=f"rank %{{x}}: %{{y:.4g}} {unit} {name}<extra></extra>",
        )
    figure.update_xaxes(title="rank", showgrid=False)
    figure.update_yaxes(title=f"simulated time ({unit})")
    if ranks <= MOST_DRAWN_RANKS // 2:
        figure.update_xaxes(dtick=1)
    note = "" if per_bar == 1 else f"Each bar is the mean of {per_bar} ranks."
    return Plot(figure, note)


def call_plot(data_set: DataSet, most: int = 20) -> Plot:
    """Time in each MPI function that took any, over all ranks."""
    rows = sorted(data_set.table("call_total").to_pylist(), key=lambda row: -row["time_s"])
    shown = [row for row in rows[:most] if row["time_s"] > 0][::-1]
    factor, unit = time_unit(max((row["time_s"] for row in shown), default=0.0))
    figure = new_figure(max(180, 80 + 26 * len(shown)), margin={**LAYOUT["margin"], "l": 170})
    figure.add_bar(
        orientation="h",
        x=[row["time_s"] * factor for row in shown],
        y=[row["name"] for row in shown],
        marker={"color": [CLASS_COLOURS[call_class(row["name"])] for row in shown]},
        text=[f"{row['count']:,} calls" for row in shown],
        textposition="auto",
        hovertemplate=f"%{{y}}: %{{x:.4g}} {unit}, %{{text}}<extra></extra>",
    )
    figure.update_xaxes(title=f"simulated time over all ranks ({unit})")
    figure.update_yaxes(showgrid=False, ticksuffix="  ")
    return Plot(figure, _functions_left_out(rows, shown))


def _functions_left_out(rows: list[dict[str, Any]], shown: list[dict[str, Any]]) -> str:
    idle = sum(row["time_s"] == 0 for row in rows)
    less = len(rows) - len(shown) - idle
    parts = [f"{less} with less time"] if less else []
    parts += [f"{idle} that took no time"] if idle else []
    return f"Functions not shown: {' and '.join(parts)}." if parts else ""


def matrix_plot(data_set: DataSet) -> Plot:
    """Bytes from each rank to each other."""
    table = data_set.table("pair")
    ranks = int(data_set.info["ranks"])
    per_cell = -(-ranks // MOST_MATRIX_CELLS)
    cells = -(-ranks // per_cell)
    position = (
        table.column("source").to_numpy().astype(np.int64) // per_cell * cells
        + table.column("destination").to_numpy() // per_cell
    )
    size = np.bincount(position, table.column("bytes").to_numpy(), cells * cells)
    count = np.bincount(position, table.column("messages").to_numpy(), cells * cells)
    size, count = size.reshape(cells, cells), count.reshape(cells, cells)
    shown = np.where(count > 0, size, np.nan).astype(np.float32)
    figure = new_figure(560, width=680, margin={**LAYOUT["margin"], "r": 90})
    axis = np.arange(cells) * per_cell
    figure.add_heatmap(
        z=shown,
        x=axis,
        y=axis,
        customdata=count.astype(np.float32),
        zmin=0,
        zmax=float(size.max()),
        colorscale="Viridis",
        reversescale=True,
        colorbar={"title": {"text": "bytes"}, "exponentformat": "SI"},
        hovertemplate="rank %{y} to rank %{x}<br>%{z:,} bytes in %{customdata:,} messages"
        "<extra></extra>",
    )
    figure.update_xaxes(title="to rank", showgrid=False, constrain="domain")
    figure.update_yaxes(title="from rank", showgrid=False, autorange="reversed", scaleanchor="x")
    if ranks <= MOST_DRAWN_RANKS // 4:
        figure.update_xaxes(dtick=1)
        figure.update_yaxes(dtick=1)
    note = "" if per_cell == 1 else f"Each cell adds up {per_cell} × {per_cell} ranks."
    return Plot(figure, note)


def size_plot(data_set: DataSet) -> Plot:
    """How many messages there are of each size."""
    rows = sorted(data_set.table("message_size").to_pylist(), key=lambda r: r["at_least_bytes"])
    labels = [_size_label(row["at_least_bytes"]) for row in rows]
    figure = new_figure(300, bargap=0.1)
    figure.add_bar(
        width=None if len(labels) > 3 else 0.3,
        x=labels,
        y=[row["count"] for row in rows],
        marker={"color": CLASS_COLOURS[1]},
        customdata=[format_bytes(row["bytes"]) for row in rows],
        hovertemplate="%{x}: %{y:,} messages, %{customdata} together<extra></extra>",
    )
    figure.update_xaxes(title="size of message", type="category", showgrid=False)
    figure.update_yaxes(title="messages", exponentformat="SI")
    return Plot(figure)


def _size_label(low: int) -> str:
    if low <= 1:
        return ("0 B", "1 B")[low]
    return (
        f"{format_size(low)} to {format_size(2 * low - 1)}"
        if low < 1024
        else f"from {format_size(low)}"
    )
