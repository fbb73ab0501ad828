"""A traced run as input of the simulator: the player repeats its calls."""

from sesame.simulation.trace.elsewhere import mappings_for, time_elsewhere
from sesame.simulation.trace.files import Placed, place_files
from sesame.simulation.trace.run import TracedRun, plan_run

__all__ = [
    "Placed",
    "TracedRun",
    "mappings_for",
    "place_files",
    "plan_run",
    "time_elsewhere",
]
