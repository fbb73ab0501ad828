"""The figures of a traced run's report. Each gives a chart and a note."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sesame.analysis.calls import CLASS_COLOURS
from sesame.analysis.chart import Chart
from sesame.analysis.plots import (
    MOST_BARS,
    MOST_DRAWN_CALLS,
    MOST_DRAWN_RANKS,
    time_unit,
)
from sesame.analysis.quantities import format_bytes, format_seconds
from sesame.analysis.study import Study
from sesame.analysis.timeline import OVER
from sesame.analysis.traced.load import TracedRun
from sesame.analysis.traced.patterns import SIZE_NAMES
from sesame.analysis.traced.timeline import (
    READING,
    REST,
    STATE_COLOURS,
    STATE_NAMES,
    VISIBLE,
    WRITING,
    Calls,
    bin_calls,
    calls_of,
    rate_over_time,
)
from sesame.analysis.traced.totals import Totals, sizes
from sesame.analysis.traced.waits import Waits
from sesame.traced.io_calls import READ, WRITE

MOST_ARROWS = 200
MOST_POINTS = 3000
RATE_COLUMNS = 300
OFFSET_CELLS = (300, 160)  # time, offset
READ_COLOUR, WRITE_COLOUR = STATE_COLOURS[READING], STATE_COLOURS[WRITING]


@dataclass(frozen=True)
class Plot:
    chart: Chart
    note: str = ""  # what was left out or added up


def timeline_plot(study: Study) -> Plot:
    run, found = study.run, calls_of(study.run)
    factor, unit = time_unit(run.seconds)
    few = len(found.rank) <= MOST_DRAWN_CALLS and run.ranks <= MOST_DRAWN_RANKS
    chart = Chart(max(240, min(620, 110 + 22 * run.ranks)), barmode="overlay", bargap=0.25)
    chart.x(f"time ({unit})", range=[0, run.seconds * factor], showgrid=few)
    chart.y("rank", autorange="reversed", showgrid=False)
    _tick_each_rank(chart, "yaxis", run.ranks)
    note = (_draw_calls if few else _draw_cells)(chart, run, found, factor, unit)
    if study.waits is not None and len(study.waits.waiter):
        note += _draw_arrows(chart, run, study.waits, factor)
    return Plot(chart, note + " Drag to zoom, double-click to see the whole.")


def _tick_each_rank(chart: Chart, axis: str, ranks: int) -> None:
    if ranks <= MOST_DRAWN_RANKS // 2:
        chart.layout[axis]["dtick"] = 1


def _draw_calls(chart: Chart, run: TracedRun, found: Calls, factor: float, unit: str) -> str:
    scale = factor * 1e-9
    processes = run.processes
    _add_bars(
        chart,
        REST,
        (processes.begin - run.begin) * scale,
        (processes.end - processes.begin) * scale,
        processes.rank,
        hoverinfo="skip",
    )
    for state in range(1, len(STATE_NAMES)):
        chosen = np.flatnonzero(found.state == state)
        if len(chosen):
            _add_bars(
                chart,
                state,
                found.begin[chosen] * scale,
                (found.end - found.begin)[chosen] * scale,
                found.rank[chosen],
                text=_hover_texts(run, found, chosen),
                textposition="none",
                hovertemplate=f"rank %{{y}} at %{{base:.6g}} {unit}<br>%{{text}}<extra></extra>",
            )
    return "Every call of the application is a bar; calls made inside another one are left out."


def _hover_texts(run: TracedRun, found: Calls, chosen: Any) -> list[str]:
    return [
        f"{found.name[found.call[i]]}, {format_seconds((found.end[i] - found.begin[i]) * 1e-9)}, "
        f"{format_bytes(int(found.bytes[i]))}"
        + (f"<br>{run.files.path[found.file[i]]}" if found.file[i] >= 0 else "")
        for i in chosen.tolist()
    ]


def _add_bars(chart: Chart, state: int, base: Any, x: Any, y: Any, **more: Any) -> None:
    marker = {"color": STATE_COLOURS[state], "line": {"width": 0}}
    chart.add(
        "bar", orientation="h", base=base, x=x, y=y, marker=marker, name=STATE_NAMES[state], **more
    )


def _draw_cells(chart: Chart, run: TracedRun, found: Calls, factor: float, unit: str) -> str:
    cells = bin_calls(run, found)
    # A state is a step of the colour scale, below them nothing for ranks that have ended.
    colours = ("rgba(0,0,0,0)", *STATE_COLOURS)
    scale = [
        [(step + side) / len(colours), colour]
        for step, colour in enumerate(colours)
        for side in (0, 1)
    ]
    chart.add(
        "heatmap",
        z=cells.states,
        x0=cells.cell_s * factor / 2,
        dx=cells.cell_s * factor,
        y0=cells.ranks_per_row / 2 - 0.5,
        dy=cells.ranks_per_row,
        zmin=OVER - 0.5,
        zmax=len(STATE_COLOURS) - 0.5,
        colorscale=scale,
        showscale=False,
        hovertemplate=f"rank %{{y:.0f}} at %{{x:.6g}} {unit}<extra></extra>",
    )
    for state in np.unique(cells.states):
        if state != OVER:
            chart.legend_square(STATE_NAMES[state], STATE_COLOURS[state])
    chart.layout["showlegend"] = True
    who = "one rank" if cells.ranks_per_row == 1 else f"{cells.ranks_per_row} ranks"
    return (
        f"{cells.records:,} calls are drawn in cells of {who} and {format_seconds(cells.cell_s)}; "
        f"a cell shows what most of its calls were when they take {100 * VISIBLE:.0f} % of it "
        "or more."
    )


def _draw_arrows(chart: Chart, run: TracedRun, waits: Waits, factor: float) -> str:
    """From the call that was late to the end of the wait for it."""
    top = waits.longest(MOST_ARROWS)
    scale = factor * 1e-9
    start = (run.mpi.begin[waits.cause[top]] - run.begin) * scale
    end = (run.mpi.end[waits.record[top]] - run.begin) * scale
    gap = np.full(len(top), np.nan)
    x = np.stack([start, end, gap], axis=1).ravel()
    y = np.stack([waits.culprit[top], waits.waiter[top], gap], axis=1).ravel()
    chart.add(
        "scatter",
        x=x,
        y=y,
        mode="lines+markers",
        line={"color": "#7a8896", "width": 1},
        marker={"symbol": "arrow", "angleref": "previous", "size": np.tile([0, 8, 0], len(top))},
        opacity=0.8,
        hoverinfo="skip",
        name="who was waited for",
        visible=True if len(top) <= MOST_DRAWN_RANKS else "legendonly",
    )
    kept = f"the {len(top):,} longest of " if len(waits.waiter) > len(top) else ""
    return (
        f" Arrows, which the legend shows and hides, lead from a call that was late to the end of "
        f"the wait for it: {kept}{len(waits.waiter):,} waits."
    )


def rate_plot(study: Study) -> Plot:
    run = study.run
    factor, unit = time_unit(run.seconds)
    chart = Chart(280)
    for name, kind, colour in (("read", READ, READ_COLOUR), ("write", WRITE, WRITE_COLOUR)):
        rate, cell = rate_over_time(run, kind, RATE_COLUMNS)
        if rate.any():
            x0 = cell * factor / 2
            line = {"color": colour, "width": 1.5, "shape": "hvh"}
            chart.add(
                "scatter",
                x0=x0,
                dx=cell * factor,
                y=rate,
                name=name,
                line=line,
                fill="tozeroy",
                mode="lines",
            )
    chart.layout["showlegend"] = True
    chart.x(f"time ({unit})", range=[0, run.seconds * factor])
    chart.y("B/s", exponentformat="SI", rangemode="tozero")
    return Plot(chart, f"All ranks together, in steps of {format_seconds(cell)}.")


def rank_plot(study: Study) -> Plot:
    """I/O, MPI and the rest of every rank, stacked."""
    activity = study.activity
    ranks = len(activity.span)
    per_bar = -(-ranks // MOST_BARS)
    factor, unit = time_unit(float(activity.span.max(initial=0)))
    chart = Chart(300, barmode="stack", bargap=0.15 if ranks <= 64 else 0)
    starts = np.arange(0, ranks, per_bar)
    counts = np.diff(np.append(starts, ranks))
    parts = (("I/O", activity.io, WRITE_COLOUR), ("MPI", activity.mpi, CLASS_COLOURS[1]))
    for name, values, colour in (*parts, ("rest", activity.rest, STATE_COLOURS[REST])):
        chart.add(
            "bar",
            x=starts,
            y=np.add.reduceat(values, starts) / counts * factor,
            width=None if per_bar == 1 else float(per_bar),
            offset=None if per_bar == 1 else -0.5,
            name=name,
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate=f"rank %{{x}}: %{{y:.4g}} {unit} {name}<extra></extra>",
        )
    chart.x("rank", showgrid=False)
    chart.y(
        f"time ({unit})",
    )
    _tick_each_rank(chart, "xaxis", ranks)
    return Plot(chart, "" if per_bar == 1 else f"Each bar is the mean of {per_bar} ranks.")


def size_plot(totals: Totals) -> Plot:
    """How many requests there are of each size."""
    chart = Chart(300, bargap=0.2)
    for word, colour in (("read", READ_COLOUR), ("write", WRITE_COLOUR)):
        counts = [totals.sum(name) for name in sizes(word)]
        if any(counts):
            chart.add(
                "bar",
                x=list(SIZE_NAMES),
                y=counts,
                name=f"{word}s",
                marker={"color": colour},
                hovertemplate="%{x}: %{y:,} %{fullData.name}<extra></extra>",
            )
    chart.layout["showlegend"] = True
    chart.x("size of request", type="category", showgrid=False)
    chart.y("requests", exponentformat="SI")
    return Plot(chart)


def offset_plot(run: TracedRun, file: int) -> Plot:
    """Where in a file requests lie over time."""
    io = run.io
    chosen = (io.file == file) & (io.offset >= 0) & ((io.kind == READ) | (io.kind == WRITE))
    own = chosen & io.own
    io = io.where(own if own.any() else chosen)
    factor, unit = time_unit(run.seconds)
    chart = Chart(300)
    x = (io.begin - run.begin) * 1e-9 * factor
    draw = _draw_points if len(io) <= MOST_POINTS else _draw_density
    draw(chart, x, io.offset, io.kind, io.rank, run.seconds * factor)
    chart.layout["showlegend"] = True
    chart.x(f"time ({unit})", range=[0, run.seconds * factor])
    chart.y("offset (B)", exponentformat="SI", rangemode="tozero")
    cells = f" {len(io):,} requests are drawn in cells." if len(io) > MOST_POINTS else ""
    return Plot(chart, f"Each point is the beginning of a request.{cells}")


def _draw_points(chart: Chart, x: Any, offset: Any, kind: Any, rank: Any, _length: float) -> None:
    for name, of, colour in (("read", READ, READ_COLOUR), ("write", WRITE, WRITE_COLOUR)):
        one = kind == of
        if one.any():
            chart.add(
                "scatter",
                x=x[one],
                y=offset[one],
                customdata=rank[one],
                mode="markers",
                marker={"color": colour, "size": 4},
                name=name,
                hovertemplate="rank %{customdata}, offset %{y:,}<extra></extra>",
            )


def _draw_density(chart: Chart, x: Any, offset: Any, kind: Any, _rank: Any, length: float) -> None:
    """One colour scale for each direction: a cell is the stronger the more requests it has."""
    columns, rows = OFFSET_CELLS
    width, height = max(length / columns, 1e-300), max(int(offset.max()) / rows, 1.0)
    column = np.minimum((x / width).astype(np.int64), columns - 1)
    place = np.minimum((offset / height).astype(np.int64), rows - 1) * columns + column
    for name, of, colour in (("read", READ, READ_COLOUR), ("write", WRITE, WRITE_COLOUR)):
        one = kind == of
        if not one.any():
            continue
        count = np.bincount(place[one], minlength=rows * columns).reshape(rows, columns)
        chart.add(
            "heatmap",
            z=np.where(count > 0, np.log10(np.maximum(count, 1)) + 0.5, np.nan).astype(np.float32),
            x0=width / 2,
            dx=width,
            y0=height / 2,
            dy=height,
            zmin=0,
            colorscale=[[0, colour + "33"], [1, colour]],
            showscale=False,
            hoverinfo="skip",
        )
        chart.legend_square(name, colour)
