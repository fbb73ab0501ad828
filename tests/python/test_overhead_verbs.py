"""The verbs of `sesame overhead`, and the tutorial that shows them."""

from __future__ import annotations

import json
import os

import pytest
from click.testing import CliRunner

from sesame.errors import SesameError
from sesame.overhead import predict, read_model
from sesame.overhead.distributions import parse_seconds
from sesame.overhead.studies import Limits, Run, advise, parse_levels

QUICK = ("-r", "2", "--seconds", "5")


def test_predict_prints_what_the_library_returns(sesame):
    given = ("overhead", "predict", "paradyn", "--set", "sampling_period=10ms", *QUICK, "--json")
    found = json.loads(sesame(*given).stdout)
    expected = predict(read_model("paradyn").with_settings({"sampling_period": "10ms"}), 5.0, 2)
    assert found["figures"]["daemon_cpu"]["value"] == float(expected.daemon_cpu.mean())
    assert found["replications"] == 2


def test_the_same_seed_gives_the_same_table(sesame):
    words = ("overhead", "factors", "paradyn", "processes=1,4", "policy=forward,batch", *QUICK)
    one = sesame(*words, "--workers", "1")
    assert one.status == 0, one.stderr
    assert "B policy" in one.stdout
    assert sesame(*words, "--workers", "2").stdout == one.stdout
    assert sesame(*words, "--seed", "2").stdout != one.stdout


def test_one_replication_has_no_interval_and_says_so(sesame):
    done = sesame("overhead", "factors", "paradyn", "processes=1,2", "-r", "1", "--seconds", "2")
    assert done.status == 0
    assert "no confidence intervals are possible" in done.stdout


def test_pages_are_written(sesame, tmp_path):
    page = tmp_path / "page.html"
    sweep = ("overhead", "sweep", "paradyn", "processes=1,2", "--by", "policy", *QUICK)
    done = sesame(*sweep, "-o", str(page))
    assert done.status == 0, done.stderr
    assert "Processor time of the daemons" in page.read_text()
    done = sesame("overhead", "factors", "paradyn", "processes=1,2", *QUICK, "-o", str(page))
    assert done.status == 0, done.stderr
    assert "A: processes" in page.read_text()


def test_advice_keeps_to_its_limits_and_is_the_shortest_period_that_does():
    model, run = read_model("paradyn"), Run(20.0, 4)
    found = advise(model, Limits(0.01, 1.0), run, [0.001, 0.02, 0.05, 0.2])
    assert found.chosen is not None and found.prediction is not None
    chosen = model.with_settings(found.chosen.settings)
    again = predict(chosen, 40.0, 4, seed=99)
    assert again.daemon_cpu.mean() / 40 <= 0.01
    assert again.estimate("latency_p99").value <= 1.0
    shorter = [one for one in found.tried if one.settings["sampling_period"] == "1ms"]
    assert len(shorter) == 5 and not any(one.keeps_both for one in shorter)


def test_advice_for_our_daemon_names_what_it_can_do():
    """sesamed reads every 50 ms at most and has no limit of age, so batches are full in time."""
    found = advise(read_model("sesamed"), Limits(0.01, 1.0), Run(20.0, 2))
    assert found.chosen is not None
    assert all(parse_seconds(one.settings["sampling_period"]) >= 0.05 for one in found.tried)
    chosen = found.chosen.settings
    assert chosen.get("batch_age", "none") == "none"
    last_s = (int(chosen["batch_size"]) - 1) * parse_seconds(chosen["sampling_period"])
    assert last_s < found.chosen.latency.value < 1.0


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (Limits(1e-9, 1.0), "every setting costs more than"),
        (Limits(0.5, 1e-6), "no setting delivers 99 %"),
    ],
)
def test_advice_says_why_no_setting_keeps_to_the_limits(limits, why):
    found = advise(read_model("paradyn"), limits, Run(5.0, 2), [0.01, 0.1])
    assert found.chosen is None and found.why.startswith(why)


def test_a_sweep_of_one_replication_has_curves_without_bands(sesame, tmp_path):
    sweep = ("overhead", "sweep", "paradyn", "processes=1,2", "--seconds", "5", "-o", "page.html")
    assert sesame(*sweep, "-r", "1").status == 0
    page = (tmp_path / "page.html").read_text()
    assert "Processor time of the daemons" in page and "95 % interval" not in page
    assert sesame(*sweep, "-r", "2").status == 0
    assert "the band is the 95 % interval" in (tmp_path / "page.html").read_text()


def test_a_page_of_logarithms_says_so(sesame, tmp_path):
    words = ("overhead", "factors", "paradyn", "processes=1,2", *QUICK, "-o", "page.html")
    assert sesame(*words, "--log", "--figures", "daemon_cpu").status == 0
    page = (tmp_path / "page.html").read_text()
    assert "Mean logarithm " in page and "(log daemon_cpu)" in page


def test_a_setting_that_changes_nothing_is_reported(sesame):
    words = ("overhead", "predict", "paradyn", *QUICK, "--set", "batch_size=512")
    done = sesame(*words, "--set", "batch_age=1s")
    assert ": batch_size changes nothing" in done.stdout
    assert ": batch_age changes nothing" in done.stdout
    assert "--set policy=batch" in done.stdout
    assert "changes nothing" not in sesame(*words, "--set", "policy=batch").stdout


def test_a_report_is_not_written_over_without_force(sesame, tmp_path):
    pytest.importorskip("scipy")
    (tmp_path / "lengths.csv").write_text("class,quantity,seconds\nsolver,cpu,0.001\n")
    report = tmp_path / "report.html"
    report.write_text("mine")
    words = ("overhead", "characterize", "lengths.csv", "-o", "node.toml", "--report", str(report))
    done = sesame(*words)
    assert done.status == 2 and "report.html: exists already" in done.stderr
    assert report.read_text() == "mine" and not (tmp_path / "node.toml").exists()
    assert sesame(*words, "--force").status == 0
    assert "Processor time" in report.read_text()


@pytest.fixture
def quick_advice(monkeypatch):
    """Advice for sesamed of one sampling period."""
    from sesame.overhead import studies

    def search(model, limits, _run, progress):
        return advise(model, limits, Run(10.0, 2), [0.1], progress)

    monkeypatch.setattr(studies, "advise", search)
    monkeypatch.setattr(os, "geteuid", lambda: 0)


ADVISE = ("advise", "sesamed", "--at-most", "5%", "--latency", "1s", "--check")


@pytest.mark.parametrize("as_json", [False, True])
def test_advice_is_printed_even_if_sesamed_cannot_start(quick_advice, monkeypatch, as_json):
    from sesame.cli import overhead_validate
    from sesame.cli.overhead import overhead

    def fail(*_):
        raise SesameError("sesamed cannot start")
        yield

    monkeypatch.setattr(overhead_validate, "_new_runs", fail)
    done = CliRunner().invoke(overhead, [*ADVISE, *(["--json"] if as_json else [])])
    assert str(done.exception) == "sesamed cannot start"
    if as_json:
        assert json.loads(done.stdout)["chosen"]["settings"]["sampling_period"] == "100ms"
    else:
        assert "use --set sampling_period=100ms" in done.stdout
    assert "sesamed runs for at least 3" in done.stderr


def test_a_check_that_cannot_run_is_refused_before_the_search(quick_advice, monkeypatch):
    from sesame.cli.overhead import overhead

    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    done = CliRunner().invoke(overhead, ADVISE)
    assert "--check starts sesamed, which needs root" in str(done.exception)
    assert done.stdout == ""


def test_levels_of_a_sweep():
    assert parse_levels("processes=1..32") == ("processes", ["1", "2", "4", "8", "16", "32"])
    assert parse_levels("processes=3..10") == ("processes", ["3", "6", "10"])
    name, values = parse_levels("sampling_period=5ms..160ms")
    assert (name, values) == ("sampling_period", ["5ms", "10ms", "20ms", "40ms", "80ms", "160ms"])
    assert parse_levels("policy") == ("policy", ["forward", "batch"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("predict", "nowhere.toml"), "nowhere.toml: cannot read the node model"),
        (("predict", "paradyn", "--set", "speed=1"), "unknown setting speed"),
        (("predict", "paradyn", "--set", "speed"), "--set speed: expected NAME=VALUE"),
        (("characterize", ".", "-o", "node.toml", "--seed", "-1"), "Invalid value for '--seed'"),
        (("predict", "paradyn", "--seed", "-1"), "Invalid value for '--seed'"),
        (("factors", "paradyn", "processes=1"), "processes: expected two different levels, got 1"),
        (("factors", "paradyn", "speed=1,2"), "unknown setting speed"),
        (("factors", "paradyn", "processes=1,2", "--figures", "x"), "no figure is called x"),
        (("sweep", "paradyn", "processes=8..1"), "expected a range from a smaller"),
        (("factors", "paradyn", "processes=1,2", "--figures", ","), "--figures: expected at least"),
        (
            ("factors", "paradyn", "batch_size=1,32"),
            "batch_size changes nothing: policy forward sends a message for each sample",
        ),
        (("sweep", "paradyn", "batch_age=1s,2s"), "batch_age changes nothing"),
        (
            (
                "factors",
                "paradyn",
                "sampling_period=10ms,100s",
                "--figures",
                "latency_mean",
                *QUICK,
            ),
            "latency_mean does not exist in the run sampling_period=100s: no sample was received",
        ),
        (("sweep", "paradyn", "daemons=0..4"), "from 1 to 10^9, got 0..4"),
        (("advise", "paradyn", "--at-most", "0", "--latency", "1s"), "--at-most 0: expected more"),
        (("advise", "paradyn", "--at-most", "1", "--latency", "1s"), "--at-most 1: expected a"),
        (("advise", "paradyn", "--at-most", "none", "--latency", "1s"), "--at-most none: expected"),
        (("characterize", ".", "-o", "a.toml", "--report", "r.txt"), "--report r.txt: expected a"),
        (("sweep", "paradyn", "processes=1,2", "-o", "page.pdf"), "ends with .html"),
        (("advise", "paradyn", "--at-most", "1%", "--latency", "0s"), "expected limits above 0"),
        (
            ("advise", "paradyn", "--at-most", "1%", "--latency", "1s", "--check"),
            "sesamed has a timer of its own",
        ),
    ],
)
def test_wrong_arguments_are_refused(sesame, tmp_path, words, message):
    done = sesame("overhead", *words)
    assert done.status == 2
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []
