"""The report of a measurement inside the kernel: of one command, or of many nodes."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sesame.analysis.part_time import (
    ALL_THE_TIME,
    Coverage,
    Interval,
    coverages,
    estimated_total,
    percent,
)
from sesame.analysis.plots import Plot, bar_list
from sesame.analysis.quantities import format_bytes, format_count, format_seconds
from sesame.analysis.views import sections_by_name
from sesame.datasets import DataSet, describe
from sesame.settings import setting
from sesame.web.chart import SERIES, Chart, curve_colour
from sesame.web.page import Headline, Section, write_page
from sesame.web.table import Column, rows_left_out, table_html

MOST_LINES = 12
UNSEEN = 0.001  # completions that are missed: of a larger part of the requests, pages tell
MOST_BARS = 32  # in a view; the tables of the page have all
PLACE = ("node", "subsystem", "point")
TIMES = ("begin_ns", "end_ns")
# Tables with a row for each interval. A measurement has at least one of them; an interval without
# events has no summary.
INTERVALS = ("kernel_summary", "measurement_cost", "cpu_time", "kernel_reading", "kernel_trace")


def write_measured(data_set: DataSet, path: Path) -> None:
    nodes, seconds = _extent(data_set)
    summary = data_set.table("kernel_summary") if data_set.has("kernel_summary") else None
    counted = pc.sum(summary["count"]).as_py() if summary else 0
    charts = sections_by_name(data_set)
    sections = [
        *_own_processes(data_set, summary),
        *([charts.pop("events"), _points(data_set, summary)] if summary else []),
        *_traced(data_set),
        *([_processors(charts.pop("processors"), data_set)] if "processors" in charts else []),
        *([_cost(charts.pop("cost"), data_set)] if "cost" in charts else []),
        *charts.values(),
    ]
    write_page(
        path,
        title=data_set.info.get("title", "kernel measurement"),
        subtitle=shlex.join(data_set.info.get("command", [])),
        headline=_headline(data_set, counted),
        outcome="completed",
        alerts=_alerts(data_set),
        cards=[("nodes", format_count(len(nodes))), ("time", format_seconds(seconds))],
        sections=sections,
        machine=None,
        facts=[("nodes", ", ".join(nodes)), *describe.facts(data_set)],
    )


def _headline(data_set: DataSet, counted: int) -> Headline:
    usage = data_set.info.get("command_usage")
    if usage is None:
        return Headline(format_count(counted), "events in the kernel")
    return Headline(format_seconds(usage["elapsed_s"]), "elapsed time of the command")


# What the command's processes used: the key in the data set's info, its title, and its format.
USAGE = (
    ("user_s", "processor time in the program", format_seconds),
    ("system_s", "processor time in the kernel", format_seconds),
    ("page_faults", "page faults", format_count),
    ("page_faults_from_disk", "page faults that read from a disk", format_count),
    ("device_bytes_read", "data read from devices", format_bytes),
    ("device_bytes_written", "data written, to reach devices at some time", format_bytes),
    ("switches_to_wait", "times that a process began to wait", format_count),
    ("switches_preempted", "times that a process was preempted", format_count),
)
NOT_MEASURED = "not measured"


def _own_processes(data_set: DataSet, summary: pa.Table | None) -> list[Section]:
    """The section that compares the command's own use of resources with the whole system's."""
    usage = data_set.info.get("command_usage")
    if usage is None:
        return []
    system = _of_whole_system(data_set, summary)
    rows = [
        (title, show(usage[key]), show(system[key]) if key in system else NOT_MEASURED)
        for key, title, show in USAGE
    ]
    columns = [
        Column("quantity", [title for title, _, _ in rows]),
        Column("this command", [own for _, own, _ in rows]),
        Column("whole system", [whole for _, _, whole in rows]),
    ]
    about = (
        "The command's own processes, as the kernel accounts for ended processes, beside all "
        "processes of the machine. Everything below is about the whole system."
    )
    return [Section("The command", about, table_html("command", columns))]


def _of_whole_system(data_set: DataSet, summary: pa.Table | None) -> dict[str, float]:
    """The USAGE of the whole system, as far as it was measured. Counts of points that were on for
    only a part of the time are left out."""
    found: dict[str, float] = {}
    if data_set.has("cpu_time"):
        cpu = data_set.table("cpu_time")
        found["user_s"] = 1e-9 * (_sum(cpu, "user_ns") + _sum(cpu, "nice_ns"))
        found["system_s"] = 1e-9 * _sum(cpu, "system_ns")
    if summary is not None and _was_on_all_the_time(data_set, "vm"):
        faults = summary.filter(pc.equal(_point_names(summary), "vm.total"))
        found["page_faults"] = _sum(faults, "count")
    return found


def _sum(table: pa.Table, column: str) -> int:
    return int(pc.sum(table[column]).as_py() or 0)


def _point_names(summary: pa.Table) -> Any:
    return pc.binary_join_element_wise(
        summary["subsystem"].cast(pa.string()), summary["point"].cast(pa.string()), "."
    )


def _was_on_all_the_time(data_set: DataSet, subsystem: str) -> bool:
    if not data_set.has("measurement_cost"):
        return False
    costs = data_set.table("measurement_cost")
    own = costs.filter(pc.equal(costs["subsystem"].cast(pa.string()), subsystem))
    length = sum(_seconds_by_node(costs).values())
    return 1e-9 * _sum(own, "active_ns") >= ALL_THE_TIME * length


def _extent(data_set: DataSet) -> tuple[list[str], float]:
    """The nodes, and the seconds from the begin of the data set to the last interval."""
    tables = [data_set.table(n, ["node", "end_ns"]) for n in INTERVALS if data_set.has(n)]
    every = pa.concat_tables(tables)
    return sorted(pc.unique(every["node"]).to_pylist()), 1e-9 * pc.max(every["end_ns"]).as_py()


def _alerts(data_set: DataSet) -> list[str]:
    left_out = data_set.info.get("left_out", {})
    lines = [f"{point} is left out: {reason}" for point, reason in left_out.items()]
    substituted = data_set.info.get("substituted", {})
    lines += [f"{point} is {otherwise}" for point, otherwise in substituted.items()]
    if data_set.has("kernel_summary"):
        lines += _unseen_completions(data_set.table("kernel_summary"))
    else:
        lines.append("No point has counted an event.")
    if data_set.has("kernel_reading"):
        readings = data_set.table("kernel_reading")
        starts = readings.group_by(["node", "start"]).aggregate([("dropped", "max")])
        for row in starts.to_pylist():
            if row["dropped_max"]:
                lost = f"{row['dropped_max']} readings were dropped, since the queue was full"
                lines.append(f"{row['node']}: {lost}.")
    return lines


def _unseen_completions(summary: pa.Table) -> list[str]:
    """A busy kernel completes batches of requests without telling probes (docs/models/measuring.md,
    Counts beside the kernel's own)."""
    names = _point_names(summary)
    issued, completed = (
        _sum(summary.filter(pc.equal(names, f"block.{point}")), "count")
        for point in ("issue", "complete")
    )
    if completed == 0 or issued - completed <= UNSEEN * issued:
        return []
    return [
        f"block.complete is {issued - completed:,} below the {issued:,} requests that were issued: "
        "they were in progress at the end, or a busy kernel did not report their completion to "
        "probes. Its durations are of the others."
    ]


def rate_plot(data_set: DataSet) -> Plot:
    """Events per second of the points that have most; of a single interval their events."""
    summary = data_set.table("kernel_summary")
    point = pc.binary_join_element_wise(summary["subsystem"], summary["point"], ".")
    is_one_node = pc.count_distinct(summary["node"]).as_py() == 1
    name = point if is_one_node else pc.binary_join_element_wise(summary["node"], point, " ")
    named = summary.select([*TIMES, "node", "subsystem", "count"]).append_column("name", name)
    totals = named.group_by(["name", "node", "subsystem"]).aggregate([("count", "sum")])
    most = totals.sort_by([("count_sum", "descending")]).to_pylist()[:MOST_LINES]
    by_interval = named.group_by(["name", *TIMES]).aggregate([("count", "sum")])
    if len({*summary["end_ns"].to_pylist()}) == 1:
        return _single_interval(by_interval, [row["name"] for row in most], totals.num_rows)
    counted: dict[str, dict[Interval, int]] = {}
    for row in by_interval.to_pylist():
        counted.setdefault(row["name"], {})[row["begin_ns"], row["end_ns"]] = row["count_sum"]
    covered = _coverages(data_set)
    chart = Chart(380, legend=True)
    for i, row in enumerate(most):
        line = row["name"]
        coverage = covered.get((row["node"], row["subsystem"]), Coverage({}))
        x, rate = _rate(counted[line], coverage.active_ns)
        colour, dashed = curve_colour(i % len(SERIES), len(SERIES)), i >= len(SERIES)
        chart.line(line, x, rate, colour, points=True, dashed=dashed)
    chart.x("time (s)")
    chart.y("events per second", zero=True)
    left = totals.num_rows - len(most)
    note = "Each dot is an interval; its rate is over the time that the point was on. Gaps: off."
    if left:
        note += f" The {len(most)} points with most events; {left} more are in the table."
    return Plot(chart, note)


def _rate(
    counts: Mapping[Interval, int], active: Mapping[Interval, int]
) -> tuple[list[float], list[float | None]]:
    """Ends of the intervals (s), and events per second; None where nothing was measured."""
    intervals = sorted({*counts, *active})
    rates: list[float | None] = []
    for begin, end in intervals:
        on_ns = active.get((begin, end), end - begin if (begin, end) in counts else 0)
        count = counts.get((begin, end), 0)
        rates.append(count / (1e-9 * on_ns) if on_ns > 0 else None)
    return [1e-9 * end for _, end in intervals], rates


def _single_interval(counts: pa.Table, most: list[str], points: int) -> Plot:
    of = dict(zip(counts["name"].to_pylist(), counts["count_sum"].to_pylist(), strict=True))
    chart = bar_list(most, [of[name] for name in most], "events", "point")
    shorter = setting("interval_s", 0.1)
    note = f"The run was shorter than two intervals; {shorter} shows it over time."
    if points > len(most):
        note += f" {points - len(most)} more points are in the table."
    return Plot(chart, note)


def processor_plot(data_set: DataSet) -> Plot:
    """The share of the time that each CPU was not idle, the busiest first."""
    table = data_set.table("cpu_time")
    states = [name for name in table.column_names if name.endswith("_ns") and name not in TIMES]
    sums = table.group_by(["node", "cpu"]).aggregate([(state, "sum") for state in states])
    every = np.sum([sums[f"{state}_sum"].to_numpy() for state in states], axis=0).clip(1)
    idle = sums["idle_ns_sum"].to_numpy() + sums["iowait_ns_sum"].to_numpy()
    busy = 100 * (1 - idle / every)
    order = np.argsort(-busy, kind="stable")[:MOST_BARS]
    nodes, cpus = sums["node"].to_pylist(), sums["cpu"].to_pylist()
    names = [f"{nodes[i]} CPU {cpus[i]}" for i in order.tolist()]
    left = len(busy) - len(order)
    note = f"The busiest {len(order)}; {left} more are in the table." if left else ""
    return Plot(bar_list(names, busy[order].tolist(), "busy (%)", "processor"), note)


def cost_plot(data_set: DataSet) -> Plot:
    """The governor's estimate of what measuring each subsystem cost."""
    rows, shares = _cost_shares(data_set)
    names = [f"{row['node']} {row['subsystem']}" for row in rows[:MOST_BARS]]
    title = "estimated cost (% of a processor)"
    return Plot(bar_list(names, shares[:MOST_BARS], title, "subsystem"))


def _points(data_set: DataSet, summary: pa.Table) -> Section:
    sums = [("count", "sum"), ("bytes", "sum"), ("timed", "sum"), ("duration_ns", "sum")]
    table = summary.group_by([*PLACE, "class"]).aggregate([*sums, ("max_duration_ns", "max")])
    rows = table.sort_by([("count_sum", "descending")]).to_pylist()
    part_time = {key: one for key, one in _coverages(data_set).items() if not one.is_whole}
    columns = [
        Column("node", [row["node"] for row in rows]),
        Column("point", [f"{row['subsystem']}.{row['point']}" for row in rows]),
        Column("class", [row["class"] for row in rows]),
        Column("events", [row["count_sum"] for row in rows], format_count),
        *(_estimates(summary, rows, part_time) if part_time else []),
        Column("bytes", [row["bytes_sum"] for row in rows], _bytes_or_none),
        Column("mean", [_mean(row) for row in rows], _seconds_if_timed),
        Column("longest", [_longest(row) for row in rows], _seconds_if_timed),
    ]
    html = table_html("points", columns)
    about = "What each point has counted."
    if part_time:
        about += (
            " Points that were enabled for a part of the time have an estimate for all of it, from "
            "their rate meanwhile, with an interval of 95 %."
        )
    return Section("Points", about, html, rows_left_out(len(rows)))


def _coverages(data_set: DataSet) -> dict[tuple[str, str], Coverage]:
    if not data_set.has("measurement_cost"):
        return {}
    columns = ["node", "subsystem", *TIMES, "active_ns"]
    return coverages(data_set.table("measurement_cost", columns).to_pylist())


def _estimates(
    summary: pa.Table, rows: list[dict[str, Any]], part_time: dict[tuple[str, str], Coverage]
) -> list[Column]:
    """For each of `rows` the share of the time for which it was enabled, and the estimate."""
    key = [*PLACE, "class"]
    counts: dict[tuple[str, ...], dict[Interval, int]] = {}
    for row in summary.group_by([*key, *TIMES]).aggregate([("count", "sum")]).to_pylist():
        of = counts.setdefault(tuple(row[name] for name in key), {})
        of[row["begin_ns"], row["end_ns"]] = row["count_sum"]
    shares, totals = [], []
    for row in rows:
        coverage = part_time.get((row["node"], row["subsystem"]))
        shares.append(percent(coverage.share) if coverage is not None else "100 %")
        if coverage is None:
            totals.append(format_count(row["count_sum"]))
            continue
        total = estimated_total(counts[tuple(row[name] for name in key)], coverage)
        interval = f"{format_count(total.low)} to {format_count(total.high)}"
        totals.append(f"{format_count(total.value)} ({interval})")
    return [Column("of the time", shares), Column("estimate of all", totals)]


def _bytes_or_none(size: float) -> str:
    return format_bytes(size) if size else "none"


def _mean(row: dict[str, Any]) -> float:
    """Seconds. Only events that were timed have a duration; NaN without any."""
    return 1e-9 * row["duration_ns_sum"] / row["timed_sum"] if row["timed_sum"] else math.nan


def _longest(row: dict[str, Any]) -> float:
    return 1e-9 * row["max_duration_ns_max"] if row["timed_sum"] else math.nan


def _seconds_if_timed(seconds: float) -> str:
    return NOT_MEASURED if math.isnan(seconds) else format_seconds(seconds)


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
    """The table of events that were to be traced: seen, written, discarded."""
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


def _processors(chart: Section, data_set: DataSet) -> Section:
    """The chart, and the time of each CPU, the busiest first."""
    table = data_set.table("cpu_time")
    states = [name for name in table.column_names if name.endswith("_ns") and name not in TIMES]
    sums = table.group_by(["node", "cpu"]).aggregate([(state, "sum") for state in states])
    times = {state: sums[f"{state}_sum"].to_numpy() for state in states}
    every = np.sum(list(times.values()), axis=0).clip(1)
    order = np.argsort(times["idle_ns"] / every, kind="stable")
    columns = [
        Column("node", sums["node"].take(order).to_pylist()),
        Column("CPU", sums["cpu"].take(order).to_pylist(), str),
        *(
            Column(state.removesuffix("_ns"), (100 * ns / every)[order], lambda v: f"{v:.1f} %")
            for state, ns in times.items()
        ),
    ]
    html = table_html("processors", columns)
    about = "What each processor did, as the scheduler accounts for it."
    note = f"{chart.note} {rows_left_out(len(order))}".strip()
    return Section(chart.title, about, chart.html + html, note)


def _cost(chart: Section, data_set: DataSet) -> Section:
    """The chart, and a table of all subsystems."""
    rows, shares = _cost_shares(data_set)
    columns = [
        Column("node", [row["node"] for row in rows]),
        Column("subsystem", [row["subsystem"] for row in rows]),
        Column("events", [row["events_sum"] for row in rows], format_count),
        Column("active", [1e-9 * row["active_ns_sum"] for row in rows], format_seconds),
        Column("estimated cost", shares, lambda share: f"{share:.3f} %"),
    ]
    about = "The governor's estimate of what measuring cost, on the processor that it cost most."
    return Section(chart.title, about, chart.html + table_html("cost", columns), chart.note)


def _cost_shares(data_set: DataSet) -> tuple[list[dict[str, Any]], list[float]]:
    """Sums by node and subsystem, and the estimated cost of each in percent of a processor."""
    costs = data_set.table("measurement_cost")
    seconds = _seconds_by_node(costs)
    sums = [("events", "sum"), ("active_ns", "sum"), ("estimated_ns", "sum")]
    by_subsystem = costs.group_by(["node", "subsystem"]).aggregate(sums)
    rows = by_subsystem.sort_by([("estimated_ns_sum", "descending")]).to_pylist()
    return rows, [1e-7 * row["estimated_ns_sum"] / seconds[row["node"]] for row in rows]


def _seconds_by_node(costs: pa.Table) -> dict[str, float]:
    """The seconds for which each node was measured: nodes may join late or leave early."""
    intervals = costs.group_by(["node", *TIMES]).aggregate([])
    lengths = pc.subtract(intervals["end_ns"], intervals["begin_ns"])
    sums = intervals.append_column("ns", lengths).group_by("node").aggregate([("ns", "sum")])
    return {row["node"]: max(1e-9 * row["ns_sum"], 1e-9) for row in sums.to_pylist()}
