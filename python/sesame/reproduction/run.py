"""Runs the cases of experiments, each once, two at a time."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

from sesame.errors import WorkloadError
from sesame.machines import find_machine
from sesame.reproduction.experiment import BLOCK_BYTES, Case, Measured
from sesame.simulation import Host, RunResult, Scenario, parse_compute, simulate
from sesame.simulation.host import inspect_program
from sesame.workloads import (
    BenchRun,
    Built,
    build_workload,
    find_compiler,
    find_workload,
    run_simulated,
)

MACHINE = find_machine("pfssim")
AT_ONCE = 2


class Runner:
    """Builds the workloads once and runs cases; stop() ends the running ones."""

    def __init__(self, mpi: str | None = None) -> None:
        self._compiler = find_compiler(mpi)
        self._built: dict[str, Built] = {}
        self._hosts: set[Host] = set()
        self._lock = threading.Lock()

    def build(self, workloads: Iterable[str]) -> None:
        for name in workloads:
            if name not in self._built:
                self._built[name] = build_workload(find_workload(name), self._compiler)

    def run(self, cases: list[Case]) -> Iterator[tuple[Case, Measured]]:
        """Yields every case with its results, in the order of completion."""
        self.build(dict.fromkeys(case.workload for case in cases))
        with ThreadPoolExecutor(min(AT_ONCE, os.cpu_count() or 1)) as pool:
            running: dict[Future[Measured], Case] = {
                pool.submit(self._measure, case): case for case in cases
            }
            try:
                while running:
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        yield running.pop(future), future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self.stop()
                raise

    def stop(self) -> None:
        with self._lock:
            hosts = list(self._hosts)
        for host in hosts:
            host.stop()

    def _measure(self, case: Case) -> Measured:
        measured = self._run(case)
        if case.before is None:
            return measured
        return measured - self._run(replace(case, options=case.before, before=None))

    def _run(self, case: Case) -> Measured:
        built = self._built[case.workload]
        executable = inspect_program(str(built.program)).simulator
        with tempfile.TemporaryDirectory(prefix="sesame-") as directory:

            def run_host(scenario: Scenario) -> RunResult:
                here = replace(
                    scenario, overrides=case.overrides, working_directory=Path(directory)
                )
                host = Host(executable, stdout=subprocess.DEVNULL)
                with self._lock:
                    self._hosts.add(host)
                try:
                    outcome = simulate(here, host)
                finally:
                    with self._lock:
                        self._hosts.discard(host)
                results.append(outcome)
                return outcome

            results: list[RunResult] = []
            run = run_simulated(
                built,
                case.ranks,
                case.options,
                machine=MACHINE,
                compute=parse_compute(case.compute),
                simulate=run_host,
            )
        _check(case, run)
        return measured_of(run.report, results[0].result)


def _check(case: Case, run: BenchRun) -> None:
    if run.report["verified"] is False or run.exit_status != 0:
        raise WorkloadError(f"{case}: the program found its own answer wrong")


def measured_of(report: dict[str, Any], result: dict[str, Any]) -> Measured:
    """The counts of all file systems in the result of a simulation."""
    files = [file for system in result["storage"] for file in system["files"]]
    devices = [ionode["device"] for system in result["storage"] for ionode in system["ionodes"]]
    return Measured(
        time_s=report["time_s"],
        write_seeks=sum(file["write_seeks"] for file in files),
        reads=sum(file["reads"] for file in files),
        writes=sum(file["writes"] for file in files),
        disk_reads=sum(device["reads"] for device in devices),
        disk_writes=sum(device["writes"] for device in devices),
        blocks_read=sum(device["bytes_read"] for device in devices) / BLOCK_BYTES,
    )
