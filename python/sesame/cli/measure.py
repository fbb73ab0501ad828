"""`sesame measure`"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from sesame.analysis.quantities import format_bytes, format_count, format_seconds
from sesame.cli.measure_daemon import daemon
from sesame.cli.measure_nodes import pull, record, set_, start, status, stop
from sesame.datasets import DataSetWriter, check_destination
from sesame.errors import InputError, SesameError
from sesame.measurement import (
    EVENTS,
    SUMMARY,
    Detail,
    LoadedProbes,
    Puller,
    TraceWriter,
    loaded,
    read_events,
    subsystems,
    switch_off,
)

COMMAND_LINE = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@click.group()
def measure() -> None:
    """Measure inside the running operating system."""


for command in (daemon, start, stop, status, set_, pull, record):
    measure.add_command(command)


@measure.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def list_points(*, as_json: bool) -> None:
    """Show the subsystems and points, and which of them this kernel allows."""
    rows: list[dict[str, Any]] = []
    for name, subsystem in subsystems().items():
        try:
            with loaded([name]) as probes:
                reasons = [probes[name].missing(i) for i in range(len(subsystem.points))]
        except SesameError as error:
            reasons = [str(error)] * len(subsystem.points)
        rows += [
            {"point": f"{name}.{point.name}", "meaning": point.meaning, "missing": reason}
            for point, reason in zip(subsystem.points, reasons, strict=True)
        ]
    if as_json:
        click.echo(json.dumps({"points": rows}))
        return
    table = Table("point", "what it sees", "here", box=None)
    for row in rows:
        table.add_row(row["point"], row["meaning"], row["missing"] or "yes")
    Console().print(table)


@measure.command(context_settings=COMMAND_LINE)
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
    metavar="SUBSYSTEM,…",
    help="Measure these only; all unless it is given (`sesame measure list`).",
)
@click.option(
    "--interval", type=float, default=10.0, show_default=True, help="Pull interval in seconds."
)
@click.option(
    "--detail",
    type=click.Choice([detail.name.lower() for detail in Detail if detail]),
    default="duration",
    show_default=True,
    help="How closely points look.",
)
@click.option(
    "--trace",
    "traced",
    default="",
    metavar="POINT,…",
    help="Write a record for each event of these points or subsystems, too.",
)
@click.option("--force", is_flag=True, help="Write over an existing data set.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
def run(
    output: Path,
    names: str,
    interval: float,
    detail: str,
    traced: str,
    *,
    force: bool,
    command: tuple[str, ...],
) -> int:
    """Record what the kernel does while COMMAND runs; all processes count, not only its own."""
    tracing = _points("--trace", traced)
    chosen = _points("--only", names) or _points("--only", ",".join(subsystems()))
    check_destination(output, force=force)
    used = [name for name in subsystems() if any(n == name for n, _ in chosen | tracing)]
    with DataSetWriter(output, force=force) as writer, loaded(used) as probes:
        spool = writer.directory / "events"
        with ExitStack() as stack:
            trace = stack.enter_context(TraceWriter(spool, probes)) if tracing else None
            _switch_on(probes, Detail[detail.upper()], chosen, tracing)
            puller = Puller(probes)
            status = _pull_while(command, puller, interval)
            switch_off(probes)
        info: dict[str, Any] = {"title": "kernel measurement", "command": list(command)}
        writer.write_described(SUMMARY, puller.columns())
        if trace is not None:
            writer.write_described_batches(EVENTS, read_events(spool, puller.begin_ns))
            info["events"] = trace.counts()
        writer.finish(info)
    _print_totals(puller.rows)
    if trace is not None:
        click.echo(
            "events: {seen:,} seen, {written:,} written, {lost:,} lost".format(**info["events"])
        )
    return status


def _points(option: str, text: str) -> set[tuple[str, int]]:
    """Subsystem and number of each point that `block,vm.total` names."""
    points: set[tuple[str, int]] = set()
    for word in filter(None, text.split(",")):
        name, _, point = word.partition(".")
        if name not in subsystems():
            raise InputError(
                f"{option}: there is no subsystem {name}",
                hint=f"there are {', '.join(subsystems())}",
            )
        there = [one.name for one in subsystems()[name].points]
        if point and point not in there:
            raise InputError(
                f"{option}: {name} has no point {point}", hint=f"it has {', '.join(there)}"
            )
        points |= {(name, i) for i, one in enumerate(there) if point in ("", one)}
    return points


def _switch_on(
    probes: dict[str, LoadedProbes],
    detail: Detail,
    chosen: set[tuple[str, int]],
    tracing: set[tuple[str, int]],
) -> None:
    for name, number in sorted(chosen | tracing):
        one = probes[name]
        try:
            one.set(number, detail, tracing=(name, number) in tracing)
        except SesameError as error:
            point = one.subsystem.points[number].name
            click.echo(f"{name}.{point} is left out: {error}", err=True)


def _pull_while(command: tuple[str, ...], puller: Puller, interval: float) -> int:
    ended = threading.Event()

    def pull() -> None:
        while not ended.wait(interval):
            puller.pull()

    thread = threading.Thread(target=pull)
    try:
        process = subprocess.Popen(command)
    except OSError as error:
        raise InputError(f"{command[0]}: {error.strerror}") from error
    thread.start()
    try:
        status = process.wait()
    finally:
        ended.set()
        thread.join()
        puller.pull()
    return status


def _print_totals(rows: list[dict[str, Any]]) -> None:
    totals: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        key = (f"{row['subsystem']}.{row['point']}", row["class"])
        sums = totals.setdefault(key, [0, 0, 0, 0, 0])
        for i, field in enumerate(("count", "bytes", "timed", "duration_ns")):
            sums[i] += row[field]
        sums[4] = max(sums[4], row["max_duration_ns"])
    table = Table("point", "class", "events", "bytes", "mean", "longest", box=None)
    for (point, class_), (count, size, timed, duration, longest) in totals.items():
        mean = format_seconds(1e-9 * duration / timed) if timed else ""
        most = format_seconds(1e-9 * longest) if timed else ""
        table.add_row(
            point, class_, format_count(count), format_bytes(size) if size else "", mean, most
        )
    Console(file=sys.stdout).print(table)
