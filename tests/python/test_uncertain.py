"""Predictions that say how sure they are: repeats, series that measure once, doubts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sesame.host_load import HostLoad
from sesame.simulation import Point, RunResult
from sesame.simulation.measuring import measuring_of
from sesame.simulation.repeats import combined, same_computation
from sesame.trust import Doubt, Reason, merged

MACHINE = ["--machine", "paragon", "-n", "4"]
LATENCIES = ["--sweep", "network.latency=200us,400us,800us"]


def times(run: Any) -> list[float]:
    return [one["predicted_time_s"] for one in run.json["runs"]]


def test_a_sweep_over_a_machine_key_measures_once(sesame, tmp_path):
    """Its differences are those that the key makes, whatever measuring varies."""
    varying = sesame("simulate", *MACHINE, *LATENCIES, "--json", "--", "varying", "3")
    steady = sesame("simulate", *MACHINE, *LATENCIES, "--json", "--", "ring", "3")
    assert (tmp_path / "turns").read_text() == "x"
    assert times(varying) == times(steady)
    assert "2 of the points use what was measured for another one" in varying.stderr
    assert varying.json["notes"] == steady.json["notes"]


def test_each_number_of_ranks_is_measured(sesame, tmp_path):
    options = ["--machine", "paragon", "-n", "2,4", *LATENCIES]
    assert sesame("simulate", *options, "--json", "--", "varying").status == 0
    assert (tmp_path / "turns").read_text() == "xx"


def test_what_decides_where_ranks_run_is_measured_anew():
    placed = [
        Point(4, (("node.cores", n), ("network.gap", g))) for n in "12" for g in ("0s", "1us")
    ]
    assert same_computation(placed, scenario_of=None) == [placed[:2], placed[2:]]


def test_too_few_repeats_have_a_range_and_no_interval(sesame, tmp_path):
    words = ("simulate", "--machine", "paragon", "--repeat", "3", "--report", "r.html")
    for ranks in ("2", "1,2"):
        done = sesame(*words, "-n", ranks, "--", "ring", "5")
        assert done.status == 0, done.stderr
        page = (tmp_path / "r.html").read_text()
        assert "95 %" not in done.stderr and "range" in done.stderr
        assert "95 %" not in page and "range" in page


def test_repeats_give_the_median_and_its_interval(sesame, tmp_path):
    run = sesame("simulate", *MACHINE, "--repeat", "7", "--json", "--", "varying", "3")
    assert (tmp_path / "turns").read_text() == "x" * 7
    estimate = run.json["predicted_time"]
    assert run.json["predicted_time_s"] == estimate["value"]
    assert estimate["low"] < estimate["value"] < estimate["high"]
    assert estimate["samples"] == 7
    assert run.stderr.count("hello from varying") == 1


@pytest.mark.parametrize("output", [(), ("-o", "r.sesame")], ids=["summary", "data set"])
def test_a_repeat_that_fails_gives_the_exit_status(output, sesame):
    run = sesame("simulate", *MACHINE, "--repeat", "3", *output, "--", "failing-second")
    assert run.status == 3, run.stderr


def test_repeats_of_a_series_belong_together(sesame, tmp_path):
    options = [*MACHINE, *LATENCIES, "--repeat", "3", "--json"]
    run = sesame("simulate", *options, "--plot", "c.png", "--report", "r.html", "--", "varying")
    assert run.status == 0, run.stderr
    assert (tmp_path / "turns").read_text() == "xxx"
    estimates = [one["predicted_time"] for one in run.json["runs"]]
    assert [estimate["samples"] for estimate in estimates] == [3, 3, 3]
    assert all(estimate["low"] < estimate["value"] < estimate["high"] for estimate in estimates)
    assert "its bar is the range" in (tmp_path / "r.html").read_text()
    assert "few samples" in {doubt["reason"] for doubt in run.json["doubts"]}


def test_the_data_set_of_repeats_is_of_the_median_run(sesame, tmp_path):
    options = ["--repeat", "7", "-o", "r.sesame", "--report", "r.html", "--json"]
    run = sesame("simulate", *MACHINE, *options, "--", "varying", "3")
    assert run.status == 0, run.stderr
    info = json.loads((tmp_path / "r.sesame" / "info.json").read_text())
    assert info["compute"] == "measured"
    assert info["result"]["predicted_time_s"] == run.json["predicted_time_s"]
    assert info["doubts"] == run.json["doubts"]
    page = (tmp_path / "r.html").read_text()
    assert "median of 7 repeats, 95 % interval" in page
    assert "scattered samples" in page


def test_repeating_what_does_not_vary_is_refused(sesame, run_path):
    options = ["--machine", "paragon", "--repeat", "3"]
    for command in ([*options, "--compute", "none", "--", "ring"], [run_path, *options]):
        run = sesame("simulate", *map(str, command))
        assert run.status == 2
        assert "every run predicts the same time" in run.stderr


def test_repeats_do_not_share_their_files(sesame):
    run = sesame("simulate", *MACHINE, "--repeat", "3", "--files", "kept", "--", "ring")
    assert run.status == 2
    assert "each run would find the files of the one before" in run.stderr


def test_doubts_are_warnings_json_and_a_note_on_the_page(sesame, tmp_path):
    run = sesame("simulate", *MACHINE, "--json", "--report", "r.html", "--", "ring", "3")
    reasons = [doubt["reason"] for doubt in run.json["doubts"]]
    assert "scattered samples" in reasons  # the stand-in's samples differ by a third
    assert "warning: scattered samples: successive samples" in run.stderr
    assert "hint: --repeat 7" in run.stderr
    assert (
        "successive samples of the same computation differ by 33 %"
        in (tmp_path / "r.html").read_text()
    )
    assert run.json["measuring"]["spread"] == pytest.approx(1 / 3)


def test_doubtful_computation_that_is_used_again_is_doubtful(sesame):
    sesame("simulate", *MACHINE, "-o", "run.sesame", "--", "ring", "3")
    run = sesame(
        "simulate", *MACHINE, "--compute", "recorded:run.sesame", "--json", "--", "ring", "3"
    )
    assert "disturbed input" in [doubt["reason"] for doubt in run.json["doubts"]]


def result(**changes: float) -> dict[str, Any]:
    compute = {
        "reading_s": 2e-8,
        "samples": 40,
        "regions": 5,
        "sampled_s": 1.0,
        "short_s": 0.0,
    }
    compute |= {"repeated_s": 1.0, "difference_s": 0.01, "fastest_s": 0.97}
    host = {"preemptions": 0, "cpu_time_s": 1.0, "delayed_s": 0.0}
    ranks = {"compute_s": [1.0], "end_s": [2.0]}
    for table in (compute, host):
        table |= {key: changes[key] for key in changes if key in table}
    ranks["compute_s"] = [changes.get("compute_s", 1.0)]
    return {"compute": compute, "host_process": host, "rank_table": ranks}


IDLE = HostLoad(elapsed_s=10, others_s=0.01, steal_s=0, processors=2)
BUSY = HostLoad(elapsed_s=10, others_s=9, steal_s=0, processors=2)


@pytest.mark.parametrize(
    ("changes", "load", "reasons"),
    [
        ({}, IDLE, []),
        ({}, BUSY, [Reason.BUSY_HOST]),
        ({"delayed_s": 0.2}, IDLE, [Reason.BUSY_HOST]),
        ({"short_s": 0.9}, IDLE, [Reason.MODEL_LIMIT]),
        ({"difference_s": 0.4}, IDLE, [Reason.SCATTER]),
        # Where hardly anything was computed, it does not decide what is predicted.
        ({"compute_s": 0.01, "short_s": 0.9, "difference_s": 0.4}, BUSY, []),
    ],
)
def test_reasons_to_doubt_measured_computation(changes, load, reasons):
    measuring = measuring_of(result(**changes), load)
    assert [doubt.reason for doubt in measuring.doubts] == reasons
    assert all(doubt.hint for doubt in measuring.doubts)


def test_a_simulator_that_waits_does_not_disturb_ranks_in_other_processes():
    waited = result(delayed_s=0.2)
    assert measuring_of(waited, IDLE).doubts
    assert not measuring_of(waited, IDLE, in_simulator=False).doubts
    assert measuring_of(waited, BUSY, in_simulator=False).doubts


def test_of_several_runs_there_is_one_doubt_for_each_reason():
    busy, limit = Doubt(Reason.BUSY_HOST, "b"), Doubt(Reason.MODEL_LIMIT, "m")
    found = merged([[busy, limit], [limit], [Doubt(Reason.MODEL_LIMIT, "other")]], "points")
    assert [str(doubt) for doubt in found] == ["busy host: 1 of 3 points: b", "model limit: m"]


def test_the_repeat_that_failed_is_the_one_to_show():
    runs = [
        RunResult({"predicted_time_s": t, "exit_status": s}) for t, s in ((1, 0), (3, 4), (2, 0))
    ]
    assert combined(runs).exit_status == 4
    assert combined(runs).predicted_s == 2
