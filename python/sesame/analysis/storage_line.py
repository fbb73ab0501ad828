"""Fits latency + bytes / bandwidth to measured times, some of which other load may have lengthened.

The line has the least sum of absolute relative errors. Such a line goes through two of the points,
or through one if it is at a bound, so all candidates can be tried. The bandwidth is bounded by the
measured times (LEAST_SHARE): times that hardly depend on the size give no bandwidth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from sesame.analysis.quantities import format_bytes
from sesame.workloads.storage_times import Curve

Floats = npt.NDArray[np.float64]

SMALL, LARGE = 4, 3  # sizes, at either end of a curve
# The least share of the time of the largest access that counts as transfer of its bytes. A smaller
# share cannot be distinguished from the scatter of storage.
LEAST_SHARE = 0.05
WIDEST = 0.5  # half the interval of a bandwidth over its value: above it the line is doubtful
LARGEST_RESIDUAL = 0.3  # median of the relative errors: above it the line is doubtful


@dataclass(frozen=True)
class Line:
    """latency + bytes / bandwidth; seconds and bytes."""

    latency: float
    slope: float
    slope_share: float = 0.0  # half the slope's interval over the slope
    residual: float = 0.0  # the median of the relative errors
    is_flat: bool = False  # the times do not determine the bandwidth: it is the highest allowed

    def at(self, size: float) -> float:
        return self.latency + self.slope * size

    @property
    def bandwidth(self) -> float:
        return 1 / self.slope

    def doubt(self) -> str | None:
        """Why the line is doubtful; None if it is not."""
        if self.is_flat:
            return (
                "its time does not grow with the size, expected a bandwidth, got one of at least "
                f"{format_bytes(self.bandwidth)}/s"
            )
        if self.slope_share > WIDEST:
            return (
                f"its bandwidth is uncertain by ± {100 * self.slope_share:.0f} %, expected "
                f"at most ± {100 * WIDEST:.0f} %"
            )
        if self.residual > LARGEST_RESIDUAL:
            return (
                f"half of its times differ by more than {100 * self.residual:.0f} % from a line, "
                f"expected at most {100 * LARGEST_RESIDUAL:.0f} %"
            )
        return None


def fit_line(curve: Curve) -> Line:
    """The line through all points. The interval of its slope is the range of the slopes if any one
    point is left out."""
    line = _fit(curve)
    slopes = [line.slope]
    if len(curve.sizes) > 2:
        slopes += [_fit(_without(curve, at)).slope for at in range(len(curve.sizes))]
    return _with_uncertainty(line, slopes, *_arrays(curve))


def fit_device(curve: Curve) -> Line:
    """The bandwidth from the largest accesses, the latency from the smallest. Those between are not
    used: a buffer, or a rate limit that allows bursts, may make them faster."""
    sizes, times = _arrays(curve)
    pairs = combinations(range(max(len(sizes) - LARGE, 0), len(sizes)), 2)
    slopes = [float((times[j] - times[i]) / (sizes[j] - sizes[i])) for i, j in pairs]
    least = _least_slope(curve)
    slope = max(float(np.median(slopes)) if slopes else 0.0, least)
    latency = float(np.median((times - slope * sizes)[:SMALL]))
    ends = np.r_[: min(SMALL, len(sizes)), max(len(sizes) - LARGE, 0) : len(sizes)]
    line = Line(max(latency, 0.0), slope, is_flat=slope <= least)
    return _with_uncertainty(line, [slope, *slopes], sizes[ends], times[ends])


def _with_uncertainty(line: Line, slopes: list[float], sizes: Floats, times: Floats) -> Line:
    share = (max(slopes) - min(slopes)) / 2 / line.slope
    residual = float(np.median(np.abs(line.latency + line.slope * sizes - times) / times))
    return replace(line, slope_share=share, residual=residual)


def _fit(curve: Curve) -> Line:
    sizes, times = _arrays(curve)
    least = _least_slope(curve)
    found = list(_candidates(sizes, times, least))
    lines = np.array(found)
    errors = np.abs((lines[:, :1] + lines[:, 1:] * sizes) / times - 1).sum(axis=1)
    latency, slope = found[int(errors.argmin())]
    return Line(latency, slope, is_flat=slope <= least)


def _candidates(sizes: Floats, times: Floats, least: float) -> Iterator[tuple[float, float]]:
    """Latency and slope of lines through two points, or one and a bound."""
    for i, j in combinations(range(len(sizes)), 2):
        slope = float((times[j] - times[i]) / (sizes[j] - sizes[i]))
        latency = float(times[i] - slope * sizes[i])
        if slope >= least and latency >= 0:
            yield latency, slope
    for size, time in zip(sizes.tolist(), times.tolist(), strict=True):
        yield 0.0, max(time / size, least)
        yield max(time - least * size, 0.0), least


def _least_slope(curve: Curve) -> float:
    return LEAST_SHARE * curve.times[-1] / curve.sizes[-1]


def _without(curve: Curve, at: int) -> Curve:
    return Curve(curve.sizes[:at] + curve.sizes[at + 1 :], curve.times[:at] + curve.times[at + 1 :])


def _arrays(curve: Curve) -> tuple[Floats, Floats]:
    return np.array(curve.sizes, float), np.array(curve.times)
