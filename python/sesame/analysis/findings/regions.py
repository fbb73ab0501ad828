"""Finds where a curve changes: fits straight segments with jumps or bends between them, as many as
the noise supports.

The errors of the points are known from repeated measurements. Therefore the sum of squares over
the errors is a chi-square, and two points are enough for a segment. The number of segments has the
least Bayesian information criterion; each segment after the first costs three parameters: the two
of its line, and where it begins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

SHORTEST = 2  # points of a segment
PARAMETERS = 3  # of each segment after the first
# The penalty of the criterion suits many points. For the twenty points of a sweep it is too small:
# the best cut of noise alone often gains more. With this factor, noise alone is cut in less than
# one sweep in fifty.
CAUTION = 1.5
CONFIDENCE_95 = 3.84  # chi-square, one degree of freedom


@dataclass(frozen=True)
class Region:
    """One straight segment."""

    first: int  # index of its first point
    last: int  # index of its last point
    slope: float
    intercept: float

    def at(self, x: float) -> float:
        return self.intercept + self.slope * x


@dataclass(frozen=True)
class Fit:
    """The segments of a curve, in the order of x."""

    regions: list[Region]
    # For each border: the first and the last point that may begin the next region, at 95 %.
    borders: list[tuple[int, int]]


def fit_regions(x: Array, y: Array, error: Array, most: int = 7) -> Fit:
    """Fits at most `most` segments to points in the order of x, `error` being the standard errors
    of y. Fewer than two points have no segment."""
    count = len(x)
    if count < 2 * SHORTEST:
        return Fit([_line(x, y, error, 0, count - 1)[0]] if count > 1 else [], [])
    cost = _costs(x, y, error)
    forward, backward = _best(cost, most), _best(cost[::-1, ::-1].T, most)
    penalty = CAUTION * PARAMETERS * np.log(count)
    total = [forward[segments][count] + segments * penalty for segments in range(1, len(forward))]
    segments = int(np.argmin(total)) + 1
    begins = _begins(cost, forward, segments)
    ends = [*[begin - 1 for begin in begins[1:]], count - 1]
    regions = [_line(x, y, error, begin, end)[0] for begin, end in zip(begins, ends, strict=True)]
    borders = []
    for number in range(1, segments):
        both = [
            forward[number][i] + backward[segments - number][count - i] for i in range(count + 1)
        ]
        possible = np.flatnonzero(np.array(both) <= min(both) + CONFIDENCE_95)
        borders.append((int(possible[0]), int(possible[-1])))
    return Fit(regions, borders)


def _line(x: Array, y: Array, error: Array, first: int, last: int) -> tuple[Region, float]:
    """The line through some of the points, and its chi-square."""
    part = slice(first, last + 1)
    weight = 1 / error[part] ** 2
    x_mean = np.average(x[part], weights=weight)
    y_mean = np.average(y[part], weights=weight)
    spread = np.sum(weight * (x[part] - x_mean) ** 2)
    slope = np.sum(weight * (x[part] - x_mean) * (y[part] - y_mean)) / spread
    intercept = y_mean - slope * x_mean
    rest = y[part] - intercept - slope * x[part]
    region = Region(first, last, float(slope), float(intercept))
    return region, float(np.sum(weight * rest**2))


def _costs(x: Array, y: Array, error: Array) -> Array:
    """[first, last]: chi-square of one line through these points."""
    count = len(x)
    cost = np.full((count, count), np.inf)
    for first in range(count):
        for last in range(first + SHORTEST - 1, count):
            cost[first, last] = _line(x, y, error, first, last)[1]
    return cost


def _best(cost: Array, most: int) -> list[Array]:
    """[segments][points]: the least chi-square of that many segments through the first points."""
    count = len(cost)
    best = [np.full(count + 1, np.inf)]
    best[0][0] = 0
    for _ in range(min(most, count // SHORTEST)):
        row = np.full(count + 1, np.inf)
        for end in range(SHORTEST, count + 1):
            row[end] = np.min(best[-1][:end] + cost[:end, end - 1])
        best.append(row)
    return best


def _begins(cost: Array, best: list[Array], segments: int) -> list[int]:
    """The first point of each segment of the best fit."""
    begins: list[int] = []
    end = len(cost)
    for left in range(segments, 0, -1):
        end = int(np.argmin(best[left - 1][:end] + cost[:end, end - 1]))
        begins.insert(0, end)
    return begins
