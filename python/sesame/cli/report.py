"""`sesame report`

Large modules are imported where they are used, so that the command starts quickly.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("path", metavar="DATASET", type=click.Path(path_type=Path))
@click.argument("page", metavar="[FILE.html]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the content of the page as one JSON object on stdout; write the page only if you "
    "name it.",
)
def report(path: Path, page: Path | None, as_json: bool) -> None:
    """Write a page about a run: where its time went, and what to do about it.

    DATASET is a run of any kind, or a measurement of the kernel. By default the page is
    written beside it. It opens in any browser and needs no network.

    \b
    sesame report run.sesame report.html
    """
    from sesame.analysis.report.content_json import content_json
    from sesame.analysis.report.traced_json import traced_json
    from sesame.analysis.reports import write_page
    from sesame.analysis.study import study_run
    from sesame.analysis.traced.load import is_traced
    from sesame.cli.outputs import check_file
    from sesame.datasets import DataSet

    data_set = DataSet(path)
    written = page or (None if as_json else path.with_suffix(".html"))
    if written is not None:
        check_file(written)
    study = study_run(data_set) if is_traced(data_set) else None
    content: dict[str, Any] | None = None
    if as_json:
        content = content_json(data_set) if study is None else traced_json(study)
    if written is not None:
        write_page(data_set, written, study)
    if written is not None and page is None:
        click.echo(f"report: {written}", err=True)
    if content is not None:
        click.echo(json.dumps(content, indent=1))
