"""What daemons, pipes, batches and the main process do in the simulation."""

from __future__ import annotations

import numpy as np
import pytest
from tests.python.occupancy_models import queue, sampled

from sesame.errors import InputError
from sesame.overhead import FIGURES, NodeModel, parse_model, predict, read_model
from sesame.overhead.prediction import mean_of, student_quantile
from sesame.overhead.studies import Limits, Run, advise


def once(model: NodeModel, seconds: float = 20.0) -> dict[str, float]:
    found = predict(model, seconds, 1)
    return {name: float(getattr(found, name)[0]) for name in FIGURES}


def test_a_daemon_that_keeps_up_forwards_what_is_written():
    """16 processes write 100 samples a second each; the daemon needs 0.5 ms for each."""
    model = parse_model(sampled(processes=16).as_toml().replace("600us", "100us"))
    found = once(model)
    assert found["throughput"] == pytest.approx(1600, rel=0.01)
    assert found["daemon_cpu"] == pytest.approx(1600 * 0.5e-3 * 20, rel=0.01)
    assert found["blocked"] == 0
    assert found["slowdown"] == pytest.approx(0, abs=1e-9)


def test_full_pipes_block_the_processes_that_write():
    """The daemon needs 1 ms for a sample, so it forwards 1,000 a second of the 1,600, and
    processes are slowed down to what it can do."""
    found = once(sampled(pipe=1))
    assert found["throughput"] == pytest.approx(1000, rel=0.01)
    assert found["daemon_cpu"] == pytest.approx(20, rel=0.01)
    assert found["blocked"] == pytest.approx(16 * 20 * (1 - 1000 / 1600), rel=0.02)
    assert found["slowdown"] == pytest.approx(1600 / 1000 - 1, rel=0.02)


def test_several_daemons_share_the_work():
    assert once(sampled(daemons=4))["throughput"] == pytest.approx(1600, rel=0.01)


def test_batches_have_the_size_that_was_set():
    found = once(sampled(policy="batch", batch_size=20, daemons=2))
    assert found["throughput"] / found["messages"] == pytest.approx(20)
    forwarding = found["messages"] * 20 * 400e-6
    collecting = found["throughput"] * 20 * 600e-6
    assert found["daemon_cpu"] == pytest.approx(collecting + forwarding, rel=0.01)


def test_the_age_limit_sends_batches_that_are_not_full():
    """One process writes 100 samples a second, so a batch of 1,000 would take 10 s."""
    slow = sampled(policy="batch", batch_size=1000, processes=1)
    found = once(slow)
    assert found["latency_mean"] == pytest.approx(5, rel=0.1)
    limited = once(slow.with_settings({"batch_age": "200ms"}))
    # The oldest sample is 200 ms old when forwarding begins, which needs 0.4 ms.
    assert limited["latency_p99"] <= 0.2004 * 1.008
    assert limited["latency_mean"] == pytest.approx(0.1, rel=0.1)


def test_a_daemon_that_waits_for_the_network_sends_one_message_at_a_time():
    text = sampled().as_toml().replace("[daemon]", '[daemon]\nnetwork = "4ms"')
    assert once(parse_model(text))["throughput"] == pytest.approx(250, rel=0.02)
    waiting = parse_model(text.replace("[daemon]", "[daemon]\nwaits_for_network = true"))
    assert once(waiting)["throughput"] == pytest.approx(1 / 5e-3, rel=0.02)


def test_processes_are_stopped_while_their_instrumentation_changes():
    """4 changes of 0.1 s in each of 19 periods stop all four processes for 0.4 s each."""
    text = sampled(processes=4, instrumentation_period="1s").as_toml()
    found = once(parse_model(text.replace("[daemon]", '[daemon]\ninsertion = "100ms"')))
    work = found["application_cpu"]
    assert work == pytest.approx(4 * (20 - 19 * 0.4), rel=0.01)


def test_a_change_can_stop_processes_for_longer_than_it_needs_the_processor():
    """19 changes stop both processes for 0.2 s each, in which the daemon is idle."""
    text = sampled(processes=2, instrumentation_period="1s").as_toml()
    found = once(parse_model(text.replace("[daemon]", '[daemon]\nchange_time = "200ms"')))
    assert found["application_cpu"] == pytest.approx(2 * (20 - 19 * 0.2), rel=0.01)
    undisturbed = once(sampled(processes=2))["daemon_cpu"]
    assert found["daemon_cpu"] == pytest.approx((1 - 19 * 0.2 / 20) * undisturbed, rel=0.02)


def test_trace_records_are_written_after_each_request():
    text = sampled(processes=2).as_toml()
    traced = text.replace('sampling_period = "10ms"', "records_per_request = 2.5")
    assert once(parse_model(traced))["throughput"] == pytest.approx(2 * 100 * 2.5, rel=0.01)


def test_the_time_to_write_samples_slows_the_application_down():
    text = sampled(processes=4).as_toml()
    text = text.replace("[instrumentation]", '[instrumentation]\nsample_cpu = "1ms"')
    found = once(parse_model(text))
    assert found["slowdown"] == pytest.approx(0.1, rel=0.02)
    assert found["writing_cpu"] == pytest.approx(4 * 20 / 11, rel=0.01)


def test_a_daemon_with_a_timer_needs_no_processes():
    model = parse_model("""
        [instrumentation]
        sampling_period = "10ms"
        [daemon]
        source = "timer"
        collect = "1ms"
        pipe = 1
    """)
    found = once(model)
    assert found["throughput"] == pytest.approx(100, rel=0.01)
    assert found["daemon_cpu"] == pytest.approx(2, rel=0.01)
    late = once(parse_model(model.as_toml().replace('"1ms"', '"40ms"')))
    assert late["throughput"] == pytest.approx(25, rel=0.03)
    assert late["lost"] == pytest.approx(75, rel=0.03)


def test_the_main_process_receives_from_all_nodes():
    text = sampled(processes=2, nodes=10).as_toml() + '[main]\ncpu = "100us"\n'
    found = once(parse_model(text))
    assert found["received"] == pytest.approx(2000, rel=0.01)
    assert found["main_cpu"] == pytest.approx(2000 * 100e-6 * 20, rel=0.01)
    assert found["main_load"] == pytest.approx(0.2, rel=0.01)


def test_nodes_that_are_not_simulated_arrive_at_the_rate_of_the_others():
    text = sampled(processes=2, nodes=60).as_toml() + '[main]\ncpu = "exponential(60us)"\n'
    text = text.replace('cpu = "10ms"', 'cpu = "exponential(10ms)"')
    every = predict(parse_model(text), 10, 4)
    few = predict(parse_model(text).with_settings({"detailed_nodes": 20}), 10, 4)
    assert few.received.mean() == pytest.approx(every.received.mean(), rel=0.01)
    assert few.main_load.mean() == pytest.approx(every.main_load.mean(), rel=0.01)
    assert few.latency_mean.mean() == pytest.approx(every.latency_mean.mean(), rel=0.05)
    assert few.events.sum() < every.events.sum() / 2.9


def figures(found) -> np.ndarray:
    return np.stack([getattr(found, name) for name in FIGURES])


def test_the_same_seed_gives_the_same_result_for_any_number_of_workers():
    model = read_model("paradyn").with_settings({"processes": 4, "sampling_period": "5ms"})
    one = predict(model, 5, 6, seed=3, workers=1)
    many = predict(model, 5, 6, seed=3, workers=4)
    assert np.array_equal(figures(one), figures(many), equal_nan=True)
    other = predict(model, 5, 6, seed=4, workers=4)
    assert not np.array_equal(figures(one), figures(other), equal_nan=True)


def test_settings_share_random_numbers():
    """Requests of other users arrive at the same times whatever the instrumentation is."""
    model = read_model("paradyn")
    often = predict(model.with_settings({"sampling_period": "5ms"}), 20, 5)
    rarely = predict(model.with_settings({"sampling_period": "50ms", "daemons": 2}), 20, 5)
    for name in ("PVM daemon", "other processes: processor"):
        assert np.allclose(often.completed[name], rarely.completed[name], atol=0.11)
    assert np.ptp(often.completed["PVM daemon"]) > 0.5


def test_queues_that_grow_are_reported_with_their_load():
    found = predict(queue("exponential(1ms)", "exponential(1250us)"), 5, 2)
    assert not found.is_steady
    assert "the load of the node's processors is 1.25" in str(found.doubts[0])
    text = sampled(processes=2).as_toml() + '[main]\ncpu = "exponential(10ms)"\n'
    found = predict(parse_model(text), 20, 2)
    assert not found.is_steady
    assert "main process's processor is 2.0" in str(found.doubts[0])
    assert found.main_cpu[0] == pytest.approx(20, rel=0.01)


def test_a_model_in_which_nothing_is_sampled_says_so():
    text = sampled().as_toml().replace('sampling_period = "10ms"', "")
    found = predict(parse_model(text), 1.0, 2)
    assert found.throughput.sum() == 0
    assert [doubt.text for doubt in found.doubts] == [
        "nothing is sampled: the model has no sampling_period and no records_per_request"
    ]
    with pytest.raises(InputError, match="no sampling period") as caught:
        advise(parse_model(text), Limits(0.01, 1.0), Run(1.0, 2))
    assert "sampling_period = " in str(caught.value.hint)


def test_one_replication_says_that_it_has_no_interval():
    found = predict(sampled(), 1, 1)
    estimate = found.estimate("throughput")
    assert estimate.high == np.inf
    assert any("no confidence interval" in doubt.text for doubt in estimate.doubts)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"seconds": 0}, "seconds: expected a time"),
        ({"seconds": float("nan")}, "seconds: expected a time"),
        ({"replications": 0}, "replications: expected 1 to"),
        ({"seed": -1}, "seed: expected a whole number"),
        ({"workers": 0}, "workers: expected at least 1"),
    ],
)
def test_settings_of_a_run_out_of_range_are_refused(arguments, expected):
    with pytest.raises(InputError, match=expected):
        predict(sampled(), **arguments)


def test_a_replication_that_would_not_end_is_refused():
    with pytest.raises(InputError, match="4e\\+13 events, expected at most 1e\\+12"):
        predict(queue("1ns", "1ps"), 10_000)


@pytest.mark.parametrize(
    ("probability", "degrees", "expected"),
    [(0.975, 1, 12.7062), (0.95, 2, 2.91999), (0.975, 4, 2.77645), (0.975, 49, 2.00958),
     (0.995, 30, 2.75000), (0.95, 99, 1.66039)],
)  # fmt: skip
def test_quantiles_of_students_distribution(probability, degrees, expected):
    """Printed tables."""
    assert student_quantile(probability, degrees) == pytest.approx(expected, abs=1e-5)


def test_the_interval_of_a_mean_leaves_out_what_does_not_exist():
    estimate = mean_of(np.array([1.0, 2.0, np.nan, 3.0]), 0.95)
    assert (estimate.value, estimate.samples) == (2.0, 3)
    assert estimate.high - estimate.value == pytest.approx(4.30265 / 3**0.5, abs=1e-5)


def test_a_timer_that_is_too_fast_for_its_daemon_is_named_with_the_load():
    text = (
        '[instrumentation]\nsampling_period = "1ms"\n[daemon]\nsource = "timer"\ncollect = "2ms"\n'
    )
    found = predict(parse_model(text), 5.0, 2)
    assert float(found.lost.mean()) == pytest.approx(500, rel=0.05)
    assert not found.is_steady
    assert "cannot keep up" in found.doubts[0].text and "load 2.00" in found.doubts[0].text
