"""Costs of sesamed that are fitted to its runs, and predictions beside what was measured."""

from __future__ import annotations

import dataclasses
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("scipy")
pytest.importorskip("httptools")

from test_collector import FakeNode

from sesame.cli import overhead_validate
from sesame.errors import InputError, SesameError
from sesame.overhead import read_model, real_daemon
from sesame.overhead.beside import Repeated, program_of
from sesame.overhead.daemon_runs import DaemonRun, DaemonSetting, append_run, fit_costs, read_runs
from sesame.overhead.real_daemon import RealDaemon
from sesame.overhead.studies import Run
from sesame.overhead.validation import compare, median_and_worst, variation

COLLECT, FORWARD, MAIN, MAIN_PER_SAMPLE = 2e-4, 1e-3, 1.5e-3, 1e-4
BARE = '[instrumentation]\nsampling_period = "1s"\n[daemon]\nsource = "timer"\n'


def made_run(period: float, batch: int, beside: str = "nothing", factor: float = 1.0) -> DaemonRun:
    """Of a daemon with the costs above, in 24 s; `factor` times as much."""
    readings = round(24 / period)
    messages = readings // batch
    return DaemonRun(
        DaemonSetting(period, batch),
        beside,
        24.0,
        readings,
        messages,
        factor * (readings * COLLECT + messages * FORWARD),
        factor * (readings * MAIN_PER_SAMPLE + messages * MAIN),
        (batch - 1) / 2 * period + 4e-3,
        (batch - 1) * period + 5e-3,
    )


@pytest.fixture
def bare(tmp_path):
    """A node with nothing but a daemon that costs nothing."""
    path = tmp_path / "bare.toml"
    path.write_text(BARE)
    return path


def test_runs_with_two_batch_sizes_tell_a_reading_from_a_message():
    found = fit_costs([made_run(0.1, 1), made_run(0.1, 6)])
    assert found.collect == pytest.approx(COLLECT)
    assert found.forward == pytest.approx(FORWARD)
    assert found.main == pytest.approx(MAIN)
    assert found.main_per_sample == pytest.approx(MAIN_PER_SAMPLE)
    with pytest.raises(InputError, match="cannot be distinguished"):
        fit_costs([made_run(0.1, 4), made_run(0.2, 4)])


def test_fitted_costs_predict_other_settings(bare):
    model = fit_costs([made_run(0.1, 1), made_run(0.1, 6)]).in_model(read_model(bare))
    runs = [made_run(0.3, 1), made_run(0.2, 4), made_run(0.05, 24)]
    found = compare(model, runs, Run(96.0, 2))
    for figure in ("daemon_cpu", "main_cpu"):
        assert median_and_worst(found, figure)[1] < 0.02
    twice = compare(model, [made_run(0.2, 4, factor=2)], Run(96.0, 2))
    assert twice[0].error("daemon_cpu") == pytest.approx(-0.5, abs=0.01)


def test_the_model_says_how_long_a_batch_waits(bare):
    model = fit_costs([made_run(0.1, 1), made_run(0.1, 6)]).in_model(read_model(bare))
    (found,) = compare(model, [made_run(0.2, 6)], Run(120.0, 2))
    handling = 5 * COLLECT + FORWARD + MAIN  # more for the last sample than for the first
    assert found.predicted["latency_mean"].value == pytest.approx(0.5, abs=2 * handling)
    assert found.predicted["latency_p99"].value == pytest.approx(1.0, rel=0.015)


def test_variation_of_measured_and_predicted_costs_is_allocated_alike(bare):
    model = fit_costs([made_run(0.1, 1), made_run(0.1, 6)]).in_model(read_model(bare))
    runs = [
        made_run(period, batch, beside, factor)
        for beside, factor in (("is", 1.0), ("bt", 1.1))
        for period in (0.1, 0.4)
        for batch in (1, 6)
    ]
    tables = variation(compare(model, runs, Run(96.0, 2)), "daemon_cpu")
    assert list(tables) == ["beside is", "beside bt", "at 100ms"]
    measured, predicted = tables["beside is"]
    for word in ("A", "B", "AB"):
        assert measured.share_of(word) == pytest.approx(predicted.share_of(word), abs=0.01)
    measured, predicted = tables["at 100ms"]
    assert predicted.share_of("B") == pytest.approx(0, abs=1e-9)  # no program in the model
    assert 0 < measured.share_of("B") < 0.05 < 0.9 < measured.share_of("A")


def test_a_file_of_runs_is_read_again(tmp_path):
    path = tmp_path / "runs.csv"
    runs = [made_run(0.1, 1), made_run(0.25, 16, "ep")]
    for run in runs:
        append_run(path, run)
    again = read_runs(path)
    assert [one.setting for one in again] == [one.setting for one in runs]
    assert again[1].beside == "ep"
    assert again[1].daemon_cpu_s == pytest.approx(runs[1].daemon_cpu_s)


def test_a_file_of_runs_as_excel_writes_it(tmp_path):
    path = tmp_path / "runs.csv"
    append_run(path, made_run(0.1, 1))
    path.write_text(path.read_text(), encoding="utf-8-sig")
    assert len(read_runs(path)) == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            '0.1,1,"ep' + 30_000 * "0.1,1\n",
            "not a line of a CSV table: field larger than field limit",
        ),
        ("0.1,1,ep", "expected 10 values"),
        ("0.1,1,ep,10,100,100,x,0.1,0.01,0.01", "could not convert string to float: 'x'"),
        ("0.1,1,ep,10,100,100,-1,0.1,0.01,0.01", "daemon_cpu_s: expected a number above 0"),
        ("0.1,1,ep,inf,100,100,1,0.1,0.01,0.01", "seconds: expected a number above 0"),
    ],
)
def test_a_wrong_file_of_runs_is_refused_with_its_line(tmp_path, line, message):
    path = tmp_path / "runs.csv"
    append_run(path, made_run(0.1, 1))
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(InputError, match=message) as caught:
        read_runs(path)
    assert caught.value.line == 3


def test_measured_runs_are_not_run_again(sesame, tmp_path, bare):
    """With all of the plan in the file, no daemon starts."""
    path = tmp_path / "runs.csv"
    for batch in (1, 6):
        append_run(path, made_run(0.1, batch))
    plan = ("--periods", "100ms", "--batches", "1,6", "--beside", "nothing", "-o", str(path))
    done = sesame("overhead", "validate", str(bare), *plan)
    assert done.status == 0, done.stderr
    assert "daemon (%): error 100.0 % in the median" in done.stdout  # it costs nothing in the model
    fitted = tmp_path / "node.toml"
    table = tmp_path / "lengths.csv"
    table.write_text("class,quantity,seconds\nsolver,cpu,0.001\nsolver,pause,0.001\n")
    words = ("characterize", str(table), "--daemon-runs", str(path), "-o", str(fitted))
    done = sesame("overhead", *words)
    assert done.status == 0, done.stderr
    model = read_model(fitted)
    assert model.daemon.forward.mean == pytest.approx(FORWARD)
    assert "no daemon ran" not in fitted.read_text()


def test_runs_of_another_class_or_a_shorter_time_are_run_again(tmp_path, monkeypatch):
    path = tmp_path / "runs.csv"
    append_run(path, made_run(0.1, 1, "ep A"))  # for 24 s
    new = []

    def run_instead(plan, seconds, _show):
        new.extend(plan)
        for _, program in plan:
            yield dataclasses.replace(made_run(0.1, 1, str(program)), seconds=seconds)

    monkeypatch.setattr(overhead_validate, "_new_runs", run_instead)

    def count_of_new(size: str, seconds: float) -> int:
        new.clear()
        plan = [(DaemonSetting(0.1, 1), program_of("ep", size))]
        (found,) = overhead_validate.measured(plan, seconds, path, lambda _: None)
        assert found.beside == f"ep {size}" and found.seconds >= seconds
        return len(new)

    asked = [("A", 24.0), ("S", 24.0), ("S", 24.0), ("A", 500.0), ("A", 24.0)]
    assert [count_of_new(*one) for one in asked] == [0, 1, 0, 1, 0]
    assert len(read_runs(path)) == 3


def test_a_program_that_fails_is_not_started_again_and_says_why(tmp_path):
    log = tmp_path / "starts"
    script = f"echo start >> {log}; echo 'ep: no such class' >&2; exit 3"
    with Repeated(["sh", "-c", script]) as repeated:
        journal = FakeJournal()
        with pytest.raises(SesameError, match="failed with status 3: ep: no such class"):
            measure_with(journal, repeated)
    assert log.read_text() == "start\n"


def test_a_program_that_ends_well_is_started_again_until_the_end(tmp_path):
    log = tmp_path / "starts"
    with Repeated(["sh", "-c", f"echo start >> {log}"]) as repeated:
        while not log.exists() or len(log.read_text()) < 20:
            repeated.check()
    repeated.check()
    assert not [one for one in threading.enumerate() if one.name == "beside"]


class FakeJournal:
    """Messages arrive for ever, and no time goes by."""

    last = (0.0, 0)
    arrivals: tuple[()] = ()

    def wait(self) -> None:
        time.sleep(0.001)


def measure_with(journal: FakeJournal, repeated: Repeated) -> None:
    class Undisturbed(RealDaemon):
        def _set(self, _setting):
            return journal

        def _cpu_s(self):
            return 0.0, 0.0

    Undisturbed(Path()).measure(DaemonSetting(0.1, 1), 10.0, repeated)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("paradyn",), "sesamed has a timer of its own"),
        (("bare.toml", "--periods", "1ms"), "interval: expected 0.05 to 86400 seconds"),
        (("bare.toml", "--periods", "1s,1000ms"), "expected different sampling periods"),
        (("bare.toml", "--batches", "0"), "expected different numbers of readings"),
        (("bare.toml", "--batches", "1,1000"), "batch: expected 1 to 360 readings"),
        (("bare.toml", "--beside", "pe"), "no workload called pe"),
        (("bare.toml", "--class", "Z"), "'Z' is not one of 'S', 'W', 'A', 'B'"),
        (("bare.toml", "-o", "runs.txt"), "expected a name that ends with .csv"),
    ],
)
def test_a_wrong_plan_is_refused_before_a_daemon_starts(sesame, tmp_path, bare, words, message):
    done = sesame("overhead", "validate", *words)
    assert done.status == 2
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == [bare]


def test_a_reading_that_is_written_in_two_parts_arrives_once(tmp_path, monkeypatch):
    """However long the collector waits for a processor between them."""
    journal = real_daemon._Journal(tmp_path, 60)
    reading = FakeNode("a").read().encode()
    path = tmp_path / ".journal-1"
    path.write_bytes(reading[:50])
    looks = iter(range(100))

    def look_again(_: float) -> None:
        if next(looks) == 10:
            path.write_bytes(reading)

    monkeypatch.setattr(real_daemon.time, "sleep", look_again)
    journal.wait()
    assert [size for _, size in journal.arrivals] == [len(reading)]
    assert len(journal.latencies_s(0)) == 1
