"""`sesame measure start`, `stop`, `status`, `set`, `read`, `record`: daemons of many nodes; and
`environment` and `flags`, for programs that are measured.

Large modules are imported where they are used, so that the command starts quickly.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from sesame.cli.console import console, new_table, plain
from sesame.cli.grouped import grouped
from sesame.datasets import check_destination
from sesame.errors import AlreadyReported, InputError, SesameError
from sesame.extras import require
from sesame.installed import find_installed

if TYPE_CHECKING:
    from sesame.measurement.control import Nodes, Outcome, Recording

FILE = click.Path(path_type=Path)
COMMAND_LINE = {"allow_interspersed_args": False}
Command = Callable[..., Any]


def with_nodes(command: Command) -> Command:
    """Adds the options that name the daemons and give access to them."""
    for option in (
        click.option(
            "--ca", default="", metavar="FILE", help="The CA that signed their certificates."
        ),
        click.option(
            "--token-file",
            type=FILE,
            metavar="FILE",
            help="The daemons' token. Default: that of this machine's daemon.",
        ),
        click.option(
            "--nodes",
            default="127.0.0.1:7117",
            show_default=True,
            metavar="HOST[:PORT],…",
            help="The daemons; https://HOST:PORT for one with a certificate.",
        ),
    ):
        command = option(command)
    return command


def _connect(nodes: str, token_file: Path | None, ca: str) -> Nodes:
    require("daemon", "talking to a daemon", "httptools")
    from sesame.measurement.control import Nodes
    from sesame.measurement.defaults import default_state_directory
    from sesame.web.server.tokens import read_token

    token = read_token(token_file or default_state_directory() / "token")
    return Nodes([node for node in nodes.split(",") if node], token, ca)


def _report(outcomes: Sequence[Outcome[Any]]) -> None:
    """Prints the error of each node that failed; if any did, raises with the largest status."""
    failed = [outcome.error for outcome in outcomes if outcome.error is not None]
    for error in failed:
        click.echo(f"error: {error}", err=True)
    if failed:
        if len(outcomes) > 1:
            click.echo(f"{len(failed)} of {len(outcomes)} nodes failed", err=True)
        raise AlreadyReported(max(error.exit_status for error in failed))


@click.command(short_help="Switch on all points, or some.")
@click.argument("points", nargs=-1, metavar="[POINT[=trace]]…")
@click.option(
    "--detail",
    type=click.Choice(["count", "sampled", "duration"]),
    default="duration",
    show_default=True,
    help="Level of detail of the points.",
)
@with_nodes
def start(
    points: tuple[str, ...],
    detail: str,
    nodes: str,
    token_file: Path | None,
    ca: str,
) -> None:
    """Switch on all points, or some: a subsystem `fs`, a point `fs.read`.

    With `=trace` each event is recorded, too: `fs.read=trace`, `all=trace`.

    \b
    sesame measure start fs vm.total --nodes node1,node2
    """
    levels = dict(map(_level, points or ("all",)))
    _switch(levels, detail, _connect(nodes, token_file, ca))


def _level(text: str) -> tuple[str, str]:
    point, _, level = text.partition("=")
    if level not in ("", "summary", "trace"):
        raise InputError(f"{text}: expected POINT, POINT=summary or POINT=trace, got {level}")
    return point, level or "summary"


@click.command(short_help="Switch off all points, or some.")
@click.argument("points", nargs=-1, metavar="[POINT]…")
@with_nodes
def stop(points: tuple[str, ...], nodes: str, token_file: Path | None, ca: str) -> None:
    """Switch off all points, or some. A point that is off costs nothing.

    \b
    sesame measure stop
    """
    levels = dict.fromkeys(points or ("all",), "off")
    _switch(levels, "duration", _connect(nodes, token_file, ca))


def _switch(levels: dict[str, str], detail: str, nodes: Nodes) -> None:
    outcomes = nodes.set_levels(levels, detail)
    for outcome in outcomes:
        for point, reason in (outcome.answer or {}).items():
            click.echo(f"{outcome.node}: {point} is left out: {reason}", err=True)
    _report(outcomes)


@click.command(short_help="Show what each daemon measures.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout, by node.")
@with_nodes
def status(nodes: str, token_file: Path | None, ca: str, *, as_json: bool) -> None:
    """Show what each daemon measures, and where it sends the readings.

    \b
    sesame measure status --nodes node1,node2
    """
    outcomes = _connect(nodes, token_file, ca).state()
    if as_json:
        click.echo(json.dumps({one.node: one.answer for one in outcomes}))
    else:
        for outcome in outcomes:
            if outcome.answer is not None:
                _print_state(outcome.node, outcome.answer)
    _report(outcomes)


def _print_state(address: str, state: dict[str, Any]) -> None:
    out = console(highlight=False)
    destination = state["destination"] or "nowhere"
    out.print(f"{address} ({state['node']}): every {state['interval']:g} s, to {destination}")
    delivery = state["delivery"]
    if delivery is not None and (delivery["trouble"] or delivery["dropped"]):
        out.print(
            f"  {delivery['waiting']} readings wait, {delivery['dropped']} were dropped"
            f"{': ' if delivery['trouble'] else ''}{delivery['trouble']}"
        )
    if delivery is not None and state["events"]["seen"]:
        counts = delivery["events"]
        out.print(
            f"  events of traces: {counts['delivered']:,} delivered, "
            f"{counts['discarded']:,} discarded, {counts['waiting']:,} wait"
        )
    table = new_table("subsystem", "trace", "summary", "off", "unavailable")
    for name, subsystem in state["subsystems"].items():
        by_level: dict[str, list[str]] = {"trace": [], "summary": [], "off": [], "missing": []}
        for point, one in subsystem["points"].items():
            by_level["missing" if one["missing"] else one["level"]].append(point)
        table.add_row(name, *(" ".join(points) for points in by_level.values()))
    out.print(table)


@click.command(
    "set",
    cls=grouped(
        Settings=("interval", "batch", "size_groups", "destination"),
        Nodes=("nodes", "token_file", "ca"),
    ),
    short_help="Change intervals, destination or size groups.",
)
@click.option("--interval", type=float, metavar="SECONDS", help="Time between readings.")
@click.option(
    "--batch",
    type=int,
    metavar="READINGS",
    help="Readings in one batch while the node is idle.",
)
@click.option(
    "--destination",
    metavar="NAME",
    help="Where readings go: a name of [destinations] in the daemons' settings file; empty: "
    "nowhere.",
)
@click.option(
    "--size-groups",
    multiple=True,
    metavar="SUBSYSTEM=SIZE,…",
    help="The sizes in bytes below which each group ends: fs=512,4096.",
)
@with_nodes
def set_(
    size_groups: tuple[str, ...], nodes: str, token_file: Path | None, ca: str, **given: Any
) -> None:
    """Change when counters are read, where readings go, or the size groups.

    \b
    sesame measure set --interval 2 --size-groups fs=1024,65536
    """
    changes = {key: value for key, value in given.items() if value is not None}
    if not changes and not size_groups:
        hint = "give --interval, --batch, --destination or --size-groups"
        raise InputError("nothing to set", hint=hint)
    groups = dict(map(_size_groups, size_groups))
    _report(_connect(nodes, token_file, ca).set(changes, groups))


def _size_groups(text: str) -> tuple[str, list[int]]:
    name, _, sizes = text.partition("=")
    try:
        return name, [int(size) for size in sizes.split(",") if size]
    except ValueError as error:
        raise InputError(f"--size-groups: {text}: expected SUBSYSTEM=SIZE,…") from error


@click.command(short_help="Show what was counted since the reading before.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout, by node.")
@with_nodes
def read(nodes: str, token_file: Path | None, ca: str, *, as_json: bool) -> None:
    """Read the counters now; show what was counted since the reading before.

    \b
    sesame measure read --json
    """
    outcomes = _connect(nodes, token_file, ca).read()
    if as_json:
        click.echo(json.dumps({one.node: one.answer for one in outcomes}))
    else:
        _print_reading({one.node: one.answer for one in outcomes if one.answer is not None})
    _report(outcomes)


def _print_reading(answers: dict[str, dict[str, Any]]) -> None:
    from sesame.analysis.part_time import Coverage, percent

    titles = ("node", "point", "class", "sizes from", "events", "of the time", "bytes")
    table = new_table(*titles)
    for node, answer in answers.items():
        interval = (answer["begin_ns"], answer["end_ns"])
        for row in answer["summaries"]:
            coverage = Coverage({interval: row["active_ns"]})
            table.add_row(
                node,
                f"{row['subsystem']}.{row['point']}",
                plain(row["class"]),
                str(row["at_least_bytes"] or ""),
                f"{row['count']:,}",
                "all" if coverage.is_whole else percent(coverage.share),
                f"{row['bytes']:,}" if row["bytes"] else "",
            )
    console().print(table)


@click.command(context_settings=COMMAND_LINE, short_help="Record what nodes measure for some time.")
@click.option(
    "-o",
    "--output",
    type=FILE,
    default=Path("measured.sesame"),
    show_default=True,
    metavar="NAME.sesame",
    help="The data set to write, of all nodes.",
)
@click.option(
    "--seconds", type=float, default=60.0, show_default=True, help="Time to record without COMMAND."
)
@click.option("--force", is_flag=True, help="Write over an existing data set.")
@with_nodes
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def record(
    output: Path,
    seconds: float,
    nodes: str,
    token_file: Path | None,
    ca: str,
    *,
    force: bool,
    command: tuple[str, ...],
) -> int:
    """Record what nodes measure for some time, or while COMMAND runs on this one.

    \b
    sesame measure record -o job.sesame -- mpiexec -n 2 ./app
    """
    require("daemon", "sesame measure record", "httptools")
    from sesame.measurement.collector.journal import Journal
    from sesame.measurement.collector.segment import write_data_set
    from sesame.measurement.control import Recording

    check_destination(output, force=force)
    with (
        TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent) as directory,
        closing(Journal(Path(directory) / "journal")) as journal,
    ):
        recording = Recording(_connect(nodes, token_file, ca), journal)
        started = recording.begin()
        if all(outcome.error for outcome in started):
            _report(started)
        result = _wait(recording, command, seconds)
        ended = recording.finish()
        if recording.is_empty:
            raise SesameError("no node has measured anything")
        written = write_data_set(
            output,
            journal.path,
            journal.contents,
            instrument="sesame measure record",
            force=force,
        )
    click.echo(f"{output}: {', '.join(written)}", err=True)
    _report([a if a.error else b for a, b in zip(started, ended, strict=True)])
    return result


FETCH_SECONDS = 1.0


def _wait(recording: Recording, command: tuple[str, ...], seconds: float) -> int:
    """Waits for the command or the time; returns the exit status. Meanwhile fetches readings every
    second, since a daemon keeps only a limited number of them."""
    if not command:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, FETCH_SECONDS))
            recording.fetch()
        return 0
    try:
        process = subprocess.Popen(command)
    except OSError as error:
        raise InputError(f"{command[0]}: {error.strerror}") from error
    try:
        while True:
            try:
                return process.wait(FETCH_SECONDS)
            except subprocess.TimeoutExpired:
                recording.fetch()
    finally:
        process.terminate()  # it ends with this process; no effect if it has ended


@click.command("environment", short_help="Print variables with which MPI calls are counted.")
@click.option(
    "--counters",
    type=FILE,
    metavar="DIR",
    help="The --counters of the daemon, if it has that option.",
)
def environment_(counters: Path | None) -> None:
    """Print the variables with which this node's daemon counts the calls of MPI programs.

    To set them in a job script: eval "$(sesame measure environment)".

    \b
    sesame measure environment --counters /run/counters
    """
    from sesame.measurement.mpi import default_counter_directory, environment

    counters = counters or default_counter_directory()
    if not (counters / "settings").exists():
        click.echo(f"{counters}: no daemon uses it now; programs would report that", err=True)
    for name, value in environment(counters.absolute()).items():
        click.echo(f"export {name}={shlex.quote(value)}")


@click.command(short_help="Print the compiler options for libsesame.")
def flags() -> None:
    """Print the compiler options to build a program with libsesame.

    \b
    sesame measure flags
    """
    directory = find_installed("libsesame.so").parent
    click.echo(f"-I{directory} -L{directory} -Wl,-rpath,{directory} -lsesame")
