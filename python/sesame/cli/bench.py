"""`sesame bench list|show|matrix|run`; `run` calls `sesame.bench`.

Large modules are imported where they are used, so that the command starts quickly.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

import sesame
from sesame.analysis.quantities import format_quantity
from sesame.cli.console import console
from sesame.cli.grouped import grouped
from sesame.cli.progress import TerminalDisplay
from sesame.datasets import check_destination
from sesame.errors import InputError
from sesame.simulation.host import RANKS_AS

if TYPE_CHECKING:
    from sesame.workloads import BenchRun

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
    ranks_as: str | None
    mpi: str | None
    output: Path | None
    report: Path | None
    force: bool
    as_json: bool


@click.group()
def bench() -> None:
    """Run real MPI programs that check their own answers.

    \b
    sesame bench list
    sesame bench run cg --class A -n 4
    """


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
    console(highlight=False).print(table)


@bench.command("show", short_help="Show what a workload does, its options and figures.")
@click.argument("name")
def show(name: str) -> None:
    """Show the page of the workload NAME: what it does, its options and figures.

    \b
    sesame bench show cg
    """
    from rich.markdown import Markdown

    from sesame.workloads import find_workload

    Console(highlight=False).print(Markdown(find_workload(name).page()))


@bench.command("matrix", short_help="Write a matrix as the workload `sparse` reads it.")
@click.argument("source", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--file",
    "output",
    type=click.Path(path_type=Path),
    metavar="FILE.extended",
    required=True,
    help="The file to write: all numbers of the matrix, with zeros. It is not a data set.",
)
@click.option("--force", is_flag=True, help="Write over an existing file.")
def matrix(source: Path, output: Path, force: bool) -> None:
    """Write the matrix FILE in extended form, which the workload `sparse` reads.

    FILE is in Matrix Market or Harwell-Boeing form, also compressed by gzip. `sesame bench run
    sparse --matrix FILE` does the same for one run.

    \b
    sesame bench matrix matrix.rsa --file matrix.extended
    """
    from sesame.workloads import read_matrix, write_extended

    if output.exists() and not force:
        raise InputError(f"{output}: exists already", hint="--force writes over it")
    found = read_matrix(source)
    write_extended(found, output)
    order, size = found.shape[0], output.stat().st_size
    click.echo(f"{output}: order {order}, {found.nnz} nonzeros, {size} bytes", err=True)


@bench.command(
    "run",
    cls=grouped(
        Run=("ranks", "mpi"),
        Simulation=("machine", "compute", "placement", "ranks_as"),
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
@click.option(
    "--ranks-as",
    type=click.Choice(RANKS_AS),
    help="Simulate ranks as copies of the program in one process, or each as a process of its own.",
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


def _run(options: BenchOptions) -> int:
    from sesame.cli.notes import print_doubts

    _check_outputs(options)
    console = Console(stderr=True, highlight=False)
    with tempfile.TemporaryDirectory(prefix="sesame-") as directory:
        run = sesame.bench(
            options.name,
            options.options,
            ranks=options.ranks,
            machine=options.machine,
            compute=options.compute,
            placement=options.placement,
            ranks_as=options.ranks_as,
            mpi=options.mpi,
            output=options.output or Path(directory) / "run.sesame",
            force=options.force,
            display=TerminalDisplay(program_stdout="stderr" if options.as_json else "stdout"),
            status=console.status,
        )
        written = {} if options.output is None else {"data_set": str(options.output)}
        if options.report is not None:
            written["report"] = str(run.report(options.report))
    if options.as_json:
        click.echo(json.dumps({**run.outcome.to_json(), **written}))
    else:
        _print_summary(console, run.outcome)
        print_doubts(run.outcome.doubts)
    for name, file in written.items():
        console.print(f"{name.replace('_', ' ')}: {file}", soft_wrap=True, markup=False)
    return run.exit_status


def _check_outputs(options: BenchOptions) -> None:
    """Checks, before a run that may be long, that its output can be written."""
    from sesame.cli.outputs import check_file

    if options.output is not None:
        check_destination(options.output, force=options.force)
    if options.report is not None:
        if options.report.suffix != ".html":
            raise InputError(f"--report {options.report}: expected a name that ends with .html")
        check_file(options.report)


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
