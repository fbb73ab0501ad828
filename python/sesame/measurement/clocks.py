"""How far the clocks of two machines are apart.

One machine asks the other for its time, several times. The answer was given at some moment between
question and reply, so half the shortest round trip bounds the error (Cristian, Probabilistic clock
synchronization, 1989).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

ROUND_TRIPS = 16


@dataclass(frozen=True)
class Offset:
    """What to add to a time of the node to have the time of whoever stores it."""

    offset_ns: int
    uncertainty_ns: int


def estimate(ask: Callable[[], int], round_trips: int = ROUND_TRIPS) -> Offset:
    """From this machine's monotonic clock to the clock that `ask` reads."""
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
    """From this machine's monotonic clock to its time of day."""
    return estimate(time.time_ns)
