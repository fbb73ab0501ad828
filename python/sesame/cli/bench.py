"""`sesame bench list|show|run`

What is large is imported where it is used, so that the command starts quickly.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from sesame import native
from sesame.analysis.quantities import format_quantity
from sesame.cli.grouped import grouped
from sesame.datasets import check_destination
from sesame.errors import InputError
from sesame.machines import find_machine

if TYPE_CHECKING:
    from sesame.simulation import RunResult, Scenario

if TYPE_CHECKING:
    from sesame.workloads import BenchRun, Built

VERDICTS = {
    True: "[bold green]verified[/]",
    False: "[bold red]WRONG[/]",
    None: "[bold]not verified[/]",
}


@dataclass(frozen=True)
class BenchOptions:
    """What the command line of `bench run` gives."""

    name: str
    options: tuple[str, ...]  # of the workload
    ranks: int
    machine: str | None
    compute: str
    placement: str
    mpi: str | None
    output: Path | None
    report: Path | None
    force: bool
    as_json: bool


@click.group()
def bench() -> None:
    """Run real MPI programs that check their own answers."""


@bench.command("list")
@click.option("--json", "as_json", is_flag=True, help="One object for each workload, on stdout.")
def list_workloads(as_json: bool) -> None:
    """List the workloads that come with Sesame.

    \b
    sesame bench list
    """
    from sesame.workloads import all_workloads

    if as_json:
        click.echo(
            json.dumps([asdict(workload) for workload in all_workloads().values()], indent=2)
        )
        return
    table = Table("name", "suite", "ranks", "options", "purpose", box=None, header_style="bold")
    for workload in all_workloads().values():
        options = ", ".join(f"{name} {taken}".strip() for name, taken in workload.options.items())
        table.add_row(workload.name, workload.suite, workload.ranks, options, workload.purpose)
    Console(highlight=False).print(table)


@bench.command("show")
@click.argument("name")
def show(name: str) -> None:
    """Show the page of the workload NAME: what it does, its options and figures.

    \b
    sesame bench show cg
    """
    from rich.markdown import Markdown

    from sesame.workloads import find_workload

    Console(highlight=False).print(Markdown(find_workload(name).page()))


@bench.command("matrix")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE.extended",
    required=True,
    help="The file to write: all numbers of the matrix, zeros too.",
)
@click.option("--force", is_flag=True, help="Write over an existing file.")
def matrix(file: Path, output: Path, force: bool) -> None:
    """Write the matrix of FILE in extended form, which the workload `sparse` reads.

    FILE is in Matrix Market or Harwell-Boeing form, also compressed by gzip. `sesame bench run
    sparse --matrix FILE` does the same for one run.

    \b
    sesame bench matrix matrix.rsa -o matrix.extended
    """
    from sesame.workloads import read_matrix, write_extended

    if output.exists() and not force:
        raise InputError(f"{output}: exists already", hint="--force writes over it")
    found = read_matrix(file)
    write_extended(found, output)
    order, size = found.shape[0], output.stat().st_size
    click.echo(f"{output}: order {order}, {found.nnz} nonzeros, {size} bytes", err=True)


@bench.command(
    "run",
    cls=grouped(
        Run=("ranks", "mpi"),
        Simulation=("machine", "compute", "placement"),
        Output=("output", "report", "as_json", "force"),
    ),
    context_settings={"ignore_unknown_options": True},
)
@click.option("-n", "--ranks", default=1, type=click.IntRange(min=1), help="Number of ranks.")
@click.option(
    "--simulate",
    "machine",
    metavar="MACHINE",
    help="Run under the simulator: a model of `sesame machine list`, or a machine file.",
)
@click.option(
    "--compute",
    default="measured",
    metavar="MODE",
    help="Time of computation in the simulator: measured, measured:2 (while two copies compute at "
    "once), none or fixed:1us.",
)
@click.option(
    "--placement",
    default="block",
    metavar="block|cyclic|FILE",
    help="Which rank runs on which node, in the simulator.",
)
@click.option("--mpi", metavar="WRAPPER", help="The MPI compiler wrapper for C++ to build with.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="NAME.sesame",
    help="Write a data set: figures, checks and tables.",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path),
    metavar="FILE.html",
    help="Write a page: findings first, then a plot for each table.",
)
@click.option("--force", is_flag=True, help="Write over an existing data set.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="One JSON object on stdout; the program's output goes to stderr.",
)
@click.argument("name")
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def run(**given: Any) -> int:
    """Build the workload NAME, run it and check its answer.

    Other OPTIONS go to the program. The exit status is 0 when the answer is verified, or when
    there is none to compare with; 1 when it is wrong.

    \b
    sesame bench run cg --class A -n 4
    sesame bench run cg --class S -n 256 --simulate infiniband
    """
    return _run(BenchOptions(**given))


def _run(ours: BenchOptions) -> int:
    from sesame.analysis.findings import with_findings
    from sesame.simulation import parse_compute
    from sesame.simulation.settings import parse_placement
    from sesame.workloads import (
        build_workload,
        find_compiler,
        find_workload,
        in_extended_form,
        run_here,
    )

    name, options = ours.name, ours.options
    workload = find_workload(name)
    machine = None if ours.machine is None else find_machine(ours.machine)
    if machine is not None:
        native.read_machine(str(machine))
    parse_compute(ours.compute)
    parse_placement(ours.placement)
    _check_outputs(ours)
    compiler = find_compiler(ours.mpi)
    console = Console(stderr=True, highlight=False)
    with console.status(f"building {name} with {compiler.wrapper}"):
        built = build_workload(workload, compiler)
    begin = datetime.now(UTC)
    with in_extended_form(name, options) as readable:
        if machine is None:
            done = run_here(built, ours.ranks, readable, output_to_stderr=ours.as_json)
        else:
            done = _run_simulated(built, machine, readable, ours)
    # The options as they were given: a matrix in another form was a temporary file.
    done = replace(done, report=with_findings(done.report), options=options)
    written = _write(done, begin, ours)
    if ours.as_json:
        click.echo(json.dumps({**done.to_json(), **written}))
    else:
        _print_summary(console, done)
    for what, file in written.items():
        console.print(f"{what.replace('_', ' ')}: {file}", soft_wrap=True, markup=False)
    return done.exit_status or int(done.report["verified"] is False)


def _check_outputs(ours: BenchOptions) -> None:
    """Before a run that may be long: can its output be written?"""
    from sesame.cli.outputs import check_file

    if ours.output is not None:
        check_destination(ours.output, force=ours.force)
    if ours.report is not None:
        if ours.report.suffix != ".html":
            raise InputError(f"--report {ours.report}: expected a name that ends with .html")
        check_file(ours.report)


def _run_simulated(
    built: Built, machine: Path, options: tuple[str, ...], ours: BenchOptions
) -> BenchRun:
    from sesame.cli.progress import ProgressLine
    from sesame.simulation import find_host, parse_compute
    from sesame.simulation import simulate as run_simulation
    from sesame.simulation.host import inspect_program
    from sesame.simulation.settings import parse_placement
    from sesame.workloads import run_simulated

    executable = find_host(inspect_program(str(built.program)))
    with ProgressLine(ours.ranks) as line:

        def simulate(scenario: Scenario) -> RunResult:
            return run_simulation(scenario, line.host(executable), **line.run_options())

        return run_simulated(
            built,
            ours.ranks,
            options,
            machine=machine,
            compute=parse_compute(ours.compute),
            placement=parse_placement(ours.placement),
            simulate=simulate,
            output_to_stderr=ours.as_json,
        )


def _write(done: BenchRun, begin: datetime, ours: BenchOptions) -> dict[str, str]:
    from sesame.analysis.views import write_page
    from sesame.datasets import DataSet, DataSetWriter
    from sesame.workloads import write_run

    written = {}
    with ExitStack() as stack:
        path = ours.output
        if path is None and ours.report is not None:
            directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="sesame-"))
            path = Path(directory) / "run.sesame"
        if path is not None:
            with DataSetWriter(path, force=ours.force) as writer:
                write_run(writer, done, begin)
        if ours.output is not None:
            written["data_set"] = str(path)
        if ours.report is not None and path is not None:
            write_page(DataSet(path), ours.report)
            written["report"] = str(ours.report)
    return written


def _print_summary(console: Console, done: BenchRun) -> None:
    report = done.report
    console.print(
        f"{VERDICTS[report['verified']]} {report['workload']} "
        f"on {report['ranks']} {'rank' if report['ranks'] == 1 else 'ranks'} of {done.machine}"
    )
    table = Table("figure", "value", "unit", box=None, header_style="bold", pad_edge=False)
    table.columns[1].justify = "right"
    time = {"name": "time", "value": report["time_s"], "unit": "s"}
    for figure in [time, *report["figures"]]:
        value, _, unit = format_quantity(figure["value"], figure["unit"]).partition(" ")
        table.add_row(figure["name"], value, unit)
    console.print(table)
    for sentence in report["findings"]:
        console.print(sentence, markup=False)
