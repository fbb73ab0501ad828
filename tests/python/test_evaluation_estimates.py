"""Estimates of availability and mean time to incident: closed forms, and simulated months whose
truth is known."""

from __future__ import annotations

import functools
import math
import random
import sys
from bisect import bisect_right
from itertools import pairwise
from pathlib import Path

import pytest

from sesame.evaluation.estimates import (
    Availability,
    Sample,
    availability,
    mean_time_to_incident,
    poisson_limits,
    uniform_sum_half_width,
)
from sesame.trust import Reason

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import evaluation_coverage as bench

HOUR = 3600.0
MONTH = 30 * 24 * HOUR


@pytest.mark.parametrize(
    ("count", "low", "high"),
    # Garwood's limits as printed in tables (Pearson and Hartley, Biometrika Tables I, table 40).
    [(1, 0.0253, 5.57), (2, 0.242, 7.22), (5, 1.62, 11.67), (10, 4.80, 18.39), (50, 37.11, 65.92)],
)
def test_exact_poisson_limits_are_those_of_the_tables(count, low, high):
    found = poisson_limits(count)
    assert found[0] == pytest.approx(low, abs=0.006)
    assert found[1] == pytest.approx(high, abs=0.006)


def test_without_an_incident_there_is_a_lower_limit():
    found = mean_time_to_incident(0, MONTH)
    assert found.low == pytest.approx(MONTH / -math.log(0.05))  # exp(-mean) = 0.05
    assert math.isinf(found.value) and math.isinf(found.high)
    assert found.doubts[0].reason is Reason.FEW_SAMPLES


limits = functools.cache(poisson_limits)


def coverage(mean: float, *, mid_p: bool) -> float:
    """The probability that the limits hold the mean, summed over all counts."""
    total = 0.0
    for count in range(int(mean + 12 * math.sqrt(mean) + 20)):
        low, high = limits(count, mid_p=mid_p)
        if low <= mean <= high:
            total += math.exp(count * math.log(mean) - mean - math.lgamma(count + 1))
    return total


@pytest.mark.parametrize("mean", [0.3, 1.7, 5.0, 8.4, 21.0])
def test_exact_limits_hold_the_mean_at_least_as_often_as_stated(mean):
    assert coverage(mean, mid_p=False) >= 0.95


def test_mid_p_limits_are_right_on_average():
    """Single means differ, as counts are whole numbers: 92.7 % at the least from 5 on."""
    found = [coverage(5 + step / 2, mid_p=True) for step in range(40)]
    assert 0.945 <= sum(found) / len(found) <= 0.96
    assert min(found) >= 0.925 and max(found) <= 0.98


def test_the_sum_of_uniform_errors_is_exact_for_one_and_two():
    assert uniform_sum_half_width([8.0], 0.95) == pytest.approx(0.95 * 4, rel=0.005)
    # The sum of two is triangular on ±1: a tail of 2.5 % begins at 1 - sqrt(0.05).
    assert uniform_sum_half_width([1.0, 1.0], 0.95) == pytest.approx(1 - 0.05**0.5, rel=0.005)
    assert uniform_sum_half_width([], 0.95) == 0.0


def test_many_uniform_errors_are_nearly_normal():
    few, many = (uniform_sum_half_width([1.0] * n, 0.95) / n**0.5 for n in (12, 13))
    assert few == pytest.approx(many, rel=0.005)
    assert many == pytest.approx(1.95996 / 12**0.5, rel=1e-5)


def test_what_lies_between_a_pass_and_a_fail_is_open():
    samples = [Sample(HOUR * hour, not 3 <= hour < 5) for hour in range(11)]
    found = availability(samples, 0, 10 * HOUR, 1.5 * HOUR)
    assert (found.low, found.high) == (pytest.approx(0.7), pytest.approx(0.9))
    assert found.estimate.value == pytest.approx(0.8)
    assert found.observed == 1.0


def test_time_without_the_prober_is_neither_up_nor_down():
    samples = [Sample(HOUR * hour, True) for hour in range(11) if not 4 <= hour < 8]
    found = availability(samples, 0, 10 * HOUR, 1.5 * HOUR)
    assert (found.low, found.high) == (pytest.approx(0.5), 1.0)
    assert found.observed == pytest.approx(0.5)
    assert found.estimate.value == 1.0  # of the observed time
    assert found.estimate.doubts[0].reason is Reason.INCOMPLETE_INPUT
    assert availability([], 0, HOUR, HOUR) == Availability(0.0, 1.0, 0.0, None)


def test_a_reboot_between_two_passes_opens_the_time_before_it():
    samples = [Sample(0, True), Sample(HOUR, True)]
    found = availability(samples, 0, HOUR, HOUR, reboots=[0.75 * HOUR])
    assert (found.low, found.high) == (pytest.approx(0.25), 1.0)


def outages_of(rng: random.Random, minutes: float) -> list[tuple[float, float]]:
    """Outages and the times between them last at least an hour and then an exponential time."""
    found, at = [], 0.0
    while at < MONTH:
        begin = at + HOUR + rng.expovariate(1 / (40 * HOUR))
        at = begin + HOUR + rng.expovariate(1 / (minutes * 60))
        found.append((begin, at))
    return found


def prober_of(rng: random.Random) -> list[float]:
    """Hourly, at a minute of its own, with two failures of the prober of some hours."""
    offs = [(at, at + rng.uniform(1, 20) * HOUR) for at in (rng.uniform(0, MONTH) for _ in "ab")]
    minute = rng.uniform(0, HOUR)
    times = [minute + hour * HOUR for hour in range(-1, 722)]
    return [at for at in times if not any(begin <= at < end for begin, end in offs)]


def overlap(outages: list[tuple[float, float]], begin: float, end: float) -> float:
    return sum(max(min(b, end) - max(a, begin), 0) for a, b in outages)


def test_simulated_months_are_within_the_bounds_and_the_interval_is_calibrated():
    rng = random.Random(7)
    within = 0
    for _ in range(1000):
        outages, times = outages_of(rng, 120), prober_of(rng)
        edges = [edge for outage in outages for edge in outage]
        samples = [Sample(at, bisect_right(edges, at) % 2 == 0) for at in times]
        found = availability(samples, 0, MONTH, 1.5 * HOUR)
        down = overlap(outages, 0, MONTH)
        assert found.low - 1e-9 <= 1 - down / MONTH <= found.high + 1e-9
        unseen = [
            (max(a, 0), min(b, MONTH))
            for a, b in pairwise([-math.inf, *times, math.inf])
            if b - a > 1.5 * HOUR and b > 0 and a < MONTH
        ]
        down -= sum(overlap(outages, a, b) for a, b in unseen)
        truth = 1 - down / (MONTH - sum(b - a for a, b in unseen))
        within += found.estimate.low - 1e-9 <= truth <= found.estimate.high + 1e-9
    assert 930 <= within <= 970


def test_simulated_months_hold_the_mean_time_to_incident():
    """The time up is a fixed month here: incidents at their rate, cut off at both ends."""
    rng = random.Random(11)
    mean, exact, mid = 80 * HOUR, 0, 0
    estimate = functools.cache(mean_time_to_incident)
    for _ in range(1000):
        count, at = 0, rng.expovariate(1 / mean)
        while at < MONTH:
            count, at = count + 1, at + rng.expovariate(1 / mean)
        one = estimate(count, MONTH)
        exact += one.low <= mean <= one.high
        other = estimate(count, MONTH, mid_p=True)
        mid += other.low <= mean <= other.high
    assert exact >= 950
    assert 930 <= mid <= 970


def test_whole_months_with_reboots_and_a_failing_prober_hold_the_truth():
    """As docs/models/evaluation.md tabulates; 3 standard deviations of 400 months are allowed."""
    found = bench.held(400, 8, 5)
    assert found.bounds == 400
    assert 0.93 - 0.033 <= found.interval / 400 <= 0.97 + 0.033
    assert found.exact / 400 >= 0.95 - 0.033
    assert 0.93 - 0.033 <= found.mid_p / 400 <= 0.97 + 0.033
