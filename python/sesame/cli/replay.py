"""`sesame replay`: calls `sesame.replay` and prints what it returns.

Large modules are imported where they are used, so that the command starts quickly.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click
from rich.console import Console
from rich.table import Table

import sesame
from sesame.analysis.quantities import format_bytes, format_count, format_seconds
from sesame.cli.grouped import grouped
from sesame.cli.program_options import read_assignments

MOST_CALLS = 8
MOST_DIFFERING = 5


@dataclass(frozen=True)
class ReplayOptions:
    """The options and arguments of `sesame replay`."""

    run: Path
    directory: Path | None
    mappings: tuple[str, ...]
    cold: bool
    direct: bool
    payload: Literal["zero", "compressible", "random"]
    scale_compute: float
    only_io: bool
    as_fast_as_possible: bool
    keep: bool
    force: bool
    mpi: str | None
    output: Path | None
    as_json: bool


@click.command(
    cls=grouped(
        Files=("directory", "mappings", "keep", "payload"),
        Caches=("cold", "direct"),
        Time=("scale_compute", "only_io", "as_fast_as_possible"),
        Output=("output", "as_json", "force"),
    ),
)
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where the run's files are in the replay: each at its path below DIR.",
)
@click.option(
    "--map",
    "mappings",
    multiple=True,
    metavar="OLD=NEW",
    help="Files below OLD are below NEW in the replay.",
)
@click.option("--cold", is_flag=True, help="Drop the caches of the files first.")
@click.option("--direct", is_flag=True, help="Bypass the page cache (O_DIRECT) where possible.")
@click.option(
    "--payload",
    type=click.Choice(["zero", "compressible", "random"]),
    default="random",
    help="Contents of the data that are written.",
)
@click.option(
    "--scale-compute", default=1.0, metavar="X", help="Multiply the time of computation by X."
)
@click.option("--only-io", is_flag=True, help="Replay I/O only: no rank waits for another one.")
@click.option(
    "--as-fast-as-possible", is_flag=True, help="Skip computation; keep the order of calls."
)
@click.option("--keep", is_flag=True, help="Do not delete the files after the replay.")
@click.option("--force", is_flag=True, help="Replace existing files and an existing data set.")
@click.option(
    "--mpi", metavar="WRAPPER", help="The MPI compiler wrapper for a replay under mpiexec."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="NAME.sesame",
    help="Write a data set: every operation, recorded and replayed.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.argument("run", metavar="RUN.sesame", type=click.Path(path_type=Path))
def replay(**options: Any) -> int:
    """Repeat a traced run on a real file system, and so predict its time there.

    Issues the I/O calls of RUN.sesame. Between them it waits for the recorded time of computation,
    and ranks wait for each other as recorded. It can run in several processes: mpiexec -n 4 sesame
    replay …

    \b
    sesame replay run.sesame --dir /mnt/new
    """
    return _replay(ReplayOptions(**options))


def _replay(options: ReplayOptions) -> int:
    with tempfile.TemporaryDirectory(prefix="sesame-") as directory:
        run = sesame.replay(
            options.run,
            options.directory,
            mappings=read_assignments("mappings", options.mappings, "OLD=NEW"),
            cold=options.cold,
            direct=options.direct,
            payload=options.payload,
            scale_compute=options.scale_compute,
            only_io=options.only_io,
            as_fast_as_possible=options.as_fast_as_possible,
            keep=options.keep,
            mpi=options.mpi,
            records=options.output is not None,
            output=options.output or Path(directory) / "replayed.sesame",
            force=options.force,
        )
    answer = run.outcome.figures
    if options.output is not None:
        answer = {**answer, "data_set": str(options.output)}
    console = Console(stderr=True, highlight=False)
    if options.as_json:
        click.echo(json.dumps(answer))
    else:
        _print_summary(console, answer, run.outcome.caches)
    for doubt in run.outcome.doubts:
        console.print(f"doubtful: {doubt}", markup=False, soft_wrap=True)
        console.print(f"hint: {doubt.hint}", markup=False, soft_wrap=True)
    if not answer["complete"]:
        console.print(f"the replay is incomplete: {answer['failure']}", markup=False)
    for line in _failed_data(answer):
        console.print(line, markup=False, soft_wrap=True)
    return run.exit_status


def _failed_data(answer: dict[str, Any]) -> list[str]:
    count = answer["failed_data_calls"]
    if not count:
        return []
    calls = "1 call" if count == 1 else f"{count:,} calls"
    lines = [f"{calls} moved data when recorded and failed here, so the times are not valid:"]
    for one in answer["failed_data"][:MOST_DIFFERING]:
        lines.append(f"  {one['count']:,} × {one['call']} of {one['file']}: {one['how']}")
    return lines


def _print_summary(console: Console, answer: dict[str, Any], caches: str | None) -> None:
    recorded, replayed = answer["recorded_time_s"], answer["replayed_time_s"]
    console.print(
        f"[bold]replayed in {format_seconds(replayed)}[/], recorded {format_seconds(recorded)}; "
        f"I/O {format_seconds(answer['io_replayed_s'])}, recorded "
        f"{format_seconds(answer['io_recorded_s'])}"
    )
    console.print(
        f"late by {format_seconds(max(answer['lateness_p50_s'], 0))} (median), "
        f"{format_seconds(max(answer['lateness_p99_s'], 0))} (99 %); the replayer's part of the "
        f"time {format_seconds(max(replayed - answer['scheduled_time_s'], 0))}"
    )
    table = Table("call", "issued", box=None, header_style="bold", pad_edge=False)
    table.columns[1].justify = "right"
    counts = sorted(answer["calls"].items(), key=lambda pair: -pair[1])
    for name, count in counts[:MOST_CALLS]:
        table.add_row(name, format_count(count))
    if len(counts) > MOST_CALLS:
        rest = sum(count for _, count in counts[MOST_CALLS:])
        more = len(counts) - MOST_CALLS
        table.add_row(f"{more} other{'' if more == 1 else 's'}", format_count(rest))
    console.print(table)
    read, written = format_bytes(answer["bytes_read"]), format_bytes(answer["bytes_written"])
    console.print(f"read {read}, written {written}")
    for line in _remarks(answer, caches):
        console.print(line, markup=False)


def _remarks(answer: dict[str, Any], caches: str | None) -> list[str]:
    lines = []
    if caches is not None:
        lines.append(f"caches dropped: {caches}")
    if answer["not_issued"]:
        named = ", ".join(f"{name} {count:,}" for name, count in answer["not_issued"].items())
        lines.append(f"not issued, their time kept: {named}")
    if answer["not_aligned"]:
        lines.append(f"{answer['not_aligned']:,} transfers were not aligned: through the cache")
    if answer.get("unmatched_messages"):
        lines.append(f"{answer['unmatched_messages']:,} messages have only one end in the trace")
    for one in answer["differing"][:MOST_DIFFERING]:
        times = "once" if one["count"] == 1 else f"{one['count']:,} times"
        lines.append(f"{times} {one['call']} of {one['file']}: {one['how']}")
    return lines
