"""Where the time of predicted runs goes, side by side: why one machine is faster than another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sesame.analysis.explain.shares import ORDER
from sesame.comparison.run import Run
from sesame.comparison.side import Side


@dataclass(frozen=True)
class Share:
    """A share of the time of each side's slowest rank, in seconds, in the order of sides."""

    name: str
    seconds: tuple[float, ...]


def shares_of(sides: Sequence[Side]) -> tuple[Share, ...]:
    """The shares that `sesame simulate --explain` shows, in its order; on each side they add up to
    the predicted time. Empty unless every side is a predicted run with records. Of several runs the
    one counts whose time is nearest to that of the side."""
    readers = [run.read_shares for run in map(_typical, sides) if run.read_shares is not None]
    if len(readers) < len(sides):
        return ()
    found = [read() for read in readers]
    return tuple(
        Share(name, tuple(of_side.get(name, 0.0) for of_side in found))
        for name in ORDER
        if any(name in of_side for of_side in found)
    )


def slowest_ranks(sides: Sequence[Side]) -> tuple[int, ...]:
    """The rank of each side whose time the shares divide."""
    return tuple(int(_typical(side).rank_s.argmax()) for side in sides)


def _typical(side: Side) -> Run:
    return min(side.runs, key=lambda run: abs(run.time_s - side.time.value))
