"""`sesame machine check`

Large modules are imported where they are used, so that the help comes quickly.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from sesame import native
from sesame.analysis.quantities import format_seconds
from sesame.cli.console import console
from sesame.datasets.describe import count_of
from sesame.errors import InputError, WorkloadError
from sesame.machines import find_machine
from sesame.trust import Doubt

if TYPE_CHECKING:
    from sesame.analysis.against import Comparison, Recorded


@dataclass(frozen=True)
class MachineCheckOptions:
    """The options and arguments of `sesame machine check`."""

    machine: str
    data_sets: tuple[Path, ...]
    within: str | None
    compute: str | None
    placement: str | None
    mpi: str | None
    as_json: bool


@click.command()
@click.argument("machine")
@click.option(
    "--against",
    "data_sets",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="NAME.sesame",
    help="Compare with what `sesame bench run` measured. May be repeated.",
)
@click.option(
    "--within", metavar="PERCENT", help="Exit with status 1 when an error is larger, as 10%."
)
@click.option(
    "--compute",
    metavar="MODE",
    help="Time of computation in the simulator; by default measured, for the workload messages "
    "none.",
)
@click.option(
    "--placement",
    metavar="block|cyclic|FILE",
    help="Which rank runs on which node, in the simulator; by default block.",
)
@click.option("--mpi", metavar="WRAPPER", help="The MPI compiler wrapper for C++ to build with.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def check(**options: Any) -> int:
    """Check a machine file, or how well a model predicts.

    MACHINE is a machine file or a model of `sesame machine list`. An invalid file is reported with
    the line. The exit status is 1 if constants in the file are doubtful. Constants with wide
    intervals are listed as uncertain. With --against, the workload of every data set runs again in
    the simulator on this machine.

    \b
    sesame machine check my.toml
    sesame machine check my.toml --against cg.sesame --against messages.sesame --within 10%
    """
    return _check(MachineCheckOptions(**options))


def _check(options: MachineCheckOptions) -> int:
    from sesame.analysis.machine_doubts import doubts_of_machine, uncertainties_of_machine

    path = find_machine(options.machine)
    model = native.read_machine(str(path))
    if not options.data_sets:
        _refuse_without_data(options)
        found = doubts_of_machine(path), uncertainties_of_machine(path)
        return _say(path, model, *found, as_json=options.as_json)
    from sesame.analysis.against import read_recorded

    within = None if options.within is None else _fraction(options.within)
    recorded = [read_recorded(data_set) for data_set in options.data_sets]
    comparisons = [_compare(one, path, options) for one in recorded]
    missed = [c for c in comparisons if within is not None and abs(c.worst_error) > within]
    if options.as_json:
        click.echo(
            json.dumps(
                {
                    "machine": model["name"],
                    "comparisons": [asdict(comparison) for comparison in comparisons],
                    "within": within,
                    "missed": [comparison.data_set for comparison in missed],
                }
            )
        )
    else:
        _print(model["name"], comparisons)
    if missed:
        click.echo(f"{len(missed)} of {len(comparisons)} not within {options.within}", err=True)
    return 1 if missed else 0


def _say(
    path: Path,
    model: dict[str, Any],
    doubts: Sequence[Doubt],
    uncertainties: Sequence[str],
    *,
    as_json: bool,
) -> int:
    if as_json:
        listed = [doubt.as_json() for doubt in doubts]
        click.echo(json.dumps({**model, "doubts": listed, "uncertainties": uncertainties}))
    else:
        counts = [count_of(model[f"{noun}s"], noun) for noun in ("node", "rank")]
        words = ", ".join([model["name"], *counts])
        click.echo(f"{path}: {'doubtful' if doubts else 'good'}: {words}")
        for doubt in doubts:
            click.echo(doubt.text, err=True)
        for text in uncertainties:
            click.echo(f"uncertain: {text}", err=True)
        for hint in dict.fromkeys(doubt.hint for doubt in doubts if doubt.hint):
            click.echo(f"hint: {hint}", err=True)
    return 1 if doubts else 0


def _refuse_without_data(options: MachineCheckOptions) -> None:
    for name in ("within", "compute", "placement", "mpi"):
        if getattr(options, name) is not None:
            raise InputError(f"--{name} needs a measurement to compare with: --against")


def _fraction(text: str) -> float:
    try:
        value = float(text.removesuffix("%").strip())
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise InputError(f"--within {text}: expected a percentage", hint="for instance 10%")
    return value / 100


def _compare(recorded: Recorded, machine: Path, options: MachineCheckOptions) -> Comparison:
    from sesame.analysis.against import compare
    from sesame.simulation import Host, parse_compute
    from sesame.simulation import simulate as run_simulation
    from sesame.simulation.host import inspect_program
    from sesame.simulation.settings import parse_placement
    from sesame.workloads import (
        build_workload,
        find_compiler,
        find_workload,
        in_extended_form,
        run_simulated,
    )

    # The measured curve includes the program's own work between messages already.
    compute = options.compute or ("none" if recorded.curve is not None else "measured")
    built = build_workload(find_workload(recorded.workload), find_compiler(options.mpi))
    executable = inspect_program(str(built.program)).simulator
    host = Host(executable, stdout=subprocess.DEVNULL)
    with (
        Console(stderr=True).status(f"simulating {recorded.workload}"),
        in_extended_form(recorded.workload, recorded.options) as readable,
    ):
        run = run_simulated(
            built,
            recorded.ranks,
            readable,
            machine=machine,
            compute=parse_compute(compute),
            placement=parse_placement(options.placement or "block"),
            simulate=lambda scenario: run_simulation(scenario, host),
        )
    if run.exit_status != 0:
        raise WorkloadError(f"{recorded.workload} did not verify its answer in the simulator")
    return compare(recorded, run.report)


def _print(machine: str, comparisons: Sequence[Comparison]) -> None:
    table = Table("workload", "ranks", "measured", f"on {machine}", "error", "worst", "data set")
    table.box, table.header_style = None, "bold"
    for comparison in comparisons:
        table.add_row(
            " ".join([comparison.workload, *comparison.options]),
            str(comparison.ranks),
            *_figures(comparison),
            comparison.data_set,
        )
    console(highlight=False).print(table)


def _figures(comparison: Comparison) -> tuple[str, str, str, str]:
    error, worst = (f"{100 * value:+.1f} %" for value in (comparison.error, comparison.worst_error))
    if comparison.is_curve:
        return f"{comparison.points} sizes", "", f"median {error[1:]}", worst
    times = format_seconds(comparison.measured_s), format_seconds(comparison.predicted_s)
    return *times, error, ""
