"""Intervals against the binomial distribution, doubts of a busy machine against a made-up one."""

from __future__ import annotations

import os
import random
import statistics
from pathlib import Path

from sesame.host_load import HostLoad, LoadWatch
from sesame.trust import Doubt, Estimate, Reason, median_of, median_rank


def test_the_ranks_follow_from_binomial_tails():
    # By hand: 2 (1 + 9) / 512 = 0.039 for 9 samples and one dropped, 2 (1 + 8) / 256 = 0.070 for 8.
    assert {n: median_rank(n, 0.95) for n in (5, 6, 8, 9, 12, 15, 20)} == {
        5: -1, 6: 0, 8: 0, 9: 1, 12: 2, 15: 3, 20: 5,
    }  # fmt: skip


def test_intervals_hold_the_median_as_often_as_they_say():
    source = random.Random(4)
    held = 0
    for _ in range(2000):
        estimate = median_of([source.expovariate(1.0) for _ in range(11)])
        held += estimate.low <= 0.6931 <= estimate.high
    assert 0.95 <= held / 2000 < 1


def test_too_few_samples_are_a_doubt():
    estimate = median_of([3.0, 1.0, 2.0])
    assert (estimate.value, estimate.low, estimate.high, estimate.samples) == (2.0, 1.0, 3.0, 3)
    assert [doubt.reason for doubt in estimate.doubts] == [Reason.FEW_SAMPLES]
    assert median_of([1.0] * 6).doubts == ()


def test_the_order_of_samples_does_not_matter():
    samples = [float(n) for n in range(13)]
    shuffled = random.Random(1).sample(samples, len(samples))
    assert median_of(samples) == median_of(shuffled)
    assert median_of(samples).value == statistics.median(samples)


def test_an_estimate_as_json_has_its_doubts():
    doubt = Doubt(Reason.BUSY_HOST, "other processes used 1.00 of 2 processors", "wait")
    described = Estimate(2.0, 1.0, 3.0, 5, (doubt,)).as_json()
    assert described["doubts"] == [
        {"reason": "busy host", "text": doubt.text, "hint": "wait"},
    ]
    assert Estimate(2.0, 1.0, 3.0, 5).relative_width == 0.5


def stat_line(user: int, steal: int) -> str:
    return f"cpu  {user} 0 0 500 0 0 0 {steal} 0 0\n"


def test_what_others_and_the_hypervisor_took_is_distinguished(tmp_path: Path):
    stat = tmp_path / "stat"
    stat.write_text(stat_line(100, 0))
    watch = LoadWatch(stat)
    hertz = os.sysconf("SC_CLK_TCK")
    stat.write_text(stat_line(100 + 1000 * hertz, 10 * hertz))
    load = watch.stop()
    assert load.steal_s == 10
    assert 990 < load.others_s <= 1000
    assert len(load.doubts()) == 2 and load.is_busy


def test_our_own_work_is_no_load(tmp_path: Path):
    stat = tmp_path / "stat"
    stat.write_text(stat_line(0, 0))
    watch = LoadWatch(stat)
    sum(range(200_000))
    assert watch.stop().others_s == 0


def test_an_idle_machine_gives_no_doubt():
    assert HostLoad(elapsed_s=10, others_s=0.1, steal_s=0, processors=2).doubts() == []
