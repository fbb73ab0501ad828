"""A traced run as input of the simulator: the player repeats its calls."""

from sesame.simulation.trace.run import TracedRun, plan_run

__all__ = ["TracedRun", "plan_run"]
