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
PAUSE = 1.0  # s, in which a limit refills its burst
LONGEST = 1.0  # s of a run of chunks
MOST = 64 << 20  # bytes of a run
RUNS = 3
AT_BEGIN = 8  # chunks that show how fast the device is without a limit
LEAST_BURST = AT_BEGIN * CHUNK  # with less the limit is the device's bandwidth
HELD_BACK = 2  # times as long as at the begin: less may have other reasons
SHARE = 0.8  # of the time of a run that the longest chunks take which are called stalls
FEWEST_STALLS = 3
SOON = 4  # the part of a run in which the burst is looked for
IN_PERIODS = 4  # chunks from stall to stall: a limit that allows all of a period at its begin


@dataclass(frozen=True)
class Limit:
    """Bytes per second; bytes that it saves at most; where it allows all of a period at its begin,
    how long that is (s), else 0."""

    rate: float
    burst: float
    refill: float


def find_limit(move: Callable[[int], object]) -> Limit | None:
    """`move` moves the next so many bytes to the device or from it. Of some runs the fastest
    counts: other things that the machine does make one longer, a limit all."""
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
    """From how long each of the chunks took that were moved after a pause."""
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
    """The longest chunks, which together make most of the time; in their order."""
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
        """Bytes that can be moved after a pause."""
        return self._limit.burst / 2 if self._limit else float("inf")

    def before(self, size: int) -> None:
        if self._limit is None:
            return
        if size > self._left:
            time.sleep(2 * max(self._limit.burst / self._limit.rate, self._limit.refill))
            self._left = self.most
        self._left -= size
