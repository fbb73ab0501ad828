"""The changes of series of results: alarms, what the runs after them confirm, and their sizes.

docs/models/evaluation.md has the rate of false alarms and the table of runs to detection.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from sesame.evaluation.alarms import (
    FIRST_RUNS,
    contrasts,
    correlation,
    first_alarms,
    normal_scores,
    quantiles,
)
from sesame.trust import Doubt, Estimate, Reason

FEW_RUNS = 6  # after a change, for an interval of its size
MOST_COMPARED = 100  # runs on each side, for the size of a change
CONFIRMED = 3.29  # standard deviations of the rank sum: 99.9 %
LONGEST_SPELL = 2 * FIRST_RUNS  # a later return is found as any change is
# Of the scores of a spell, which is chosen among all: as rare as other false alarms that are
# confirmed (bench/change_detection.py).
SPELL = 5.0
NORMAL_TENTH = 1.645  # a tenth of a normal distribution is farther from its mean
Values = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Change:
    """A change found in a series. Positions count from 0."""

    first_after: int  # the first run that belongs to the new level
    detected_at: int  # the run that raised the alarm
    before: float  # medians
    after: float
    size: Estimate  # the new level less the old one
    is_confirmed: bool  # by runs after the alarm: a false alarm rarely is

    def shares(self) -> tuple[float, float, float] | None:
        """The size and its interval as shares of the level before. None if that is zero, or
        so small that the share is no number."""
        parts = (self.size.value, self.size.low, self.size.high)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            found = tuple((np.array(parts) / abs(self.before)).tolist())
        return found if all(map(math.isfinite, found)) else None


def changes(values: Sequence[float] | Values) -> list[Change]:
    """The changes of a series, in order. Detection starts anew after each."""
    return changes_of_each([values])[0]


def changes_of_each(every: Sequence[Sequence[float] | Values]) -> list[list[Change]]:
    """Those of each series, faster than one by one."""
    series = [np.asarray(values, float) for values in every]
    alarms: list[list[tuple[int, int]]] = [[] for _ in series]
    begins = dict.fromkeys(range(len(series)), 0)  # of the series in which to search on
    while begins:
        found = first_alarms([series[number][begin:] for number, begin in begins.items()])
        searched, begins = begins, {}
        for (number, before), alarm in zip(searched.items(), found, strict=True):
            if alarm is not None:
                begin, at = (before + run for run in alarm)
                alarms[number].append((begin, at))
                if back := _return(series[number], before, begin):
                    alarms[number].append((back, back + FEW_RUNS - 1))
                begins[number] = back or begin
    return [_changes(*pair) for pair in zip(series, alarms, strict=True)]


def _changes(series: Values, alarms: Sequence[tuple[int, int]]) -> list[Change]:
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
    # An alarm that goes changes the scores of its neighbours only.
    spell_of = cache(lambda *edges: CONFIRMED / SPELL * _spell(series, *edges))
    apart = cache(lambda *runs: separation(series[runs[0] : runs[1]], series[runs[2] : runs[3]]))
    while kept:
        edges = [0, *(first for first, _ in kept), len(series)]
        spells = [spell_of(*edges[number : number + 4]) for number in range(len(kept) - 1)]
        scores = [
            max(apart(edges[number], first, at + 1, edges[number + 2]), *of)
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
    parted = contrasts(normal_scores(window), ends)
    best = int(ends[parted.argmax()])
    if best > LONGEST_SPELL or parted.max() < CONFIRMED * math.sqrt(len(window)):
        return 0
    end = first + best
    return end if _spell(series, before, first, end, len(series)) > SPELL else 0


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
    scores = normal_scores(np.concatenate((old, spell, new)))
    inside = scores[len(old) : len(old) + len(spell)]
    residuals = np.concatenate((old - around[0], spell - middle, new - around[1]))
    related = float(correlation(residuals))
    outside = len(scores) - len(spell)
    spread = float(scores @ scores) * len(spell) * outside / len(scores) / (len(scores) - 1)
    inflated = math.sqrt(spread * (1 + related) / (1 - related))
    return abs(float(inside.sum())) / inflated if inflated else 0.0


def separation(before: Values, since: Values) -> float:
    """The normal score of the rank sum (F. Wilcoxon 1945), or half that of the difference of
    medians if that is more: with 20 correlated runs no ranks are significant, however large the
    step. 0 with few runs."""
    old, new = before[-MOST_COMPARED:], since[:MOST_COMPARED]
    if len(new) < FEW_RUNS:
        return 0.0
    return max(_rank_score(old, new), _median_score(old, new) / 2)


def _rank_score(old: Values, new: Values) -> float:
    ordered = np.sort(old)  # equal ones count half
    below = (ordered.searchsorted(new) + ordered.searchsorted(new, "right")) / 2
    pairs = len(old) * len(new)
    return abs(float(below.sum()) - pairs / 2) / _rank_sum_spread(old, new)


def _median_score(old: Values, new: Values) -> float:
    """The difference of medians in its standard deviations for normal noise. Its scale is that of
    the residual that a tenth exceeds: a few outliers do not change it, two modes do. 0 without a
    scale."""
    residuals = _residuals(old, new)
    scale = float(np.sort(np.abs(residuals))[9 * len(residuals) // 10]) / NORMAL_TENTH
    if scale == 0:
        return 0.0
    runs = _inflation(residuals) * math.pi / 2 * (1 / len(old) + 1 / len(new))
    return abs(_median(new) - _median(old)) / (scale * math.sqrt(runs))


def _rank_sum_spread(old: Values, new: Values) -> float:
    """The standard deviation of the rank sum if nothing changed but the level."""
    pairs = len(old) * len(new) * (len(old) + len(new) + 1) / 12
    return math.sqrt(_inflation(_residuals(old, new)) * pairs)


def _residuals(old: Values, new: Values) -> Values:
    return np.concatenate((old - _median(old), new - _median(new)))


def _inflation(residuals: Values) -> float:
    """Of variances: runs that are correlated by r say as much as (1 - r) / (1 + r) times as many
    that are not."""
    related = float(correlation(residuals))  # however small: what could be chance widens it little
    return (1 + related) / (1 - related)


def _median(values: Values) -> float:
    """In a fifth of the time of np.median, for series of some hundred runs."""
    ordered, half = np.sort(values), len(values) // 2
    return float(ordered[(len(values) - 1) // 2] + ordered[half]) / 2


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
