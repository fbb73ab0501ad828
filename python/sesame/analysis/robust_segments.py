"""Fits the segments of a curve of message times under constraints that networks obey:

- the time falls with the size only where times hardly scatter: there another protocol begins;
- no bandwidth is more than FASTEST times the best measured rate;
- a slope that the data do not determine is that of a neighbouring segment.

The fit minimizes absolute relative errors, so that disturbed points have little weight. Breaks are
chosen as in segments.py, with this cost. Then one linear program with the constraints gives all
lines, and a bootstrap of the points their intervals (Efron 1979).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sesame.analysis.segments import (
    LEAST_POINTS,
    LEAST_WIDTH,
    MOST_SEGMENTS,
    NORMAL_QUANTILE,
    PARAMETERS,
    RESOLUTION,
    STEP_TO_NOTICE,
    Array,
    Segment,
    best_ends,
    t_quantile,
)

FASTEST = 4.0  # a segment's bandwidth over the best rate of a whole message
MOST_OPEN = 0.5  # half a slope's interval over the slope: above it the slope is not determined
EXACT = 1e-3  # median scatter below which a fall between two segments is due to the protocol
ROUNDS = 25  # of reweighting; errors are then below RESOLUTION
OUTLYING = 6.0  # a point was disturbed if its error is this many median errors (4 deviations)
LEAST_OUTLYING = 0.02  # and more than this relative error
LEAST_NEAR = 0.75  # share of undisturbed points; with fewer, no point is left out
RESAMPLES = 300
WINDOW = 2  # points to either side, of the running median


def fit_message_segments(
    sizes: Sequence[float] | Array, times: Sequence[float] | Array, *, least_intercept: float = 0.0
) -> list[Segment]:
    """The segments of a curve. Sizes (B) must rise, times (s) be positive. No intercept is below
    `least_intercept` (s). Raises ValueError."""
    x, y = np.asarray(sizes, float), np.asarray(times, float)
    if len(x) != len(y) or np.any(np.diff(x) <= 0) or np.any(y <= 0):
        raise ValueError("expected rising sizes and as many times above zero")
    if len(x) < LEAST_POINTS:
        raise ValueError(f"expected at least {LEAST_POINTS} sizes, got {len(x)}")
    segments = _fit(_Curve(x, y, running_median(y), least_intercept))
    near = _undisturbed(segments, x, y)
    if near.all() or np.mean(near) < LEAST_NEAR:
        return segments
    return _fit(_Curve(x[near], y[near], running_median(y[near]), least_intercept))


def _fit(curve: _Curve) -> list[Segment]:
    return _determined(curve, best_ends(_costs(curve), MOST_SEGMENTS, _score))


def _undisturbed(segments: Sequence[Segment], x: Array, y: Array) -> Any:
    """Which points are no outliers. Outliers must be left out: disturbances only lengthen times, so
    that even this norm gives lines that are too slow."""
    lasts = [segment.last for segment in segments]
    owners = np.minimum(np.searchsorted(lasts, x), len(segments) - 1)
    fitted = np.array([segments[i].at(size) for i, size in zip(owners, x, strict=True)])
    errors = np.abs(y / fitted - 1)
    return errors <= max(OUTLYING * float(np.median(errors)), LEAST_OUTLYING)


def running_median(values: Array) -> Array:
    count = len(values)
    windows = [values[max(0, i - WINDOW) : i + WINDOW + 1] for i in range(count)]
    return np.array([float(np.median(window)) for window in windows])


@dataclass(frozen=True)
class _Curve:
    x: Array
    y: Array
    scale: Array  # errors are relative to these times, a running median
    least: float  # the least intercept

    @cached_property
    def flattest(self) -> float:
        """The least slope."""
        best = float(np.max(self.x / self.scale))
        return 1 / (FASTEST * best) if best > 0 else 0.0


def _score(cost: float, count: int, segments: int) -> float:
    """The Bayesian information criterion for errors with Laplace's distribution."""
    return float(
        2 * count * np.log(cost / count + RESOLUTION) + PARAMETERS * segments * np.log(count)
    )


def _costs(curve: _Curve) -> Array:
    """At [begin, end], the sum of the relative errors of a line through the points begin to
    end - 1; infinite for segments that are not allowed."""
    count = len(curve.x)
    result = np.full((count + 1, count + 1), np.inf)
    for begin in range(count):
        ends = np.arange(begin + LEAST_POINTS, count + 1)
        wide = curve.x[ends - 1] >= LEAST_WIDTH * curve.x[begin]
        ends = ends[wide | ((begin == 0) & (ends == count))]
        if not len(ends):
            continue
        x, y, scale = (v[begin:] for v in (curve.x, curve.y, curve.scale))
        counts = (np.arange(begin, count) < ends[:, None]).astype(float)
        a, b = _lines(x, y, scale, counts, curve)
        errors = np.abs(y - a[:, None] - b[:, None] * x) / scale
        result[begin, ends] = np.sum(errors * counts, axis=1)
    return result


def _lines(x: Array, y: Array, scale: Array, counts: Array, curve: _Curve) -> tuple[Array, Array]:
    """Intercepts and slopes of lines, one for each row of `counts`, which says how often each point
    counts. Least absolute deviations, by iteratively reweighted least squares."""
    equal = weights = counts / scale**2
    xx, xy = x * x, x * y
    a = b = np.zeros(len(counts))
    for _ in range(ROUNDS):
        w, wx, wy = weights.sum(axis=1), weights @ x, weights @ y
        wxx, wxy = weights @ xx, weights @ xy
        determinant = np.maximum(w * wxx - wx * wx, 1e-300)
        b = (w * wxy - wx * wy) / determinant
        flat = b < curve.flattest
        b = np.where(flat, curve.flattest, b)
        a = (wy - b * wx) / w
        low = a < curve.least
        steep = (wxy - curve.least * wx) / np.maximum(wxx, 1e-300)
        b = np.where(low, np.maximum(steep, curve.flattest), b)
        a = np.where(low, curve.least, a)
        errors = np.abs(y - a[:, None] - b[:, None] * x) / scale
        weights = equal / np.maximum(errors, RESOLUTION / 10)
    return a, b


def _determined(curve: _Curve, ends: list[int]) -> list[Segment]:
    """Joins segments until each break is needed: two neighbours with the same slope remain only if
    there is a step between them."""
    while True:
        begins = [0, *ends[:-1]]
        drawn = [_resampled(curve, *part) for part in zip(begins, ends, strict=True)]
        middles = [float(np.median(slopes)) for _, slopes in drawn]
        open_ = [
            # At the least slope all samples agree, and so do not determine it.
            np.inf if middle <= curve.flattest else _spread(slopes, end - begin, middle) / middle
            for (_, slopes), begin, end, middle in zip(drawn, begins, ends, middles, strict=True)
        ]
        donors = _donors(open_)
        a, b = _joint_lines(curve, ends, donors)
        same = _needless_break(curve, ends, donors, a)
        if same is None:
            return _segments(curve, ends, donors, a, b, drawn)
        ends = [*ends[:same], *ends[same + 1 :]]


def _donors(open_: Sequence[float]) -> list[int]:
    """For each segment the one that gives it its slope: itself if its slope is determined, else the
    nearest segment with a determined slope, of two the better one. If no slope is determined, the
    best segment gives it to all."""
    known = [i for i, share in enumerate(open_) if share <= MOST_OPEN]
    if not known:
        return [int(np.argmin(open_))] * len(open_)
    return [min(known, key=lambda k: (abs(k - i), open_[k])) for i in range(len(open_))]


def _needless_break(curve: _Curve, ends: list[int], donors: list[int], a: Array) -> int | None:
    """A break between two segments of the same slope with nearly the same intercept, or None."""
    for i in range(len(ends) - 1):
        time = curve.scale[ends[i] - 1]
        if donors[i] == donors[i + 1] and abs(a[i + 1] - a[i]) < STEP_TO_NOTICE * time:
            return i
    return None


def _joint_lines(curve: _Curve, ends: list[int], donors: list[int]) -> tuple[Array, Array]:
    """Intercepts and slopes of all lines, with the least sum of relative errors. The time may fall
    from one segment to the next only if the points hardly scatter: then it is another protocol."""
    a, b = _least_errors(curve, ends, donors, may_fall=[True] * (len(ends) - 1))
    owner = np.searchsorted(ends, np.arange(len(curve.x)), side="right")
    scatter = float(np.median(np.abs(curve.y / (a[owner] + b[owner] * curve.x) - 1)))
    at = curve.x[np.array(ends[:-1], int) - 1]
    before, behind = a[:-1] + b[:-1] * at, a[1:] + b[1:] * at
    falls = 1 - behind / before
    if np.all(falls <= 0):
        return a, b
    return _least_errors(curve, ends, donors, may_fall=[scatter < EXACT] * len(falls))


def _least_errors(
    curve: _Curve, ends: list[int], donors: list[int], may_fall: Sequence[bool]
) -> tuple[Array, Array]:
    """Intercepts and slopes of all lines; `may_fall` says for each break whether the time may."""
    count, lines = len(curve.x), len(ends)
    unit = float(np.median(curve.scale))
    widths = np.array([max(curve.x[end - 1], 1.0) for end in ends])  # slopes count in unit / width
    owner = np.searchsorted(ends, np.arange(count), side="right")
    slope_of = np.array(donors)
    design = np.zeros((count, 2 * lines))
    rows = np.arange(count)
    design[rows, owner] = 1
    design[rows, lines + slope_of[owner]] = curve.x / widths[slope_of[owner]]
    relative = design / (curve.scale / unit)[:, None]
    wanted = curve.y / curve.scale
    errors = np.eye(count)
    bounds_of_errors = np.block([[relative, -errors], [-relative, -errors]])
    falls = np.zeros((lines - 1, 2 * lines + count))
    for i in (i for i, may in enumerate(may_fall) if not may):
        at = curve.x[ends[i] - 1]
        falls[i, [i, i + 1]] = 1, -1
        falls[i, lines + slope_of[i]] += at / widths[slope_of[i]]
        falls[i, lines + slope_of[i + 1]] -= at / widths[slope_of[i + 1]]
    solution = minimize(
        np.concatenate([np.zeros(2 * lines), np.ones(count)]),
        at_least=np.concatenate(
            [
                np.full(lines, curve.least / unit),
                curve.flattest * widths / unit,
                np.zeros(count),
            ]
        ),
        rows=np.vstack([bounds_of_errors, falls]),
        rows_at_most=np.concatenate([wanted, -wanted, np.zeros(lines - 1)]),
    )
    a = solution[:lines] * unit
    b = (solution[lines : 2 * lines] * unit / widths)[slope_of]
    return a, b


def minimize(costs: Array, *, at_least: Array, rows: Array, rows_at_most: Array) -> Array:
    """Solves a linear program: the x >= at_least with rows @ x <= rows_at_most that minimizes
    costs @ x. Raises ValueError if there is none."""
    import highspy  # large, and only a fit needs it

    number, columns = rows.shape
    of_row, of_column = np.nonzero(rows)
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = columns, number
    program.col_cost_ = costs
    program.col_lower_, program.col_upper_ = at_least, np.full(columns, highspy.kHighsInf)
    program.row_lower_, program.row_upper_ = np.full(number, -highspy.kHighsInf), rows_at_most
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = np.searchsorted(of_row, np.arange(number + 1))
    program.a_matrix_.index_ = of_column
    program.a_matrix_.value_ = rows[of_row, of_column]
    with _standard_output_closed():  # HiGHS 1.16 prints a banner before it can be configured
        solver = highspy.Highs()  # type: ignore[no-untyped-call]
        solver.silent()
    solver.passModel(program)
    solver.run()
    status = solver.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise ValueError(f"no lines fit: {solver.modelStatusToString(status)}")
    return np.array(solver.getSolution().col_value)


@contextmanager
def _standard_output_closed() -> Iterator[None]:
    """Drops what native code prints to standard output in the block."""
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _resampled(curve: _Curve, begin: int, end: int) -> tuple[Array, Array]:
    """Intercepts and slopes of the segment from samples of its points."""
    generator = np.random.default_rng(begin)
    number = end - begin
    counts = generator.multinomial(number, np.full(number, 1 / number), RESAMPLES).astype(float)
    distinct = np.count_nonzero(counts, axis=1) >= 2
    part = slice(begin, end)
    return _lines(curve.x[part], curve.y[part], curve.scale[part], counts[distinct], curve)


def _spread(values: Array, points: int, middle: float) -> float:
    """The larger distance of the middle from an end of the samples' 95 % interval, widened for few
    points by Student's t."""
    low, high = np.quantile(values, [0.025, 0.975])
    return (
        max(float(high) - middle, middle - float(low))
        * t_quantile(max(points - 2, 1))
        / NORMAL_QUANTILE
    )


def _time_interval(x: Array, fitted: Array, drawn: tuple[Array, Array]) -> float:
    """The relative half interval of the line's time, at the size where it is widest. It may be
    narrow although those of intercept and slope are wide."""
    intercepts, slopes = drawn
    return max(
        _spread(intercepts + slopes * size, len(x), float(time)) / float(time)
        for size, time in zip(x, fitted, strict=True)
    )


def _segments(
    curve: _Curve,
    ends: list[int],
    donors: list[int],
    a: Array,
    b: Array,
    drawn: list[tuple[Array, Array]],
) -> list[Segment]:
    segments = []
    for i, (begin, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        x, y = curve.x[begin:end], curve.y[begin:end]
        donor = donors[i]
        points = ends[donor] - [0, *ends][donor]
        fitted = a[i] + b[i] * x
        residuals: Any = np.abs(y - fitted) / fitted
        segments.append(
            Segment(
                first=float(x[0]),
                last=float(x[-1]),
                intercept=float(a[i]),
                slope=float(b[i]),
                intercept_interval=_spread(drawn[i][0], end - begin, float(a[i])),
                slope_interval=_spread(drawn[donor][1], points, float(b[i])),
                residual=float(np.median(residuals)),
                worst_residual=float(np.max(residuals)),
                time_interval=_time_interval(x, fitted, drawn[i]),
            )
        )
    return segments
