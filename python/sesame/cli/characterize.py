"""`sesame characterize`

Large modules are imported where they are used, so that the command starts quickly.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sesame.analysis.characterize.limits import Limits
from sesame.cli.console import console
from sesame.cli.grouped import grouped
from sesame.errors import InputError

if TYPE_CHECKING:
    from sesame.analysis.characterize import Comparison, Profile
    from sesame.datasets import DataSet

DATA_SET = click.Path(path_type=Path)


@dataclass(frozen=True)
class CharacterizeOptions:
    """The options and arguments of `sesame characterize`."""

    paths: tuple[Path, ...]
    baseline: Path | None
    compare: tuple[Path, ...]
    combined: Path | None
    device: str | None
    page_bytes: int
    large_bytes: int
    band_sectors: int
    output: Path | None
    report: Path | None
    force: bool
    as_json: bool

    @property
    def limits(self) -> Limits:
        """Raises InputError if a large request would be smaller than a page."""
        if self.large_bytes <= self.page_bytes:
            raise InputError(
                f"--large-bytes {self.large_bytes}: not more than a page of {self.page_bytes} bytes"
            )
        return Limits(self.page_bytes, self.large_bytes, self.band_sectors)


@click.command(
    "characterize",
    cls=grouped(
        Comparison=("baseline", "compare", "combined"),
        Figures=("device", "page_bytes", "large_bytes", "band_sectors"),
        Output=("output", "report", "as_json", "force"),
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
    help="Compare recordings of one application each: B and every DATASET.",
)
@click.option(
    "--combined", type=DATA_SET, metavar="D", help="A recording of all applications at once."
)
@click.option(
    "--device", metavar="NAME", help="The device; by default the one with the most requests."
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
@click.option(
    "-o",
    "--output",
    type=DATA_SET,
    metavar="NAME.sesame",
    help="Write a data set: requests by size, time, position and process.",
)
@click.option("--force", is_flag=True, help="Write over an existing data set.")
@click.option("--report", type=DATA_SET, metavar="FILE.html", help="Write a page with all figures.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def characterize_command(**options: Any) -> None:
    """Show how a disk or an application is really used.

    DATASET is a block trace (sesame import), a trace of the kernel (sesame measure) or a traced
    run (sesame trace).

    \b
    sesame characterize disk.sesame --report disk.html
    sesame characterize --baseline idle.sesame --compare ppm.sesame wavelet.sesame
    """
    _characterize(CharacterizeOptions(**options))


def _characterize(options: CharacterizeOptions) -> None:
    from sesame.cli.outputs import check_file
    from sesame.datasets import check_destination

    compares = bool(options.compare or options.baseline or options.combined)
    if options.output is not None:
        if compares:
            raise InputError(
                "-o writes the figures of one data set; leave it out to compare several"
            )
        check_destination(options.output, force=options.force)
    if options.report is not None:
        check_file(options.report)
    if compares:
        _compare(options)
    else:
        _characterize_one(options)


def _characterize_one(options: CharacterizeOptions) -> None:
    from sesame.analysis.characterize import characterize, open_source
    from sesame.analysis.characterize.page import facts, to_json, write_one
    from sesame.datasets import DataSet

    limits = options.limits
    if len(options.paths) != 1:
        raise InputError(
            f"{len(options.paths)} data sets, expected one",
            hint="--compare shows several beside each other",
        )
    data_set = DataSet(options.paths[0])
    profile = characterize(open_source(data_set), options.device, limits)
    written = {}
    if options.output is not None:
        _write_data_set(options.output, profile, data_set, force=options.force)
        written["data_set"] = str(options.output)
    if options.report is not None:
        write_one(profile, options.report)
        written["report"] = str(options.report)
    if options.as_json:
        click.echo(json.dumps({**to_json(profile), **written}))
        return
    out = console(highlight=False)
    _print_facts(out, facts(profile))
    _print_findings(out, profile)
    for name, file in written.items():
        click.echo(f"{name.replace('_', ' ')}: {file}", err=True)


def _write_data_set(path: Path, profile: Profile, source: DataSet, *, force: bool) -> None:
    from sesame.analysis.characterize.stored import write_characterisation
    from sesame.datasets import DataSetWriter

    with DataSetWriter(path, force=force) as writer:
        write_characterisation(writer, profile, source, datetime.now(UTC))


def _compare(options: CharacterizeOptions) -> None:
    from sesame.analysis.characterize.page import comparison_json, write_comparison

    device, comparison = _read_comparison(options, options.limits)
    if options.report is not None:
        write_comparison(comparison, options.report)
    if options.as_json:
        click.echo(json.dumps(comparison_json(comparison)))
        return
    _print_comparison(device, comparison)


def _read_comparison(options: CharacterizeOptions, limits: Limits) -> tuple[str, Comparison]:
    """The device that is compared, and its profiles."""
    from sesame.analysis.characterize import (
        Comparison,
        NamedProfile,
        busiest,
        characterize,
        open_source,
    )
    from sesame.datasets import DataSet

    applications = list(dict.fromkeys([*options.compare, *options.paths]))
    if not applications:
        raise InputError("nothing to compare", hint="--compare names runs of one application each")
    ends = [end for end in (options.baseline, options.combined) if end]
    sources = {path: open_source(DataSet(path)) for path in [*applications, *ends]}
    if len({source.is_disk for source in sources.values()}) > 1:
        raise InputError(
            "disks and applications cannot be compared with one another",
            hint="block traces beside block traces, traced runs beside traced runs",
        )
    device = options.device or busiest(list(sources.values()))

    def profile_of(path: Path) -> NamedProfile:
        return NamedProfile(path.stem, characterize(sources[path], device, limits))

    return device, Comparison(
        None if options.baseline is None else profile_of(options.baseline),
        [profile_of(path) for path in applications],
        None if options.combined is None else profile_of(options.combined),
    )


def _print_comparison(device: str, comparison: Comparison) -> None:
    from sesame.analysis.characterize.page import comparison_lines, table_columns

    out = console(highlight=False)
    table = Table(box=None, header_style="bold")
    columns = table_columns(comparison)
    for column in columns:
        table.add_column(column.title, justify="right" if column.format else "left")
    for row in range(len(comparison.profiles)):
        shown = ((c.format or str)(c.values[row]) for c in columns)
        table.add_row(*(escape(text) for text in shown))
    out.print(f"[bold]{escape(device)}[/]")
    out.print(table)
    for line in comparison_lines(comparison):
        out.print(escape(line))


def _print_facts(console: Console, lines: list[tuple[str, str]]) -> None:
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        console.print(f"[bold]{name:>{width}}[/]  {escape(value)}")


def _print_findings(console: Console, profile: Profile) -> None:
    from sesame.analysis.characterize.findings import find

    console.print()
    for finding in find(profile):
        console.print(f"[bold]{finding.topic}:[/] {escape(finding.sentence)}")
