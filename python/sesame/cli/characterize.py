"""`sesame characterize`

What is large is imported where it is used, so that the command starts quickly.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sesame.analysis.characterize.limits import Limits
from sesame.cli.grouped import grouped
from sesame.errors import InputError

if TYPE_CHECKING:
    from sesame.analysis.characterize import NamedProfile, Profile, Source

DATA_SET = click.Path(path_type=Path)


@click.command(
    "characterize",
    cls=grouped(
        Comparison=("baseline", "compare", "combined"),
        Figures=("device", "page_bytes", "large_bytes", "band_sectors"),
        Output=("report", "as_json"),
    ),
)
@click.argument("paths", metavar="DATASET…", nargs=-1, type=DATA_SET)
@click.option(
    "--baseline", type=DATA_SET, metavar="A", help="A recording with no application running."
)
@click.option(
    "--compare",
    type=DATA_SET,
    multiple=True,
    metavar="B",
    help="Recordings with one application each; those that follow it belong to it.",
)
@click.option(
    "--combined", type=DATA_SET, metavar="D", help="A recording with all of them at once."
)
@click.option(
    "--device", metavar="NAME", help="Which device; the one with most requests unless given."
)
@click.option(
    "--page-bytes",
    type=click.IntRange(min=1),
    default=Limits.page_bytes,
    show_default=True,
    help="The size of a page: smaller requests are small.",
)
@click.option(
    "--large-bytes",
    type=click.IntRange(min=2),
    default=Limits.large_bytes,
    show_default=True,
    help="Requests from this size on are large.",
)
@click.option(
    "--band-sectors",
    type=click.IntRange(min=1),
    default=Limits.band_sectors,
    show_default=True,
    help="Sectors of a band of the disk.",
)
@click.option("--report", type=DATA_SET, metavar="FILE.html", help="Write a page with all figures.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def characterize_command(
    paths: tuple[Path, ...],
    compare: tuple[Path, ...],
    report: Path | None,
    *,
    as_json: bool,
    **options: Any,
) -> None:
    """Show how a disk or an application is really used.

    DATASET is a block trace (sesame import), a trace of the kernel (sesame measure) or a traced
    run (sesame trace).

    \b
    sesame characterize disk.sesame --report disk.html
    sesame characterize --baseline idle.sesame --compare ppm.sesame wavelet.sesame
    """
    if report is not None and report.is_dir():
        raise InputError(f"{report}: this is a directory, expected a file to write")
    limits = Limits(options["page_bytes"], options["large_bytes"], options["band_sectors"])
    if limits.large_bytes <= limits.page_bytes:
        raise InputError(
            f"--large-bytes {limits.large_bytes}: not more than a page of {limits.page_bytes} bytes"
        )
    others = [options["baseline"], options["combined"], *compare]
    if any(others):
        _compare(paths, compare, options, limits, report, as_json=as_json)
    else:
        _one(paths, options["device"], limits, report, as_json=as_json)


def _one(
    paths: tuple[Path, ...],
    device: str | None,
    limits: Limits,
    report: Path | None,
    *,
    as_json: bool,
) -> None:
    from sesame.analysis.characterize import characterize, open_source
    from sesame.analysis.characterize.page import facts, to_json, write_one
    from sesame.datasets import DataSet

    if len(paths) != 1:
        raise InputError(
            f"{len(paths)} data sets, expected one",
            hint="--compare shows several beside each other",
        )
    profile = characterize(open_source(DataSet(paths[0])), device, limits)
    if report is not None:
        write_one(profile, report)
    if as_json:
        click.echo(json.dumps(to_json(profile)))
        return
    console = Console(highlight=False)
    _print_facts(console, facts(profile))
    _print_findings(console, profile)


def _compare(
    paths: tuple[Path, ...],
    compare: tuple[Path, ...],
    options: dict[str, Any],
    limits: Limits,
    report: Path | None,
    *,
    as_json: bool,
) -> None:
    from sesame.analysis.characterize import Comparison, busiest, open_source
    from sesame.analysis.characterize.page import (
        comparison_json,
        comparison_lines,
        table_columns,
        write_comparison,
    )
    from sesame.datasets import DataSet

    applications = [*compare, *paths]
    if not applications:
        raise InputError("nothing to compare", hint="--compare names runs of one application each")
    named = {path: path for path in applications}
    ends = [options[name] for name in ("baseline", "combined")]
    sources = {p: open_source(DataSet(p)) for p in [*named, *(end for end in ends if end)]}
    if len({source.is_disk for source in sources.values()}) > 1:
        raise InputError(
            "disks and applications cannot be compared with one another",
            hint="block traces beside block traces, traced runs beside traced runs",
        )
    device = options["device"] or busiest(list(sources.values()))

    def part(path: Path | None) -> NamedProfile | None:
        return None if path is None else _named_profile(path, sources[path], device, limits)

    singles = [one for one in map(part, named) if one]
    comparison = Comparison(part(ends[0]), singles, part(ends[1]))
    if report is not None:
        write_comparison(comparison, report)
    if as_json:
        click.echo(json.dumps(comparison_json(comparison)))
        return
    console = Console(highlight=False)
    table = Table(box=None, header_style="bold")
    columns = table_columns(comparison)
    for column in columns:
        table.add_column(column.title, justify="right" if column.format else "left")
    for row in range(len(comparison.profiles)):
        shown = ((c.format or str)(c.values[row]) for c in columns)
        table.add_row(*(escape(text) for text in shown))
    console.print(f"[bold]{escape(device)}[/]")
    console.print(table)
    for line in comparison_lines(comparison):
        console.print(escape(line))


def _named_profile(path: Path, source: Source, device: str, limits: Limits) -> NamedProfile:
    from sesame.analysis.characterize import NamedProfile, characterize

    return NamedProfile(path.stem, characterize(source, device, limits))


def _print_facts(console: Console, lines: list[tuple[str, str]]) -> None:
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        console.print(f"[bold]{name:>{width}}[/]  {escape(value)}")


def _print_findings(console: Console, profile: Profile) -> None:
    from sesame.analysis.characterize.findings import find

    console.print()
    for finding in find(profile):
        console.print(f"[bold]{finding.topic}:[/] {escape(finding.sentence)}")
