"""`sesame trace`

What is large is imported where it is used, so that the command starts quickly.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from sesame import native
from sesame.analysis.quantities import format_bytes, format_count, format_seconds
from sesame.errors import InputError, OutputError, TracingError

if TYPE_CHECKING:
    from sesame.tracing import TraceOptions

COMMAND_LINE = {"allow_interspersed_args": False}


@click.command(context_settings=COMMAND_LINE)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="NAME.sesame",
    help="The data set to write; NAME is the program's unless it is given.",
)
@click.option("--only", type=click.Choice(["io", "mpi"]), help="Record only files, or only MPI.")
@click.option(
    "--prune",
    type=click.Choice(["none", "thesis", "causal"]),
    default="none",
    is_flag=False,
    flag_value="causal",
    help="Leave out messages that cannot change when I/O is issued (--prune alone: causal).",
)
@click.option(
    "--max-size",
    metavar="SIZE",
    help="Stop recording when the raw records of all processes take so much.",
)
@click.option("--keep-raw", is_flag=True, help="Keep the raw streams (Common Trace Format), too.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="One JSON object on stdout; the program's output goes to stderr.",
)
@click.option("--force", is_flag=True, help="Write over an existing data set.")
@click.option(
    "--environment",
    "raw_directory",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Run nothing: print the variables that make programs record themselves in DIR.",
)
@click.option(
    "--from-raw",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Run nothing: make the data set of what programs recorded in DIR.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def trace(**options: Any) -> int:
    """Record what a real run does with files and messages.

    COMMAND is run as it stands, with all that it starts: programs with any MPI or none, C and
    Fortran, threads and children. Nothing is compiled or linked anew.

    \b
    sesame trace -o run.sesame -- mpiexec -n 8 ./app input.dat
    """
    from sesame.datasets import check_destination
    from sesame.tracing import TraceOptions, explain, run_traced, was_anything_recorded

    settings = TraceOptions(options["only"], _size(options["max_size"]))
    command: tuple[str, ...] = options["command"]
    ways = [options["raw_directory"], options["from_raw"], command or None]
    if sum(way is not None for way in ways) != 1:
        raise InputError(
            "expected a command to run, or one of --environment and --from-raw",
            hint="sesame trace -- mpiexec -n 4 ./app",
        )
    if options["raw_directory"] is not None:
        _print_environment(options["raw_directory"], settings)
        return 0
    if options["from_raw"] is not None and not options["from_raw"].is_dir():
        raise InputError(f"--from-raw {options['from_raw']}: there is no such directory")
    path = options["output"] or _output_of(command, options["from_raw"])
    check_destination(path, force=options["force"])
    if options["from_raw"] is not None:
        result = _make(path, options["from_raw"], command, 0, options)
        _print_result(path, result, as_json=options["as_json"])
        return 0
    raw = _new_raw(path, force=options["force"])
    try:
        stdout = sys.stderr if options["as_json"] else None
        status = run_traced(command, raw, settings, stdout=stdout)
        if not was_anything_recorded(raw):
            raise explain(command, status, raw)
    except BaseException:
        shutil.rmtree(raw, ignore_errors=True)
        raise
    result = _make_or_keep(path, raw, command, status, options)
    shutil.rmtree(raw, ignore_errors=True)
    _print_result(path, result, as_json=options["as_json"])
    return status


def _size(text: str | None) -> int | None:
    return None if text is None else native.parse_size_bytes(text)


def _output_of(command: tuple[str, ...], raw: Path | None) -> Path:
    """Named after the program; the launcher's name says nothing."""
    if raw is not None:
        return Path(f"{raw.resolve().name}.sesame")
    words = [Path(word).name for word in command if "/" in word and Path(word).is_file()]
    return Path(f"{words[-1] if words else Path(command[0]).name}.sesame")


def _new_raw(path: Path, *, force: bool) -> Path:
    """Where the run records itself: in plain view, so that it can be found when all else ends."""
    raw = path.with_name(f"{path.name}.raw")
    if raw.exists() and not force:
        raise OutputError(
            f"{raw}: the raw streams of a run that was interrupted are there",
            hint=f"sesame trace --from-raw {raw} makes a data set of them; --force removes them",
        )
    try:
        if raw.exists():
            shutil.rmtree(raw)
        raw.mkdir()
    except OSError as error:
        raise OutputError(f"{raw}: cannot be made: {error.strerror}") from error
    return raw


def _make_or_keep(
    path: Path, raw: Path, command: tuple[str, ...], status: int, options: dict[str, Any]
) -> dict[str, Any]:
    """The data set; when it cannot be written, the run was not in vain."""
    try:
        return _make(path, raw, command, status, options)
    except OutputError as error:
        kept = TracingError(
            f"{error.message}; the raw streams stay in {raw}",
            hint=f"free some space, then: sesame trace --from-raw {raw} -o {path}",
            exit_status=status or error.exit_status,
        )
        raise kept from error


def _print_environment(raw: Path, settings: TraceOptions) -> None:
    from sesame.tracing import environment

    try:
        raw.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{raw}: cannot be made: {error.strerror}") from error
    for name, value in environment(raw, settings).items():
        click.echo(f"export {name}={shlex.quote(value)}")


def _make(
    path: Path, raw: Path, command: tuple[str, ...], status: int, options: dict[str, Any]
) -> dict[str, Any]:
    from rich.status import Status

    from sesame.datasets import DataSetWriter
    from sesame.tracing import collate

    console = Console(stderr=True)
    with (
        DataSetWriter(path, force=options["force"]) as writer,
        Status("making the data set", console=console) as line,
    ):

        def show(share: float) -> None:
            line.update(f"making the data set: {100 * share:.0f} %")

        info = collate(raw, writer, prune=options["prune"], progress=show, command=command)
        info = replace(info, result={**info.result, "exit_status": status})
        if command and options["keep_raw"]:
            shutil.copytree(raw, writer.raw, copy_function=_link_or_copy)
            info = replace(info, raw={**(info.raw or {}), "directory": "raw"})
        writer.finish(info)
    return dict(info.result)


def _print_result(path: Path, result: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({**result, "data_set": str(path)}))
        return
    console = Console(stderr=True, highlight=False)
    processes = f"{result['processes']:,} process" + ("" if result["processes"] == 1 else "es")
    console.print(
        f"{result['outcome']} after {format_seconds(result['duration_s'])}: "
        f"{format_count(result['records'])} records of {processes}, {result['discarded']:,} lost"
    )
    if "kept" in result:
        console.print(
            f"pruning kept {result['kept']:,} MPI calls and dropped {result['dropped']:,}"
        )
    for doubt in result["doubts"]:
        console.print(f"[bold red]{doubt['reason']}[/]: {doubt['text']}", soft_wrap=True)
        console.print(f"hint: {doubt['hint']}", soft_wrap=True)
    for line in result.get("damage", []):
        console.print(f"[bold red]damaged[/] {line}")
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    console.print(f"data set: {path} ({format_bytes(size)})", soft_wrap=True)


def _link_or_copy(source: str, destination: str) -> None:
    """A second name for the file; a copy where the file system has no hard links."""
    try:
        os.link(source, destination)
    except OSError:
        shutil.copy2(source, destination)
