"""Estimates the offset between the clocks of two machines.

One machine reads the clock of the other several times. The other read its clock at some moment
between request and reply, so half of the shortest round trip bounds the error (Cristian,
Probabilistic clock synchronization, 1989).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

ROUND_TRIPS = 16


@dataclass(frozen=True)
class Offset:
    """The offset from a node's monotonic clock to the clock of the machine that stores its data.

    Time on the storing machine = time on the node + `offset_ns`, give or take `uncertainty_ns`.
    """

    offset_ns: int
    uncertainty_ns: int


def estimate(ask: Callable[[], int], round_trips: int = ROUND_TRIPS) -> Offset:
    """The offset from this machine's monotonic clock to the clock that `ask` reads, in ns."""
    best: Offset | None = None
    for _ in range(round_trips):
        before = time.monotonic_ns()
        theirs = ask()
        after = time.monotonic_ns()
        uncertainty = (after - before + 1) // 2
        if best is None or uncertainty < best.uncertainty_ns:
            best = Offset(theirs - (before + after) // 2, uncertainty)
    assert best is not None
    return best


def own_offset() -> Offset:
    """The offset from this machine's monotonic clock to its time of day."""
    return estimate(time.time_ns)
