"""`sesame reproduce`

Large modules are imported where they are used, so that the command starts quickly.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from sesame.cli.console import console as terminal
from sesame.cli.console import note
from sesame.datasets import check_destination
from sesame.errors import InputError
from sesame.host_load import LoadWatch, load_of
from sesame.trust import Doubt

if TYPE_CHECKING:
    from sesame.reproduction import (
        Calculation,
        Case,
        Experiment,
        Groups,
        Measured,
        Observation,
        Outcome,
        Results,
    )

# How long to watch the load before an observation begins.
LOOK_S = 0.5


@dataclass(frozen=True)
class ReproduceOptions:
    """The options and arguments of `sesame reproduce`."""

    name: str | None
    output: Path | None
    force: bool
    report: Path | None
    listed: bool
    mpi: str | None
    site: Path | None
    as_json: bool


@click.command()
@click.argument("name", required=False)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="NAME.sesame",
    help="Write a data set: findings, curves and tables.",
)
@click.option("--force", is_flag=True, help="Write over an existing data set.")
@click.option(
    "--report",
    type=click.Path(path_type=Path),
    metavar="FILE.html",
    help="Write a page with our curves beside the findings of the report.",
)
@click.option("--list", "listed", is_flag=True, help="List the experiments.")
@click.option("--mpi", metavar="WRAPPER", help="The MPI compiler wrapper for C++ to build with.")
@click.option(
    "--site",
    type=click.Path(path_type=Path),
    metavar="SITE.toml",
    help="paragon-metrics: add the same measures of this site.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def reproduce(**options: Any) -> None:
    """Run the experiments of a published report again, and compare.

    NAME is a section such as sesame-8.2, or one figure or table (--list). Each finding of
    the report is compared with the result here. Sections of chapter 7 measure the running kernel of
    this machine and need root; the others are simulated.

    \b
    sesame reproduce table-8-3
    sesame reproduce sesame-7.5 --report faults.html
    sesame reproduce paradyn-3
    sesame reproduce sesame-8.2 --report parallel-io.html
    sesame reproduce paragon-metrics --report paragon.html
    """
    _reproduce(ReproduceOptions(**options))


def _reproduce(options: ReproduceOptions) -> None:
    from sesame.reproduction import Calculation, Experiment, Observation, find_experiments

    if options.listed or options.name is None:
        _print_list()
        return
    found = find_experiments(options.name, _groups())
    if options.site is not None and options.name != "paragon-metrics":
        raise InputError("--site is for paragon-metrics only")
    _check_outputs(options)
    begin = datetime.now(UTC)
    console = Console(stderr=True, highlight=False)
    facts: list[tuple[str, str]] = []
    if isinstance(found, Observation):
        outcomes = [_observe(found, options.mpi, console)]
    else:
        calculations = [one for one in found if isinstance(one, Calculation)]
        experiments = [one for one in found if isinstance(one, Experiment)]
        outcomes = [_calculate(one, console) for one in calculations]
        if experiments:
            results = _run(experiments, options.mpi, console)
            outcomes += [experiment.outcome(results) for experiment in experiments]
            facts = _facts(experiments)
    if options.site is not None:
        from sesame.evaluation.paragon_here import here

        outcomes.append(here(options.site, note))
    _write(options, outcomes, facts, begin, console)
    if options.as_json:
        click.echo(json.dumps([_as_json(outcome) for outcome in outcomes]))
        return
    for outcome in outcomes:
        _print_outcome(outcome)


def _check_outputs(options: ReproduceOptions) -> None:
    """Checks, before experiments that may take minutes, that their output can be written."""
    if options.report is not None:
        from sesame.cli.outputs import check_file

        if options.report.suffix != ".html":
            raise InputError(f"--report {options.report}: expected a name that ends with .html")
        check_file(options.report)
    if options.output is not None:
        check_destination(options.output, force=options.force)


def _write(
    options: ReproduceOptions,
    outcomes: list[Outcome],
    facts: list[tuple[str, str]],
    begin: datetime,
    console: Console,
) -> None:
    if options.output is None and options.report is None:
        return
    from sesame.datasets import DataSet, DataSetWriter
    from sesame.reproduction.stored import write_outcomes

    with TemporaryDirectory(prefix="sesame-") as temporary:
        output = options.output or Path(temporary) / "reproduced.sesame"
        with DataSetWriter(output, force=options.force) as writer:
            write_outcomes(writer, outcomes, begin, facts=facts)
        if options.output is not None:
            console.print(f"data set: {output}", soft_wrap=True, markup=False)
        if options.report is not None:
            from sesame.analysis.report.reproduced import write_reproduced

            write_reproduced(DataSet(output), options.report)
            console.print(f"report: {options.report}", soft_wrap=True, markup=False)


def _facts(experiments: list[Experiment]) -> list[tuple[str, str]]:
    from sesame.reproduction import MACHINE

    runs = len({case for experiment in experiments for case in experiment.cases})
    comment = MACHINE.read_text(encoding="utf-8").partition("\n\n")[0]
    machine = " ".join(line.removeprefix("#").strip() for line in comment.splitlines())
    return [("simulated runs", str(runs)), ("machine", machine)]


def _print_list() -> None:
    from sesame.reproduction import OBSERVATIONS, SECTIONS

    table = Table("name", "what", "source", box=None, header_style="bold", pad_edge=False)
    for observation in OBSERVATIONS:
        table.add_row(observation.name, observation.title, observation.source)
    for section, experiments in SECTIONS.items():
        table.add_row(section, f"all of these {len(experiments)}", "")
        for experiment in experiments:
            table.add_row(experiment.name, experiment.title, experiment.source)
    for group, calculations in _groups().items():
        table.add_row(group, f"all of these {len(calculations)}", "")
        for one in calculations:
            table.add_row(one.name, one.title, one.source)
    terminal(highlight=False).print(table)


def _groups() -> Groups:
    from sesame.evaluation import paragon
    from sesame.reproduction import GROUPS

    return {**GROUPS, paragon.NAME: paragon.CALCULATIONS}


def _calculate(calculation: Calculation, console: Console) -> Outcome:
    with console.status("starting") as line:
        return calculation.calculate(lambda text: line.update(f"{calculation.name}: {text}"))


def _observe(observation: Observation, mpi: str | None, console: Console) -> Outcome:
    """Runs it, with its steps shown, and says when other work on the machine disturbed it."""
    from sesame.reproduction import Laboratory

    _warn(console, load_of(LOOK_S).doubts())
    # The observed programs write files, which must be on a disk: /tmp may be in memory.
    with (
        TemporaryDirectory(prefix=".sesame-", dir=Path.cwd()) as directory,
        console.status("starting") as line,
    ):
        watch = LoadWatch()
        show = line.update if console.is_terminal else _printed_steps(console)
        outcome = observation.observe(Laboratory(Path(directory), mpi), show)
        doubts = watch.stop().doubts()
    _warn(console, doubts)
    return replace(outcome, doubts=doubts)


def _printed_steps(console: Console) -> Callable[[str], None]:
    """A function that prints a line for each step, with the time so far: for use without a
    terminal."""
    begin_s = time.monotonic()

    def show(step: str) -> None:
        console.print(f"{time.monotonic() - begin_s:5.0f} s  {step}", markup=False)

    return show


def _warn(console: Console, doubts: Sequence[Doubt]) -> None:
    for doubt in doubts:
        console.print(f"warning: {doubt}; findings about time may differ", markup=False)
        if doubt.hint:
            console.print(f"hint: {doubt.hint}", markup=False)


def _run(experiments: list[Experiment], mpi: str | None, console: Console) -> Results:
    from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from sesame.reproduction import Runner

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


def _print_outcome(outcome: Outcome) -> None:
    console = terminal(highlight=False)
    console.print(f"[bold]{outcome.name}[/]: {outcome.title} ({outcome.source})")
    for doubt in outcome.doubts:
        console.print(f"doubtful: {doubt}", markup=False)
    for one in outcome.tables:
        table = Table(
            *one.columns,
            title=one.title or None,
            title_justify="left",
            box=None,
            header_style="bold",
            pad_edge=False,
        )
        for row in one.rows:
            table.add_row(*row)
        console.print(table)
    for judged in outcome.judgements:
        verdict = "reproduced" if judged.is_reproduced else "NOT REPRODUCED"
        console.print(f"{verdict}: {judged.text}")
        for text in (judged.seen, "" if judged.is_reproduced else judged.remark):
            if text:
                console.print(f"  {text}")
    console.print()


def _as_json(outcome: Outcome) -> dict[str, object]:
    return {
        "name": outcome.name,
        "title": outcome.title,
        "source": outcome.source,
        "runs": list(outcome.runs) or [{"command": command} for command in outcome.commands],
        "doubts": [doubt.as_json() for doubt in outcome.doubts],
        "tables": [asdict(table) for table in outcome.tables],
        "findings": [
            {"text": judged.text, "is_reproduced": judged.is_reproduced, "seen": judged.seen}
            for judged in outcome.judgements
        ],
    }
