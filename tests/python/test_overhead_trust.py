"""A prediction that cannot be believed says so, or is refused; shortcuts give the same figures."""

from __future__ import annotations

import numpy as np
import pytest
from tests.python.occupancy_models import queue, sampled

from sesame.errors import InputError
from sesame.overhead import parse_model, predict, read_model
from sesame.overhead.experiments import Factor, analyse, full_design
from sesame.overhead.prediction import mean_of
from sesame.overhead.studies import Limits, Run, advise, study_factors


def test_a_network_that_daemons_overload_is_no_steady_state():
    """20 samples a second, each 200 ms of the network: the daemon does not wait for it."""
    text = sampled(processes=1, sampling_period="50ms").as_toml()
    model = parse_model(text.replace("[daemon]", '[daemon]\nnetwork = "200ms"'))
    found = predict(model, 50, 2)
    assert not found.is_steady
    assert "the load of the node's network is 4.0" in str(found.doubts[0])
    advice = advise(model, Limits(0.05, 30), Run(20, 2))
    assert advice.chosen is not None
    assert float(advice.chosen.settings["sampling_period"].removesuffix("ms")) > 1


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("period", ["10s", "47ms"])
def test_nodes_that_are_not_simulated_send_as_evenly_as_the_others(period):
    model = read_model("paradyn").with_settings({"nodes": 100, "sampling_period": period})
    every = predict(model, 60, 2, slowdown=False)
    few = predict(model.with_settings({"detailed_nodes": 10}), 60, 2, slowdown=False)
    assert few.latency_mean.mean() == pytest.approx(every.latency_mean.mean(), rel=0.5)


def test_a_run_with_few_messages_says_so_and_is_not_the_default():
    model = read_model("sesamed")  # a message a minute
    few = predict(model, 100, 2)
    assert any("a daemon sends 1 messages in 100 s" in str(doubt) for doubt in few.doubts)
    enough = predict(model, replications=2)
    assert enough.doubts == ()
    assert enough.throughput.mean() == pytest.approx(0.1, rel=0.01)
    assert enough.seconds == 3000


def test_settings_that_are_compared_are_simulated_equally_long():
    factors = [Factor("batch_size", "2", "10")]
    found = study_factors(read_model("sesamed"), factors, ["throughput"], Run(replications=2))
    assert [point.prediction.seconds for point in found.points] == [5000, 5000]


def test_settings_are_checked_together():
    model = read_model("paradyn")
    either = model.with_settings({"nodes": 100, "detailed_nodes": 10})
    assert model.with_settings({"detailed_nodes": 10, "nodes": 100}) == either
    assert model.with_settings({"nodes": 5_000_000, "detailed_nodes": 1}).node.nodes == 5_000_000


def test_a_node_in_detail_is_compared_with_itself():
    one = read_model("paradyn").with_settings({"sampling_period": "50ms"})
    many = one.with_settings({"nodes": 60, "detailed_nodes": 1})
    assert np.array_equal(predict(many, 5, 3).slowdown, predict(one, 5, 3).slowdown)


def test_effects_of_runs_with_the_same_random_numbers_are_those_of_each_replication():
    """What a replication has in common moves all runs, and no effect."""
    design = full_design([Factor("batch_size", "1", "2"), Factor("daemons", "1", "2")])
    random = np.random.default_rng(5)
    true = np.array([10.0, 10.02, 10.0, 10.02])[:, None]
    values = true + random.normal(0, 1, 20) + random.normal(0, 0.01, (4, 20))
    found = analyse(design, values, is_paired=True)
    [effect] = [one for one in found.effects if one.word == "A"]
    each = (values[1] + values[3] - values[0] - values[2]) / 4
    expected = mean_of(each, 0.90)
    assert effect.effect.value == pytest.approx(expected.value)
    assert effect.effect.low == pytest.approx(expected.low)
    assert effect.is_significant
    assert effect.share > 0.4
    whole = mean_of(values.mean(axis=0), 0.90)
    assert found.mean.high == pytest.approx(whole.high)
    assert sum(one.share for one in found.effects) + found.error_share == pytest.approx(1)


def test_requests_that_would_fill_the_memory_are_refused():
    with pytest.raises(InputError, match="load by what arrives is 1000, and 1e\\+08 requests"):
        predict(queue("1us", "1ms"))
