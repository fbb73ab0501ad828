"""`sesame import`"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from sesame.analysis.quantities import format_count, format_seconds
from sesame.exchange import IMPORTS, import_trace

# Tables that name what the records of others refer to; the first line does not count them.
AROUND = ("process", "file", "communicator", "preempted", "file_view")


@click.command("import")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="NAME.sesame",
    help="The data set to write.",
)
@click.option(
    "--from",
    "format_name",
    type=click.Choice(list(IMPORTS)),
    help="The format of FILE; by default it is detected.",
)
@click.option("--force", is_flag=True, help="Replace an existing data set.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def import_command(
    path: Path, output: Path, format_name: str | None, force: bool, as_json: bool
) -> None:
    """Convert a trace of another tool to a data set.

    FILE is a Darshan log, a DFTracer trace, an OTF2 archive (its anchor file or its directory), an
    SDDF file, the directory of a CTF trace (LTTng, perf), or a block trace of blktrace, blkparse,
    perf script or MSR Cambridge.

    \b
    sesame import job.darshan -o job.sesame
    sesame import traces.otf2 -o run.sesame
    """
    result = import_trace(path, output, format_name=format_name, force=force)
    click.echo(json.dumps(result) if as_json else _words(output, result))


def _words(output: Path, result: dict[str, Any]) -> str:
    counts = [
        (result["rows"].get(name, 0), what)
        for name, what in (
            ("io", "call{s} on files"),
            ("mpi", "MPI call{s}"),
            ("file_total", "total{s} of files"),
            ("block_request", "request{s} to block devices"),
        )
    ]
    named = sum(count for count, _ in counts)
    others = sum(count for name, count in result["rows"].items() if name not in AROUND) - named
    counts.append((others, "record{s}" if not named else "other record{s}"))
    parts = [
        f"{format_count(count)} {what.format(s='' if count == 1 else 's')}"
        for count, what in counts
        if count
    ]
    processes = result["processes"]  # a block trace has none of its own
    many = "" if processes == 1 else "es"
    who = f"{format_count(processes)} process{many}, " if processes else ""
    lines = [
        f"{output}: {who}{format_seconds(result['duration_s'])}, {', '.join(parts) or 'no records'}"
    ]
    if result["not_imported"]:
        lines.append(f"not imported: {', '.join(result['not_imported'])}")
    return "\n".join([*lines, *result["damage"]])
