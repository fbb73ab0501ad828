"""Readings while the daemon is idle, with fake probes and the library's own thread."""

from __future__ import annotations

import asyncio
import os
import select
import threading
import time
from itertools import pairwise

import pytest
from tests.python.fake_probes import all_probes

from sesame.datasets import DataSet
from sesame.measurement.daemon.node import Node
from sesame.measurement.daemon.service import Service
from sesame.measurement.daemon.settings import Settings
from sesame.measurement.governor import OWN
from sesame.measurement.probes import ChangeCheck, Detail
from sesame.measurement.readings import Phase, Reading

INTERVAL_NS = 20_000_000


class Sleeper:
    """A node that knows its rates, so that it can rest."""

    def __init__(self, budget: float | None = None, interval_s: float = 1e-9 * INTERVAL_NS) -> None:
        self.probes = all_probes()
        for one in self.probes.values():
            one.is_still = ChangeCheck()
        self.node = Node("n", self.probes, {}, budget=budget, interval_s=interval_s)
        for _ in range(2):
            self.node.read()
            self.node.governor.begin()

    def begin(self, most: int) -> bool:
        self.node.idle.due_ns = time.monotonic_ns() + INTERVAL_NS
        return self.node.begin_idle(INTERVAL_NS, most)

    def has_ended(self, seconds: float) -> bool:
        return bool(select.select([self.node.idle], [], [], seconds)[0])


@pytest.fixture
def sleeper():
    made = Sleeper()
    yield made
    made.node.idle.close()


def check_stretch(readings: list[Reading]) -> None:
    """Each begins where the one before has ended."""
    assert all(b.sequence == a.sequence + 1 for a, b in pairwise(readings))
    assert all(b.begin_ns == a.end_ns < b.end_ns for a, b in pairwise(readings))


def test_readings_are_made_of_the_intervals_of_a_rest(sleeper):
    before = sleeper.node.history[-1]
    started = time.monotonic_ns()
    assert sleeper.begin(4)
    assert sleeper.has_ended(5)
    assert time.monotonic_ns() - started >= 5 * INTERVAL_NS
    *passed, last = sleeper.node.new_readings()
    assert len(passed) == 4
    check_stretch([before, *passed, last])
    for number, one in enumerate(passed, 1):
        assert one.end_ns >= started + number * INTERVAL_NS
        assert one.costs[OWN].estimated_ns == one.cpu_ns > 0
        assert one.active_ns["fs"] == one.end_ns - one.begin_ns
        assert one.processors["cpu"] == before.processors["cpu"]
        assert Reading.from_json(one.encode()) == one
    assert sleeper.node.new_readings()[:-1] == []


def test_details_are_those_of_points_that_look_as_closely_as_they_can(sleeper):
    sleeper.node.set_level("summary", "fs", "read")
    sleeper.node.set_level("summary", "fs", "open", Detail.COUNT)
    for _ in range(2):
        sleeper.node.read()
        sleeper.node.governor.begin()
    assert sleeper.begin(1)
    assert sleeper.has_ended(5)
    [passed, _] = sleeper.node.new_readings()
    assert passed.details == {"fs": [Detail.DURATION, Detail.COUNT], "task": [Detail.OFF]}
    assert passed.costs.keys() == {"fs", OWN}


def test_who_asks_in_between_ends_a_rest_and_misses_nothing(sleeper):
    for intervals in (3.5, 35, 350):  # on a busy machine its thread may get no processor
        assert sleeper.begin(1000)
        time.sleep(intervals * 1e-9 * INTERVAL_NS)
        due_ns = sleeper.node.idle.due_ns
        known = sleeper.node.history
        passed = (sleeper.node.idle.due_ns - due_ns) / INTERVAL_NS
        assert sleeper.has_ended(5)
        if passed >= 2:
            break
    assert 2 <= passed <= len(known)
    check_stretch(known)
    time.sleep(2e-9 * INTERVAL_NS)
    assert sleeper.node.history == known


def test_a_phase_goes_with_the_reading_that_is_due_next(sleeper):
    assert sleeper.begin(1000)
    time.sleep(1.5e-9 * INTERVAL_NS)
    sleeper.node.add_phase(Phase("sort", 1, 2, 3))
    *passed, last = sleeper.node.new_readings()
    assert [one.phases for one in passed] == [[]] * len(passed)
    assert last.phases == [Phase("sort", 1, 2, 3)]


def test_a_directory_that_changes_ends_a_rest(sleeper, tmp_path):
    directory = os.open(tmp_path, os.O_RDONLY)
    changed_ns = os.fstat(directory).st_mtime_ns
    sleeper.probes["task"].is_still = ChangeCheck(directory=directory, changed_ns=changed_ns)
    assert sleeper.begin(1000)
    assert not sleeper.has_ended(3e-9 * INTERVAL_NS)
    (tmp_path / "a program counts").touch()
    assert sleeper.has_ended(5)
    check_stretch(sleeper.node.history)
    os.close(directory)


def test_no_idle_period_starts_while_there_is_something_to_decide(sleeper):
    sleeper.probes["fs"].is_still = None  # what it has new cannot be seen
    assert not sleeper.begin(5)
    sleeper.probes["fs"].is_still = ChangeCheck()
    sleeper.node.set_level("trace", "fs", "read")
    assert not sleeper.begin(5)
    sleeper.node.set_level("summary", "fs", "read")
    assert not sleeper.begin(5)  # its rates are not known yet
    sleeper.node.read()
    sleeper.node.governor.begin()
    assert not sleeper.begin(0)
    assert sleeper.begin(5)


def test_an_idle_period_that_costs_too_much_ends():
    """Of a budget of 1 % an interval has 0.2 ms, which this process itself now takes."""
    sleeper = Sleeper(budget=0.01)
    while sleeper.node.governor.idle_limits() is None:
        time.sleep(1e-9 * INTERVAL_NS)
        sleeper.node.read()
        sleeper.node.governor.begin()
    assert sleeper.begin(1000)
    ended = time.process_time() + 5
    while not sleeper.has_ended(0):
        assert time.process_time() < ended
    check_stretch(sleeper.node.history)
    sleeper.node.idle.close()


def test_messages_of_another_thread_end_it(sleeper):
    def hear() -> None:
        while not over.wait(0.001):
            sleeper.node.on_quota_reached("fs")
            sleeper.node.name_classes("fs")

    over = threading.Event()
    hearer = threading.Thread(target=hear)
    hearer.start()
    for _ in range(50):
        sleeper.begin(1000)
        time.sleep(0.5e-9 * INTERVAL_NS)
        sleeper.node.new_readings()
    over.set()
    hearer.join()
    check_stretch(sleeper.node.history)


def test_an_idle_service_delivers_readings_in_a_batch(tmp_path):
    async def serve(service: Service) -> None:
        service.begin()
        while len(service.node.history) < 24:
            await asyncio.sleep(13e-9 * INTERVAL_NS)
        service.end()

    sleeper = Sleeper()
    settings = Settings(interval=0.05, batch=4, destination=str(tmp_path))
    asyncio.run(serve(Service(sleeper.node, settings, print)))
    _, _, *delivered = sleeper.node.history  # two were before there was a service
    check_stretch(delivered)
    [data_set] = map(DataSet, tmp_path.glob("*.sesame"))
    stored = data_set.table("kernel_reading")["sequence"].to_pylist()
    assert stored == [reading.sequence for reading in delivered]
