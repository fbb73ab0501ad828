"""Speed-up and efficiency against Amdahl's law."""

from __future__ import annotations

import pytest

from sesame.analysis.curve import curve_chart, ideal_line, speed_up_chart, speed_up_curves_of
from sesame.analysis.scaling import scalings_of
from sesame.simulation import Point, RunResult
from sesame.trust import Estimate

SERIAL = 0.1


def run_of(seconds: float, width: float = 0.0) -> RunResult:
    estimate = Estimate(seconds, seconds - width, seconds + width, 7) if width else None
    return RunResult({"predicted_time_s": seconds}, estimate=estimate)


def amdahl(ranks: int) -> float:
    return SERIAL + (1 - SERIAL) / ranks


RUNS = [(Point(n), run_of(amdahl(n))) for n in (1, 2, 8, 64)]


def test_speed_up_is_amdahls():
    for (point, _), scaling in zip(RUNS, scalings_of(RUNS), strict=True):
        assert scaling.speed_up == pytest.approx(1 / (SERIAL + (1 - SERIAL) / point.ranks))
        assert scaling.efficiency == pytest.approx(scaling.speed_up / point.ranks)


def test_it_is_relative_to_the_fewest_ranks():
    scalings = scalings_of(RUNS[1:])
    assert [scaling.base_ranks for scaling in scalings] == [2, 2, 2]
    assert scalings[0].efficiency == 1
    assert scalings[1].speed_up == pytest.approx(amdahl(2) / amdahl(8))
    assert ideal_line(RUNS[1:]) == [(2, 1.0), (8, 4.0), (64, 32.0)]


def test_a_run_that_did_not_succeed_has_no_speed_up_and_is_no_base():
    late = [(point, run_of(run.predicted_s)) for point, run in RUNS]
    late[0][1].result["outcome"] = "deadlock"
    late[2][1].result["exit_status"] = 3
    scalings = scalings_of(late)
    assert [scaling is None for scaling in scalings] == [True, False, True, False]
    assert scalings[3].base_ranks == 2
    assert ideal_line(late) == [(2, 1.0), (64, 32.0)]
    for _, run in late:
        run.result["outcome"] = "deadlock"
    assert scalings_of(late) == [None] * 4


def test_each_setting_has_a_base_of_its_own():
    runs = [
        (Point(n, (("network.latency", latency),)), run_of(factor * amdahl(n)))
        for n in (1, 4)
        for latency, factor in (("1us", 1), ("9us", 3))
    ]
    assert len({round(s.speed_up, 9) for s in scalings_of(runs)}) == 2
    assert set(speed_up_curves_of(runs)) == {"network.latency=1us", "network.latency=9us"}


def test_a_series_of_one_number_of_ranks_has_none():
    runs = [(Point(4, (("network.latency", t),)), run_of(1.0)) for t in ("1us", "2us")]
    assert scalings_of(runs) == [None, None]
    assert speed_up_curves_of(runs) == {}


def test_intervals_are_error_bars():
    runs = [(Point(1), run_of(4.0, 0.4)), (Point(2), run_of(2.0, 0.2))]
    curve = curve_chart(runs).marks[0]
    assert curve["errors"]
    assert curve["low"] == pytest.approx([3.6, 1.8])
    assert curve["high"] == pytest.approx([4.4, 2.2])
    low, high = 3.6 / 2.2, 4.4 / 1.8
    scaling = scalings_of(runs)[1]
    assert (scaling.low, scaling.high) == (pytest.approx(low), pytest.approx(high))
    assert "low" not in curve_chart(RUNS).marks[0]


def test_the_ideal_line_is_drawn_and_ranks_are_numbers():
    chart = speed_up_chart(RUNS)
    assert [mark["name"] for mark in chart.marks] == ["simulated", "ideal"]
    assert chart.marks[1]["y"] == (1.0, 2.0, 8.0, 64.0)
    assert chart.axes["x"]["log"] and chart.axes["y"]["log"]
    assert chart.marks[0]["x"] == [1, 2, 8, 64]
