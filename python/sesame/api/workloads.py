"""`sesame.bench`: workloads that check their answer. The verb `bench run` calls it, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sesame.api.arguments import check_one, words_of
from sesame.api.data_set import DataSet, kept_or_temporary
from sesame.api.display import CapturedOutput, Display
from sesame.api.machine import Machine, machine_of
from sesame.datasets import DataSetWriter, check_destination
from sesame.errors import InputError
from sesame.host_load import LoadWatch
from sesame.settings import setting
from sesame.simulation import Host, RunResult, Scenario, parse_compute
from sesame.simulation import simulate as run_scenario
from sesame.simulation.host import check_ranks_as, inspect_program
from sesame.simulation.settings import parse_placement

if TYPE_CHECKING:
    from sesame.workloads import BenchRun, Built


class WorkloadRun(DataSet):
    """The data set of a workload that was just run. `outcome` is what the workload reported."""

    outcome: BenchRun

    @property
    def exit_status(self) -> int:
        """The exit status of the program; 1 if it succeeded but its answer is wrong."""
        return self.outcome.exit_status or int(self.outcome.report["verified"] is False)


def bench(
    workload: str,
    options: Sequence[str] = (),
    *,
    ranks: int = 1,
    machine: str | Path | Machine | None = None,
    compute: str = "measured",
    placement: str = "block",
    ranks_as: str | None = None,
    mpi: str | None = None,
    show_output: bool = False,
    output: str | Path | None = None,
    force: bool = False,
    display: Display | None = None,
    status: Callable[[str], AbstractContextManager[object]] = nullcontext,
) -> WorkloadRun:
    """Builds a workload that comes with Sesame, runs it and has it check its answer.

    Without `machine` it runs here, under the mpiexec that belongs to the MPI compiler wrapper
    `mpi`. With `machine` it is simulated; then `compute` (as text), `placement` and `ranks_as` are
    those of `sesame.simulate`. `options` go to the program (["--class", "A"]); `sesame bench list`
    names the workloads. The program's standard output is dropped unless `show_output`; a `display`
    shows runs in another way. `status(text)` returns a context manager that is entered while the
    program is compiled, which may take a minute.

    The data set is of kind `bench`: its figures are in the table `figure`, each with its unit;
    times are seconds. `output` is its path; `force` replaces an existing data set. Without
    `output` the data set is deleted with the last reference to it.

    Raises InputError for a wrong argument, BuildError if the program cannot be built,
    WorkloadError if it ends without a report.
    """
    from sesame.workloads import build_workload, find_compiler, find_workload

    if output is not None:
        check_destination(Path(output), force=force)
    found = find_workload(workload)
    target = None if machine is None else machine_of(machine)
    if target is None and ranks_as is not None:
        raise InputError(
            f"{setting('ranks_as', ranks_as)} is for simulated runs",
            hint="name the machine to simulate",
        )
    words = words_of("options", options, '["--class", "A"]')
    simulated = _Simulated(compute, placement, ranks_as)
    compiler = find_compiler(mpi)
    with status(f"building {workload} with {compiler.wrapper}"):
        built = build_workload(found, compiler)
    shown = display or CapturedOutput(quiet=not show_output)
    run = partial(_run_here, built, ranks, shown)
    if target is not None:
        run = partial(simulated.run, target, built, ranks, shown)
    return _kept(run, workload, tuple(words), output, force)


def _kept(
    run: Callable[[Sequence[str]], BenchRun],
    workload: str,
    options: tuple[str, ...],
    output: str | Path | None,
    force: bool,
) -> WorkloadRun:
    """Runs the workload and writes its data set."""
    from sesame.analysis.findings import with_findings
    from sesame.workloads import in_extended_form, write_run

    begin = datetime.now(UTC)
    with in_extended_form(workload, options) as readable:
        done = run(readable)
    # Keep the options as they were given: the converted matrix was a temporary file.
    done = replace(done, report=with_findings(done.report), options=options)

    def write(path: Path) -> None:
        with DataSetWriter(path, force=force) as writer:
            write_run(writer, done, begin)

    kept = kept_or_temporary(write, output, WorkloadRun)
    kept.outcome = done
    return kept


def _run_here(built: Built, ranks: int, display: Display, options: Sequence[str]) -> BenchRun:
    """A real run, with what others took of this machine meanwhile."""
    from sesame.workloads import run_here

    to_stderr = display.program_stdout == "stderr"
    watch = LoadWatch()
    done = run_here(built, ranks, options, quiet=display.quiet, output_to_stderr=to_stderr)
    return replace(done, doubts=tuple(watch.stop().doubts()))


class _Simulated:
    """The settings of a simulated run, checked before the program is built."""

    def __init__(self, compute: str, placement: str, ranks_as: str | None) -> None:
        check_one("compute", compute, (str,), "text", "")
        self._compute = parse_compute(compute)
        self._placement = parse_placement(placement)
        check_ranks_as(ranks_as)
        self._ranks_as = ranks_as

    def run(
        self,
        machine: Machine,
        built: Built,
        ranks: int,
        display: Display,
        options: Sequence[str],
    ) -> BenchRun:
        from sesame.workloads import run_simulated

        executable = inspect_program(str(built.program), self._ranks_as).simulator

        def simulate(scenario: Scenario) -> RunResult:
            scenario = replace(scenario, overrides=machine.overrides)

            def run(host: Host, **keywords: object) -> RunResult:
                return run_scenario(scenario, host, **keywords)  # type: ignore[arg-type]

            return display.host_run(executable, ranks, run)

        return run_simulated(
            built,
            ranks,
            options,
            machine=machine.path,
            compute=self._compute,
            placement=self._placement,
            simulate=simulate,
            output_to_stderr=display.program_stdout == "stderr",
        )
