"""`sesame info`

Large modules are imported where they are used, so that the command starts quickly.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from sesame.cli.console import console

if TYPE_CHECKING:
    from sesame.analysis.study import Study
    from sesame.datasets import DataSet


@click.command()
@click.argument("path", metavar="DATASET", type=click.Path(path_type=Path))
@click.option("--fields", is_flag=True, help="Also the fields of every record type.")
@click.option("--json", "as_json", is_flag=True, help="The whole info.json, on stdout.")
def info(path: Path, fields: bool, as_json: bool) -> None:
    """Show what a data set contains; for a traced run also where its time went.

    \b
    sesame info run.sesame
    """
    from sesame.datasets import DataSet, describe

    data_set = DataSet(path)
    if as_json:
        click.echo(json.dumps(data_set.info.as_json(), indent=2))
        return
    out = console(highlight=False)
    study = _study_of(data_set)
    facts = describe.facts(data_set)
    if study is not None:
        from sesame.cli.traced_summary import print_traced, traced_facts

        facts += traced_facts(study)
    for name, value in facts:
        out.print(f"[bold]{name:>14}[/]  ", end="")
        out.print(value, markup=False)
    table = Table("record type", "records", "meaning", box=None, header_style="bold")
    table.columns[1].justify = "right"
    for name, rows, meaning in describe.record_counts(data_set):
        table.add_row(name, f"{rows:,}", meaning)
    out.print()
    out.print(table)
    if study is not None:
        print_traced(out, study)
    if fields:
        for name in data_set.record_types:
            _print_fields(out, data_set, name)


def _study_of(data_set: DataSet) -> Study | None:
    """The analysis of a traced run; None for other data sets, which need no large library."""
    from sesame.datasets import RUNS_WITH_CALLS

    if data_set.kind not in RUNS_WITH_CALLS:
        return None
    from sesame.analysis.study import study_run
    from sesame.analysis.traced.load import is_traced

    return study_run(data_set) if is_traced(data_set) else None


def _print_fields(console: Console, data_set: DataSet, name: str) -> None:
    from sesame.datasets import describe

    table = Table("field", "type", "unit", "meaning", box=None, header_style="bold", title=name)
    table.title_justify = "left"
    for line in describe.field_lines(data_set, name):
        table.add_row(*line)
    console.print()
    console.print(table)
