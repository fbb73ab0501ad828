"""`sesame export`"""

from __future__ import annotations

from pathlib import Path

import click

from sesame.analysis.quantities import format_count
from sesame.exchange import EXPORTS, export_data_set


@click.command()
@click.argument("path", metavar="DATASET", type=click.Path(path_type=Path))
@click.option(
    "--to",
    "format_name",
    required=True,
    type=click.Choice(list(EXPORTS)),
    help="otf2: an archive for Vampir and Scalasca; chrome: events for Perfetto; "
    "sddf: the Pablo Self-Defining Data Format; csv: a text table for each record type.",
)
@click.option(
    "--file",
    "output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The file to write; for otf2 and csv a directory. It is not a data set.",
)
@click.option(
    "--kernel",
    type=click.Path(path_type=Path),
    metavar="NAME.sesame",
    help="With chrome: add events of the kernel (sesame measure run --trace) to the time line.",
)
@click.option("--force", is_flag=True, help="Write over an existing file or directory.")
def export(path: Path, format_name: str, output: Path, kernel: Path | None, force: bool) -> None:
    """Write a data set in a format of other tools.

    \b
    sesame export run.sesame --to chrome --file run.json
    sesame export run.sesame --to otf2 --file run-otf2
    """
    records = export_data_set(path, format_name, output, force=force, kernel=kernel)
    click.echo(f"{output}: {format_count(records)} records")
