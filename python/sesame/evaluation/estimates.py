"""Estimates of availability and of the mean time to incident, with their uncertainty.

Pure functions. Times are seconds. docs/models/evaluation.md derives and validates them.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from sesame.trust import Doubt, Estimate, Reason

CONFIDENCE = 0.95
CELLS = 240  # of the numerical density of a sum of errors
MOST_CHANGES = 12  # with more, the normal quantile is off by less than 0.4 %
FEW_INCIDENTS = 5


class Sample(NamedTuple):
    """A moment at which a machine was found up or down. `is_joined`: samples that were left out
    found the same state since the one before."""

    time: float
    is_up: bool
    is_joined: bool = False


@dataclass(frozen=True)
class Availability:
    """Shares of a period.

    `low` and `high` are the least and the largest availability that the samples permit if the
    state changes at most once between neighbouring samples, with the time that was not observed
    counted either way.
    `estimate` is of the observed time only; it is None if there is none.
    """

    low: float
    high: float
    observed: float
    estimate: Estimate | None


class State(Enum):
    """What is known of a stretch of time."""

    UP = "up"
    DOWN = "down"
    OPEN = "open"  # the state changed at some moment of it
    UNSEEN = "unseen"


class Span(NamedTuple):
    """A stretch of time with one state."""

    begin: float
    end: float
    state: State

    @property
    def length(self) -> float:
        return self.end - self.begin


def availability(
    samples: Iterable[Sample],
    begin: float,
    end: float,
    longest_gap: float,
    *,
    reboots: Sequence[float] = (),
    confidence: float = CONFIDENCE,
) -> Availability:
    """The availability of [begin, end]. Samples outside tell the state at its ends.

    Samples further apart than `longest_gap` leave the time between them unobserved. A reboot
    between two samples makes the time from the first to the reboot open. Needs begin < end.
    """
    spans = spans_of(samples, begin, end, longest_gap, reboots)
    return availability_of(spans, confidence)


def spans_of(
    samples: Iterable[Sample],
    begin: float,
    end: float,
    longest_gap: float,
    reboots: Sequence[float] = (),
) -> list[Span]:
    """The spans that make up [begin, end], in order."""
    ordered = sorted(samples, key=lambda one: one.time)
    found: list[Span] = []

    def add(begin: float, end: float, state: State) -> None:
        if found and found[-1].state is state and state is not State.OPEN:
            begin = found.pop().begin
        found.append(Span(begin, end, state))

    for before, after in pairwise([Sample(-math.inf, False), *ordered, Sample(math.inf, False)]):
        low, high = max(before.time, begin), min(after.time, end)
        if low >= high:
            continue
        if after.time - before.time > longest_gap and not after.is_joined:
            add(low, high, State.UNSEEN)
        elif before.is_up != after.is_up:
            add(low, high, State.OPEN)
        elif before.is_up:
            last = bisect_right(reboots, high)
            booted = reboots[last - 1] if last and reboots[last - 1] > low else low
            if booted > low:
                add(low, booted, State.OPEN)
            if high > booted:
                add(booted, high, State.UP)
        else:
            add(low, high, State.DOWN)
    return found


def time_up(spans: Sequence[Span]) -> float:
    """Half of the open time counts."""
    share = {State.UP: 1.0, State.OPEN: 0.5}
    return sum(share.get(one.state, 0.0) * one.length for one in spans)


def availability_of(spans: Sequence[Span], confidence: float = CONFIDENCE) -> Availability:
    """The availability of the period that the spans make up. Needs one span."""
    sums = dict.fromkeys(State, 0.0)
    for one in spans:
        sums[one.state] += one.length
    length = spans[-1].end - spans[0].begin
    known_up, left_open, unseen = sums[State.UP], sums[State.OPEN], sums[State.UNSEEN]
    observed = max(length - unseen, 0.0)
    estimate = None
    if observed > 1e-9 * length:
        widths = [one.length for one in spans if one.state is State.OPEN]
        half = uniform_sum_half_width(widths, confidence)
        middle = known_up + left_open / 2
        estimate = Estimate(
            min(middle / observed, 1.0),
            max(middle - half, 0.0) / observed,
            min(middle + half, observed) / observed,
            len(widths),
            _doubts_of(observed / length),
        )
    high = min((known_up + left_open + unseen) / length, 1.0)
    return Availability(known_up / length, high, observed / length, estimate)


def cut(spans: Sequence[Span], begin: float, end: float) -> list[Span]:
    """The part of spans that is in [begin, end]."""
    first = bisect_right(spans, begin, key=lambda one: one.end)
    last = bisect_left(spans, end, key=lambda one: one.begin)
    found = list(spans[first:last])
    if found:
        found[0] = Span(max(found[0].begin, begin), found[0].end, found[0].state)
        found[-1] = Span(found[-1].begin, min(found[-1].end, end), found[-1].state)
    return found


def combined(every: Sequence[Sequence[Span]]) -> list[Span]:
    """The spans of a target with several probes: down while one of them is down, open while one is
    open and none is down, up while one is up and no other than unseen."""
    if len(every) == 1:
        return list(every[0])
    edges = sorted({edge for spans in every for one in spans for edge in (one.begin, one.end)})
    places = [0] * len(every)
    found: list[Span] = []
    open_until = -math.inf
    for begin, end in pairwise(edges):
        now = []
        for number, spans in enumerate(every):
            while spans[places[number]].end <= begin:
                places[number] += 1
            now.append(spans[places[number]])
        state = min((one.state for one in now), key=_FIRST.index)
        # Parts of one open span are one error, not several.
        if found and found[-1].state is state and (state is not State.OPEN or begin < open_until):
            found[-1] = Span(found[-1].begin, end, state)
        else:
            found.append(Span(begin, end, state))
        open_ends = [one.end for one in now if one.state is State.OPEN]
        open_until = max(open_ends, default=-math.inf)
    return found


_FIRST = (State.DOWN, State.OPEN, State.UP, State.UNSEEN)


def overlaid(
    spans: Sequence[Span], windows: Iterable[tuple[float, float]], state: State
) -> list[Span]:
    """The same spans, with this state in these windows."""
    found = list(spans)
    for begin, end in windows:
        low, high = max(begin, found[0].begin), min(end, found[-1].end)
        if low < high:
            before, after = cut(found, found[0].begin, low), cut(found, high, found[-1].end)
            found = [*before, Span(low, high, state), *after]
    return found


def _doubts_of(observed: float) -> tuple[Doubt, ...]:
    if observed >= 0.9:
        return ()
    text = f"only {100 * observed:.0f} % of the time was observed"
    return (Doubt(Reason.INCOMPLETE_INPUT, text, "find out why the prober was not running"),)


def uniform_sum_half_width(widths: Sequence[float], confidence: float) -> float:
    """h such that a sum of independent uniform errors, each of its width, is within ±h with this
    probability. A change of state happens uniformly in its gap if probes do not follow outages.
    """
    total = sum(widths)
    if total <= 0:
        return 0.0
    power = sum(width * width for width in widths)
    if len(widths) > MOST_CHANGES:
        half = normal_quantile((1 + confidence) / 2) * math.sqrt(power / 12)
        return min(half, total / 2)
    import numpy as np

    density, spread = np.ones(1), 1.0
    for width in widths:
        cells = max(round(CELLS * width / total), 1)
        spread += cells * cells - 1
        density = np.convolve(density, np.full(cells, 1 / cells))
    # A cell has the width that makes the variance exact.
    return min(_half_width_of(density.tolist(), confidence) * math.sqrt(power / spread), total / 2)


def _half_width_of(density: Sequence[float], confidence: float) -> float:
    """In cells from the middle, of a symmetric density."""
    tail = (1 - confidence) / 2
    below = 0.0
    for number, share in enumerate(density):
        if below + share >= tail:
            return len(density) / 2 - (number + (tail - below) / share)
        below += share
    return 0.0


def normal_quantile(probability: float) -> float:
    """The quantile of the standard normal distribution."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(probability)


@cache
def poisson_limits(
    count: int, confidence: float = CONFIDENCE, *, mid_p: bool = False
) -> tuple[float, float]:
    """Confidence limits of the mean of a Poisson variable that was observed to be `count`.

    Exact (F. Garwood, Biometrika 28, 1936): they hold the mean with at least this confidence.
    With `mid_p` half of the probability of `count` itself counts (G. Berry and P. Armitage, The
    Statistician 44, 1995): shorter limits, right on average. For a count of 0 the upper limit is
    one-sided.
    """
    tail = (1 - confidence) / 2 if count else 1 - confidence
    share = 0.5 if mid_p else 1.0

    def at_most(mean: float) -> float:
        return _poisson_below(count, mean) + share * _poisson(count, mean)

    def at_least(mean: float) -> float:
        return 1 - _poisson_below(count, mean) - (1 - share) * _poisson(count, mean)

    most = count + 10 * math.sqrt(count + 1) + 20
    high = _falling_root(lambda mean: at_most(mean) - tail, count, most)
    if count == 0:
        return 0.0, high
    return _falling_root(lambda mean: tail - at_least(mean), 0.0, count), high


def _poisson(count: int, mean: float) -> float:
    if mean == 0:
        return float(count == 0)
    return math.exp(count * math.log(mean) - mean - math.lgamma(count + 1))


def _poisson_below(count: int, mean: float) -> float:
    return math.fsum(_poisson(number, mean) for number in range(count))


def _falling_root(function: Callable[[float], float], low: float, high: float) -> float:
    for _ in range(60):
        middle = (low + high) / 2
        if function(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def mean_time_to_incident(
    incidents: int, exposed: float, confidence: float = CONFIDENCE, *, mid_p: bool = False
) -> Estimate:
    """The mean of the time up until an incident, where `incidents` were seen in `exposed` seconds
    of time up. The limits allow for the incomplete times at both ends of the period.

    Without an incident the value and the upper limit are infinite, and the lower limit holds with
    `confidence`. Needs exposed > 0.
    """
    low, high = poisson_limits(incidents, confidence, mid_p=mid_p)
    doubts: tuple[Doubt, ...] = ()
    if incidents < FEW_INCIDENTS:
        noun = "incident" if incidents == 1 else "incidents"
        doubts = (Doubt(Reason.FEW_SAMPLES, f"{incidents} {noun}", "report a longer period"),)
    return Estimate(
        exposed / incidents if incidents else math.inf,
        exposed / high,
        exposed / low if incidents else math.inf,
        incidents,
        doubts,
    )
