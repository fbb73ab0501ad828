"""Runs the simulator: a scenario in, a result and a data set out."""

from sesame.simulation.compute import Compute, parse_compute
from sesame.simulation.host import Host, HostRun, find_host
from sesame.simulation.run import Keep, RunResult, simulate, simulate_into
from sesame.simulation.scenario import Scenario
from sesame.simulation.sweep import Point, Sweep, points_of, run_sweep

__all__ = [
    "Compute",
    "Host",
    "HostRun",
    "Keep",
    "Point",
    "RunResult",
    "Scenario",
    "Sweep",
    "find_host",
    "parse_compute",
    "points_of",
    "run_sweep",
    "simulate",
    "simulate_into",
]
