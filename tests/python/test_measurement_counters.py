"""The counters of several subsystems, compared as numpy compares them."""

from __future__ import annotations

import numpy as np
import pytest

from sesame.measurement.counters import CHARGED, EVENTS, Counters
from sesame.measurement.probes import ACCOUNT, Detail, Point, Subsystem

POINTS = (3, 1, 7)  # of each subsystem


class SetProbes:
    """Their sums are those that the test sets."""

    def __init__(self, cpus: int, points: int) -> None:
        made = tuple(Point(f"p{i}", "", Detail.COUNT, False) for i in range(points))
        self.subsystem = Subsystem("s", "", made, ("all",), 1, "", "")
        self.accounts = np.zeros(cpus, ACCOUNT)
        self.now = np.zeros((cpus, EVENTS + points), np.uint64)

    def sums(self, out: np.ndarray) -> None:
        out[:] = self.now


@pytest.mark.parametrize("cpus", [1, 2, 5])
def test_a_change_is_what_is_new_of_each_subsystem(cpus):
    random = np.random.default_rng(cpus)
    probes = [SetProbes(cpus, points) for points in POINTS]
    counters = Counters(probes)  # type: ignore[arg-type]
    for one in probes:
        one.now += random.integers(2**63, 2**64, one.now.shape, np.uint64)
    before = counters.read()
    new = [random.integers(0, 2**40, one.now.shape, np.uint64) for one in probes]
    for one, more in zip(probes, new, strict=True):
        one.now += more  # some go beyond the largest number
    now = counters.read()
    change = counters.change(before, now)
    assert change.charged == [more[:, CHARGED].max() for more in new]
    assert change.events == [more[:, EVENTS:].sum() for more in new]
    assert change.whole == sum(more[:, CHARGED] for more in new).max()
    for number, one in enumerate(probes):
        assert (counters.of(number, now) == one.now).all()
        assert (counters.read_one(number) == one.now).all()


def test_without_subsystems_nothing_changes():
    counters = Counters([])
    sums = counters.read()
    change = counters.change(sums, sums)
    assert (change.charged, change.events, change.whole) == ([], [], 0)
