"""Runs NAS benchmarks with several workers on the report's machine and counts the synchronisation.

The computation of a benchmark is measured once and the same times are used in all its runs, so that
runs differ only in what is compared.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sesame.datasets import DataSet
from sesame.datasets.writer import DataSetWriter
from sesame.errors import WorkloadError
from sesame.machines import find_machine
from sesame.simulation import Host, RunResult, Scenario, simulate
from sesame.simulation.compute import Compute
from sesame.simulation.host import inspect_program
from sesame.simulation.run import Keep, simulate_into
from sesame.workloads import Built, build_workload, find_compiler, find_workload, run_simulated

MACHINE = "sp2"
# A message of MPI-SIM has its data with it and arrives one latency after it was sent (section
# 5.2.3): all that a program sees of the latency, software included, is between the nodes.
MODEL = (
    "network.send_overhead=0us",
    "network.receive_overhead=0us",
    "network.eager_limit=1GiB",
)


@dataclass(frozen=True)
class Variant:
    """Of a benchmark: what it does, and the machine on which it does it, beside the common."""

    name: str = ""
    arguments: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    problem: str = "S"  # its class


@dataclass(frozen=True)
class Setup:
    """How a benchmark is simulated."""

    workers: int
    protocol: str = "null+conditional"
    shortcut: bool = True  # receives that name their source do not wait
    variant: Variant = Variant()


@dataclass(frozen=True)
class Count:
    """What one run took. Null messages and queries are means over the workers."""

    predicted_s: float
    wall_s: float
    memory_bytes: int
    look_ahead_s: float
    null_messages: float  # to all others
    agreements: int  # on what the earliest events are, by all workers
    queries: float  # the first event was not safe
    messages: int  # between ranks
    busy_s: float  # of all ranks, simulated: not waiting for a message
    frames: int = 0  # messages between workers

    @property
    def rounds(self) -> float:
        """Rounds of messages of the protocol."""
        return self.null_messages + self.agreements

    @property
    def uninterrupted(self) -> float:
        """The time that a rank executes on average between two receives, in look-aheads."""
        return self.busy_s / self.messages / self.look_ahead_s

    @property
    def quantum_rounds(self) -> float:
        """Global synchronisations of the quantum protocol as the report has it: one each time the
        look-ahead has passed."""
        return self.predicted_s / self.look_ahead_s


class Counting:
    """Builds benchmarks and runs them; the measured computation is kept in a directory."""

    def __init__(self, directory: Path, show: Callable[[str], None]) -> None:
        self._directory = directory
        self._show = show
        self._compiler = find_compiler(None)
        self._built: dict[str, Built] = {}
        self._alone: dict[tuple[str, int, Variant], RunResult] = {}
        self._ratio: float | None = None  # of processor speeds; None: the machine's

    def fit(self, benchmark: str, ranks: int, uninterrupted: float) -> float:
        """Sets the ratio of processor speeds so that a rank of this benchmark executes so many
        look-aheads between two receives, and returns it."""
        self._ratio, self._alone = 1.0, {}
        self._ratio = uninterrupted / self.count(benchmark, ranks, Setup(2)).uninterrupted
        self._alone = {}
        return self._ratio

    def alone(self, benchmark: str, ranks: int, variant: Variant) -> RunResult:
        """The run by one process, in which the computation is measured."""
        key = (benchmark, ranks, variant)
        if key not in self._alone:
            compute = Compute(save=self._times(*key))
            self._alone[key] = self._run(benchmark, ranks, Setup(1, variant=variant), compute)
        return self._alone[key]

    def recorded(self, benchmark: str, ranks: int, variant: Variant) -> DataSet:
        """The data set, with records, of a run with the same computation."""
        self.alone(benchmark, ranks, variant)
        path = self._directory / f"{benchmark}{variant.name}-{ranks}.sesame"
        if not path.exists():
            times = self._times(benchmark, ranks, variant)
            compute = Compute("recorded", times=times, text="recorded")
            with DataSetWriter(path) as writer:
                self._run(benchmark, ranks, Setup(1, variant=variant), compute, writer)
        return DataSet(path)

    def count(self, benchmark: str, ranks: int, setup: Setup) -> Count:
        self.alone(benchmark, ranks, setup.variant)
        times = self._times(benchmark, ranks, setup.variant)
        compute = Compute("recorded", times=times, text="recorded")
        result = self._run(benchmark, ranks, setup, compute).result
        parallel = result.get("parallel", {})
        return Count(
            result["predicted_time_s"],
            result["wall_time_s"],
            result["peak_rss_bytes"],
            parallel.get("look_ahead_s", 0.0),
            _mean(parallel.get("null_messages", [])),
            parallel.get("rounds", 0) - 1,
            _mean(parallel.get("queries", [])),
            result["messages"],
            _busy_s(result["rank_table"]),
            parallel.get("frames", 0),
        )

    def _times(self, benchmark: str, ranks: int, variant: Variant) -> Path:
        return self._directory / f"{benchmark}{variant.name}-{ranks}"

    def _run(
        self,
        benchmark: str,
        ranks: int,
        setup: Setup,
        compute: Compute,
        writer: DataSetWriter | None = None,
    ) -> RunResult:
        how = f"{setup.workers} workers, {setup.protocol}" if setup.workers > 1 else "1 worker"
        variant = setup.variant
        self._show(f"{' '.join([benchmark, variant.name]).strip()}, {ranks} ranks, {how}")
        if benchmark not in self._built:
            self._built[benchmark] = build_workload(find_workload(benchmark), self._compiler)
        built = self._built[benchmark]
        host = Host(inspect_program(str(built.program)).simulator, stdout=subprocess.DEVNULL)
        results: list[RunResult] = []

        def run_host(scenario: Scenario) -> RunResult:
            here = replace(
                scenario,
                overrides=(*MODEL, *variant.settings, *ratio),
                working_directory=self._directory,
                workers=setup.workers,
                protocol=setup.protocol,
                confirm_receives=not setup.shortcut,
            )
            if writer is None:
                results.append(simulate(here, host))
            else:
                results.append(simulate_into(writer, here, host, Keep()))
            return results[-1]

        ratio = () if self._ratio is None else (f"node.compute_ratio={self._ratio:.6g}",)
        machine = find_machine(MACHINE)
        arguments = ("--class", variant.problem, *variant.arguments)
        run = run_simulated(
            built, ranks, arguments, machine=machine, compute=compute, simulate=run_host
        )
        if run.report["verified"] is False or run.exit_status != 0:
            raise WorkloadError(f"{benchmark}: the program found its own answer wrong")
        return results[0]


def _mean(numbers: list[int]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0


def _busy_s(table: dict[str, Any]) -> float:
    return float(sum(table["end_s"]) - sum(table["wait_s"]))
