"""Searches many series of results at once for the first alarm of each: by sequential ranks, so that
the noise may be skewed or have outliers, and on residuals, so that it may be autocorrelated.

The rank of a run among the runs before it is uniform and independent of all earlier ranks as long
as nothing changes, whatever the distribution (O. Barndorff-Nielsen, Acta Math. 1963; D. McDonald,
Naval Research Logistics 37, 1990). Its normal score goes into cumulative sums (E. S. Page,
Biometrika 41, 1954) for a small and for a large shift. docs/models/evaluation.md has the
calibration and the table of runs to detection.

Series are rows: calls of NumPy cost more than what they do with a month of one series.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

# Reference values of the cumulative sums, for shifts of 0.4, 1 and 2.5 standard deviations. The
# first finds small shifts of autocorrelated noise, whose residuals shift by less than the series.
REFERENCES = (0.2, 0.5, 1.25)
# Chosen so that together they give one false alarm in 1,000 runs; bench/change_detection.py
# recomputes the rate.
THRESHOLDS = (12.0, 6.7, 3.6)
CORRELATED = 1.08  # factor of thresholds for residuals, as their correlation is only estimated
FIRST_RUNS = 20  # without a verdict: they are the first reference
# Runs that a run is ranked among, at most: bounds the work.
MOST_RANKED = 2000
BLOCK = 64  # runs of each series that are ranked at once
ROWS = 128  # series that are searched at once: what they need fits in a processor's cache
LEAST_CORRELATION = 2.0  # in standard errors; a smaller one is taken for none
Values = np.ndarray[Any, Any]
Counts = np.ndarray[Any, np.dtype[np.int64]]
Alarm = tuple[int, int]  # the first run of the new level, and the run of the alarm
SIGNS = np.tile([[-1.0], [1.0]], (len(REFERENCES), 1))
EACH_REFERENCE = np.repeat(REFERENCES, 2)[:, None]
EACH_THRESHOLD = np.repeat(THRESHOLDS, 2)[:, None]
# Numerators and denominators of AS 241.
MIDDLE = (
    (5.9109374720e01, 1.5929113202e02, 5.0434271938e01, 3.3871327179e00),
    (6.7187563600e01, 7.8757757664e01, 1.7895169469e01, 1.0),
)
TAILS = (
    (1.7023821103e-01, 1.3067284816e00, 2.7568153900e00, 1.4234372777e00),
    (1.2021132975e-01, 7.3700164250e-01, 1.0),
)
EARLIER = np.tri(BLOCK, k=-1, dtype=bool)  # of two places of a block, the second is earlier


def first_alarms(every: Sequence[Values]) -> list[Alarm | None]:
    """That of each series. What a run says depends on the runs before it alone."""
    found: list[Alarm | None] = [None] * len(every)
    for begin in range(0, len(every), ROWS):
        _Search(every[begin : begin + ROWS]).into(found, begin)
    return found


class _Search:
    """Searches some series from their begin, all as far as each other."""

    def __init__(self, every: Sequence[Values]) -> None:
        self._every = every
        self._lengths = np.array([len(one) for one in every])
        # The cumulative sums of each series: one for each reference, downward and upward.
        self._sums = np.zeros((len(every), len(SIGNS)))
        self._starts = np.zeros((len(every), len(SIGNS)), int)

    def into(self, found: list[Alarm | None], place: int) -> None:
        """Writes the alarms, that of the first series at this place."""
        done = FIRST_RUNS
        rows = np.flatnonzero(self._lengths > done)
        while len(rows):
            # The autocorrelation is estimated again each time the series have doubled.
            end = min(2 * done, int(self._lengths[rows].max()))
            for row, alarm in self._search(rows, done, end).items():
                found[place + row] = alarm
                self._lengths[row] = 0
            done = end
            rows = rows[self._lengths[rows] > done]

    def _search(self, rows: Counts, done: int, end: int) -> dict[int, Alarm]:
        """The alarms that runs [done, end) raise, by row."""
        series = np.array([_filled(self._every[row], end) for row in rows])
        correlations = autocorrelations(series[:, :done])[:, None]
        residuals = series.copy()
        residuals[:, 1:] -= correlations * series[:, :-1]
        factors = np.where(correlations > 0, CORRELATED, 1.0)[:, None]
        scores = rank_scores(residuals, done)[:, None]
        sums = self._sums[rows]
        paths = _cumulative(SIGNS * scores - EACH_REFERENCE, sums[:, :, None])
        runs = np.arange(end - done)
        over = paths > factors * EACH_THRESHOLD
        over &= runs < (self._lengths[rows] - done)[:, None, None]
        alarms = np.where(over.any(2), over.argmax(2), len(runs))  # the first run over it
        zero = (paths == 0.0) & (runs < alarms[:, :, None])
        last_zero = len(runs) - 1 - zero[:, :, ::-1].argmax(2)
        unmoved = np.where(sums == 0.0, done, self._starts[rows])
        starts = np.where(zero.any(2), done + last_zero + 1, unmoved)
        self._sums[rows], self._starts[rows] = paths[:, :, -1], starts
        found = {}
        for place in np.flatnonzero(alarms.min(1) < len(runs)):
            pairs = zip((done + alarms[place]).tolist(), starts[place].tolist(), strict=True)
            at, start = min(pairs)
            found[int(rows[place])] = _first_after(residuals[place, : at + 1], start), at
        return found


def _filled(series: Values, length: int) -> Values:
    """Of this length, by its last run again and again; alarms of those do not count."""
    cut = series[:length]
    return cut if len(cut) == length else np.pad(cut, (0, length - len(cut)), "edge")


def _cumulative(steps: Values, before: Values) -> Values:
    """Page's sums max(sum + step, 0) that follow `before`."""
    total = np.cumsum(steps, axis=-1)
    total += before
    least = np.minimum.accumulate(total, axis=-1)
    found: Values = np.subtract(total, np.minimum(least, 0.0, out=least), out=total)
    return found


def rank_scores(series: Values, first: int) -> Values:
    """The normal scores of the runs from `first` on, each by its rank in its row among itself and
    the runs before it; ties share a rank."""
    rows, length = series.shape
    oldest = max(first - MOST_RANKED, 0)
    ranks, has_ties = _twice_ranks(series[:, oldest:])
    # With the number of the row in front, rows in order are in order one after the other.
    keys = ranks + 2 * length * np.arange(rows)[:, None]
    found = np.empty((rows, length - first))
    for begin in range(first, length, BLOCK):
        block = keys[:, begin - oldest : begin - oldest + BLOCK]
        end, base = begin + block.shape[1], max(begin - MOST_RANKED, 0)
        earlier = np.sort(keys[:, base - oldest : begin - oldest], axis=1)
        twice = _twice_below(earlier.ravel(), block.ravel(), has_ties).reshape(block.shape)
        twice -= 2 * earlier.shape[1] * np.arange(rows)[:, None]  # all rows in front
        twice += _twice_below_earlier(block, block, has_ties)
        if end > MOST_RANKED:  # runs of the block's begin are forgotten at its end
            low, high = (max(one - MOST_RANKED, 0) - oldest for one in (begin, end))
            late = block[:, block.shape[1] - (high - low) :]
            twice[:, block.shape[1] - (high - low) :] -= _twice_below_earlier(
                late, keys[:, low:high], has_ties
            )
        count = np.minimum(np.arange(begin, end), MOST_RANKED)
        found[:, begin - first : end - first] = (twice + 1) / (2 * (count + 1))
    return quantiles(found)


def _twice_below(ordered: Values, values: Values, has_ties: bool = True) -> Counts:
    """Twice how many are below each of the values; equal ones count half."""
    below = ordered.searchsorted(values)
    return below + (ordered.searchsorted(values, "right") if has_ties else below)


def _twice_below_earlier(runs: Counts, others: Counts, has_ties: bool) -> Counts:
    """In each row, twice how many of the first i `others` are below run i, with halves of ties."""
    earlier = EARLIER[: runs.shape[1], : others.shape[1]]
    found = 2 * _counts((others[:, None, :] < runs[:, :, None]) & earlier)
    if has_ties:
        found += _counts((others[:, None, :] == runs[:, :, None]) & earlier)
    return found


def _counts(places: np.ndarray[Any, np.dtype[np.bool_]]) -> Counts:
    """How many are true along the last axis; np.count_nonzero takes twice the time."""
    found: Counts = places.view(np.int8).sum(-1, dtype=np.int16)
    return found


def _first_after(residuals: Values, start: int) -> int:
    """The run that parts the runs before best from those since, near where the sum began."""
    oldest = max(len(residuals) - MOST_RANKED, 0)
    kept = residuals[oldest:]
    first = np.arange(max(start - FIRST_RUNS, oldest + 1), len(residuals)) - oldest
    return oldest + int(first[np.argmax(contrasts(normal_scores(kept), first))])


def contrasts(scores: Values, first: Counts) -> Values:
    """How well runs part the scores before them from those since, at least one on each side."""
    sums = np.concatenate(([0.0], np.cumsum(scores)))
    after = len(scores) - first
    difference = (sums[-1] - sums[first]) / after - sums[first] / first
    found: Values = np.abs(difference) * np.sqrt(first * after)
    return found


def normal_scores(series: Values) -> Values:
    """Those of the values among each other, along the last axis; ties share one."""
    found: Values = _scores_of(series.shape[-1])[_twice_ranks(series)[0]]
    return found


def _twice_ranks(series: Values) -> tuple[Counts, bool]:
    """Twice how many values are below each along the last axis, equal ones counting half, itself
    too; and whether there are equal ones."""
    runs = series.shape[-1]
    order = series.argsort(-1)
    if series.ndim > 1:  # places in all rows, one after the other: fancy indices of rows are slow
        order += runs * np.arange(len(series))[:, None]
    ordered = series.ravel()[order]
    is_new = ordered[..., 1:] != ordered[..., :-1]
    has_ties = not is_new.all()
    found = np.empty(series.shape, int)
    found.ravel()[order] = _twice_places(is_new) if has_ties else np.arange(1, 2 * runs, 2)
    return found, has_ties


def _twice_places(is_new: np.ndarray[Any, np.dtype[np.bool_]]) -> Counts:
    """Of values in order, of which all but the first are or are not the same as the one before."""
    runs = is_new.shape[-1] + 1
    edge = np.ones((*is_new.shape[:-1], 1), bool)
    begins = np.where(np.concatenate((edge, is_new), axis=-1), np.arange(runs), 0)
    ends = np.where(np.concatenate((is_new, edge), axis=-1), np.arange(runs), runs)
    last = np.minimum.accumulate(ends[..., ::-1], axis=-1)[..., ::-1]
    found: Counts = np.maximum.accumulate(begins, axis=-1) + last + 1
    return found


@lru_cache(maxsize=32)  # most series are cut at the same lengths
def _scores_of(runs: int) -> Values:
    """The normal scores of so many runs, by twice the number of those below."""
    return quantiles(np.arange(2 * runs + 1) / 2 / runs)


def quantiles(probabilities: Values) -> Values:
    """Of the standard normal distribution, within 1e-6 for 1e-8 to 1 - 1e-8: PPND7 of algorithm AS
    241 (M. J. Wichura, Applied Statistics 37, 1988), faster than interpolation."""
    offset = probabilities - 0.5
    r = 0.180625 - offset * offset
    found: Values = offset * _polynomial(r, *MIDDLE[0]) / _polynomial(r, *MIDDLE[1])
    tails = np.abs(offset) > 0.425
    outer = np.minimum(probabilities[tails], 1 - probabilities[tails])
    r = np.sqrt(-np.log(np.maximum(outer, 1e-9))) - 1.6
    sizes = _polynomial(r, *TAILS[0]) / _polynomial(r, *TAILS[1])
    found[tails] = np.copysign(sizes, offset[tails])
    return found


def _polynomial(x: Values, *coefficients: float) -> Values:
    """That of the highest power first."""
    found = np.full(x.shape, coefficients[0])
    for each in coefficients[1:]:
        found *= x
        found += each
    return found


def autocorrelations(series: Values) -> Values:
    """The correlation of neighbouring runs of each row; 0 if it could be chance or is negative
    (which causes no false alarms)."""
    found = correlation(series)
    return np.where(found > LEAST_CORRELATION / math.sqrt(series.shape[-1]), found, 0.0)


def correlation(series: Values) -> Values:
    """Of neighbouring runs along the last axis, from 0 to 0.95; of their normal scores so that an
    outlier counts little."""
    scores = normal_scores(series)
    power = (scores * scores).sum(-1)
    pairs = (scores[..., :-1] * scores[..., 1:]).sum(-1)
    found = pairs / np.where(power == 0, 1.0, power)
    # The estimate of a short series is too low by (1 + 4 r) / n (M. G. Kendall, Biometrika 1954).
    found += np.where(power == 0, 0.0, (1 + 4 * found) / series.shape[-1])
    clipped: Values = np.clip(found, 0.0, 0.95)
    return clipped
