"""`sesame diff`

Large modules are imported where they are used, so that the command starts quickly.
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from sesame.errors import InputError


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.option(
    "--report",
    type=click.Path(path_type=Path),
    metavar="FILE.html",
    help="Write a page with all calls and ranks.",
)
@click.argument("first", metavar="A")
@click.argument("others", metavar="B [C …]", nargs=-1, required=True)
def diff(first: str, others: tuple[str, ...], as_json: bool, report: Path | None) -> None:
    """Compare data sets: what takes longer, and whether the difference exceeds noise.

    A, B, … are data sets of simulated, traced, imported or replayed runs, or of workloads. Each is
    compared with A. Several runs of one side give an interval: name them with commas between, or a
    directory that holds them.

    \b
    sesame diff before.sesame after.sesame
    sesame diff real.sesame predicted.sesame --report difference.html
    sesame diff old1.sesame,old2.sesame,old3.sesame new1.sesame,new2.sesame,new3.sesame
    """
    from sesame.cli.outputs import check_file
    from sesame.comparison import compare, write_difference

    if report is not None:
        check_file(report)
    found = compare(*(paths_of(side) for side in (first, *others)))
    if as_json:
        click.echo(json.dumps(found.as_json()))
    else:
        from sesame.cli.diff_summary import print_difference

        print_difference(found)
    if report is not None:
        write_difference(found, report)
        click.echo(f"report: {report}", err=True)


def paths_of(text: str) -> list[str]:
    """The paths that `text` names, with commas between. A path that exists is taken as one, even
    with commas in it. Raises InputError for an empty name, which would be the current directory."""
    paths = [text] if Path(text).exists() else text.split(",")
    if not all(paths):
        raise InputError(f"{text!r}: expected names with commas between, without spaces")
    return paths
