"""Runs the simulator: takes a scenario, returns a result and writes a data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sesame.lazy import names_of

if TYPE_CHECKING:
    from sesame.simulation.compute import Compute, parse_compute
    from sesame.simulation.host import Host, HostRun, find_host, find_player
    from sesame.simulation.run import Keep, RunResult, simulate, simulate_into
    from sesame.simulation.scenario import Scenario
    from sesame.simulation.sweep import Point, Sweep, points_of, run_sweep
    from sesame.simulation.trace import (
        FilePlacement,
        TracedRun,
        mappings_for,
        place_files,
        plan_run,
        time_elsewhere,
    )
else:
    __getattr__ = names_of(__name__)

__all__ = [
    "Compute",
    "FilePlacement",
    "Host",
    "HostRun",
    "Keep",
    "Point",
    "RunResult",
    "Scenario",
    "Sweep",
    "TracedRun",
    "find_host",
    "find_player",
    "mappings_for",
    "parse_compute",
    "place_files",
    "plan_run",
    "points_of",
    "run_sweep",
    "simulate",
    "simulate_into",
    "time_elsewhere",
]
