"""A traced run as input of the simulator: the player repeats its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sesame.lazy import names_of

if TYPE_CHECKING:
    from sesame.simulation.trace.elsewhere import mappings_for, time_elsewhere
    from sesame.simulation.trace.files import FilePlacement, place_files
    from sesame.simulation.trace.run import TracedRun, plan_run
else:
    __getattr__ = names_of(__name__)

__all__ = [
    "FilePlacement",
    "TracedRun",
    "mappings_for",
    "place_files",
    "plan_run",
    "time_elsewhere",
]
