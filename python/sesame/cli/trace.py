"""`sesame trace`

Large modules are imported where they are used, so that the command starts quickly.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from rich.console import Console

import sesame
from sesame import native
from sesame.analysis.quantities import format_bytes, format_count, format_seconds
from sesame.cli.grouped import grouped
from sesame.errors import InputError, OutputError

if TYPE_CHECKING:
    from sesame.tracing import Making, TraceOptions


@dataclass(frozen=True)
class TraceCommand:
    """The options and arguments of `sesame trace`."""

    command: tuple[str, ...]
    output: Path | None
    only: Literal["io", "mpi"] | None
    prune: Literal["none", "thesis", "causal"]
    max_size: str | None
    keep_raw: bool
    as_json: bool
    force: bool
    raw_directory: Path | None
    from_raw: Path | None


COMMAND_LINE = {"allow_interspersed_args": False}


@click.command(
    cls=grouped(
        Recording=("only", "prune", "max_size"),
        Output=("output", "as_json", "keep_raw", "force"),
        Without_a_command=("raw_directory", "from_raw"),
    ),
    context_settings=COMMAND_LINE,
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="NAME.sesame",
    help="The data set to write; by default named after the program.",
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
    help="Stop recording when the raw records of all processes reach this size.",
)
@click.option("--keep-raw", is_flag=True, help="Also keep the raw streams (Common Trace Format).")
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
    help="Run nothing: print environment variables that make programs record themselves in DIR.",
)
@click.option(
    "--from-raw",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Run nothing: make a data set of the records in DIR.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def trace(**options: Any) -> int:
    """Record what a real run does with files and messages.

    Runs COMMAND unchanged and records all processes that it starts: programs with or without MPI,
    in C or Fortran, with threads and children. Nothing has to be recompiled or relinked.

    \b
    sesame trace -o run.sesame -- mpiexec -n 8 ./app input.dat
    """
    return _trace(TraceCommand(**options))


def _trace(options: TraceCommand) -> int:
    from sesame.datasets import check_destination
    from sesame.tracing import TraceOptions, make_data_set

    command = options.command
    ways = [options.raw_directory, options.from_raw, command or None]
    if sum(way is not None for way in ways) != 1:
        raise InputError(
            "expected a command to run, or one of --environment and --from-raw",
            hint="sesame trace -- mpiexec -n 4 ./app",
        )
    if options.raw_directory is not None:
        settings = TraceOptions(options.only, _size(options.max_size))
        _print_environment(options.raw_directory, settings)
        return 0
    if options.from_raw is not None and not options.from_raw.is_dir():
        raise InputError(f"--from-raw {options.from_raw}: there is no such directory")
    path = options.output or _output_of(command, options.from_raw)
    check_destination(path, force=options.force)
    with _making(options) as making:
        if options.from_raw is not None:
            status, result = 0, make_data_set(path, options.from_raw, command, 0, making)
        else:
            result = _record(options, path, making)
            status = int(result["exit_status"])
    _print_result(path, result, as_json=options.as_json)
    return status


def _record(options: TraceCommand, path: Path, making: Making) -> dict[str, Any]:
    run = sesame.trace(
        options.command,
        only=options.only,
        prune=options.prune,
        max_size=options.max_size,
        keep_raw=options.keep_raw,
        output=path,
        force=options.force,
        stdout=sys.stderr if options.as_json else None,
        progress=making.progress,
    )
    return dict(run.info.result)


def _size(text: str | None) -> int | None:
    return None if text is None else native.parse_size_bytes(text)


def _output_of(command: tuple[str, ...], raw: Path | None) -> Path:
    """A name after the program that a launcher such as mpiexec starts."""
    if raw is not None:
        return Path(f"{raw.resolve().name}.sesame")
    words = [Path(word).name for word in command if "/" in word and Path(word).is_file()]
    return Path(f"{words[-1] if words else Path(command[0]).name}.sesame")


def _print_environment(raw: Path, settings: TraceOptions) -> None:
    from sesame.tracing import environment

    try:
        raw.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{raw}: cannot be made: {error.strerror}") from error
    for name, value in environment(raw, settings).items():
        click.echo(f"export {name}={shlex.quote(value)}")


@contextmanager
def _making(options: TraceCommand) -> Iterator[Making]:
    """How to make the data set, with a progress line that is shown when the work begins."""
    from rich.status import Status

    from sesame.tracing import Making

    with ExitStack() as shown:
        lines: list[Status] = []

        def show(share: float) -> None:
            if not lines:  # the command has ended, so the terminal is free
                lines.append(shown.enter_context(Status("", console=Console(stderr=True))))
            lines[0].update(f"making the data set: {100 * share:.0f} %")

        yield Making(options.prune, options.keep_raw, options.force, show)


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
