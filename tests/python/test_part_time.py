"""Estimates of totals of points that were enabled for a part of the time, against known totals."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from sesame.analysis.part_time import Coverage, coverages, estimated_total, percent
from sesame.cli import cli, measure
from sesame.measurement.cost import Cost, keep_costs, kept_costs
from sesame.trust import Reason

S = 10**9


def intervals(count: int, active_s: list[float]) -> Coverage:
    return Coverage({(i * S, (i + 1) * S): int(active_s[i] * S) for i in range(count)})


@pytest.mark.parametrize(
    ("share", "least", "most"),
    [
        (1.0, 0.92, 0.99),  # half of the intervals are seen, the others not
        (0.2, 0.95, 1.0),  # all are seen for a fifth: then the interval is wider than needed
    ],
)
def test_the_interval_holds_the_total_nineteen_times_in_twenty(share, least, most):
    """Poisson events with a rate that differs between intervals."""
    random = np.random.default_rng(1)
    held, runs, count = 0, 400, 24
    for _ in range(runs):
        rates = random.gamma(20, 50, count)
        shares = np.full(count, share)
        if share == 1.0:
            shares[random.permutation(count)[: count // 2]] = 0.0
        seen = random.poisson(rates * shares)
        total = seen.sum() + random.poisson(rates * (1 - shares)).sum()
        coverage = intervals(count, shares.tolist())
        found = estimated_total(dict(zip(coverage.active_ns, seen.tolist(), strict=True)), coverage)
        held += found.low <= total <= found.high
        assert found.low >= seen.sum()
    assert least <= held / runs <= most


def test_a_rate_is_extended_to_the_time_that_was_not_seen():
    coverage = intervals(4, [0.5, 0.0, 0.5, 0.0])
    found = estimated_total({(0, S): 100, (2 * S, 3 * S): 100}, coverage)
    assert found.value == pytest.approx(800)
    assert coverage.share == pytest.approx(0.25)
    assert [one.reason for one in found.doubts] == [Reason.INCOMPLETE_INPUT]


def test_one_interval_is_doubtful_and_none_has_no_upper_limit():
    found = estimated_total({(0, S): 100}, intervals(1, [0.1]))
    assert found.value == pytest.approx(1000)
    assert found.low < 1000 - 150 < 1000 + 150 < found.high
    assert Reason.FEW_SAMPLES in [one.reason for one in found.doubts]
    assert estimated_total({}, intervals(1, [0.0])).high == float("inf")


def test_coverage_is_of_each_node_and_subsystem():
    row = {"node": "a", "subsystem": "fs", "begin_ns": 0, "end_ns": S, "active_ns": S // 16}
    found = coverages([row, row | {"node": "b", "active_ns": S}])
    assert (found["a", "fs"].is_whole, found["b", "fs"].is_whole) == (False, True)
    assert percent(found["a", "fs"].share) == "6.2 %"


COST_ROW = {
    "begin_ns": 0, "end_ns": S, "node": "a", "subsystem": "fs", "detail": 1, "active_ns": S // 20,
    "events": 50, "estimated_ns": 1000,
}  # fmt: skip
SUMMARY_ROW = {
    "begin_ns": 0, "end_ns": S, "node": "a", "subsystem": "fs", "point": "read",
    "class": "tmpfs /mnt/a-long-name-of-a-mount-that-a-table-of-80-columns-would-cut-somewhere",
    "at_least_bytes": 0, "below_bytes": 0, "count": 50, "bytes": 0, "timed": 0, "duration_ns": 0,
    "max_duration_ns": 0, "detail": 1, "active_ns": S // 20,
}  # fmt: skip


@pytest.mark.parametrize("active_ns", [S // 20, S])
def test_the_row_of_a_point_says_that_it_was_seen_for_a_part_of_the_time(capsys, active_ns):
    """It had shown the count alone, as if it were the total, and cut the name of the mount."""
    rows = {
        "kernel_summary": [SUMMARY_ROW | {"active_ns": active_ns}],
        "measurement_cost": [COST_ROW | {"active_ns": active_ns}],
    }
    measure._print_totals(rows)
    [line] = [line for line in capsys.readouterr().err.splitlines() if "fs.read" in line]
    assert SUMMARY_ROW["class"] in line
    assert ("5 %" in line, "1,000 (" in line) == ((True, True) if active_ns < S else (False, False))


def a_cost(ns: float, least: float, most: float, subsystem: str = "task") -> Cost:
    return Cost(subsystem, "create,exit", "duration", ns, least, most, 1000.0)


def test_a_cost_that_cannot_be_is_not_kept_and_an_earlier_one_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    good, impossible = a_cost(150, 140, 160), a_cost(-300, -2593, 417)
    vague = a_cost(100, 20, 900, "ipc")
    assert keep_costs([good]) == []
    assert keep_costs([impossible, vague]) == [impossible, vague]
    assert kept_costs() == [good]


def test_the_command_says_which_costs_it_does_not_keep(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    costs = [a_cost(-300, -2593, 417), a_cost(150, 140, 160, "vm")]
    monkeypatch.setattr("sesame.measurement.measure_costs", lambda *_: costs, raising=False)
    monkeypatch.setattr("sesame.measurement.measure_requests", lambda *_: [], raising=False)
    outcome = CliRunner().invoke(cli, ["measure", "cost", "--pairs", "3"])
    assert outcome.exit_code == 0, outcome.output
    assert "1 of 2 costs are too uncertain and were not kept" in outcome.output
    [line] = [line for line in outcome.output.splitlines() if line.strip().startswith("task")]
    assert line.rstrip().endswith("not kept")
    answer = json.loads(CliRunner().invoke(cli, ["measure", "cost", "--json"]).stdout)
    assert [one["kept"] for one in answer["costs"]] == [False, True]
