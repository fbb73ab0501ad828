"""A workload under the simulator."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace

from sesame.api.machine import Machine
from sesame.simulation import Host, RunResult, Scenario, find_host, parse_compute, simulate
from sesame.simulation.host import inspect_program
from sesame.simulation.settings import parse_placement
from sesame.workloads import BenchRun, Built, run_simulated


def run_on(
    machine: Machine,
    built: Built,
    ranks: int,
    options: Sequence[str],
    compute: str,
    placement: str,
) -> BenchRun:
    """The run; the program's output is left out."""
    executable = find_host(inspect_program(str(built.program)))

    def run(scenario: Scenario) -> RunResult:
        host = Host(executable, stdout=subprocess.DEVNULL)
        return simulate(replace(scenario, overrides=machine.overrides), host)

    return run_simulated(
        built,
        ranks,
        options,
        machine=machine.path,
        compute=parse_compute(compute),
        placement=parse_placement(placement),
        simulate=run,
    )
