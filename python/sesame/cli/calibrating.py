"""The measurements of `sesame machine calibrate`: messages and computation. They are repeated until
the intervals of the constants are narrow, or the time budget is used up. Meanwhile the load of
other processes is watched."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from sesame.analysis.calibration import ComputeFit, NetworkFit, fit_network
from sesame.errors import WorkloadError
from sesame.host_load import HostLoad, LoadWatch
from sesame.machines import find_machine
from sesame.simulation import Compute, Host
from sesame.simulation import simulate as run_simulation
from sesame.simulation.host import inspect_program
from sesame.trust import Doubt, median_of
from sesame.workloads.build import Built
from sesame.workloads.run import BenchRun, run_copies, run_here, run_simulated

# Up to sizes beyond the caches. Data larger than a core's own cache is seldom in one when a program
# sends it. From memory it takes up to three times as long.
MESSAGES = ("--most", "32MiB", "--uncached")
LEAST_RUNS, MOST_RUNS = 3, 9  # of the workload `messages`; medians count
LEAST_ROUNDS, MOST_ROUNDS = 5, 15  # of a kernel
MOST_ATTEMPTS = 3  # at measuring a part; the least disturbed attempt counts
NARROW = 0.03  # half an interval over its value: below it, a measurement is not repeated

T = TypeVar("T")


@dataclass
class Session:
    """The parts of one calibration.

    A part that was disturbed is measured again while the budget lasts, at most `MOST_ATTEMPTS`
    times. Then the least disturbed measurement counts, and `doubts` (heavy load) or
    `uncertainties` (light load) says so.
    """

    budget_s: float
    tell: Callable[[str], None]  # what is being measured, and the time left
    doubts: list[Doubt] = field(default_factory=list)
    uncertainties: list[Doubt] = field(default_factory=list)
    disturbed: int = 0  # heavily disturbed measurements
    begin_s: float = field(default_factory=time.monotonic)

    @property
    def left_s(self) -> float:
        return self.budget_s - (time.monotonic() - self.begin_s)

    def measure(self, what: str, part: Callable[[], T]) -> T:
        attempts: list[tuple[HostLoad, T]] = []
        while len(attempts) < MOST_ATTEMPTS:
            self.tell(f"measuring {what}; at most {max(self.left_s, 0):.0f} s more")
            watch = LoadWatch()
            result = part()
            load = watch.stop()
            attempts.append((load, result))
            if not load.is_busy or self.left_s <= load.elapsed_s:
                break
        load, result = min(attempts, key=lambda attempt: attempt[0].share)
        self.note(load, f"while {what} was measured ")
        return result

    def mark(self) -> tuple[int, int]:
        """The numbers of doubts and of heavily disturbed measurements so far, for `settle`."""
        return len(self.doubts), self.disturbed

    def settle(self, mark: tuple[int, int], repeats: int) -> None:
        """Turns the doubts since `mark` into uncertainties if fewer than half of the `repeats`
        since then were heavily disturbed: the median of the repeats counts."""
        doubts, disturbed = mark
        if 2 * (self.disturbed - disturbed) < repeats:
            self.uncertainties += self.doubts[doubts:]
            del self.doubts[doubts:]

    def note(self, load: HostLoad, when: str = "") -> None:
        """Adds what `load` means for the constants; `when` begins each sentence."""
        self.disturbed += load.is_heavy
        found = self.doubts if load.is_heavy else self.uncertainties
        found += [replace(doubt, text=f"{when}{doubt.text}") for doubt in load.doubts()]


def measure_messages(
    built: Built, ranks: int, hosts: Sequence[str], session: Session, what: str
) -> tuple[NetworkFit, list[dict[str, Any]]]:
    """Measures messages between `ranks` processes on `hosts` (none: here). Returns the fitted
    constants, and the reports that they come from."""
    where = [] if not hosts else ["-hosts", ",".join(hosts)]
    if len(hosts) > 1:
        where += ["-ppn", "1"]

    def one_run() -> dict[str, Any]:
        return checked(run_here(built, ranks, MESSAGES, quiet=True, mpiexec_options=where))

    reports: list[dict[str, Any]] = []
    mark = session.mark()
    while True:
        reports.append(session.measure(f"{what}, run {len(reports) + 1}", one_run))
        if len(reports) < LEAST_RUNS and session.left_s > 0:
            continue
        fit = fit_network(*reports)
        is_narrow = fit.widest <= NARROW and not (fit.doubts() or fit.uncertainties())
        if is_narrow or len(reports) >= MOST_RUNS or session.left_s <= 0:
            session.settle(mark, len(reports))
            return fit, reports


def busy_counts(cores: int) -> list[int]:
    """How many cores to keep busy at the same time: the powers of two from 2, and all cores."""
    counts = {1 << k for k in range(1, cores.bit_length()) if 1 << k <= cores}
    return sorted(counts | {cores}) if cores > 1 else []


def measure_kernel(built: Built, arguments: tuple[str, ...], session: Session) -> ComputeFit:
    """Runs a kernel alone, in several copies at once and simulated. They take turns, so that other
    load disturbs all of them alike."""
    counts = busy_counts(os.cpu_count() or 1)
    alone: list[float] = []
    simulated: list[float] = []
    shared: dict[int, list[float]] = {count: [] for count in counts}

    def one_round() -> tuple[float, list[float], float]:
        single = checked(run_here(built, 1, arguments, quiet=True))["time_s"]
        both = [
            statistics.mean(checked(run)["time_s"] for run in run_copies(built, count, arguments))
            for count in counts
        ]
        return single, both, checked(_simulated(built, arguments))["time_s"]

    mark = session.mark()
    name = f"{built.workload.name} {arguments[-1]}"
    while True:
        what = f"computation, {name}, round {len(alone) + 1}"
        single, both, in_simulator = session.measure(what, one_round)
        alone.append(single)
        simulated.append(in_simulator)
        for count, time_s in zip(counts, both, strict=True):
            shared[count].append(time_s)
        if len(alone) < LEAST_ROUNDS and session.left_s > 0:
            continue
        widest = max(median_of(times).relative_width for times in (alone, *shared.values()))
        if widest <= NARROW or len(alone) >= MOST_ROUNDS or session.left_s <= 0:
            break
    session.settle(mark, len(alone))
    return ComputeFit(
        name,
        statistics.median(alone),
        statistics.median(shared[counts[-1]] if counts else alone),
        statistics.median(simulated),
        {
            count: median_of([both / one for both, one in zip(times, alone, strict=True)])
            for count, times in shared.items()
        },
    )


def checked(run: BenchRun) -> dict[str, Any]:
    """The report of a run. Raises WorkloadError if the run failed or its answer is wrong."""
    if run.exit_status != 0 or run.report["verified"] is False:
        raise WorkloadError(f"{run.report['workload']} did not verify its answer here")
    return run.report


def _simulated(built: Built, arguments: tuple[str, ...]) -> BenchRun:
    executable = inspect_program(str(built.program)).simulator
    host = Host(executable, stdout=subprocess.DEVNULL)
    return run_simulated(
        built,
        1,
        arguments,
        machine=find_machine("infiniband"),  # any with a compute ratio of 1: one rank computes
        compute=Compute(),
        simulate=lambda scenario: run_simulation(scenario, host),
    )
