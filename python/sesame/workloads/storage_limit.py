"""Detects rate limits of a device (as operating systems and clouds set them) and their burst size.

`sesame machine calibrate --dir` does this before it measures access times.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise

CHUNK = 64 << 10
PAUSE = 1.0  # s before a run, in which the burst is refilled
LONGEST = 1.0  # s of a run of chunks
MOST = 64 << 20  # bytes of a run
RUNS = 3
AT_BEGIN = 8  # chunks that show the speed of the device without a limit
LEAST_BURST = AT_BEGIN * CHUNK  # a smaller burst means that the limit is the device's bandwidth
HELD_BACK = 2  # a run is limited if it takes this many times as long as at its begin's speed
SHARE = 0.8  # of a run's time: the longest chunks that make up this share are called stalls
FEWEST_STALLS = 3
SOON = 4  # the burst is estimated in 1 / SOON of a run
# With at least this many chunks from stall to stall, the limit allows all bytes of a period at the
# begin of the period.
IN_PERIODS = 4


@dataclass(frozen=True)
class Limit:
    """A rate limit of a device."""

    rate: float  # bytes per second
    burst: float  # bytes that can be moved at once after a pause
    refill: float  # s, the period if all its bytes are allowed at its begin; else 0


def find_limit(move: Callable[[int], object]) -> Limit | None:
    """Detects a rate limit; None if there is none.

    `move` moves the given number of bytes to or from the device. The fastest of some runs counts:
    other activity of the machine slows down single runs, a limit all of them.
    """
    runs = [_run(move) for _ in range(RUNS)]
    return limit_of(min(runs, key=statistics.fmean))


def _run(move: Callable[[int], object]) -> list[float]:
    time.sleep(PAUSE)
    times: list[float] = []
    begin = before = time.perf_counter()
    while before - begin < LONGEST and len(times) * CHUNK < MOST:
        move(CHUNK)
        after = time.perf_counter()
        times.append(after - before)
        before = after
    return times


def limit_of(times: list[float]) -> Limit | None:
    """The limit, from the times of consecutive chunks that were moved after a pause."""
    fast = statistics.median(times[:AT_BEGIN])
    if sum(times) < HELD_BACK * len(times) * fast:
        return None
    stalls = _stalls(times)
    if len(stalls) < FEWEST_STALLS:
        return None
    ends = list(accumulate(times))
    if statistics.median(b - a for a, b in pairwise(stalls)) >= IN_PERIODS:
        limit = _in_periods(ends, stalls)
    else:
        limit = _in_bytes(ends, stalls[0])
    return limit if limit.burst >= LEAST_BURST else None


def _in_periods(ends: list[float], stalls: list[int]) -> Limit:
    first, last = stalls[0], stalls[-1]
    whole = ends[last] - ends[first]
    usual = statistics.median(ends[b] - ends[a] for a, b in pairwise(stalls))
    rate, refill = (last - first) * CHUNK / whole, whole / round(whole / usual)
    return Limit(rate, rate * refill, refill)


def _in_bytes(ends: list[float], first_stall: int) -> Limit:
    """Estimates rate and burst of a token bucket.

    Once the burst is used up, burst + rate * time bytes have passed, even if other work delayed the
    start. Soon after that, an error of the rate changes the burst little.
    """
    half = len(ends) // 2
    rate = (len(ends) - 1 - half) * CHUNK / (ends[-1] - ends[half])
    soon = range(first_stall, min(first_stall + len(ends) // SOON, len(ends)))
    return Limit(rate, statistics.median((i + 1) * CHUNK - rate * ends[i] for i in soon), 0.0)


def _stalls(times: list[float]) -> list[int]:
    """The numbers of the longest chunks, which together take most of the time, ascending."""
    longest = sorted(range(len(times)), key=lambda i: -times[i])
    left = SHARE * sum(times)
    stalls = []
    for i in longest:
        stalls.append(i)
        left -= times[i]
        if left <= 0:
            break
    return sorted(stalls)


class Pace:
    """Pauses a measurement before a rate limit would slow it down. Without a limit it does
    nothing."""

    def __init__(self, limit: Limit | None) -> None:
        self._limit = limit
        self._left = 0.0

    @property
    def most(self) -> float:
        """The number of bytes that can be moved after a pause."""
        return self._limit.burst / 2 if self._limit else float("inf")

    def before(self, size: int) -> None:
        """Call it before moving `size` bytes, at most `most`; sleeps if necessary."""
        if self._limit is None:
            return
        if size > self._left:
            time.sleep(2 * max(self._limit.burst / self._limit.rate, self._limit.refill))
            self._left = self.most
        self._left -= size
