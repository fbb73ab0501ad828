"""`sesame measure`

Large modules are imported where they are used, so that the command starts quickly.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import sesame
from sesame.analysis.quantities import format_bytes, format_count, format_seconds
from sesame.cli.budget import budget_of
from sesame.cli.console import console, new_table, plain
from sesame.cli.measure_daemon import daemon
from sesame.cli.measure_nodes import (
    environment_,
    flags,
    read,
    record,
    set_,
    start,
    status,
    stop,
)
from sesame.errors import SesameError
from sesame.measurement.defaults import DEFAULT_BUDGET
from sesame.measurement.detail import Detail

if TYPE_CHECKING:
    from sesame.analysis.part_time import Coverage
    from sesame.measurement import Cost, Perturbation

COMMAND_LINE = {"allow_interspersed_args": False}


@click.group()
def measure() -> None:
    """Measure inside the running operating system.

    \b
    sesame measure run -o build.sesame -- make -j8
    sesame measure daemon --level summary
    """


for command in (daemon, start, stop, status, set_, read, record, flags, environment_):
    measure.add_command(command)


def _row(
    subsystem: str, point: str, meaning: str, missing: str | None, substituted: str | None
) -> dict[str, Any]:
    """A point, and what of it is not as it should be here."""
    state = {"missing": missing, "substituted": substituted}
    return {"point": f"{subsystem}.{point}", "meaning": meaning} | state


@measure.command("list", short_help="Show the points, and which are available here.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def list_points(*, as_json: bool) -> None:
    """Show the subsystems and points, and which of them are available here.

    \b
    sesame measure list
    """
    from sesame.measurement import every_subsystem, opened

    rows: list[dict[str, Any]] = []
    refused: SesameError | None = None
    for name, subsystem in every_subsystem().items():
        found: list[tuple[str | None, str | None]]
        numbers = range(len(subsystem.points))
        try:
            with opened([name]) as probes:
                found = [(probes[name].missing(i), probes[name].substituted(i)) for i in numbers]
        except SesameError as error:
            found = [(error.message, None) for _ in numbers]
            refused = error
        points = zip(subsystem.points, found, strict=True)
        rows += [_row(name, one.name, one.meaning, *here) for one, here in points]
        rows += [_row(name, one.name, one.meaning, one.why, None) for one in subsystem.absent]
    if as_json:
        click.echo(json.dumps({"points": rows}))
        return
    table = new_table("point", "what it sees", "here")
    for row in rows:
        # A reason that holds for all points is printed once, below.
        no = "no" if refused and row["missing"] == refused.message else row["missing"]
        yes = f"yes, {row['substituted']}" if row["substituted"] else "yes"
        table.add_row(row["point"], row["meaning"], no or yes)
    console().print(table)
    if refused is not None:
        raise refused


_interval_option = click.option(
    "--interval",
    type=click.FloatRange(min=0.01),
    default=10.0,
    show_default=True,
    help="Interval in seconds.",
)
_budget_option = click.option(
    "--budget",
    callback=budget_of,
    default=f"{100 * DEFAULT_BUDGET:g}%",
    show_default=True,
    help="The share of a processor that measuring may take; none: no limit.",
)


@measure.command(
    context_settings=COMMAND_LINE, short_help="Record what the kernel does while a command runs."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="NAME.sesame",
    default=Path("measured.sesame"),
    show_default=True,
    help="The data set to write.",
)
@click.option(
    "--only",
    "names",
    default="",
    metavar="POINT,…",
    help="Measure these points or subsystems only (`sesame measure list`).",
)
@_interval_option
@click.option(
    "--detail",
    type=click.Choice([detail.name.lower() for detail in Detail if detail]),
    default="duration",
    show_default=True,
    help="Level of detail of the points, if the budget allows.",
)
@_budget_option
@click.option(
    "--trace",
    "traced",
    default="",
    metavar="POINT,…",
    help="Also write a record for each event of these points or subsystems. This lifts the budget, "
    "unless you give one: fs and vm can then take some percent each.",
)
@click.option("--force", is_flag=True, help="Write over an existing data set.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
@click.pass_context
def run(context: click.Context, /, **options: Any) -> int:
    """Record what the kernel does for all processes while COMMAND runs.

    If COMMAND is mpiexec or another launcher, the calls of its MPI programs are counted, too. For
    other commands use --only mpi.

    \b
    sesame measure run -o build.sesame -- make -j8
    """
    traced = _words(options["traced"])
    is_default = context.get_parameter_source("budget") == ParameterSource.DEFAULT
    measured = sesame.measure(
        options["command"],
        points=_words(options["names"]),
        traced=traced,
        detail=options["detail"],
        interval_s=options["interval"],
        budget=None if traced and is_default else options["budget"],
        output=options["output"],
        force=options["force"],
        say=partial(click.echo, err=True),
    )
    _print_totals(measured.outcome.rows)
    if measured.outcome.events is not None:
        text = "events: {seen:,} seen, {written:,} written, {lost:,} lost"
        click.echo(text.format(**measured.outcome.events))
    return measured.exit_status


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _print_totals(rows: dict[str, list[dict[str, Any]]]) -> None:
    from sesame.analysis.part_time import coverages

    covered = coverages(rows["measurement_cost"])
    is_whole = all(one.is_whole for one in covered.values())
    table = new_table("point", "class", "events")
    for title in () if is_whole else ("of the time", "estimate of all"):
        table.add_column(title)
    for title in ("bytes", "mean", "longest"):
        table.add_column(title)
    by_point: dict[tuple[str, str, str, str], list[dict[str, Any]]] = {}
    for row in rows["kernel_summary"]:
        key = (row["node"], row["subsystem"], row["point"], row["class"])
        by_point.setdefault(key, []).append(row)
    for (node, subsystem, point, class_), own in by_point.items():
        coverage = covered[node, subsystem]
        estimate = () if is_whole else _estimate_cells(own, coverage)
        counted = format_count(sum(row["count"] for row in own))
        name = f"{subsystem}.{point}"
        table.add_row(name, plain(class_), counted, *estimate, *_size_cells(own))
    console(stderr=True).print(table)
    _print_cost(rows)


def _estimate_cells(rows: list[dict[str, Any]], coverage: Coverage) -> tuple[str, str]:
    """The share of the time for which the point was enabled, and an estimate for all the time."""
    from sesame.analysis.part_time import estimated_total, percent

    if coverage.is_whole:
        return "", ""
    counts: Counter[tuple[int, int]] = Counter()
    for row in rows:
        counts[row["begin_ns"], row["end_ns"]] += row["count"]
    total = estimated_total(counts, coverage)
    interval = f"{format_count(total.low)} to {format_count(total.high)}"
    return percent(coverage.share), f"{format_count(total.value)} ({interval})"


def _size_cells(rows: list[dict[str, Any]]) -> tuple[str, str, str]:
    fields = ("bytes", "timed", "duration_ns")
    size, timed, duration_ns = (sum(row[field] for row in rows) for field in fields)
    if not timed:
        return format_bytes(size) if size else "", "", ""
    longest_ns = max(row["max_duration_ns"] for row in rows)
    return (
        format_bytes(size) if size else "",
        format_seconds(1e-9 * duration_ns / timed),
        format_seconds(1e-9 * longest_ns),
    )


def _print_cost(rows: dict[str, list[dict[str, Any]]]) -> None:
    costs = rows["measurement_cost"]
    length = costs[-1]["end_ns"] if costs else 0
    table = new_table("subsystem", "active", "estimated cost")
    for name in dict.fromkeys(row["subsystem"] for row in costs):
        own = [row for row in costs if row["subsystem"] == name]
        active = sum(row["active_ns"] for row in own) / max(length, 1)
        cost_share = sum(row["estimated_ns"] for row in own) / max(length, 1)
        table.add_row(name, f"{100 * active:.0f} % of the time", f"{100 * cost_share:.3f} %")
    console(stderr=True).print(table)


@measure.command(short_help="Measure what an event costs at each point here.")
@click.option(
    "--pairs",
    type=click.IntRange(min=3),
    default=101,
    show_default=True,
    help="How often each load runs with its points off and on.",
)
@click.option(
    "--perturbation",
    "whole_pairs",
    type=click.IntRange(min=3),
    metavar="PAIRS",
    help="Also measure the processor time that all points together take while loads run, with the "
    "budget and without, in this many pairs of two intervals.",
)
@_interval_option
@_budget_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def cost(
    pairs: int, whole_pairs: int | None, interval: float, budget: float | None, *, as_json: bool
) -> None:
    """Measure what an event costs at each point here; the governor uses it from then on.

    \b
    sesame measure cost --pairs 15
    """
    from rich.live import Live

    from sesame.measurement import keep_costs, measure_costs, measure_requests

    # No spinner: its thread would add to the processor time of this process.
    with Live(console=console(stderr=True), auto_refresh=False, transient=True) as line:

        def show(text: str) -> None:
            line.update(f"measuring: {text}", refresh=True)

        costs = [*measure_costs(pairs, show), *measure_requests(pairs)]
        uncertain = keep_costs(costs)
        whole = _whole(whole_pairs, interval, budget, show) if whole_pairs else {}
    if as_json:
        answer = {"costs": [asdict(one) | {"kept": one.is_certain} for one in costs]}
        for name, some in whole.items():
            answer[name] = [asdict(one) for one in some]
        click.echo(json.dumps(answer))
        return
    _print_costs(costs)
    if uncertain:
        click.echo(
            f"{len(uncertain)} of {len(costs)} costs are too uncertain and were not kept: busy "
            "host. Measure again with more --pairs, or on an idle machine.",
            err=True,
        )
    for name, some in whole.items():
        click.echo()
        _print_perturbation(TITLES[name], some)


TITLES = {
    "perturbation_percent": "everything on, within the budget",
    "perturbation_without_budget_percent": "everything on, without a budget",
}


def _whole(
    pairs: int, interval: float, budget: float | None, show: Callable[[str], None]
) -> dict[str, list[Perturbation]]:
    """The perturbation with the budget and without. Without a budget it is large enough to check
    the governor's estimate against it."""
    from sesame.measurement import Wanted, everything, measure_perturbation

    wanted = Wanted(everything(), interval_s=interval, budget=budget)
    budgets = dict(zip(TITLES, (budget, None), strict=True))
    return {
        name: measure_perturbation(replace(wanted, budget=one), pairs, show)
        for name, one in budgets.items()
    }


def _print_costs(costs: list[Cost]) -> None:
    titles = ("subsystem", "points", "detail", "ns an event", "95 % interval", "ns together", "")
    table = new_table(*titles)
    for one in costs:
        interval = f"{one.least_ns:.0f} to {one.most_ns:.0f}"
        together = one.ns * len(one.points.split(","))
        row = (one.subsystem, one.points, one.detail, f"{one.ns:.0f}", interval, f"{together:.0f}")
        table.add_row(*row, "" if one.is_certain else "not kept")
    console().print(table)


def _print_perturbation(title: str, whole: list[Perturbation]) -> None:
    table = new_table(title, "processor time", "95 % interval", "governor's estimate")
    for one in whole:
        interval = f"{one.least_percent:+.3f} to {one.most_percent:+.3f} %"
        table.add_row(
            one.load, f"{one.percent:+.3f} %", interval, f"{one.estimated_percent:+.3f} %"
        )
    console().print(table)
