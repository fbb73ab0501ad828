"""The simulation of nodes against queueing theory: closed forms that it knows nothing of."""

from __future__ import annotations

import math

import pytest
from tests.python.occupancy_models import queue

from sesame.overhead import NodeModel, parse_model, predict
from sesame.overhead.prediction import mean_of


def check(values, expected: float) -> None:
    """The mean agrees: it is in the interval, which is narrow enough to mean something."""
    estimate = mean_of(values, 0.95)
    assert estimate.relative_width < 0.01, estimate
    assert estimate.low <= expected <= estimate.high, (expected, estimate)


def response(model: NodeModel, seconds: float, replications: int = 20):
    found = predict(model, seconds, replications, seed=2, warm_up=seconds / 20)
    assert found.is_steady
    return found.responses["requests"]


def test_one_server_with_exponential_service():
    """M/M/1: mean response S / (1 - rho)."""
    check(response(queue("exponential(2ms)", "exponential(1ms)"), 120), 1e-3 / (1 - 0.5))


@pytest.mark.few_cases(1)
@pytest.mark.parametrize(
    ("service", "seconds"), [("lognormal(1ms, 1.4ms)", 400), ("gamma(4, 250us)", 60), ("1ms", 60)]
)
def test_one_server_with_general_service(service, seconds):
    """M/G/1: the formula of Pollaczek and Khinchine."""
    model = queue("exponential(2ms)", service)
    mean, variance = model.processes[0].cpu.mean, model.processes[0].cpu.variance
    rate = 1 / 2e-3
    waiting = rate * (variance + mean**2) / (2 * (1 - rate * mean))
    check(response(model, seconds), mean + waiting)


def erlang_c(servers: int, offered: float) -> float:
    """The probability that a request waits."""
    terms = [offered**k / math.factorial(k) for k in range(servers)]
    last = offered**servers / math.factorial(servers) / (1 - offered / servers)
    return last / (sum(terms) + last)


@pytest.mark.few_cases(1)
@pytest.mark.parametrize(
    ("servers", "quantum"), [(2, "1000000s"), (4, "1000000s"), (2, "100us"), (4, "100us")]
)
def test_several_servers(servers, quantum):
    """M/M/c: Erlang's C formula. Sharing the processors in quanta leaves the mean as it is, since
    what is left of an exponential service has the same distribution as all of it."""
    offered = 0.6 * servers
    model = queue(
        f"exponential({1000 / offered}us)",
        "exponential(1ms)",
        processors=servers,
        quantum=quantum,
    )
    expected = 1e-3 + erlang_c(servers, offered) * 1e-3 / (servers - offered)
    check(response(model, 30), expected)


@pytest.mark.long
def test_round_robin_with_small_quanta_is_processor_sharing():
    """M/G/1 with processor sharing: S / (1 - rho), whatever the distribution of the service. In the
    order of arrival this one would be 1.625 ms."""
    model = queue("exponential(2ms)", "gamma(4, 250us)", quantum="20us")
    check(response(model, 40), 1e-3 / (1 - 0.5))


def closed(processes: int, rest: str, node: str = "") -> NodeModel:
    return parse_model(f"""
        [node]
        quantum = "1000000s"
        {node}
        [[process]]
        name = "machines"
        count = {processes}
        cpu = "exponential(2ms)"
        {rest}
    """)


def test_machines_that_wait_for_a_repairman():
    """M/M/1//N: N machines run for a time, then wait for the one repairman."""
    machines, run, repair = 5, 10e-3, 2e-3
    weights = [
        math.factorial(machines) / math.factorial(machines - broken) * (repair / run) ** broken
        for broken in range(machines + 1)
    ]
    rate = (1 - weights[0] / sum(weights)) / repair
    found = predict(closed(machines, 'pause = "exponential(10ms)"'), 60, 20, warm_up=2)
    check(found.completed["machines"], rate)


def mean_value_analysis(processes: int, demands: list[float]) -> float:
    """Throughput of a closed network of queues (Reiser and Lavenberg, 1980)."""
    lengths = [0.0] * len(demands)
    rate = 0.0
    for population in range(1, processes + 1):
        times = [d * (1 + length) for d, length in zip(demands, lengths, strict=True)]
        rate = population / sum(times)
        lengths = [rate * time for time in times]
    return rate


def test_processes_that_share_a_processor_a_network_and_a_disk():
    rest = 'network = "exponential(1ms)"\ndisk = "exponential(1500us)"'
    found = predict(closed(6, rest), 60, 20, warm_up=2)
    rate = mean_value_analysis(6, [2e-3, 1e-3, 1.5e-3])
    check(found.completed["machines"], rate)
    check(found.processor_utilisation, rate * 2e-3)
    check(found.network_utilisation, rate * 1e-3)
    check(found.disk_utilisation, rate * 1.5e-3)


def test_the_fair_scheduler_divides_a_processor_by_weight():
    model = parse_model("""
        [node]
        scheduler = "fair"
        [[process]]
        name = "heavy"
        weight = 3072
        cpu = "exponential(7ms)"
        [[process]]
        name = "light"
        count = 2
        cpu = "exponential(3ms)"
    """)
    found = predict(model, 50, 10)
    assert found.classes_cpu["heavy"] == pytest.approx(50 * 3 / 5, rel=1e-3)
    assert found.classes_cpu["light"] == pytest.approx(50 * 2 / 5, rel=1e-3)


def test_the_fair_scheduler_lets_a_process_that_wakes_run_at_once():
    """A process that needs little does not wait for the slices of those that compute."""
    text = """
        [node]
        scheduler = "{}"
        [[process]]
        name = "computing"
        count = 4
        cpu = "1s"
        [[process]]
        name = "short"
        cpu = "100us"
        pause = "exponential(50ms)"
    """
    fair = predict(parse_model(text.format("fair")), 60, 10, seed=2)
    turns = predict(parse_model(text.format("round robin")), 600, 10, seed=2)
    assert fair.responses["short"].max() < 0.5e-3
    # Seed 1 gives a mean 3.5 standard errors off over 100 s, and agrees over 1,000 s.
    # In turns it waits for the rest of a quantum, which began when it last left, and three others.
    elapsed = 50e-3 - 10e-3 / math.expm1(10 / 50)
    check(turns.responses["short"], 100e-6 + 10e-3 - elapsed + 30e-3)
