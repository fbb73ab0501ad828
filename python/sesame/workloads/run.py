"""Runs a built workload: under its mpiexec on this machine, or in the simulator."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sesame.errors import AlreadyReported, InputError, WorkloadError
from sesame.settings import setting
from sesame.simulation import Compute, RunResult, Scenario
from sesame.trust import Doubt
from sesame.workloads.build import Built

HERE = "this machine"
WRONG_USAGE = 2
HELP = {"-h", "--help"}  # of the program, after --
PATIENCE_S = 5.0  # from SIGTERM to SIGKILL
# Open MPI 4 and 5 bind the rank of every one-rank job to the first processor, where copies that run
# at once would take turns.
UNBOUND = {
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}
# Every mpiexec of a user makes and removes the same directory below this one. One that removes it
# while another is about to use it makes that one fail (open-mpi/ompi, issue 7049).
SESSION_DIRECTORY = ("OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base")

Simulate = Callable[[Scenario], RunResult]


@dataclass(frozen=True)
class BenchRun:
    """The result of a run. Times of a simulated run are those of the modelled machine."""

    command: list[str]
    machine: str
    report: dict[str, Any]  # what the program wrote (workloads/kit/report.h)
    exit_status: int
    machine_file: Path | None = None  # of a simulated run
    simulated: dict[str, Any] = field(default_factory=dict)  # the simulator's own figures
    options: Sequence[str] = ()  # of the program
    doubts: Sequence[Doubt] = ()

    def to_json(self) -> dict[str, Any]:
        keys = ("workload", "verified", "ranks", "time_s", "parameters", "figures", "checks")
        picked = {key: self.report[key] for key in (*keys, "findings") if key in self.report}
        doubts = [doubt.as_json() for doubt in self.doubts]
        return {**picked, "machine": self.machine, **self.simulated, "doubts": doubts}


def run_here(
    built: Built,
    ranks: int,
    options: Sequence[str],
    *,
    output_to_stderr: bool = False,
    quiet: bool = False,
    mpiexec_options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> BenchRun:
    """Runs a workload under mpiexec on this machine. `options` are those of the program;
    `environment` adds to the caller's.

    Its output is passed on, or discarded with `quiet`. Raises WorkloadError if the program wrote no
    report, AlreadyReported if it printed the reason.
    """
    command = _command(built, ranks, options, mpiexec_options)
    stdout = subprocess.DEVNULL if quiet else sys.stderr if output_to_stderr else None
    with tempfile.TemporaryDirectory(prefix="sesame-") as directory:
        file = Path(directory) / "report.json"
        status = _run([*command, "--report", str(file)], stdout, environment)
        report = _read_report(file, status, options)
        return BenchRun(command, HERE, report, status, options=options)


def run_copies(built: Built, copies: int, options: Sequence[str]) -> list[BenchRun]:
    """Runs `copies` real runs of one rank each at the same time; discards their output."""

    chosen = [os.environ[name] for name in SESSION_DIRECTORY if name in os.environ]
    base = next((path for path in chosen if Path(path).is_dir()), None)
    with tempfile.TemporaryDirectory(prefix="sesame-", dir=base) as directory:

        def one_copy(number: int) -> BenchRun:
            own = dict.fromkeys(SESSION_DIRECTORY, f"{directory}/{number}")
            return run_here(built, 1, options, quiet=True, environment=UNBOUND | own)

        with ThreadPoolExecutor(copies) as threads:
            futures = [threads.submit(one_copy, number) for number in range(copies)]
        return [future.result() for future in futures]


def _command(
    built: Built, ranks: int, options: Sequence[str], mpiexec_options: Sequence[str]
) -> list[str]:
    if built.compiler.mpiexec is None:
        raise InputError(
            f"there is no mpiexec beside {built.compiler.wrapper} to start the program with",
            hint=f"give another MPI with {setting('mpi')}, or simulate the workload, which needs "
            "no mpiexec",
        )
    mpiexec = [str(built.compiler.mpiexec), *mpiexec_options]
    return [*mpiexec, "-n", str(ranks), str(built.program), *options]


def _run(command: list[str], stdout: Any, environment: Mapping[str, str] | None) -> int:
    sys.stdout.flush()
    process = subprocess.Popen(command, stdout=stdout, env={**os.environ, **(environment or {})})
    try:
        status = process.wait()
    except BaseException:  # such as Ctrl-C: mpiexec must have time to end the ranks
        process.terminate()
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise
    return status if status >= 0 else 128 - status


def run_simulated(
    built: Built,
    ranks: int,
    options: Sequence[str],
    *,
    machine: Path,
    compute: Compute,
    simulate: Simulate,
    placement: str = "block",
    output_to_stderr: bool = False,
) -> BenchRun:
    """Runs a workload in the simulator: `simulate` runs the scenario. Raises as `run_here`."""
    with tempfile.TemporaryDirectory(prefix="sesame-", dir=_not_simulated()) as directory:
        file = Path(directory) / "report.json"
        scenario = Scenario(
            program=str(built.program),
            arguments=(*options, "--report", str(file)),
            arguments_of_copies=tuple(options),  # they must not write the report, too
            ranks=ranks,
            machine=machine.resolve(),
            compute=compute,
            placement=placement,
            program_stdout="stderr" if output_to_stderr else "stdout",
        )
        outcome = simulate(scenario)
        status = outcome.exit_status
        if outcome.result["outcome"] in ("aborted", "deadlock"):
            raise AlreadyReported(status)
        return BenchRun(
            command=[str(built.program), *options],
            machine=str(outcome.result["machine"]),
            report=_read_report(file, status, options),
            exit_status=status,
            machine_file=machine,
            options=options,
            doubts=outcome.doubts,
            simulated={
                key: outcome.result[key] for key in ("predicted_time_s", "messages", "wall_time_s")
            },
        )


def _not_simulated() -> str | None:
    """A directory for temporary files outside of the working directory, whose files may be
    simulated."""
    places = (tempfile.gettempdir(), "/var/tmp", "/dev/shm")
    here = Path.cwd()
    return next((place for place in places if here not in Path(place, "x").parents), None)


def _read_report(file: Path, status: int, options: Sequence[str]) -> dict[str, Any]:
    if not file.exists():
        if status == WRONG_USAGE or (status == 0 and HELP & set(options)):
            raise AlreadyReported(status)  # the program has printed the error
        raise WorkloadError(f"the program wrote no report and ended with status {status}")
    report: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return report
