"""The figures of a simulated run's report. Each function takes a data set and returns a Plot."""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np

from sesame.analysis.calls import (
    CLASS_COLOURS,
    CLASS_NAMES,
    COMPUTE,
    FILE_ACCESS,
    IO_COLOUR,
    call_class,
)
from sesame.analysis.quantities import format_bytes, format_seconds, format_size
from sesame.analysis.timeline import bin_timeline, own_file_calls, rank_spans
from sesame.datasets import DataSet
from sesame.web.chart import Chart, stacked, time_unit
from sesame.web.page import Section, report_page

# Limits that keep pages small and fast.
MOST_DRAWN_CALLS = 6_000
MOST_DRAWN_MESSAGES = 1_500
MOST_SHOWN_MESSAGES = 400  # more would cover the calls: they are hidden until the legend shows them
MOST_DRAWN_RANKS = 64
MOST_BARS = 256
MOST_MATRIX_CELLS = 256
WAITING = (
    "Waiting is time in MPI calls with nothing to do: another rank is late, or a message is in "
    "flight (latency, transfer)."
)
ZOOM = "Drag to zoom, double-click to see the whole."


@dataclass(frozen=True)
class Plot:
    """A chart with a note on what it leaves out or adds up. Notebooks show it."""

    chart: Chart
    note: str = ""

    def _repr_html_(self) -> str:
        page = report_page(title="", sections=[Section("", "", self._html(), self.note)])
        height = int(self.chart.settings["height"]) + 220
        return (
            f'<iframe srcdoc="{escape(page)}" width="100%" height="{height}" '
            'style="border:0"></iframe>'
        )

    def _html(self) -> str:
        return self.chart.html(str(self.chart.axes["y"].get("title", "")))


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


def timeline_chart(rows: int, title: str, end: float) -> Chart:
    """Ranks from top to bottom over time; `end` in the unit that the title names."""
    chart = Chart(max(220, min(620, 90 + 22 * rows)), zoomY=True)
    chart.x(title, range=[0, end or 1.0])
    chart.y("rank", reversed=True, whole=True, grid=False)
    return chart


def _drawn_timeline(data_set: DataSet) -> Plot:
    """The time line with every call as a bar, and messages as lines if they are few."""
    factor, unit = time_unit(_end_s(data_set))
    scale = factor * 1e-12
    begin_s, end_s = rank_spans(data_set)
    chart = timeline_chart(len(end_s), f"simulated time ({unit})", float(end_s.max()) * factor)
    chart.spans(
        CLASS_NAMES[COMPUTE],
        np.arange(len(end_s)),
        begin_s * factor,
        (end_s - begin_s) * factor,
        CLASS_COLOURS[COMPUTE],
    )
    arrays, kinds = _calls_to_draw(data_set)
    for kind in range(1, len(CLASS_NAMES)):
        chosen = kinds == kind
        if chosen.any():
            _add_calls(chart, {k: v[chosen] for k, v in arrays.items()}, kind, scale)
    note = ZOOM
    if data_set.has("message"):
        note += _add_messages(chart, data_set, scale)
    return Plot(chart, note)


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


def _add_calls(chart: Chart, calls: dict[str, Any], kind: int, scale: float) -> None:
    duration = calls["end_ps"] - calls["begin_ps"]
    texts = [
        f"{name}, {format_seconds(time * 1e-12)}, {format_bytes(size)}"
        + (f", rank {peer}" if peer >= 0 else "")
        for name, time, size, peer in zip(
            calls["call"], duration, calls["bytes"], calls["peer"], strict=True
        )
    ]
    chart.spans(
        CLASS_NAMES[kind],
        calls["rank"],
        calls["begin_ps"] * scale,
        duration * scale,
        CLASS_COLOURS[kind],
        texts=texts,
    )


def _add_messages(chart: Chart, data_set: DataSet, scale: float) -> str:
    if data_set.record_types["message"]["rows"] > MOST_DRAWN_MESSAGES:
        return " Messages are not drawn: there are too many."
    columns = ["source", "destination", "send_ps", "receive_complete_ps"]
    table = data_set.table("message", columns)
    source, to, send, received = (table.column(name).to_numpy() for name in columns)
    hidden = table.num_rows > MOST_SHOWN_MESSAGES
    chart.links(
        "messages", send * scale, source, received * scale, to, "ink", arrows=False, hidden=hidden
    )
    return " The legend shows the messages." if hidden else ""


def _binned_timeline(data_set: DataSet) -> Plot:
    timeline = bin_timeline(data_set)
    rows, columns = timeline.states.shape
    factor, unit = time_unit(_end_s(data_set))
    cell = timeline.cell_s * factor
    chart = timeline_chart(rows, f"simulated time ({unit})", cell * columns)
    classes = list(zip(CLASS_NAMES, CLASS_COLOURS, strict=True))
    chart.classes(timeline.states, (0, cell), (-0.5, timeline.ranks_per_row), classes)
    note = _binned_note(timeline.records, timeline.ranks_per_row, timeline.cell_s)
    return Plot(chart, f"{note} {ZOOM}")


def _binned_note(records: int, ranks_per_row: int, cell_s: float) -> str:
    who = "one rank" if ranks_per_row == 1 else f"{ranks_per_row} ranks"
    return (
        f"{records:,} calls are drawn in cells of {who} and {format_seconds(cell_s)}; a cell shows "
        "what most of it went into."
    )


def rank_plot(data_set: DataSet) -> Plot:
    """Computation, communication, waiting and I/O of every rank, stacked."""
    table = data_set.table("rank")
    longest = float(table.column("end_s").to_numpy().max())
    factor, unit = time_unit(longest)
    layers = [
        (name, table.column(key).to_numpy() * factor, colour)
        for name, key, colour in (
            ("computation", "compute_s", CLASS_COLOURS[0]),
            ("communication", "communication_s", CLASS_COLOURS[1]),
            ("waiting", "wait_s", CLASS_COLOURS[2]),
            ("file systems", "io_s", IO_COLOUR),
        )
        if key in table.column_names  # else recorded before file systems were simulated
    ]
    plot = rank_bars(layers, f"simulated time ({unit})")
    return replace(plot, note=f"{WAITING} {plot.note}".strip())


def rank_bars(layers: list[tuple[str, Any, str]], title: str) -> Plot:
    """(name, value of each rank, colour), stacked; of many ranks the means of neighbours."""
    ranks = len(layers[0][1])
    per_bar = -(-ranks // MOST_BARS)
    starts = np.arange(0, ranks, per_bar)
    counts = np.diff(np.append(starts, ranks))
    means = [np.add.reduceat(values, starts) / counts for _, values, _ in layers]
    chart = Chart(320)
    middle = starts + (per_bar - 1) / 2
    for (name, _, colour), mean, base in zip(layers, means, stacked(means), strict=True):
        width = 0.85 if ranks <= MOST_DRAWN_RANKS else float(per_bar)
        chart.columns(name, middle, mean, colour, base=base, width=width, at=starts)
    chart.x("rank", whole=True, grid=False)
    chart.y(title, zero=True)
    return Plot(chart, "" if per_bar == 1 else f"Each bar is the mean of {per_bar} ranks.")


def call_plot(data_set: DataSet, most: int = 20) -> Plot:
    """Time in each MPI function that took any, over all ranks."""
    rows = sorted(data_set.table("call_total").to_pylist(), key=lambda row: -row["time_s"])
    shown = [row for row in rows[:most] if row["time_s"] > 0]
    factor, unit = time_unit(max((row["time_s"] for row in shown), default=0.0))
    chart = bar_list(
        [row["name"] for row in shown],
        [row["time_s"] * factor for row in shown],
        f"simulated time over all ranks ({unit})",
        "function",
        texts=[f"{row['count']:,} calls" for row in shown],
        kinds=[call_class(row["name"]) for row in shown],
    )
    return Plot(chart, _functions_left_out(rows, shown))


def bar_list(
    names: list[str],
    values: list[float],
    title: str,
    what: str,
    *,
    texts: list[str] | None = None,
    kinds: list[int] | None = None,
) -> Chart:
    """A horizontal bar for each name, from top to bottom. `kinds` are classes of calls: they colour
    the bars and are in the legend."""
    chart = Chart(max(150, 60 + 26 * len(names)))
    rows, lengths = np.arange(len(names)), np.array(values, float)
    groups = np.zeros(len(names), int) if kinds is None else np.array(kinds, int)
    for kind in np.unique(groups):
        chosen = groups == kind
        chart.spans(
            "" if kinds is None else CLASS_NAMES[kind],
            rows[chosen],
            np.zeros(int(chosen.sum())),
            lengths[chosen],
            "blue" if kinds is None else CLASS_COLOURS[kind],
            texts=None if texts is None else [texts[i] for i in np.flatnonzero(chosen)],
            fromZero=True,
        )
    chart.x(title, zero=True)
    chart.y(what, names=names, reversed=True, grid=False)
    return chart


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
    chart = Chart(580, width=720, square=True, zoomY=True, crosshair=False)
    place = (-0.5, per_cell)
    messages = count.astype(np.float32).ravel()
    chart.amounts(
        shown,
        place,
        place,
        unit="bytes",
        mostText=format_bytes(float(size.max())),
        second=messages,
        texts=["messages"],
    )
    edges = [-0.5, cells * per_cell - 0.5]
    chart.x("to rank", whole=True, grid=False, range=edges)
    chart.y("from rank", whole=True, grid=False, range=edges, reversed=True)
    note = "" if per_cell == 1 else f"Each cell adds up {per_cell} × {per_cell} ranks."
    return Plot(chart, note)


def size_plot(data_set: DataSet) -> Plot:
    """How many messages there are of each size."""
    rows = sorted(data_set.table("message_size").to_pylist(), key=lambda r: r["at_least_bytes"])
    labels = [_size_label(row["at_least_bytes"]) for row in rows]
    chart = Chart(280)
    texts = [
        f"{label}: {format_bytes(row['bytes'])} together"
        for label, row in zip(labels, rows, strict=True)
    ]
    width = 0.8 if len(labels) > 3 else 0.3
    counts = [row["count"] for row in rows]
    chart.columns("", np.arange(len(rows)), counts, "blue", width=width, texts=texts)
    chart.x("size of message", names=labels, grid=False)
    chart.y("messages", zero=True)
    return Plot(chart)


def _size_label(low: int) -> str:
    if low <= 1:
        return ("0 B", "1 B")[low]
    return (
        f"{format_size(low)} to {format_size(2 * low - 1)}"
        if low < 1024
        else f"from {format_size(low)}"
    )
