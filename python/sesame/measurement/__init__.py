"""Measuring inside the running kernel: probes, summaries, traces, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sesame.lazy import names_of

if TYPE_CHECKING:
    from sesame.measurement.cost import Cost, keep_costs, kept_costs, measure_costs
    from sesame.measurement.defaults import DEFAULT_BUDGET
    from sesame.measurement.detail import Detail
    from sesame.measurement.kernel_account import measure_requests
    from sesame.measurement.perturbation import Perturbation, everything, measure_perturbation
    from sesame.measurement.probes import LoadedProbes, Point, Subsystem, loaded, subsystems
    from sesame.measurement.providers import (
        every_subsystem,
        everything_for,
        find_points,
        find_traced_points,
        opened,
    )
    from sesame.measurement.recording import Recorded, record_kernel
    from sesame.measurement.session import Session, Wanted, columns
    from sesame.measurement.trace import TraceWriter, read_events
else:
    __getattr__ = names_of(__name__)

__all__ = [
    "DEFAULT_BUDGET",
    "Cost",
    "Detail",
    "LoadedProbes",
    "Perturbation",
    "Point",
    "Recorded",
    "Session",
    "Subsystem",
    "TraceWriter",
    "Wanted",
    "columns",
    "every_subsystem",
    "everything",
    "everything_for",
    "find_points",
    "find_traced_points",
    "keep_costs",
    "kept_costs",
    "loaded",
    "measure_costs",
    "measure_perturbation",
    "measure_requests",
    "opened",
    "read_events",
    "record_kernel",
    "subsystems",
]
