"""The result of a simulated run or series, as tables on the terminal."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from sesame.analysis.measuring import interval_in_words, interval_name, measuring_in_words
from sesame.analysis.ordinates import MESSAGES, PREDICTED, ordinates_of, repeats_of
from sesame.analysis.quantities import format_bytes, format_count, format_seconds
from sesame.analysis.scaling import Scaling, interval_of, scalings_of
from sesame.cli.storage_summary import seconds_left, storage_table
from sesame.datasets.describe import count_of
from sesame.simulation import Point, RunResult

MOST_CALLS = 8
BAR_WIDTH = 30
LEAST_BAR_WIDTH = 6
TABLE_WIDTH = 36  # of the table of a series, without the bars and the keys that vary


def print_summary(console: Console, outcome: RunResult) -> None:
    result = outcome.result
    console.print(
        f"[bold]predicted time {format_seconds(outcome.predicted_s)}[/] "
        f"on {count_of(result['ranks'], 'rank')} of {result['machine']}"
        + (f", {spawned} of them spawned" if (spawned := result.get("spawned_ranks")) else "")
        + _interval(outcome)
    )
    if result["outcome"] != "completed":
        console.print(f"[bold red]{result['outcome']}[/] (exit status {outcome.exit_status})")
    console.print(_rank_table(result["rank_table"]))
    console.print(_call_table(result))
    if result.get("storage"):
        console.print(storage_table(result))
        if left := seconds_left(result):
            console.print(
                f"at the end a device had at least {format_seconds(left)} of writes left to do"
            )
    if outcome.measuring is not None:
        console.print(measuring_in_words(outcome.measuring), soft_wrap=True)
    console.print(
        f"{format_count(result['messages'])} messages, {format_bytes(result['bytes'])}; simulated "
        f"in {format_seconds(result['wall_time_s'])}, "
        f"{format_count(result['messages_per_second'])} messages/s, "
        f"memory {format_bytes(result['peak_rss_bytes'])}",
        soft_wrap=True,
    )
    if (parallel := result.get("parallel")) is not None:
        console.print(
            f"{parallel['workers']} workers{_on_hosts(parallel)}, protocol {parallel['protocol']}: "
            f"{count_of(parallel['rounds'], 'round')}, "
            f"{count_of(parallel['frames'], 'message')} between workers",
            soft_wrap=True,
        )


def _on_hosts(parallel: dict[str, Any]) -> str:
    hosts = parallel.get("hosts")
    return f" on {len(hosts)} hosts" if hosts else ""


def _interval(outcome: RunResult) -> str:
    return "" if outcome.estimate is None else f", {interval_in_words(outcome.estimate)}"


def _rank_table(ranks: dict[str, list[float]]) -> Table:
    table = Table("per rank", "min", "mean", "max", box=None, header_style="bold", pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, key in (
        ("computation", "compute_s"),
        ("communication", "communication_s"),
        ("waiting", "wait_s"),
        ("file systems", "io_s"),
        ("end", "end_s"),
    ):
        values = ranks[key]
        if key == "io_s" and not any(values):
            continue
        figures = (min(values), statistics.fmean(values), max(values))
        table.add_row(name, *map(format_seconds, figures))
    return table


def _call_table(result: dict[str, Any]) -> Table:
    calls = sorted(result["calls"], key=lambda call: -call["time_s"])
    ranks = result["rank_table"]
    whole = sum(ranks["end_s"]) - sum(ranks.get("begin_s", ())) or 1.0
    table = Table("call", "calls", "time", "of all", box=None, header_style="bold", pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for call in calls[:MOST_CALLS]:
        table.add_row(
            call["name"],
            format_count(call["count"]),
            format_seconds(call["time_s"]),
            f"{100 * call['time_s'] / whole:.1f} %",
        )
    if len(calls) > MOST_CALLS:
        rest = sum(call["time_s"] for call in calls[MOST_CALLS:])
        table.add_row(
            count_of(len(calls) - MOST_CALLS, "other"),
            format_count(sum(call["count"] for call in calls[MOST_CALLS:])),
            format_seconds(rest),
            f"{100 * rest / whole:.1f} %",
        )
    return table


def print_curve(console: Console, runs: Sequence[tuple[Point, RunResult]]) -> None:
    """Prints the predicted times of a series as a table with bars, with the figures of storage if
    there are any."""
    keys = [key for key, _ in runs[0][0].settings]
    longest = max(run.predicted_s for _, run in runs) or 1.0
    repeats = repeats_of(runs)
    repeated = repeats > 1
    storage = [ordinate for ordinate in ordinates_of(runs) if ordinate is not PREDICTED]
    table = Table("ranks", box=None, header_style="bold")
    for i, key in enumerate(keys):  # a long key takes several lines
        longest_value = max(len(point.settings[i][1]) for point, _ in runs)
        table.add_column(key, overflow="fold", min_width=longest_value)
    scalings = scalings_of(runs)
    more = [interval_name(repeats).replace(" %", "\xa0%")] if repeated else []
    more += ["speed-up", "efficiency"] if any(scalings) else []
    figures = [ordinate.short for ordinate in storage or [MESSAGES]]
    for title in ("predicted", "", *more, *figures):
        lines = title.replace(" ", "\n")  # figures are never cut: the keys are shortened instead
        table.add_column(lines, no_wrap=True, justify="right" if title else "left")
    failed = not all(run.succeeded for _, run in runs)
    if failed:
        table.add_column("outcome", no_wrap=True)
    table.columns[0].justify = "right"
    space = console.width - TABLE_WIDTH - 12 * (len(keys) + len(storage) + len(more))
    width = min(BAR_WIDTH, max(LEAST_BAR_WIDTH, space))
    for (point, run), scaling in zip(runs, scalings, strict=True):
        time = run.predicted_s
        table.add_row(
            str(point.ranks),
            *(value for _, value in point.settings),
            format_seconds(time),
            _bar(time / longest, width),
            *([_range(run)] if repeated else []),
            *(_scaling_cells(scaling) if any(scalings) else []),
            *(ordinate.show(run) for ordinate in storage or [MESSAGES]),
            *([_outcome(run)] if failed else []),
        )
    console.print(table)


def _outcome(run: RunResult) -> str:
    outcome, status = run.result["outcome"], run.exit_status
    return f"{outcome}, status {status}" if outcome == "completed" and status else str(outcome)


def _range(run: RunResult) -> str:
    low, high = interval_of(run)
    return f"{format_seconds(low)} to {format_seconds(high)}"


def _scaling_cells(scaling: Scaling | None) -> list[str]:
    if scaling is None:
        return ["", ""]
    return [f"{scaling.speed_up:.2f}", f"{100 * scaling.efficiency:.0f} %"]


def _bar(part: float, width: int) -> str:
    eighths = round(part * width * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[rest]
