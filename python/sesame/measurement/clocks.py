"""Estimates the offset between the clocks of two machines.

One machine reads the clock of the other several times. The reading happened at some moment between
request and reply, so half of the shortest round trip bounds the error (Cristian, Probabilistic
clock synchronization, 1989).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

ROUND_TRIPS = 16


@dataclass(frozen=True)
class Offset:
    """Added to a time of the node it gives the time on the clock of the machine that stores it."""

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
