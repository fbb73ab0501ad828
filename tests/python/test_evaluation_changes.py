"""Detection of changes: rates of false alarms on several kinds of noise, delays, sizes."""

from __future__ import annotations

import random
import statistics
import sys
from pathlib import Path

import pytest

from sesame.evaluation.changes import Detector, autocorrelation, changes, normal_score, shift
from sesame.trust import Reason

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import change_detection as bench


@pytest.mark.parametrize(
    "noise", [bench.normal, bench.skewed, bench.outliers, bench.autocorrelated]
)
def test_a_false_alarm_is_raised_once_in_a_thousand_runs(noise):
    """Of 10,000 runs: 10 are expected, and 20 are three standard deviations more."""
    assert bench.false_alarms(Detector, noise, 10_000, 5) * 10 <= 20


def test_the_alarm_does_not_depend_on_the_scale_or_the_distribution():
    rng = random.Random(3)
    series = [rng.gauss(0, 1) + (1.5 if run > 60 else 0) for run in range(120)]
    first = changes(series)[0]
    assert changes([1e-6 * 2.7**value for value in series])[0].detected_at == first.detected_at


def test_a_shift_is_found_with_its_size_and_the_first_run_after_it():
    rng = random.Random(4)
    series = [10 + rng.gauss(0, 0.1) + (1 if run >= 70 else 0) for run in range(100)]
    found = changes(series)
    assert len(found) == 1
    assert found[0].first_after == 70
    assert found[0].detected_at <= 76
    assert found[0].size.low < 1 < found[0].size.high
    assert found[0].size.high - found[0].size.low < 0.2
    assert found[0].after - found[0].before == pytest.approx(1, abs=0.1)


def test_two_shifts_are_two_changes_each_from_its_own_level():
    rng = random.Random(5)
    levels = [0] * 60 + [4] * 60 + [-2] * 60
    found = changes([level + rng.gauss(0, 1) for level in levels])
    assert [one.first_after for one in found] == [60, 120]
    assert found[0].size.value == pytest.approx(4, abs=0.6)
    assert found[1].size.value == pytest.approx(-6, abs=0.6)


def test_constant_series_and_short_ones_have_no_change():
    assert changes([5.0] * 500) == []
    assert changes([1.0, 50.0, 2.0]) == []
    assert changes([]) == []


def test_one_outlier_is_no_change():
    rng = random.Random(6)
    series = [rng.gauss(0, 1) for _ in range(100)]
    series[60] = 1e9
    assert changes(series) == []


def test_shifts_are_found_in_fewer_runs_than_by_a_rule_of_standard_deviations():
    """The rule's threshold is the quantile of Student's t that gives one false alarm in 1,000."""
    for size in bench.SHIFTS:
        ours, rule = (
            bench.runs_to_detection(make, bench.normal, lambda _, s=size: s, 40)
            for make in (Detector, lambda: bench.Rule(3.98))
        )
        assert ours < rule, size


def test_autocorrelation_is_estimated_in_spite_of_outliers():
    rng = random.Random(8)
    found = []
    for _ in range(30):
        series = bench.autocorrelated(rng)
        values = [next(series) for _ in range(200)]
        values[50] += 100
        found.append(autocorrelation(values))
    assert statistics.mean(found) == pytest.approx(0.4, abs=0.05)
    assert autocorrelation([float(run % 2) for run in range(100)]) == 0.0


def test_the_interval_of_a_shift_holds_it_as_often_as_stated():
    rng = random.Random(9)
    within = 0
    for _ in range(400):
        before = [rng.expovariate(1) for _ in range(15)]
        after = [3 + rng.expovariate(1) for _ in range(12)]
        found = shift(before, after)
        within += found.low <= 3 <= found.high
    assert 0.92 <= within / 400 <= 0.98
    assert shift([1.0], [2.0]).doubts[0].reason is Reason.FEW_SAMPLES


def test_scores_of_ranks_are_symmetric():
    assert normal_score([1.0, 2.0], 1.5) == pytest.approx(0)
    assert normal_score([1.0, 2.0], 3.0) == pytest.approx(-normal_score([1.0, 2.0], 0.0))
    assert normal_score([4.0, 4.0, 4.0], 4.0) == pytest.approx(0)
