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
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate, pairwise
from statistics import NormalDist, median

from sesame.trust import Doubt, Estimate, Reason

# Reference values of the two cumulative sums, for shifts of 1 and 2.5 standard deviations.
REFERENCES = (0.5, 1.25)
# Chosen so that together they give one false alarm in 1,000 runs; bench/change_detection.py
# recomputes the rate.
THRESHOLDS = (5.9, 3.3)
FIRST_RUNS = 20  # without a verdict: they are the first reference
FEW_RUNS = 6  # after a change, for an interval of its size
# Runs that the last change of one regime keeps for ranks: bounds the work of a run.
MOST_KEPT = 2000
LEAST_CORRELATION = 2.0  # in standard errors; a smaller one is taken for none


@dataclass(frozen=True)
class Change:
    """A change found in a series. Positions count from 0."""

    first_after: int  # the first run that belongs to the new level
    detected_at: int  # the run that raised the alarm
    before: float  # medians
    after: float
    size: Estimate  # the new level less the old one


def changes(values: Sequence[float]) -> list[Change]:
    """The changes of a series, in order. A detector starts anew after each."""
    found: list[Change] = []
    begin = 0
    while (alarm := first_alarm(values[begin:])) is not None:
        first, at = begin + alarm[0], begin + alarm[1]
        if found:  # the level ends here; its size is known better now
            found[-1] = _change(values, found[-1], _previous(found), first)
        found.append(Change(first, at, 0.0, 0.0, Estimate(0.0, 0.0, 0.0, 0)))
        begin = first
    if found:
        found[-1] = _change(values, found[-1], _previous(found), len(values))
    return found


def _previous(found: Sequence[Change]) -> int:
    return found[-2].first_after if len(found) > 1 else 0


def _change(values: Sequence[float], change: Change, begin: int, end: int) -> Change:
    before, after = values[begin : change.first_after], values[change.first_after : end]
    return Change(
        change.first_after, change.detected_at, median(before), median(after), shift(before, after)
    )


def first_alarm(values: Iterable[float]) -> tuple[int, int] | None:
    """(first run of the new level, run of the alarm), or None."""
    detector = Detector()
    for number, value in enumerate(values):
        first = detector.add(value)
        if first is not None:
            return first, number
    return None


@dataclass
class Detector:
    """A two-sided detector of the first change of a series. Add its runs in order."""

    thresholds: tuple[float, float] = THRESHOLDS
    _values: list[float] = field(default_factory=list)
    _ordered: list[float] = field(default_factory=list)
    _residuals: list[float] = field(default_factory=list)
    _sums: list[float] = field(default_factory=lambda: [0.0] * 4)
    _starts: list[int] = field(default_factory=lambda: [0] * 4)
    _correlation: float = 0.0
    _next_review: int = FIRST_RUNS

    def add(self, value: float) -> int | None:
        """The first run after a change once there is an alarm, None before."""
        self._values.append(value)
        number = len(self._values) - 1
        if number == self._next_review:
            self._review()
        residual = self._residual(number)
        score = normal_score(self._ordered, residual) if number >= FIRST_RUNS else 0.0
        self._residuals.append(residual)
        insort(self._ordered, residual)
        if len(self._ordered) > MOST_KEPT:
            oldest = self._residuals[len(self._residuals) - 1 - MOST_KEPT]
            del self._ordered[bisect_left(self._ordered, oldest)]
        return self._sum(number, score) if number >= FIRST_RUNS else None

    def _residual(self, number: int) -> float:
        if number == 0:
            return self._values[0]
        return self._values[number] - self._correlation * self._values[number - 1]

    def _review(self) -> None:
        """Estimates the autocorrelation again each time the series has doubled."""
        self._next_review *= 2
        self._correlation = autocorrelation(self._values[:-1])
        self._residuals = [self._residual(number) for number in range(len(self._values) - 1)]
        self._ordered = sorted(self._residuals[-MOST_KEPT:])

    def _sum(self, number: int, score: float) -> int | None:
        for index in range(4):
            signed = score if index % 2 else -score
            if self._sums[index] == 0.0:
                self._starts[index] = number
            self._sums[index] = max(self._sums[index] + signed - REFERENCES[index // 2], 0.0)
        over = [one for one in range(4) if self._sums[one] > self.thresholds[one // 2]]
        return self._first_after(self._starts[over[0]], number) if over else None

    def _first_after(self, start: int, number: int) -> int:
        """The run that parts the runs before best from those since, near where the sum began."""
        oldest = len(self._residuals) - len(self._ordered)
        scores = [normal_score(self._ordered, one) for one in self._residuals[oldest:]]
        sums = [0.0, *accumulate(scores)]

        def contrast(first: int) -> float:
            before, after = first - oldest, number + 1 - first
            difference = (sums[-1] - sums[before]) / after - sums[before] / before
            return abs(difference) * math.sqrt(before * after)

        return max(range(max(start - FIRST_RUNS, oldest + 1), number + 1), key=contrast)


def normal_score(ordered: Sequence[float], value: float) -> float:
    """The normal score of the rank of `value` among itself and `ordered`; ties share a rank."""
    below = (bisect_left(ordered, value) + bisect_right(ordered, value)) / 2
    return _quantile((below + 0.5) / (len(ordered) + 1))


@cache
def _normal() -> NormalDist:
    return NormalDist()


def _quantile(probability: float) -> float:
    return _normal().inv_cdf(probability)


def autocorrelation(values: Sequence[float]) -> float:
    """The correlation of neighbouring runs, of their normal scores so that an outlier counts
    little; 0 if it could be chance or is negative (which causes no false alarms)."""
    ordered = sorted(values)
    scores = [
        _quantile((bisect_left(ordered, one) + bisect_right(ordered, one)) / 2 / len(values))
        for one in values
    ]
    power = math.fsum(score * score for score in scores)
    if power == 0:
        return 0.0
    found = math.fsum(a * b for a, b in pairwise(scores)) / power
    # The estimate of a short series is too low by (1 + 4 r) / n (M. G. Kendall, Biometrika 1954).
    found += (1 + 4 * found) / len(values)
    return min(found, 0.95) if found > LEAST_CORRELATION / math.sqrt(len(values)) else 0.0


def shift(before: Sequence[float], after: Sequence[float], confidence: float = 0.95) -> Estimate:
    """The median of all differences of a run after and a run before, with the distribution-free
    interval of the Wilcoxon rank sum (J. L. Hodges and E. L. Lehmann, Ann. Math. Stat. 34, 1963).
    Uses the last and the first 200 runs. Needs one run on each side.
    """
    old, new = before[-200:], after[:200]
    differences = sorted(b - a for a in old for b in new)
    pairs = len(differences)
    spread = math.sqrt(pairs * (len(old) + len(new) + 1) / 12)
    dropped = math.floor(pairs / 2 - _quantile((1 + confidence) / 2) * spread)
    dropped = max(dropped, 0)
    doubts: tuple[Doubt, ...] = ()
    if min(len(old), len(new)) < FEW_RUNS:
        text = f"{len(new)} runs after the change, {len(old)} before"
        doubts = (Doubt(Reason.FEW_SAMPLES, text, "report again after more runs"),)
    value = median(differences)
    return Estimate(value, differences[dropped], differences[pairs - 1 - dropped], len(new), doubts)
