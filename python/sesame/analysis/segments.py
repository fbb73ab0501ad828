"""Segmented regression: fits straight segments to a curve; their number and limits are unknown.

Times of messages span orders of magnitude, so errors are relative to the time. Dynamic programming
chooses the breaks among the gaps between measured sizes, the Bayesian information criterion
(Schwarz 1978) their number. In it the position of a break counts as three coefficients (Hall,
Osborn and Sakkas 2013). Neighbouring segments need not join: a change of protocol is a step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]

LEAST_POINTS = 4  # of a segment: a line fits fewer by chance
LEAST_WIDTH = 1.25  # last size of a segment over its first: many sizes may be close to a step
MOST_SEGMENTS = 10
RESOLUTION = 1e-3  # relative: points closer than this to a line count as on it
NORMAL_QUANTILE = 1.959964  # of 97.5 %
PARAMETERS = 5  # that one more segment costs: intercept, slope, and three for its place
STEP_TO_NOTICE = 0.03  # of the time at a break, and beyond its uncertainty


@dataclass(frozen=True)
class Segment:
    """time = intercept + slope * size for the sizes from `first` to `last`, both measured."""

    first: float
    last: float
    intercept: float
    slope: float
    intercept_interval: float  # half the width of the 95 % confidence interval
    slope_interval: float
    residual: float  # relative, root mean square
    worst_residual: float  # relative, the largest magnitude
    time_interval: float = 0.0  # relative: the widest of its sizes' times; 0: not known

    def at(self, size: float) -> float:
        return self.intercept + self.slope * size

    @property
    def bandwidth(self) -> float:
        return 1 / self.slope if self.slope > 0 else float("inf")


@dataclass(frozen=True)
class Break:
    """A break between two segments."""

    before: float  # the last measured size of the left segment
    after: float  # the first measured size of the right segment
    at: float  # where the lines cross, if that is between the two; else `before`
    step: float  # of the time: the smallest distance of the lines between the two; 0 if they cross
    relative_step: float
    certain: bool  # whether the step is larger than the uncertainty of the two lines

    @property
    def is_step(self) -> bool:
        return self.certain and abs(self.relative_step) > STEP_TO_NOTICE


def fit_segments(
    sizes: Sequence[float] | Array,
    times: Sequence[float] | Array,
    *,
    least_intercept: float | None = None,
    level: bool = False,
    most: int = MOST_SEGMENTS,
) -> list[Segment]:
    """The segments of a curve, its sizes rising and its times above zero.

    `least_intercept` also demands slopes that are not negative. `level` fits constants.
    """
    x, y = np.asarray(sizes, float), np.asarray(times, float)
    if len(x) != len(y) or np.any(np.diff(x) <= 0) or np.any(y <= 0):
        raise ValueError("expected rising sizes and as many times above zero")
    if len(x) < LEAST_POINTS:
        raise ValueError(f"expected at least {LEAST_POINTS} sizes, got {len(x)}")
    fits = _RangeFits(x, y, least_intercept, level)
    squares = fits.squares()
    squares[0, len(x)] = fits.segment(0, len(x)).residual ** 2 * len(x)  # however narrow
    ends = best_ends(squares, most, _score)
    return [fits.segment(begin, end) for begin, end in zip([0, *ends], ends, strict=False)]


def breaks_of(segments: Sequence[Segment]) -> list[Break]:
    return [_break(left, right) for left, right in pairwise(segments)]


def _break(left: Segment, right: Segment) -> Break:
    low, high = (right.at(size) - left.at(size) for size in (left.last, right.first))
    crosses = low * high < 0
    step = 0.0 if crosses else min(low, high, key=abs)
    at = left.last + (right.first - left.last) * low / (low - high) if crosses else left.last
    # The uncertainty of a line at its end is about its residual.
    open_ = np.hypot(left.residual * left.at(left.last), right.residual * right.at(right.first))
    relative = step / max(left.at(left.last), 1e-300)
    return Break(left.last, right.first, at, step, relative, bool(abs(step) > 2 * open_))


class _RangeFits:
    """Least-squares fits of any range of the points, from cumulative sums."""

    def __init__(
        self, x: Array, y: Array, least: float | None, level: bool, scale: Array | None = None
    ) -> None:
        """Residuals are relative to `scale`, by default to the times themselves."""
        self.x, self.y = x, y
        self.least, self.level = least, level
        weight = 1 / (y if scale is None else scale) ** 2
        columns = [weight, weight * x, weight * x * x, weight * y, weight * x * y]
        self.sums = np.array([np.concatenate([[0], np.cumsum(column)]) for column in columns])

    def squares(self) -> Array:
        """At [begin, end], the sum of squares of the relative residuals of the points begin to
        end - 1; infinite for segments that are not allowed."""
        count = len(self.x)
        result = np.full((count + 1, count + 1), np.inf)
        for begin in range(count):
            ends = np.arange(begin + LEAST_POINTS, count + 1)
            ends = ends[self.x[ends - 1] >= LEAST_WIDTH * self.x[begin]]
            if len(ends):
                a, b = self._lines(begin, ends)
                result[begin, ends] = self._squares(begin, ends, a, b)
        return result

    def _lines(self, begin: int, ends: Any) -> tuple[Array, Array]:
        w, wx, wxx, wy, wxy = self.sums[:, ends] - self.sums[:, [begin]]
        if self.level:
            return wy / w, np.zeros_like(w)
        determinant = w * wxx - wx * wx
        a = (wxx * wy - wx * wxy) / determinant
        b = (w * wxy - wx * wy) / determinant
        if self.least is None:
            return a, b
        falling = b < 0
        a, b = np.where(falling, wy / w, a), np.where(falling, 0, b)
        low = a < self.least
        slope = np.maximum((wxy - self.least * wx) / np.where(wxx > 0, wxx, 1), 0)
        return np.where(low, self.least, a), np.where(low, slope, b)

    def _squares(self, begin: int, ends: Any, a: Array, b: Array) -> Array:
        w, wx, wxx, wy, wxy = self.sums[:, ends] - self.sums[:, [begin]]
        total = ends - begin  # the weighted sum of the squares of y
        squares = total - 2 * (a * wy + b * wxy) + a * a * w + 2 * a * b * wx + b * b * wxx
        return np.asarray(np.maximum(squares, 0))

    def segment(self, begin: int, end: int) -> Segment:
        """The fit of a range of points. It is repeated with weights from the fitted times, since
        weights from the measured times favour times that are too short."""
        part = slice(begin, end)
        a, b = (float(v[0]) for v in self._lines(begin, np.array([end])))
        x, y = self.x[part], self.y[part]
        fitted = np.maximum(a + b * x, y / 2)
        again = _RangeFits(x, y, self.least, self.level, fitted)
        a, b = (float(v[0]) for v in again._lines(0, np.array([len(x)])))
        residuals = (y - a - b * x) / fitted
        intervals = again._intervals(residuals)
        return Segment(
            first=float(x[0]),
            last=float(x[-1]),
            intercept=a,
            slope=b,
            intercept_interval=intervals[0],
            slope_interval=intervals[1],
            residual=float(np.sqrt(np.mean(residuals**2))),
            worst_residual=float(np.max(np.abs(residuals))),
        )

    def _intervals(self, residuals: Array) -> tuple[float, float]:
        """Half the 95 % intervals of intercept and slope, for the fit of all points."""
        free = len(residuals) - (1 if self.level else 2)
        variance = float(np.sum(residuals**2)) / free
        w, wx, wxx, _, _ = self.sums[:, -1]
        quantile = t_quantile(free)
        if self.level:
            return quantile * float(np.sqrt(variance / w)), 0.0
        determinant = w * wxx - wx * wx
        of_intercept = quantile * float(np.sqrt(variance * wxx / determinant))
        return of_intercept, quantile * float(np.sqrt(variance * w / determinant))


def t_quantile(free: int) -> float:
    """The quantile of Student's t at 97.5 % for `free` degrees of freedom. By the expansion in 1 /
    `free` (Abramowitz and Stegun 26.7.5), which is within 3 % from 2 degrees on."""
    z = NORMAL_QUANTILE
    terms = [
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    ]
    return z + sum(term / float(free) ** (i + 1) for i, term in enumerate(terms))


def best_ends(squares: Array, most: int, score: Callable[[float, int, int], float]) -> list[int]:
    """The ends of the segments of the best partition, as numbers of points. The best has the least
    `score` of its sum of costs, the number of points and the number of segments."""
    count = len(squares) - 1
    best, came_from = [squares[0]], [np.zeros(count + 1, int)]
    scores = [score(best[0][count], count, 1)]
    for segments in range(2, min(most, count // LEAST_POINTS) + 1):
        ways = best[-1][:, None] + squares
        came_from.append(np.argmin(ways, axis=0))
        best.append(np.min(ways, axis=0))
        scores.append(score(best[-1][count], count, segments))
    ends = [count]
    for row in range(int(np.argmin(scores)), 0, -1):
        ends.append(int(came_from[row][ends[-1]]))
    return ends[::-1]


def _score(squares: float, count: int, segments: int) -> float:
    """The Bayesian information criterion; smaller is better."""
    variance = squares / count + RESOLUTION**2
    return float(count * np.log(variance) + PARAMETERS * segments * np.log(count))
