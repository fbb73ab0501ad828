"""What the governor does with rates and a budget; probes that only hold numbers."""

from __future__ import annotations

import numpy as np
import pytest

from sesame.measurement.cost import ANOTHER_CALL, Cost, median_and_interval
from sesame.measurement.governor import FILLING, CostTable, Governed, Governor
from sesame.measurement.probes import CELL, SPENDING, Detail, Point, Subsystem

COSTS = CostTable(
    [
        Cost("fs", "read", detail, ns, 0.9 * ns, 1.1 * ns, 500.0)
        for detail, ns in (("count", 150.0), ("sampled", 250.0), ("duration", 350.0))
    ]
    + [Cost("fs", ANOTHER_CALL, "count", 50.0, 45.0, 55.0, 100.0)]
)
INTERVAL_S = 10.0


class FakeProbes:
    """Two CPUs and one point, whose events are as many as the test says."""

    def __init__(self, name: str) -> None:
        point = Point("read", "", Detail.DURATION, False)
        self.subsystem = Subsystem(name, "", (point,), ("all",), 1, "", "")
        self.cells = np.zeros((2, 1, 1, 1), CELL)
        self.spending = np.zeros(2, SPENDING)
        self.now = Detail.OFF
        self.cost = self.run_cost = 0.0
        self.allowance = 0.0

    def set(self, _point: int, detail: Detail, *, tracing: bool = False) -> None:
        self.now = detail

    def pause(self, *, paused: bool) -> None:
        self.paused = paused

    def set_cost(self, _point: int, ns: float) -> None:
        self.cost = ns

    def set_run_cost(self, ns: float) -> None:
        self.run_cost = ns

    def allow(self, ns: float) -> None:
        self.allowance = ns
        self.spending["allowance_ns"] = self.spending["spent_ns"] + np.uint64(ns)

    def count(self, events: int) -> None:
        """On the first CPU."""
        self.cells["count"][0] += np.uint64(events)
        self.spending["runs"][0] += np.uint64(events)
        self.spending["spent_ns"][0] += np.uint64(events * (self.cost + self.run_cost))


class Machine:
    """A governor with a clock that the test moves."""

    def __init__(self, *names: str, budget: float | None = 0.001) -> None:
        self.probes = {name: FakeProbes(name) for name in names}
        self.time_ns = 0
        governed = [
            Governed(name, one, {0: Detail.DURATION})  # type: ignore[arg-type]
            for name, one in self.probes.items()
        ]
        self.governor = Governor(
            governed, COSTS, budget=budget, interval_s=INTERVAL_S, clock=lambda: self.time_ns
        )
        self.governor.begin()

    def pass_interval(self, **rates: float) -> dict[str, float]:
        """Events come evenly until a subsystem is detached; gives what each cost, in ns."""
        for step in range(1000):
            self.time_ns += int(1e9 * INTERVAL_S / 1000)
            for name, rate in rates.items():
                one = self.probes[name]
                if one.now == Detail.OFF:
                    continue
                one.count(
                    round(rate * INTERVAL_S * (step + 1) / 1000)
                    - round(rate * INTERVAL_S * step / 1000)
                )
                if one.spending["spent_ns"][0] >= one.spending["allowance_ns"][0] > 0:
                    self.governor.on_spent(name)
        costs = {one.subsystem: float(one.estimated_ns) for one in self.governor.end()}
        self.governor.begin()
        return costs


def test_rare_events_are_all_timed():
    machine = Machine("fs")
    for _ in range(3):
        machine.pass_interval(fs=100)
        assert machine.probes["fs"].now == Detail.DURATION


@pytest.mark.parametrize(
    ("rate", "expected"),
    [(2000, Detail.DURATION), (2800, Detail.SAMPLED), (4000, Detail.COUNT)],
)
def test_frequent_ones_are_looked_at_less_closely(rate, expected):
    machine = Machine("fs")
    machine.pass_interval(fs=rate)
    assert machine.probes["fs"].now == expected
    # 0.1 % of 10 s is 10 ms for each CPU; a run that finds nothing costs 50 ns of each event.
    demand = rate * INTERVAL_S * {1: 150, 2: 250, 3: 350}[expected]
    assert demand <= FILLING * 0.001 * 1e9 * INTERVAL_S


def test_what_cannot_even_be_counted_is_detached_when_its_part_is_spent():
    machine = Machine("fs")
    first = machine.pass_interval(fs=1_000_000)["fs"]
    assert machine.probes["fs"].now == Detail.COUNT
    second = machine.pass_interval(fs=1_000_000)["fs"]
    allowed = 0.001 * 1e9 * INTERVAL_S
    step = 1_000_000 * INTERVAL_S / 1000 * 350
    assert allowed <= first <= allowed + step
    assert allowed <= second <= allowed + step


def test_it_looks_closely_again_when_events_become_rare():
    machine = Machine("fs")
    machine.pass_interval(fs=1_000_000)
    machine.pass_interval(fs=1_000_000)
    machine.pass_interval(fs=10)
    assert machine.probes["fs"].now == Detail.DURATION


def test_who_needs_little_leaves_its_part_to_the_others():
    machine = Machine("fs", "block")
    machine.pass_interval(fs=1500, block=1)
    assert machine.probes["fs"].now == Detail.DURATION  # 5.3 ms, more than half of 10 ms
    assert machine.probes["fs"].allowance > 0.9 * 0.001 * 1e9 * INTERVAL_S


def test_unknown_rates_get_equal_parts():
    machine = Machine("fs", "block", "task", "vm")
    allowances = [one.allowance for one in machine.probes.values()]
    assert sum(allowances) == pytest.approx(0.001 * 1e9 * INTERVAL_S)
    assert len(set(allowances)) == 1


def test_without_a_budget_everything_is_timed():
    machine = Machine("fs", budget=None)
    machine.pass_interval(fs=10_000_000)
    assert machine.probes["fs"].now == Detail.DURATION
    assert machine.probes["fs"].allowance == 0


def test_uncertain_costs_are_not_taken():
    table = CostTable([Cost("task", "create", "count", 90_000.0, -120_000.0, 500_000.0, 1.0)])
    assert table.event_ns("task", Detail.COUNT) == CostTable([]).event_ns("task", Detail.COUNT)


def test_the_interval_of_a_median_holds_it_as_often_as_it_says():
    generator = np.random.default_rng(1)
    holds = 0
    for _ in range(2000):
        middle, least, most = median_and_interval(list(generator.exponential(1.0, 15)))
        assert least <= middle <= most
        holds += least <= np.log(2) <= most
    assert 0.95 <= holds / 2000 <= 0.99
