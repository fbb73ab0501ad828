"""`sesame report`

What is large is imported where it is used, so that the command starts quickly.
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from sesame.errors import InputError


@click.command()
@click.argument("path", metavar="DATASET", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE.html",
    help="The page to write; beside the data set unless given.",
)
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path),
    metavar="FILE.json",
    help="Also what the page says, for programs; - for stdout. Of traced runs only.",
)
def report(path: Path, output: Path | None, json_path: Path | None) -> None:
    """Write a page on a run: what took its time, and what to do about it.

    DATASET is a traced, an imported or a simulated run, or a measurement of the kernel. The page
    opens in any browser and needs no network.

    \b
    sesame report run.sesame -o report.html
    """
    from sesame.analysis.report import write_report
    from sesame.analysis.report.traced_json import traced_json
    from sesame.analysis.study import study_run
    from sesame.analysis.traced.load import is_traced
    from sesame.datasets import DataSet
    from sesame.web.page import write_whole

    data_set = DataSet(path)
    page = output or path.with_suffix(".html")
    for file in (page, json_path):
        if file is not None and file.is_dir():
            raise InputError(f"{file}: this is a directory, expected a file to write")
    if not is_traced(data_set):
        if json_path is not None:
            raise InputError(
                f"{path}: not a traced run, --json is of traced runs only",
                hint="of a simulated run `sesame info --json` prints the figures",
            )
        write_report(data_set, page)
        _say_where(page, output)
        return
    study = study_run(data_set)
    write_report(data_set, page, study)
    _say_where(page, output)
    if json_path is not None:
        text = json.dumps(traced_json(study), indent=1) + "\n"
        if str(json_path) == "-":
            click.echo(text, nl=False)
        else:
            write_whole(json_path, text)


def _say_where(page: Path, asked: Path | None) -> None:
    """Of a page that nobody has named."""
    if asked is None:
        click.echo(f"report: {page}", err=True)
