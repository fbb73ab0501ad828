"""A traced run as input of the simulator: the player repeats its calls."""

from sesame.simulation.trace.files import Placed, place_files
from sesame.simulation.trace.run import TracedRun, plan_run

__all__ = ["Placed", "TracedRun", "place_files", "plan_run"]
