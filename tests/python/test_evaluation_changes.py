"""Detection of changes: rates of false alarms on several kinds of noise, delays, sizes."""

from __future__ import annotations

import random
import statistics
import sys
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from sesame.evaluation.alarms import autocorrelations, first_alarms, quantiles, rank_scores
from sesame.evaluation.changes import changes, changes_of_each, shift
from sesame.trust import Reason

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import change_detection as bench

# fmt: off
NILE = [
    1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960,
    1180, 799, 958, 1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694,
    940, 833, 701, 916, 692, 1020, 1050, 969, 831, 726, 456, 824, 702, 1120, 1100, 832,
    764, 821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759, 781, 865, 845, 944,
    984, 897, 822, 1010, 771, 676, 649, 846, 812, 742, 801, 1040, 860, 874, 848, 890,
    744, 749, 838, 1050, 918, 986, 797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746,
    919, 718, 714, 740,
]
# fmt: on

# The processor time of a program, in 0.1 ms, once a minute.
SOLVER = """
1031 1025 1065 1044 1014 1020 1019 1021 998 1045 1010 1017 995 1027 1002 999 1006 1002 1000 998
1001 1010 1025 1031 1068 1005 1017 2027 1998 1990 2001 1983 2019 1988 1973 1980 1983 1981 1982
1979 1971 1978 1973 1972 1975 1988 1990 989 988 990 995 990 994 993 991 992 987 989 988 990 991
1004 991 992 989 990
"""


@pytest.mark.parametrize(
    "noise", [bench.normal, bench.skewed, bench.outliers, bench.autocorrelated]
)
def test_a_false_alarm_is_raised_once_in_a_thousand_runs(noise):
    """Of 10,000 runs: 10 are expected, and 20 are three standard deviations more."""
    assert bench.false_alarms(bench.sesame, noise, 10_000, 5) * 10 <= 20


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


@pytest.mark.parametrize("runs", [8, 12, 20, 40])
def test_a_slow_spell_is_a_change_and_a_change_back(runs):
    """By 60 %, in noise of 2 %, as of a program that other work disturbs for a while."""
    rng = np.random.default_rng(1)
    levels = np.concatenate((np.ones(40), np.full(runs, 1.6), np.ones(60)))
    found = changes(levels * np.exp(0.02 * np.abs(rng.normal(size=len(levels)))))
    assert [one.first_after for one in found if one.is_confirmed] == [40, 40 + runs]
    assert [one.size.value for one in found] == pytest.approx([0.6, -0.6], abs=0.05)
    assert found[1].detected_at < 40 + runs + 20


def test_a_clear_step_of_few_correlated_runs_is_confirmed_and_so_is_its_return():
    """Processor times of a program, in 0.1 ms, once a minute on a busy machine. In 20 of these
    minutes it had twice the work."""
    times = [int(time) for time in SOLVER.split()]
    found = changes(times)
    assert [(one.first_after, one.is_confirmed) for one in found] == [(27, True), (47, True)]


@pytest.mark.parametrize("size", [3, 10])
@pytest.mark.parametrize("runs", [42, 44, 46, 50])
def test_a_spell_longer_than_is_looked_for_is_not_ended_while_it_continues(runs, size):
    """Its end is found as any change is."""
    is_off = 0
    for seed in range(10):
        values = np.random.default_rng(seed).standard_normal(300)
        values[100 : 100 + runs] += size
        found = [one for one in changes(values) if one.is_confirmed and one.after < one.before]
        is_off += min(abs(one.first_after - 100 - runs) for one in found) > 2
    assert is_off <= 1


def test_a_spell_in_the_noise_is_no_change():
    """Of 100 series of 500 runs, 50 alarms are expected."""
    rng = np.random.default_rng(12)
    found = [one for _ in range(100) for one in changes(bench.outliers(rng, 500))]
    assert len(found) > 20
    assert sum(one.is_confirmed for one in found) <= 2


def test_a_step_that_stays_does_not_come_back():
    rng = np.random.default_rng(13)
    for _ in range(100):
        values = rng.standard_normal(150)
        values[60:] += 3
        assert len([one for one in changes(values) if one.is_confirmed]) <= 1


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
            bench.runs_to_detection(detect, bench.normal, lambda _, s=size: s, 60)
            for detect in (bench.sesame, bench.rule(3.98))
        )
        assert ours < rule, size


def test_a_small_shift_in_autocorrelated_noise_is_found_sooner_than_by_a_plain_cusum():
    """18 is the threshold at which it gives one false alarm in 1,000 runs of this noise."""
    ours, plain = (
        bench.runs_to_detection(detect, bench.autocorrelated, lambda _: 1.0, 150)
        for detect in (bench.sesame, bench.plain_cusum(18.0))
    )
    assert ours < plain


def test_autocorrelation_is_estimated_in_spite_of_outliers():
    rng = np.random.default_rng(8)
    found = []
    for _ in range(30):
        values = bench.autocorrelated(rng, 200)
        values[50] += 100
        found.append(float(autocorrelations(values[None])[0]))
    assert statistics.mean(found) == pytest.approx(0.4, abs=0.05)
    assert autocorrelations(np.arange(100)[None] % 2) == 0.0


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


@pytest.mark.few_cases(3)
@pytest.mark.parametrize("runs", [(100, 100), (30, 10)])
@pytest.mark.parametrize("correlation", bench.CORRELATIONS)
def test_the_interval_of_a_shift_holds_it_in_correlated_noise_too(correlation, runs):
    """Of 300 series 285 are expected; 0.91 is three standard deviations less."""
    assert 0.91 <= bench.coverage(correlation, runs, 300) <= 0.99


@pytest.mark.parametrize("correlation", [0.5, 0.8])
def test_few_false_alarms_of_correlated_noise_are_confirmed(correlation):
    """Of 10 series of 1,000 runs; of two steps of three standard deviations both are."""
    rng = np.random.default_rng(11)
    alarms = [
        one for _ in range(10) for one in changes(bench.autoregressive(rng, 1000, correlation))
    ]
    assert len(alarms) >= 4
    assert sum(one.is_confirmed for one in alarms) <= 1
    values = bench.autoregressive(rng, 600, correlation)
    values[200:400] += 3
    assert len([one for one in changes(values) if one.is_confirmed]) == 2


def test_the_score_of_a_run_is_that_of_its_rank_among_those_before():
    values = np.array([1.0, 2.0, 1.5, 3.0, 0.0, 1.5])
    expected = [NormalDist().inv_cdf(p) for p in (1.5 / 3, 3.5 / 4, 0.5 / 5, 3 / 6)]
    assert rank_scores(values[None], 2)[0] == pytest.approx(expected, abs=1e-6)
    assert rank_scores(np.array([[4.0] * 4]), 3)[0] == pytest.approx([0.0], abs=1e-9)


def test_a_run_is_ranked_among_the_last_2000_and_blocks_make_no_difference():
    rng = np.random.default_rng(10)
    values = rng.standard_normal(2600)
    values[:300] += 50  # forgotten by run 2300
    found = rank_scores(values[None], 20)[0]
    for run in (20, 275, 276, 277, 2001, 2300, 2599):
        before = values[max(run - 2000, 0) : run]
        share = ((before < values[run]).sum() + 0.5) / (len(before) + 1)
        assert found[run - 20] == pytest.approx(float(quantiles(np.array([share]))[0]))


def test_series_that_are_searched_together_are_searched_as_if_alone():
    """Of several lengths, kinds of noise and correlations, with ties, with and without changes."""
    rng = np.random.default_rng(12)
    every = [
        noise(rng, runs) + 2.0 * (np.arange(runs) % 200 > 150)
        for noise in (bench.normal, bench.skewed, bench.autocorrelated)
        for runs in (0, 1, 20, 21, 65, 300, 1100)
    ]
    every += [every[5].round(1), every[6].round(), np.zeros(90)]
    alone = [changes(series) for series in every]
    assert sum(map(len, alone)) > 20
    assert changes_of_each(every) == alone
    assert first_alarms(every[::-1]) == [first_alarms([one])[0] for one in every[::-1]]


def test_the_flow_of_the_nile_changed_in_1899():
    """A public series with a known change: at Aswan, 1871 to 1970 (G. W. Cobb, Biometrika 65,
    1978, table 1); the change of 1898/1899 is described there."""
    found = changes(NILE)
    assert [1871 + one.first_after for one in found] == [1899]
    assert found[0].is_confirmed
    assert found[0].size.value == pytest.approx(-248, abs=25)  # the difference of the means
