"""Segmented regression finds what was put into synthetic curves."""

from __future__ import annotations

import numpy as np
import pytest

from sesame.analysis.segments import breaks_of, fit_segments, t_quantile

SIZES = np.array(
    [0, 1, 2, 3] + [int(2**k * (1 + i / 4)) for k in range(2, 22) for i in range(4)] + [4 << 20],
    float,
)
LIMIT = 64 * 1024


def noisy(times, relative, seed=1):
    return times * (1 + relative * np.random.default_rng(seed).standard_normal(len(times)))


def eager_and_rendezvous(sizes):
    return np.where(sizes <= LIMIT, 0.45e-6 + sizes / 3.1e9, 2.55e-6 + sizes / 11e9)


def test_one_line_stays_one_segment():
    (segment,) = fit_segments(SIZES, 1e-6 + SIZES / 1e9)
    assert segment.intercept == pytest.approx(1e-6, rel=1e-9)
    assert segment.bandwidth == pytest.approx(1e9, rel=1e-9)
    assert segment.worst_residual < 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_noise_makes_no_segments(seed):
    segments = fit_segments(SIZES, noisy(1e-6 + SIZES / 1e9, 0.03, seed))
    assert len(segments) == 1
    assert segments[0].residual == pytest.approx(0.03, rel=0.35)


@pytest.mark.long
def test_confidence_intervals_hold_the_truth_as_often_as_they_say():
    fits = [fit_segments(SIZES, noisy(1e-6 + SIZES / 1e9, 0.03, s), most=1)[0] for s in range(400)]
    latency = np.mean([abs(fit.intercept - 1e-6) < fit.intercept_interval for fit in fits])
    slope = np.mean([abs(fit.slope - 1e-9) < fit.slope_interval for fit in fits])
    assert latency == pytest.approx(0.95, abs=0.035)
    assert slope == pytest.approx(0.95, abs=0.035)


@pytest.mark.parametrize("noise", [0, 0.01, 0.03])
def test_a_change_of_protocol_is_found_where_it_is(noise):
    segments = fit_segments(SIZES, noisy(eager_and_rendezvous(SIZES), noise))
    assert len(segments) == 2
    (step,) = breaks_of(segments)
    assert (step.before, step.after) == (LIMIT, 1.25 * LIMIT)
    assert step.is_step
    assert segments[0].intercept == pytest.approx(0.45e-6, rel=1e-6 + noise)
    assert segments[0].bandwidth == pytest.approx(3.1e9, rel=1e-6 + 2 * noise)
    assert segments[1].bandwidth == pytest.approx(11e9, rel=1e-6 + 2 * noise)
    gap = np.array([step.before, step.after])  # the step is known to lie somewhere in it
    lines = (2.55e-6 + gap / 11e9) - (0.45e-6 + gap / 3.1e9)
    assert step.step == pytest.approx(min(lines, key=abs), rel=1e-6 + 5 * noise)


def test_a_knee_is_no_step():
    knee = 70_000  # not among the sizes
    times = 1e-6 + SIZES / 4e9 + np.maximum(SIZES - knee, 0) / 1e9
    segments = fit_segments(SIZES, times)
    assert len(segments) == 2
    assert not breaks_of(segments)[0].is_step
    assert breaks_of(segments)[0].at == pytest.approx(knee, rel=1e-6)
    assert segments[0].bandwidth == pytest.approx(4e9, rel=0.01)
    assert segments[1].bandwidth == pytest.approx(0.8e9, rel=0.01)


def test_one_line_through_a_step_would_be_far_off():
    """Why there are segments at all."""
    times = eager_and_rendezvous(SIZES)
    (line,) = fit_segments(SIZES, times, most=1)
    assert line.worst_residual > 0.2
    assert max(segment.worst_residual for segment in fit_segments(SIZES, times)) < 1e-6


def test_bounds_are_kept():
    times = np.where(SIZES <= LIMIT, 1e-6 + SIZES / 4e9, SIZES / 3e9)
    assert min(segment.intercept for segment in fit_segments(SIZES, times)) < 1e-9
    bounded = fit_segments(SIZES, times, least_intercept=0.5e-6)
    assert min(segment.intercept for segment in bounded) >= 0.5e-6
    falling = fit_segments(SIZES, 3e-6 - 1e-7 * np.log2(SIZES + 1), least_intercept=0.0)
    assert all(segment.slope >= 0 for segment in falling)


def test_sizes_that_crowd_around_a_step_are_no_segment_of_their_own():
    crowd = np.arange(LIMIT - 8, LIMIT + 9, dtype=float)
    sizes = np.unique(np.concatenate([SIZES, crowd]))
    times = eager_and_rendezvous(sizes)
    times[np.isin(sizes, crowd[:8])] *= 1.3  # disturbed
    segments = fit_segments(sizes, times)
    assert all(segment.last >= 1.25 * segment.first for segment in segments)


def test_a_narrow_range_is_one_segment():
    sizes = np.linspace(1000, 1100, 12)
    (segment,) = fit_segments(sizes, 1e-6 + sizes / 1e9)
    assert segment.bandwidth == pytest.approx(1e9, rel=1e-6)


def test_levels_are_constants():
    speeds = np.where(SIZES <= 1000, 50e9, np.where(SIZES <= 1e6, 20e9, 8e9))
    segments = fit_segments(SIZES, noisy(speeds, 0.02), level=True)
    assert [round(segment.intercept / 1e9) for segment in segments] == [50, 20, 8]
    assert all(segment.slope == 0 for segment in segments)


def test_quantiles_of_students_distribution():
    for free, quantile in [(2, 4.303), (5, 2.571), (10, 2.228), (30, 2.042), (10**6, 1.960)]:
        assert t_quantile(free) == pytest.approx(quantile, rel=0.03)


@pytest.mark.parametrize(
    ("sizes", "times"),
    [([1, 2, 3], [1, 1, 1]), ([1, 2, 2, 3], [1, 1, 1, 1]), ([1, 2, 3, 4], [1, 1, 0, 1])],
)
def test_what_is_no_curve_is_refused(sizes, times):
    with pytest.raises(ValueError, match="expected"):
        fit_segments(sizes, times)
