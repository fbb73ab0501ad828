"""`sesame accuracy add|list|show|remove`

Large modules are imported where they are used, so that the command starts quickly.
"""

from __future__ import annotations

import json

import click
from rich.table import Table

from sesame.accuracy import Pair, Pairs, by_machine_and_program
from sesame.analysis.quantities import format_seconds
from sesame.cli.console import console
from sesame.datasets.describe import count_of

JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")


@click.group()
def accuracy() -> None:
    """Keep predicted and measured runs, and show how wrong machine models have been.

    Predictions of a model that has pairs state its past error.

    \b
    sesame accuracy add predicted.sesame measured.sesame
    sesame accuracy show
    """


@accuracy.command("add")
@JSON
@click.argument("predicted", metavar="PREDICTED")
@click.argument("measured", metavar="MEASURED")
def add(predicted: str, measured: str, as_json: bool) -> None:
    """Keep a pair of a simulated run and a real one of the same program.

    MEASURED is a traced run or a run of a workload. Of several runs (names with commas between, or
    a directory that holds them) the median counts.

    \b
    sesame accuracy add predicted.sesame measured.sesame
    """
    from sesame.cli.diff import paths_of
    from sesame.comparison.pairs import add_pair

    pair = add_pair(paths_of(predicted), paths_of(measured))
    if as_json:
        click.echo(json.dumps(pair.as_json()))
        return
    click.echo(
        f"{pair.number}: {_described(pair)}: predicted "
        f"{format_seconds(pair.predicted_s)}, measured {format_seconds(pair.measured_s)}, error "
        f"{100 * pair.error:+.1f} %"
    )


@accuracy.command("list")
@JSON
def list_pairs(as_json: bool) -> None:
    """List the pairs.

    \b
    sesame accuracy list
    """
    pairs, damaged = Pairs().read()
    if as_json:
        click.echo(
            json.dumps({"pairs": [pair.as_json() for pair in pairs], "damaged_lines": damaged})
        )
        return
    table = _table("no.", "machine", "program", "ranks", "predicted", "measured", "error", "doubts")
    for pair in pairs:
        table.add_row(*_cells(pair))
    console(highlight=False).print(table)
    _say_damaged(damaged)


@accuracy.command("show")
@JSON
def show(as_json: bool) -> None:
    """Show the error of each machine model, and of each program on it.

    \b
    sesame accuracy show
    """
    pairs, damaged = Pairs().read()
    groups = by_machine_and_program(pairs)
    if as_json:
        rows = [
            {"machine": machine, "machine_key": key, "program": program or None, **error.as_json()}
            for machine, key, program, error in groups
        ]
        click.echo(json.dumps({"errors": rows, "damaged_lines": damaged}))
        return
    table = _table("machine", "values", "program", "pairs", "median error", "worst")
    for machine, key, program, error in groups:
        figures = (f"{100 * error.median:.1f} %", f"{100 * error.worst:+.1f} %")
        table.add_row(machine, key, program or "(all)", str(error.pairs), *figures)
    console(highlight=False).print(table)
    _say_damaged(damaged)


@accuracy.command("remove")
@click.argument("number", type=click.IntRange(min=1))
def remove(number: int) -> None:
    """Remove the pair NUMBER of the list.

    \b
    sesame accuracy remove 3
    """
    pair = Pairs().remove(number)
    click.echo(f"removed {number}: {_described(pair)}")


def _described(pair: Pair) -> str:
    return f"{pair.program} on {count_of(pair.ranks, 'rank')} of {pair.machine}"


def _cells(pair: Pair) -> tuple[str, ...]:
    return (
        str(pair.number),
        pair.machine,
        " ".join([pair.program, *pair.arguments]),
        str(pair.ranks),
        format_seconds(pair.predicted_s),
        format_seconds(pair.measured_s),
        f"{100 * pair.error:+.1f} %",
        ", ".join(pair.doubts),
    )


def _table(*titles: str) -> Table:
    return Table(*titles, box=None, header_style="bold", pad_edge=False)


def _say_damaged(lines: int) -> None:
    if lines:
        many = "1 line is" if lines == 1 else f"{lines} lines are"
        click.echo(f"{Pairs().path}: {many} damaged and left out", err=True)
