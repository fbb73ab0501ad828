"""The figures of a traced run's report. Each function returns a Plot."""

from __future__ import annotations

from typing import Any

import numpy as np

from sesame.analysis.calls import CLASS_COLOURS
from sesame.analysis.plots import (
    MOST_DRAWN_CALLS,
    MOST_DRAWN_RANKS,
    ZOOM,
    Plot,
    rank_bars,
    timeline_chart,
)
from sesame.analysis.quantities import format_bytes, format_seconds
from sesame.analysis.study import Study
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
from sesame.web.chart import Chart, time_unit

MOST_ARROWS = 200
MOST_POINTS = 3000
RATE_COLUMNS = 300
OFFSET_CELLS = (300, 160)  # time, offset
READ_COLOUR, WRITE_COLOUR = STATE_COLOURS[READING], STATE_COLOURS[WRITING]


def timeline_plot(study: Study) -> Plot:
    run, found = study.run, calls_of(study.run)
    factor, unit = time_unit(run.seconds)
    few = len(found.rank) <= MOST_DRAWN_CALLS and run.ranks <= MOST_DRAWN_RANKS
    chart = timeline_chart(run.ranks, f"time ({unit})", run.seconds * factor)
    note = (_draw_calls if few else _draw_cells)(chart, run, found, factor)
    if study.waits is not None and len(study.waits.waiter):
        note += _draw_arrows(chart, run, study.waits, factor)
    return Plot(chart, f"{note} {ZOOM}")


def _draw_calls(chart: Chart, run: TracedRun, found: Calls, factor: float) -> str:
    scale = factor * 1e-9
    processes = run.processes
    begin, length = processes.begin - run.begin, processes.end - processes.begin
    chart.spans(
        STATE_NAMES[REST], processes.rank, begin * scale, length * scale, STATE_COLOURS[REST]
    )
    for state in range(1, len(STATE_NAMES)):
        chosen = np.flatnonzero(found.state == state)
        if len(chosen):
            chart.spans(
                STATE_NAMES[state],
                found.rank[chosen],
                found.begin[chosen] * scale,
                (found.end - found.begin)[chosen] * scale,
                STATE_COLOURS[state],
                texts=_hover_texts(run, found, chosen),
            )
    return "Every call of the application is a bar; calls made inside another one are left out."


def _hover_texts(run: TracedRun, found: Calls, chosen: Any) -> list[str]:
    return [
        f"{found.name[found.call[i]]}, {format_seconds((found.end[i] - found.begin[i]) * 1e-9)}, "
        f"{format_bytes(int(found.bytes[i]))}"
        + (f"\n{run.files.path[found.file[i]]}" if found.file[i] >= 0 else "")
        for i in chosen.tolist()
    ]


def _draw_cells(chart: Chart, run: TracedRun, found: Calls, factor: float) -> str:
    cells = bin_calls(run, found)
    classes = list(zip(STATE_NAMES, STATE_COLOURS, strict=True))
    chart.classes(cells.states, (0, cells.cell_s * factor), (-0.5, cells.ranks_per_row), classes)
    who = "one rank" if cells.ranks_per_row == 1 else f"{cells.ranks_per_row} ranks"
    return (
        f"{cells.records:,} calls are drawn in cells of {who} and {format_seconds(cells.cell_s)}; "
        f"a cell shows what most of its calls were when they take {100 * VISIBLE:.0f} % of it "
        "or more."
    )


def _draw_arrows(chart: Chart, run: TracedRun, waits: Waits, factor: float) -> str:
    """Adds arrows from the late call to the end of the wait for it; returns a note."""
    top = waits.longest(MOST_ARROWS)
    scale = factor * 1e-9
    start = (run.mpi.begin[waits.cause[top]] - run.begin) * scale
    end = (run.mpi.end[waits.record[top]] - run.begin) * scale
    chart.links(
        "who was waited for",
        start,
        waits.culprit[top],
        end,
        waits.waiter[top],
        "ink",
        arrows=True,
        hidden=len(top) > MOST_DRAWN_RANKS,
    )
    kept = f"the {len(top):,} longest of " if len(waits.waiter) > len(top) else ""
    return (
        f" Arrows, which the legend shows and hides, lead from a call that was late to the end of "
        f"the wait for it: {kept}{len(waits.waiter):,} waits."
    )


def rate_plot(study: Study) -> Plot:
    run = study.run
    factor, unit = time_unit(run.seconds)
    chart = Chart(280, legend=True)
    for name, kind, colour in (("read", READ, READ_COLOUR), ("write", WRITE, WRITE_COLOUR)):
        rate, cell = rate_over_time(run, kind, RATE_COLUMNS)
        if rate.any():
            begins = np.arange(len(rate) + 1) * cell * factor
            values = np.append(rate, rate[-1])
            chart.line(name, begins, values, colour, stepped=True, filled=True, width=1.4)
    chart.x(f"time ({unit})", range=[0, run.seconds * factor])
    chart.y("bytes per second (B/s)", zero=True)
    return Plot(chart, f"All ranks together, in steps of {format_seconds(cell)}.")


def rank_plot(study: Study) -> Plot:
    """I/O, MPI and the rest of every rank, stacked."""
    activity = study.activity
    factor, unit = time_unit(float(activity.span.max(initial=0)))
    layers = [
        ("I/O", activity.io * factor, WRITE_COLOUR),
        ("MPI", activity.mpi * factor, CLASS_COLOURS[1]),
        ("rest", activity.rest * factor, STATE_COLOURS[REST]),
    ]
    return rank_bars(layers, f"time ({unit})")


def size_plot(totals: Totals) -> Plot:
    """How many requests there are of each size."""
    chart = Chart(300, legend=True)
    places = np.arange(len(SIZE_NAMES))
    for side, (word, colour) in enumerate((("read", READ_COLOUR), ("write", WRITE_COLOUR))):
        counts = [totals.sum(name) for name in sizes(word)]
        if any(counts):
            at = places + 0.2 * (2 * side - 1)
            chart.columns(f"{word}s", at, counts, colour, width=0.4, at=places)
    chart.x("size of request", names=list(SIZE_NAMES), grid=False)
    chart.y("requests", zero=True)
    return Plot(chart)


def offset_plot(run: TracedRun, file: int) -> Plot:
    """The offsets of requests to a file over time."""
    io = run.io
    chosen = (io.file == file) & (io.offset >= 0) & ((io.kind == READ) | (io.kind == WRITE))
    own = chosen & io.own
    io = io.where(own if own.any() else chosen)
    factor, unit = time_unit(run.seconds)
    chart = Chart(300, legend=True)
    x = (io.begin - run.begin) * 1e-9 * factor
    draw = _draw_points if len(io) <= MOST_POINTS else _draw_density
    draw(chart, x, io.offset, io.kind, io.rank, run.seconds * factor)
    chart.x(f"time ({unit})", range=[0, run.seconds * factor])
    chart.y("offset (B)", zero=True)
    cells = f" {len(io):,} requests are drawn in cells." if len(io) > MOST_POINTS else ""
    return Plot(chart, f"Each point is the beginning of a request.{cells}")


def _draw_points(chart: Chart, x: Any, offset: Any, kind: Any, rank: Any, _length: float) -> None:
    for name, of, colour in (("read", READ, READ_COLOUR), ("write", WRITE, WRITE_COLOUR)):
        one = kind == of
        if one.any():
            texts = [f"rank {number}" for number in rank[one].tolist()]
            chart.points(name, x[one], offset[one], colour, size=4, texts=texts)


def _draw_density(chart: Chart, x: Any, offset: Any, kind: Any, _rank: Any, length: float) -> None:
    """Draws cells with one colour scale for each direction; the more requests, the stronger."""
    columns, rows = OFFSET_CELLS
    width, height = max(length / columns, 1e-300), max(int(offset.max()) / rows, 1.0)
    column = np.minimum((x / width).astype(np.int64), columns - 1)
    place = np.minimum((offset / height).astype(np.int64), rows - 1) * columns + column
    for name, of, colour in (("read", READ, READ_COLOUR), ("write", WRITE, WRITE_COLOUR)):
        one = kind == of
        if not one.any():
            continue
        count = np.bincount(place[one], minlength=rows * columns).reshape(rows, columns)
        shade = np.where(count > 0, np.log10(np.maximum(count, 1)) + 0.5, np.nan)
        chart.amounts(
            shade.astype(np.float32),
            (0, width),
            (0, height),
            name=name,
            colour=colour,
            counts=count.astype(np.int32).ravel(),
            unit="requests",
        )
