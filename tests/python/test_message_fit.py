"""Constants of synthetic message curves: found within their intervals, or refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog
from test_calibrate import SIZES, report, text_of

from sesame import native
from sesame.analysis.calibration import ComputeFit, fit_network
from sesame.analysis.findings import with_findings
from sesame.analysis.machine_doubts import doubts_of_machine
from sesame.analysis.robust_segments import FASTEST, fit_message_segments, minimize
from sesame.trust import Doubt, Reason, median_of

X = np.array(SIZES, float)
ONE_LINE = 1e-6 + X / 1e9, (1e-6, 1e9)
STEP = np.where(X <= 8192, 0.4e-6 + X / 5e9, 2e-6 + X / 10e9), (0.4e-6, 10e9)
TWO_STEPS = (
    np.where(X <= 96, 0.42e-6 + X / 3.2e9, np.where(X <= 8192, 0.54e-6 + X / 5e9, 3e-6 + X / 10e9)),
    (0.42e-6, 10e9),
)
CASES = 20


def disturbed(times, seed, noise=0.03, share=0.1):
    """A tenth of the points takes three times as long."""
    generator = np.random.default_rng(seed)
    times = times * (1 + noise * generator.standard_normal(len(times)))
    return np.where(generator.random(len(times)) < share, 3 * times, times)


def with_times(times):
    made = report()
    made["tables"]["ping_pong"]["median"]["values"] = list(times)
    return made


@pytest.mark.long
@pytest.mark.parametrize("curve", [TWO_STEPS, STEP, ONE_LINE], ids=["steps", "step", "line"])
def test_constants_lie_within_their_intervals(curve):
    times, (latency, bandwidth) = curve
    held = []
    for seed in range(CASES):
        segments = fit_message_segments(X, disturbed(times, seed), least_intercept=0.15e-6)
        first, last = segments[0], segments[-1]
        held.append(abs(first.intercept - latency) <= first.intercept_interval)
        held.append(abs(last.slope - 1 / bandwidth) <= last.slope_interval)
        assert first.intercept_interval < 0.2 * first.intercept
        assert last.slope_interval < 0.2 * last.slope
    assert np.mean(held) >= 0.9


def busy(seed):
    """A process that loses the processor waits for a time slice: some milliseconds."""
    generator = np.random.default_rng(seed)
    times = STEP[0] * np.exp(generator.exponential(0.5, len(X)))
    waits = generator.random(len(X)) < 0.5
    return np.where(waits, times + generator.uniform(1e-3, 12e-3, len(X)), times)


@pytest.mark.few_cases(3)
@pytest.mark.parametrize("seed", range(8))
def test_times_of_a_busy_machine_are_refused(seed):
    fit = fit_network(with_times(busy(seed)))
    assert fit.doubts()
    assert {doubt.reason for doubt in fit.doubts()} == {Reason.SCATTER}
    assert all(doubt.hint for doubt in fit.doubts())


@pytest.mark.few_cases(3)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("curve", ["busy", "steps", "falling"])
def test_curves_are_physical_whatever_was_measured(curve, seed, tmp_path):
    falling = disturbed(np.where(X <= 320, 9.6e-3, 0.7e-6 + X / 3e9), seed)
    times = {"busy": busy(seed), "steps": disturbed(TWO_STEPS[0], seed), "falling": falling}[curve]
    fit = fit_network(with_times(times))
    predicted = [fit.ping_pong(size) for size in np.unique([*X, *fit.limits])]
    assert np.all(np.diff(predicted) >= -1e-9 * np.max(predicted))
    best = float(np.max(X / times))
    assert all(0 < segment.bandwidth <= 1.0001 * FASTEST * best for segment in fit.segments)
    assert all(s.intercept >= fit.send_overhead + fit.receive_overhead > 0 for s in fit.segments)
    (tmp_path / "here.toml").write_text(text_of(fit))
    native.read_machine(str(tmp_path / "here.toml"))


def test_an_undisturbed_curve_is_believed(tmp_path):
    fit = fit_network(*(with_times(disturbed(STEP[0], seed, share=0)) for seed in range(3)))
    assert fit.doubts() == []
    (tmp_path / "here.toml").write_text(text_of(fit))
    assert doubts_of_machine(tmp_path / "here.toml") == []


def test_a_large_segment_without_a_slope_has_that_of_its_neighbour():
    """The last sizes take one time, and very different ones: there is no bandwidth in that."""
    generator = np.random.default_rng(5)
    times = np.array(STEP[0])
    large = X > 2**20
    times[large] = times[large].max() * np.exp(0.4 * generator.standard_normal(large.sum()))
    last = fit_message_segments(X, times)[-1]
    assert last.bandwidth == pytest.approx(10e9, rel=0.3)
    assert last.slope_interval < 0.5 * last.slope


def test_a_line_is_known_where_its_two_constants_are_not(tmp_path):
    """Among small messages the size hardly matters: neither a bandwidth nor a doubt comes of it."""
    small = np.where(X <= 512, 0.2e-6, STEP[0])
    fit = fit_network(*(with_times(disturbed(small, seed, share=0)) for seed in range(3)))
    assert fit.segments[0].time_interval < 0.2
    assert fit.doubts() == []
    (tmp_path / "here.toml").write_text(text_of(fit))
    assert doubts_of_machine(tmp_path / "here.toml") == []


def test_a_curve_whose_lines_are_not_known_is_doubtful():
    generator = np.random.default_rng(3)
    times = np.where(X <= 4096, STEP[0] * np.exp(0.8 * generator.standard_normal(len(X))), STEP[0])
    doubts = fit_network(with_times(times)).doubts()
    assert any("is not known within" in doubt.text for doubt in doubts)


def test_runs_are_combined_by_their_medians():
    runs = [with_times(STEP[0]), with_times(STEP[0]), with_times(5 * STEP[0])]
    fit = fit_network(*runs)
    assert fit.times == pytest.approx(STEP[0])
    assert fit.spread["send overhead"].samples == 3


OLD = """
name = "here"
sources = ["sesame machine calibrate on here, 2026-11-23 01:00 UTC"]
nodes = 1
[node]
cores = 2
[node.network]
latency = "9590000.000 ns"
bandwidth = "10000000000000 B/s"
[[node.network.segment]]
up_to = "320 B"
bandwidth = "10000000000000 B/s"  # the size makes no difference here
[[node.network.segment]]
up_to = "2097152 B"
latency = "719.000 ns"  # ± 14.8 ms
bandwidth = "3500000000 B/s"  # ± 1677.6 %
[[node.network.segment]]
[network]
latency = "1 us"
bandwidth = "1 GB/s"
send_overhead = "0.1 us"
[topology]
kind = "crossbar"
"""


def test_check_says_what_cannot_be_believed(sesame, tmp_path):
    (tmp_path / "here.toml").write_text(OLD)
    outcome = sesame("machine", "check", "here.toml")
    assert outcome.status == 1
    assert "doubtful: here, 1 node, 2 ranks\n" in outcome.stdout
    for text in (
        "node.network.latency: implausible, expected 10.0 ns to 1.00 ms, got 9.59 ms",
        "node.network.bandwidth: implausible, expected 1.00 kB/s to 2.00 TB/s, got 10.0 TB/s",
        "node.network: half a round trip falls from 9.59 ms to",
        "node.network: an infinite number of small messages per second",
        "here.toml:15: latency = 719.000 ns ± 14.8 ms: expected an interval of at most ± 50 %",
        "here.toml:16: bandwidth = 3500000000 B/s ± 1677.6 %",
        "hint: repeat it on an idle machine",
    ):
        assert text in outcome.stderr
    found = json.loads(sesame("machine", "check", "here.toml", "--json").stdout)
    assert {doubt["reason"] for doubt in found["doubts"]} == {
        "outside the calibrated range",
        "scattered samples",
    }


@pytest.mark.parametrize("name", ["ethernet", "infiniband", "paragon", "pfssim", "sp2"])
def test_models_that_come_along_are_good(name, sesame):
    outcome = sesame("machine", "check", name)
    assert (outcome.status, outcome.stderr) == (0, "")
    assert "good" in outcome.stdout


def test_doubts_that_were_accepted_stay_in_the_file(tmp_path):
    doubts = [Doubt(Reason.BUSY_HOST, "other processes used 1.20 of 2 processors")]
    text = text_of(fit_network(report()), doubts=doubts)
    (tmp_path / "here.toml").write_text(text)
    (found,) = doubts_of_machine(tmp_path / "here.toml")
    assert "busy host: other processes used 1.20 of 2 processors" in found.text


def test_an_overhead_that_scatters_is_stated_and_the_file_is_good(sesame, tmp_path):
    """The ping-pong gives the time of a message, whichever share of it the overhead is."""
    latency = 0.4e-6
    runs = [report(send=share * latency) for share in (0.1, 0.2, 0.9)]
    fit = fit_network(*runs)
    assert fit.doubts() == []
    (uncertain,) = fit.uncertainties()
    text = text_of(fit, uncertainties=[uncertain])
    (tmp_path / "here.toml").write_text(text)
    outcome = sesame("machine", "check", "here.toml")
    assert outcome.status == 0
    assert "good" in outcome.stdout
    assert "the send overhead is known within ± 40." in outcome.stderr
    found = json.loads(sesame("machine", "check", "here.toml", "--json").stdout)
    assert found["doubts"] == []
    assert "of the latency" in found["uncertainties"][0]
    narrow = fit_network(*runs[:2])
    sizes = narrow.sizes
    assert [narrow.ping_pong(size) for size in sizes] == [fit.ping_pong(size) for size in sizes]


def test_findings_have_no_infinite_rate():
    made = report(interval=0.0)
    sentences = with_findings(made)["findings"]
    assert not [sentence for sentence in sentences if "inf " in sentence]


def test_the_file_has_the_cost_of_sharing(tmp_path):
    fit = fit_network(report())
    shared = {2: median_of([1.04] * 6), 4: median_of([1.2] * 6)}
    lower = {2: median_of([0.99] * 6), 4: median_of([1.1] * 6)}
    kernels = [ComputeFit("ep S", 1, 1.2, 1, shared), ComputeFit("cg W", 1, 1.1, 1, lower)]
    text = text_of(fit, kernels=kernels, cores=4)
    (tmp_path / "here.toml").write_text(text)
    model = native.read_machine(str(tmp_path / "here.toml"))
    assert model["slowdown"] == pytest.approx([1.0, 1.015, 1.0825, 1.15], abs=1e-3)
    assert replace(fit, spread={}).doubts() == []


@pytest.mark.parametrize("seed", range(CASES))
def test_linear_programs_have_the_solution_that_scipy_finds(seed):
    generator = np.random.default_rng(seed)
    costs, low = generator.uniform(0.5, 2.0, 6), generator.uniform(-1.0, 1.0, 6)
    rows = generator.standard_normal((4, 6)) * (generator.random((4, 6)) < 0.6)
    most = rows @ (low + generator.random(6))  # so that there is a solution
    found = minimize(costs, at_least=low, rows=rows, rows_at_most=most)
    expected = linprog(costs, A_ub=rows, b_ub=most, bounds=[(one, None) for one in low])
    assert found == pytest.approx(expected.x, abs=1e-7)


def test_a_linear_program_without_a_solution_is_refused():
    one = np.ones(1)
    with pytest.raises(ValueError, match="Infeasible"):
        minimize(one, at_least=one, rows=np.ones((1, 1)), rows_at_most=np.zeros(1))


def test_the_solver_prints_nothing(capfd):
    one = np.ones(1)
    minimize(one, at_least=one, rows=np.ones((1, 1)), rows_at_most=one)
    assert capfd.readouterr() == ("", "")
