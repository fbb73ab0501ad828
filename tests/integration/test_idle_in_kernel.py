"""Readings of the running kernel while the daemon is idle."""

from __future__ import annotations

import select
import time
from collections.abc import Iterator, Mapping
from contextlib import closing

import pytest

from sesame.measurement.cost import Load, run_load
from sesame.measurement.daemon.node import Node
from sesame.measurement.probes import CLASS_ASSIGNED, QUOTA_REACHED, Probes, loaded, subsystems
from sesame.measurement.pump import EventPump

pytestmark = pytest.mark.usefixtures("kernel_probes")

INTERVAL_S = 0.05
READ = Load("read", 2_000, "fs", {})
COSTLY_NS = 100_000  # a run: 300 of them are more than the budget of an interval


@pytest.fixture
def probes() -> Iterator[Mapping[str, Probes]]:
    with loaded(list(subsystems())) as all_of_them:
        yield all_of_them


@pytest.fixture
def node(request, probes) -> Iterator[Node]:
    """All points are on, and rates are known."""
    node = Node("n", probes, {}, budget=request.param, interval_s=INTERVAL_S)
    messages = {QUOTA_REACHED: node.on_quota_reached, CLASS_ASSIGNED: node.name_classes}
    source = next(iter(probes.values())).source
    with closing(EventPump([source], None, messages)), closing(node.idle):
        node.set_level("summary")
        for _ in range(20):
            time.sleep(INTERVAL_S)
            node.read()
            node.governor.begin()
        yield node


def begin_idle(node: Node, most: int) -> bool:
    node.idle.due_ns = time.monotonic_ns() + round(1e9 * INTERVAL_S)
    return node.begin_idle(round(1e9 * INTERVAL_S), most)


@pytest.mark.parametrize("node", [None], indirect=True)
def test_what_readings_have_counted_is_all_that_was_counted(node):
    before = len(node.history)
    while len(node.history) < before + 20:
        assert begin_idle(node, 4)
        while not select.select([node.idle], [], [], 0)[0]:
            run_load(READ)
        node.idle.acknowledge()
        node.catch_up()
        node.governor.begin()
    node.governor.stop()
    node.read()
    readings = node.history
    counted: dict[tuple[str, str], list[int]] = {}
    for reading in readings:
        for row in reading.rows():
            sums = counted.setdefault((row["subsystem"], row["point"]), [0, 0, 0, 0])
            for i, field in enumerate(("count", "bytes", "timed", "duration_ns")):
                sums[i] += row[field]
    assert counted["fs", "read"][0] > 20 * READ.count
    for (subsystem, point), sums in counted.items():
        assert sums == list(node.total(subsystem, point).values())
    # Events between reading the runs of programs and reading their cells are in the rows of this
    # reading and in the costs of the next: costs are never ahead, and in the end the same.
    events = paid = 0
    for reading in readings:
        events += sum(row["count"] for row in reading.rows() if row["subsystem"] == "fs")
        paid += reading.costs["fs"].events
        assert paid <= events * 1.01 + 50
    assert paid == pytest.approx(events, abs=events * 0.01 + 50)


@pytest.mark.parametrize("node", [None], indirect=True)
def test_the_end_of_an_idle_period_is_reported_however_soon_it_comes(node):
    for _ in range(20):
        assert begin_idle(node, 4)
        node.catch_up()
        assert select.select([node.idle], [], [], 0)[0]
        node.idle.acknowledge()
        assert not select.select([node.idle], [], [], 0)[0]


@pytest.mark.parametrize("node", [0.5], indirect=True)
def test_a_load_ends_an_idle_period_before_it_costs_more_than_it_may(node, probes):
    before = len(node.history)
    while not begin_idle(node, 1000):
        time.sleep(INTERVAL_S)
        node.read()
        node.governor.begin()
        before = len(node.history)  # not below: it would end the rest
    started = time.monotonic()
    # Dear enough that they cost too much, however little of a processor this process is given.
    probes["fs"].set_run_cost(COSTLY_NS)
    run_load(READ)
    assert select.select([node.idle], [], [], 60)[0]
    assert len(node.history) - before <= (time.monotonic() - started) / INTERVAL_S + 1
