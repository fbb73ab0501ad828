"""`sesame measure`"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
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
    SUMMARY,
    Detail,
    LoadedProbes,
    Puller,
    loaded,
    subsystems,
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
@click.option("--force", is_flag=True, help="Write over an existing data set.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
def run(
    output: Path, names: str, interval: float, detail: str, *, force: bool, command: tuple[str, ...]
) -> int:
    """Record what the kernel does while COMMAND runs; all processes count, not only its own."""
    chosen = _chosen(names)
    check_destination(output, force=force)
    with DataSetWriter(output, force=force) as writer, loaded(chosen) as probes:
        _switch_on(probes, Detail[detail.upper()])
        puller = Puller(probes)
        status = _pull_while(command, puller, interval)
        writer.write_described(SUMMARY, puller.columns())
        writer.finish({"title": "kernel measurement", "command": list(command)})
    _print_totals(puller.rows)
    return status


def _chosen(names: str) -> list[str]:
    chosen = [name for name in names.split(",") if name] or list(subsystems())
    for name in chosen:
        if name not in subsystems():
            raise InputError(
                f"--only: there is no subsystem {name}", hint=f"there are {', '.join(subsystems())}"
            )
    return chosen


def _switch_on(probes: dict[str, LoadedProbes], detail: Detail) -> None:
    for name, one in probes.items():
        for number, point in enumerate(one.subsystem.points):
            try:
                one.set(number, detail)
            except SesameError as error:
                click.echo(f"{name}.{point.name} is left out: {error}", err=True)


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
