"""Finds changes of a series of results: by sequential ranks, so that the noise may be skewed or
have outliers, and on residuals, so that it may be autocorrelated.

The rank of a run among the runs before it is uniform and independent of all earlier ranks as long
as nothing changes, whatever the distribution (O. Barndorff-Nielsen, Acta Math. 1963; D. McDonald,
Naval Research Logistics 37, 1990). Its normal score goes into cumulative sums (E. S. Page,
Biometrika 41, 1954) for a small and for a large shift. docs/models/evaluation.md has the
calibration and the table of runs to detection.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from sesame.trust import Doubt, Estimate, Reason

# Reference values of the cumulative sums, for shifts of 0.4, 1 and 2.5 standard deviations. The
# first finds small shifts of autocorrelated noise, whose residuals shift by less than the series.
REFERENCES = (0.2, 0.5, 1.25)
# Chosen so that together they give one false alarm in 1,000 runs; bench/change_detection.py
# recomputes the rate.
THRESHOLDS = (12.0, 6.7, 3.6)
CORRELATED = 1.08  # factor of thresholds for residuals, as their correlation is only estimated
FIRST_RUNS = 20  # without a verdict: they are the first reference
FEW_RUNS = 6  # after a change, for an interval of its size
# Runs that a run is ranked among, at most: bounds the work.
MOST_RANKED = 2000
BLOCK = 128  # runs that are ranked at once
LEAST_CORRELATION = 2.0  # in standard errors; a smaller one is taken for none
MOST_COMPARED = 100  # runs on each side, for the size of a change
CONFIRMED = 3.29  # standard deviations of the rank sum: 99.9 %
LONGEST_SPELL = 2 * FIRST_RUNS  # a later return is found as any change is
# Of the scores of a spell, which is chosen among all: as rare as other false alarms that are
# confirmed (bench/change_detection.py).
SPELL = 5.0
Values = np.ndarray[Any, Any]
SIGNS = np.tile([[-1.0], [1.0]], (len(REFERENCES), 1))
EACH_REFERENCE = np.repeat(REFERENCES, 2)[:, None]
EACH_THRESHOLD = np.repeat(THRESHOLDS, 2)[:, None]
EARLIER = np.tri(BLOCK, k=-1, dtype=bool)  # of two places of a block, the second is earlier


@dataclass(frozen=True)
class Change:
    """A change found in a series. Positions count from 0."""

    first_after: int  # the first run that belongs to the new level
    detected_at: int  # the run that raised the alarm
    before: float  # medians
    after: float
    size: Estimate  # the new level less the old one
    is_confirmed: bool  # by runs after the alarm: a false alarm rarely is


def changes(values: Sequence[float] | Values) -> list[Change]:
    """The changes of a series, in order. Detection starts anew after each."""
    series = np.asarray(values, float)
    alarms: list[tuple[int, int]] = []
    begin = 0
    while (alarm := first_alarm(series[begin:])) is not None:
        before, begin = begin, begin + alarm[0]
        alarms.append((begin, begin + alarm[1] - alarm[0]))
        if back := _return(series, before, begin):
            alarms.append((back, back + FEW_RUNS - 1))
            begin = back
    sure = _confirmed(series, alarms)
    edges = [0, *(first for first, _ in alarms), len(series)]
    return [
        _change(series[edges[number] : first], series[first : edges[number + 2]], (first, at), sure)
        for number, (first, at) in enumerate(alarms)
    ]


def _change(
    before: Values, after: Values, alarm: tuple[int, int], sure: Sequence[tuple[int, int]]
) -> Change:
    medians = _median(before), _median(after)
    return Change(*alarm, *medians, shift(before, after), alarm in sure)


def _confirmed(series: Values, alarms: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Without the alarms that the runs after them do not confirm. The weakest goes first: the
    return from a false alarm is then no change either. Runs up to an alarm were chosen by it, and
    would confirm most of them."""
    kept = list(alarms)
    while kept:
        edges = [0, *(first for first, _ in kept), len(series)]
        spells = [
            CONFIRMED / SPELL * _spell(series, *edges[number : number + 4])
            for number in range(len(kept) - 1)
        ]
        scores = [
            max(separation(series[edges[number] : first], series[at + 1 : edges[number + 2]]), *of)
            for number, (first, at) in enumerate(kept)
            if (of := (0.0, *spells[max(number - 1, 0) : number + 1]))
        ]
        weakest = int(np.argmin(scores))
        if scores[weakest] > CONFIRMED:
            return kept
        del kept[weakest]
    return kept


def _return(series: Values, before: int, first: int) -> int:
    """The run that ends a spell that began with run `first`, or 0. Detection would not see it:
    its first reference would be the spell and runs after it."""
    window = series[first : first + LONGEST_SPELL + FIRST_RUNS]
    ends = np.arange(FEW_RUNS // 2, len(window) - FEW_RUNS + 1)
    if not len(ends):
        return 0
    # Also ends of longer spells: the last end of a short one would be taken for theirs.
    contrasts = _contrasts(_scores(window), ends)
    best = int(ends[contrasts.argmax()])
    if best > LONGEST_SPELL or contrasts.max() < CONFIRMED * math.sqrt(len(window)):
        return 0
    end = first + best
    return end if _spell(series, before, first, end, len(series)) > SPELL else 0


def _contrasts(scores: Values, first: np.ndarray[Any, np.dtype[np.int_]]) -> Values:
    """How well runs part the scores before them from those since, at least one on each side."""
    sums = np.concatenate(([0.0], np.cumsum(scores)))
    after = len(scores) - first
    difference = (sums[-1] - sums[first]) / after - sums[first] / first
    found: Values = np.abs(difference) * np.sqrt(first * after)
    return found


def _spell(series: Values, begin: int, first: int, end: int, last: int) -> float:
    """In standard deviations, how far the runs [first, end) are from those around, in normal scores
    (B. L. van der Waerden, Indag. Math. 14, 1952), whose tails tell short spells apart that ranks
    do not; 0 if the runs since are no return to the level before."""
    old, spell, new = series[begin:first], series[first:end], series[end:last]
    old, new = old[-MOST_COMPARED:], new[:MOST_COMPARED]
    if min(len(old), len(new)) < FEW_RUNS or len(spell) > LONGEST_SPELL:
        return 0.0
    middle, *around = _median(spell), _median(old), _median(new)
    if 2 * abs(around[1] - around[0]) > min(abs(middle - one) for one in around):
        return 0.0
    scores = _scores(np.concatenate((old, spell, new)))
    inside = scores[len(old) : len(old) + len(spell)]
    residuals = np.concatenate((old - around[0], spell - middle, new - around[1]))
    correlation = _correlation(residuals)
    outside = len(scores) - len(spell)
    spread = float(scores @ scores) * len(spell) * outside / len(scores) / (len(scores) - 1)
    inflated = math.sqrt(spread * (1 + correlation) / (1 - correlation))
    return abs(float(inside.sum())) / inflated if inflated else 0.0


def separation(before: Values, since: Values) -> float:
    """The normal score of the rank sum (F. Wilcoxon 1945); 0 with few runs."""
    old, new = before[-MOST_COMPARED:], since[:MOST_COMPARED]
    if len(new) < FEW_RUNS:
        return 0.0
    below = _twice_below(np.sort(old), new) / 2
    pairs = len(old) * len(new)
    return abs(float(below.sum()) - pairs / 2) / _rank_sum_spread(old, new)


def _rank_sum_spread(old: Values, new: Values) -> float:
    """The standard deviation of the rank sum if nothing changed but the level. Runs that are
    correlated by r say as much as (1 - r) / (1 + r) times as many that are not."""
    residuals = np.concatenate((old - _median(old), new - _median(new)))
    correlation = _correlation(residuals)  # however small: what could be chance widens it little
    inflation = (1 + correlation) / (1 - correlation)
    return math.sqrt(inflation * len(old) * len(new) * (len(old) + len(new) + 1) / 12)


def first_alarm(values: Sequence[float] | Values) -> tuple[int, int] | None:
    """(first run of the new level, run of the alarm), or None. What a run says depends on the runs
    before it alone."""
    series = np.asarray(values, float)
    # The cumulative sums: one for each reference, downward and upward.
    sums, starts = np.zeros(len(SIGNS)), np.zeros(len(SIGNS), int)
    done = FIRST_RUNS
    while done < len(series):
        # The autocorrelation is estimated again each time the series has doubled.
        end = min(2 * done, len(series))
        correlation = autocorrelation(series[:done])
        factor = CORRELATED if correlation else 1.0
        residuals = _residuals(series[:end], correlation)
        scores = rank_scores(residuals, done)
        paths = _cumulative(SIGNS * scores - EACH_REFERENCE, sums[:, None])
        over = paths > factor * EACH_THRESHOLD
        alarm = np.where(over.any(1), over.argmax(1), len(scores))  # the first run over it
        zero = (paths == 0.0) & (np.arange(len(scores)) < alarm[:, None])
        last_zero = len(scores) - 1 - zero[:, ::-1].argmax(1)
        unmoved = np.where(sums == 0.0, done, starts)
        starts = np.where(zero.any(1), done + last_zero + 1, unmoved)
        if over.any():
            at, start = min(zip((done + alarm).tolist(), starts.tolist(), strict=True))
            return _first_after(residuals[: at + 1], start), at
        sums = paths[:, -1]
        done = end
    return None


def _residuals(series: Values, correlation: float) -> Values:
    return series - correlation * np.concatenate(([0.0], series[:-1]))


def _cumulative(steps: Values, before: Values) -> Values:
    """Page's sums max(sum + step, 0) that follow `before`."""
    total = before + np.cumsum(steps, axis=1)
    found: Values = total - np.minimum(np.minimum.accumulate(total, axis=1), 0.0)
    return found


def rank_scores(values: Values, first: int) -> Values:
    """The normal scores of the runs from `first` on, each by its rank among itself and the runs
    before it; ties share a rank."""
    found = np.empty(len(values) - first)
    for begin in range(first, len(values), BLOCK):
        block = values[begin : begin + BLOCK]
        end, base = begin + len(block), max(begin - MOST_RANKED, 0)
        ordered = np.sort(values[base:begin])
        below = _twice_below(ordered, block) / 2
        below += _below_earlier(block, block)
        if end > MOST_RANKED:  # runs of the block's begin are forgotten at its end
            forgotten = values[max(end - len(block) - MOST_RANKED, 0) : max(end - MOST_RANKED, 0)]
            below[len(block) - len(forgotten) :] -= _below_earlier(
                block[len(block) - len(forgotten) :], forgotten
            )
        count = np.minimum(np.arange(begin, end), MOST_RANKED)
        found[begin - first : end - first] = (below + 0.5) / (count + 1)
    return quantiles(found)


def _below_earlier(runs: Values, others: Values) -> Values:
    """How many of the first i `others` are below run i; equal ones count half."""
    earlier = EARLIER[: len(runs), : len(others)]
    found: Values = _counts((others < runs[:, None]) & earlier) / 1
    equal = (others == runs[:, None]) & earlier
    if equal.any():
        found += _counts(equal) / 2
    return found


def _counts(places: np.ndarray[Any, np.dtype[np.bool_]]) -> Values:
    """How many of each row are true; np.count_nonzero with an axis takes twice the time."""
    found: Values = places.view(np.int8).sum(1, dtype=np.int16)
    return found


def _twice_below(ordered: Values, values: Values) -> Values:
    """Twice how many are below each of the values; equal ones count half."""
    found: Values = ordered.searchsorted(values) + ordered.searchsorted(values, "right")
    return found


def _median(values: Values) -> float:
    """In a fifth of the time of np.median, for series of some hundred runs."""
    ordered, half = np.sort(values), len(values) // 2
    return float(ordered[(len(values) - 1) // 2] + ordered[half]) / 2


def _first_after(residuals: Values, start: int) -> int:
    """The run that parts the runs before best from those since, near where the sum began."""
    oldest = max(len(residuals) - MOST_RANKED, 0)
    kept = residuals[oldest:]
    first = np.arange(max(start - FIRST_RUNS, oldest + 1), len(residuals)) - oldest
    return oldest + int(first[np.argmax(_contrasts(_scores(kept), first))])


def _scores(values: Values) -> Values:
    """The normal scores of the values among each other; ties share one."""
    order = values.argsort()
    ordered = values[order]
    if (ordered[1:] == ordered[:-1]).any():
        twice = _twice_below(ordered, values)
    else:
        twice = np.empty(len(values), int)
        twice[order] = np.arange(1, 2 * len(values), 2)
    found: Values = _scores_of(len(values))[twice]
    return found


@lru_cache(maxsize=32)  # most series are cut at the same lengths
def _scores_of(runs: int) -> Values:
    """The normal scores of so many runs, by twice the number of those below."""
    return quantiles(np.arange(2 * runs + 1) / 2 / runs)


@cache
def _normal_table() -> tuple[Values, Values]:
    places = np.linspace(-6.0, 6.0, 24_001)
    return np.array([math.erfc(-place / math.sqrt(2)) / 2 for place in places]), places


def quantiles(probabilities: Values) -> Values:
    """Of the standard normal distribution, by interpolation: within 1e-6 for 1e-4 to 1 - 1e-4."""
    return np.interp(probabilities, *_normal_table())


def autocorrelation(values: Sequence[float] | Values) -> float:
    """The correlation of neighbouring runs; 0 if it could be chance or is negative (which causes no
    false alarms)."""
    found = _correlation(np.asarray(values, float))
    return found if found > LEAST_CORRELATION / math.sqrt(len(values)) else 0.0


def _correlation(series: Values) -> float:
    """Of neighbouring runs, from 0 to 0.95; of their normal scores so that an outlier counts
    little."""
    scores = _scores(series)
    power = float(scores @ scores)
    if power == 0:
        return 0.0
    found = float(scores[:-1] @ scores[1:]) / power
    # The estimate of a short series is too low by (1 + 4 r) / n (M. G. Kendall, Biometrika 1954).
    found += (1 + 4 * found) / len(series)
    return min(max(found, 0.0), 0.95)


def shift(
    before: Sequence[float] | Values, after: Sequence[float] | Values, confidence: float = 0.95
) -> Estimate:
    """The median of all differences of a run after and a run before, with the distribution-free
    interval of the Wilcoxon rank sum (J. L. Hodges and E. L. Lehmann, Ann. Math. Stat. 34, 1963).
    Uses the last and the first 100 runs. Needs one run on each side.
    """
    old, new = np.asarray(before)[-MOST_COMPARED:], np.asarray(after)[:MOST_COMPARED]
    differences = (new[None, :] - old[:, None]).ravel()
    pairs = len(differences)
    tail = float(quantiles(np.array([(1 + confidence) / 2]))[0])
    dropped = max(math.floor(pairs / 2 - tail * _rank_sum_spread(old, new)), 0)
    doubts: tuple[Doubt, ...] = ()
    if min(len(old), len(new)) < FEW_RUNS:
        text = f"{len(new)} runs after the change, {len(old)} before"
        doubts = (Doubt(Reason.FEW_SAMPLES, text, "report again after more runs"),)
    places = [dropped, pairs - 1 - dropped, (pairs - 1) // 2, pairs // 2]
    differences.partition(places)
    low, high, *middle = differences[places].tolist()
    return Estimate(sum(middle) / 2, low, high, len(new), doubts)
