"""Speed-up and efficiency of a series over numbers of ranks (strong scaling).

The speed-up is the predicted time on the fewest ranks over that on more. The ideal speed-up is the
ratio of the numbers of ranks; the efficiency is the speed-up over the ideal one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sesame.simulation import Point, RunResult

Runs = Sequence[tuple[Point, RunResult]]


@dataclass(frozen=True)
class Scaling:
    """The speed-up of one run, relative to the run on the fewest ranks with the same settings."""

    base_ranks: int
    ideal: float
    speed_up: float
    low: float  # the interval of the speed-up; without repeats both ends are the speed-up itself
    high: float

    @property
    def efficiency(self) -> float:
        return self.speed_up / self.ideal

    def as_json(self) -> dict[str, float]:
        return {
            "speed_up": self.speed_up,
            "efficiency": self.efficiency,
            "relative_to_ranks": self.base_ranks,
        }


def scalings_of(runs: Runs) -> list[Scaling | None]:
    """The scaling of each run. None if the number of ranks does not vary, or if it
    took no time, deadlocked or failed. The base is the run on the fewest ranks that succeeded."""
    if len({point.ranks for point, _ in runs}) < 2:
        return [None] * len(runs)
    bases: dict[tuple[tuple[str, str], ...], tuple[Point, RunResult]] = {}
    for point, run in runs:
        known = bases.get(point.settings)
        if not run.succeeded:
            continue
        if known is None or point.ranks < known[0].ranks:
            bases[point.settings] = (point, run)
    return [
        _scaling(point, run, *bases[point.settings]) if run.succeeded else None
        for point, run in runs
    ]


def _scaling(point: Point, run: RunResult, base: Point, base_run: RunResult) -> Scaling | None:
    if run.predicted_s <= 0:
        return None
    (base_low, base_high), (low, high) = interval_of(base_run), interval_of(run)
    speed_up = base_run.predicted_s / run.predicted_s
    same = point == base
    return Scaling(
        base_ranks=base.ranks,
        ideal=point.ranks / base.ranks,
        speed_up=speed_up,
        low=speed_up if same else base_low / high,
        high=speed_up if same or low <= 0 else base_high / low,
    )


def interval_of(run: RunResult) -> tuple[float, float]:
    """The interval of the predicted time; without repeats both ends are that time."""
    if run.estimate is None:
        return run.predicted_s, run.predicted_s
    return run.estimate.low, run.estimate.high
