"""Speed-up and efficiency of a series over numbers of ranks, of a problem of fixed size.

The speed-up is the predicted time on the fewest ranks over that on more; ideal is the ratio of the
numbers of ranks, and the efficiency is the share of it that is reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sesame.simulation import Point, RunResult

Runs = Sequence[tuple[Point, RunResult]]


@dataclass(frozen=True)
class Scaling:
    """Of one run, compared with that on the fewest ranks and otherwise the same settings."""

    base_ranks: int
    ideal: float
    speed_up: float
    low: float  # where the runs were repeated, the interval; else the speed-up itself
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
    """For each run; nothing where the series has but one number of ranks, or no time."""
    if len({point.ranks for point, _ in runs}) < 2:
        return [None] * len(runs)
    bases: dict[tuple[tuple[str, str], ...], tuple[Point, RunResult]] = {}
    for point, run in runs:
        known = bases.get(point.settings)
        if known is None or point.ranks < known[0].ranks:
            bases[point.settings] = (point, run)
    return [_scaling(point, run, *bases[point.settings]) for point, run in runs]


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
    """Of the predicted time; without repeats both ends are that time."""
    if run.estimate is None:
        return run.predicted_s, run.predicted_s
    return run.estimate.low, run.estimate.high
