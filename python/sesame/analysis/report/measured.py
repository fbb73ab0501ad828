"""The report of a measurement inside the kernel: of one command, or of many nodes."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sesame.analysis.plots import new_figure
from sesame.analysis.quantities import format_bytes, format_count, format_seconds
from sesame.analysis.report.page import Headline, Section, figure_html, write_page
from sesame.analysis.report.tables import Column, rows_left_out, table_html
from sesame.datasets import DataSet, describe

MOST_LINES = 12
PLACE = ("node", "subsystem", "point")


def is_measured(data_set: DataSet) -> bool:
    return data_set.has("kernel_summary")


def write_measured(data_set: DataSet, path: Path) -> None:
    summary = data_set.table("kernel_summary")
    seconds = 1e-9 * pc.max(summary["end_ns"]).as_py()
    nodes = pc.unique(summary["node"]).to_pylist()
    counted = pc.sum(summary["count"]).as_py()
    sections = [_rates(summary), _points(summary), *_traced(data_set), *_cost(data_set, seconds)]
    write_page(
        path,
        title=data_set.info.get("title", "kernel measurement"),
        subtitle=shlex.join(data_set.info.get("command", [])),
        headline=Headline(format_count(counted), "events in the kernel"),
        outcome="completed",
        alerts=_alerts(data_set),
        cards=[("nodes", format_count(len(nodes))), ("time", format_seconds(seconds))],
        sections=sections,
        machine=None,
        facts=[("nodes", ", ".join(nodes)), *describe.facts(data_set)],
    )


def _alerts(data_set: DataSet) -> list[str]:
    lines = []
    if data_set.has("kernel_pull"):
        pulls = data_set.table("kernel_pull")
        starts = pulls.group_by(["node", "start"]).aggregate([("dropped", "max")])
        for row in starts.to_pylist():
            if row["dropped_max"]:
                lines.append(f"{row['node']}: {row['dropped_max']} pulls found no way.")
    return lines


def _rates(summary: pa.Table) -> Section:
    """Events per second of the points that have most."""
    by_interval = summary.group_by([*PLACE, "begin_ns", "end_ns"]).aggregate([("count", "sum")])
    totals = summary.group_by(list(PLACE)).aggregate([("count", "sum")])
    most = totals.sort_by([("count_sum", "descending")]).slice(0, MOST_LINES).to_pylist()
    figure = new_figure(380)
    for place in most:
        wanted = pc.and_(
            pc.and_(
                pc.equal(by_interval["node"], place["node"]),
                pc.equal(by_interval["subsystem"], place["subsystem"]),
            ),
            pc.equal(by_interval["point"], place["point"]),
        )
        rows = by_interval.filter(wanted).sort_by("begin_ns")
        begin, end = rows["begin_ns"].to_numpy(), rows["end_ns"].to_numpy()
        rate = rows["count_sum"].to_numpy() / (1e-9 * (end - begin).clip(1))
        name = f"{place['node']} {place['subsystem']}.{place['point']}"
        figure.add_scatter(x=1e-9 * end, y=rate, mode="lines+markers", name=name)
    figure.update_xaxes(title="time (s)")
    figure.update_yaxes(title="events per second", rangemode="tozero")
    left = totals.num_rows - len(most)
    note = f"The {len(most)} points with most events; {left} more are in the table." if left else ""
    return Section("Events over time", "Each point of a line is a pull.", figure_html(figure), note)


def _points(summary: pa.Table) -> Section:
    sums = [("count", "sum"), ("bytes", "sum"), ("timed", "sum"), ("duration_ns", "sum")]
    table = summary.group_by([*PLACE, "class"]).aggregate([*sums, ("max_duration_ns", "max")])
    rows = table.sort_by([("count_sum", "descending")]).to_pylist()
    columns = [
        Column("node", [row["node"] for row in rows]),
        Column("point", [f"{row['subsystem']}.{row['point']}" for row in rows]),
        Column("class", [row["class"] for row in rows]),
        Column("events", [row["count_sum"] for row in rows], format_count),
        Column("bytes", [row["bytes_sum"] for row in rows], format_bytes),
        Column("mean", [_mean_s(row) for row in rows], format_seconds),
        Column("longest", [1e-9 * row["max_duration_ns_max"] for row in rows], format_seconds),
    ]
    html = table_html("points", columns)
    return Section("Points", "What each point has counted.", html, rows_left_out(len(rows)))


def _mean_s(row: dict[str, Any]) -> float:
    return float(1e-9 * row["duration_ns_sum"] / max(row["timed_sum"], 1))


def _traced(data_set: DataSet) -> list[Section]:
    if not data_set.has("kernel_event"):
        return []
    counts: Counter[tuple[str, ...]] = Counter()
    for batch in data_set.batches("kernel_event", list(PLACE)):
        plain = pa.table({name: batch[name].cast(pa.string()) for name in PLACE})
        for row in plain.group_by(list(PLACE)).aggregate([([], "count_all")]).to_pylist():
            counts[tuple(row[name] for name in PLACE)] += row["count_all"]
    rows = counts.most_common()
    columns = [
        Column("node", [node for (node, _, _), _ in rows]),
        Column("point", [f"{subsystem}.{point}" for (_, subsystem, point), _ in rows]),
        Column("records", [count for _, count in rows], format_count),
    ]
    html = table_html("events", columns)
    return [Section("Traces", "Single events, each with a record.", html + _account(data_set))]


def _account(data_set: DataSet) -> str:
    """What became of the events that were to be traced."""
    if data_set.has("kernel_trace"):
        blocks = data_set.table("kernel_trace").group_by(["node"])
        rows = blocks.aggregate([("written", "sum"), ("discarded", "sum")]).to_pylist()
        found = [(row["node"], row["written_sum"], row["discarded_sum"]) for row in rows]
    else:
        events = data_set.info.get("events", {"written": 0, "lost": 0})
        found = [("this machine", events["written"], events["lost"])]
    columns = [
        Column("node", [node for node, _, _ in found]),
        Column("seen", [written + lost for _, written, lost in found], format_count),
        Column("written", [written for _, written, _ in found], format_count),
        Column("discarded", [lost for _, _, lost in found], format_count),
    ]
    return table_html("account", columns, caption="Events that were to be traced")


def _cost(data_set: DataSet, seconds: float) -> list[Section]:
    if not data_set.has("measurement_cost"):
        return []
    costs = data_set.table("measurement_cost").group_by(["node", "subsystem"])
    sums = [("events", "sum"), ("active_ns", "sum"), ("estimated_ns", "sum")]
    rows = costs.aggregate(sums).sort_by([("estimated_ns_sum", "descending")]).to_pylist()
    shares = [1e-7 * row["estimated_ns_sum"] / seconds for row in rows]
    columns = [
        Column("node", [row["node"] for row in rows]),
        Column("subsystem", [row["subsystem"] for row in rows]),
        Column("events", [row["events_sum"] for row in rows], format_count),
        Column("looked for", [1e-9 * row["active_ns_sum"] for row in rows], format_seconds),
        Column("estimated cost", shares, lambda share: f"{share:.3f} %"),
    ]
    about = "What measuring cost the processor that had most to pay, as the governor estimates it."
    return [Section("What it cost", about, table_html("cost", columns))]
