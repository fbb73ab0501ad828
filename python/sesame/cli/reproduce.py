"""`sesame reproduce`"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from sesame.analysis.reproduction import write_reproduction
from sesame.cli.simulate import check_file
from sesame.errors import InputError
from sesame.reproduction import (
    SECTIONS,
    Case,
    Experiment,
    Measured,
    Results,
    Runner,
    find_experiments,
)


@click.command()
@click.argument("name", required=False)
@click.option(
    "--report",
    type=click.Path(path_type=Path),
    metavar="FILE.html",
    help="Write a page with our curves beside what the report found.",
)
@click.option("--list", "listed", is_flag=True, help="List the experiments.")
@click.option("--mpi", metavar="WRAPPER", help="The MPI compiler wrapper for C++ to build with.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def reproduce(
    name: str | None, report: Path | None, listed: bool, mpi: str | None, as_json: bool
) -> None:
    """Run the experiments of a published report again, and compare.

    NAME is a section's, as sesame-8.2, or that of one figure or table. What the report found is
    said to come out here too, or not to.

    \b
    sesame reproduce table-8-3
    sesame reproduce sesame-8.2 --report parallel-io.html
    """
    if listed or name is None:
        _print_list()
        return
    experiments = find_experiments(name)
    if report is not None:
        if report.suffix != ".html":
            raise InputError(f"--report {report}: expected a name that ends with .html")
        check_file(report)
    console = Console(stderr=True, highlight=False)
    results = _run(experiments, mpi, console)
    if report is not None:
        write_reproduction(experiments, results, report)
        console.print(f"report: {report}", soft_wrap=True, markup=False)
    if as_json:
        click.echo(json.dumps(_as_json(experiments, results)))
    else:
        for experiment in experiments:
            _print_experiment(experiment, results)


def _print_list() -> None:
    table = Table("name", "what", "source", box=None, header_style="bold", pad_edge=False)
    for section, experiments in SECTIONS.items():
        table.add_row(section, f"all of these {len(experiments)}", "")
        for experiment in experiments:
            table.add_row(experiment.name, experiment.title, experiment.source)
    Console(highlight=False).print(table)


def _run(experiments: list[Experiment], mpi: str | None, console: Console) -> Results:
    cases = list(dict.fromkeys(case for experiment in experiments for case in experiment.cases))
    runner = Runner(mpi)
    with console.status("building the workloads"):
        runner.build(dict.fromkeys(case.workload for case in cases))
    results: dict[Case, Measured] = {}
    columns = (MofNCompleteColumn(), TextColumn("runs"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(cases))
        for case, measured in runner.run(cases):
            results[case] = measured
            progress.advance(task)
    return results


def _print_experiment(experiment: Experiment, results: Results) -> None:
    console = Console(highlight=False)
    console.print(f"[bold]{experiment.name}[/]: {experiment.title} ({experiment.source})")
    for table in _tables(experiment, results):
        console.print(table)
    for finding in experiment.findings:
        holds = finding.holds(results)
        console.print(f"{'comes out' if holds else 'DOES NOT COME OUT'}: {finding.text}")
        if finding.remark and not holds:
            console.print(f"  {finding.remark}")
    console.print()


def _tables(experiment: Experiment, results: Results) -> list[Table]:
    tables = []
    if experiment.rows:
        counts = Table("", "the report", "here", box=None, header_style="bold", pad_edge=False)
        for row in experiment.rows:
            counts.add_row(row.name, row.theirs, row.ours(results))
        tables.append(counts)
    for panel in experiment.panels:
        places = [str(place) for place, _ in next(iter(panel.curves.values()))]
        table = Table(
            panel.axis,
            *places,
            title=f"{panel.title} ({'s' if panel.quantity == 'time_s' else 'blocks'})",
            title_justify="left",
            box=None,
            header_style="bold",
            pad_edge=False,
        )
        for curve in panel.curves:
            table.add_row(curve, *(f"{value:.4g}" for value in panel.values(results, curve)))
        tables.append(table)
    return tables


def _as_json(experiments: list[Experiment], results: Results) -> list[dict[str, object]]:
    return [
        {
            "name": experiment.name,
            "title": experiment.title,
            "source": experiment.source,
            "runs": [{"command": str(case), **asdict(results[case])} for case in experiment.cases],
            "findings": [
                {"text": finding.text, "comes_out": finding.holds(results)}
                for finding in experiment.findings
            ],
        }
        for experiment in experiments
    ]
