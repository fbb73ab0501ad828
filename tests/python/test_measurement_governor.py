"""What the governor does with rates and a budget; probes that only hold numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from sesame.measurement import cost, governor
from sesame.measurement.cost import (
    ANOTHER_CALL,
    LOADS,
    Cost,
    Load,
    binomial_quantile,
    median_and_interval,
)
from sesame.measurement.governor import (
    FILLING,
    FIRST_SHARE,
    GUESSED,
    GUESSED_RUN,
    OWN,
    CostTable,
    Governed,
    Governor,
)
from sesame.measurement.probes import ACCOUNT, CELL, Detail, Point, Subsystem

DETAILS = (("count", 150.0), ("sampled", 250.0), ("duration", 350.0))
RUN_NS = 50.0  # of each event's costs, and of a run that finds nothing
COSTS = CostTable(
    [Cost("fs", "read", detail, ns, 0.9 * ns, 1.1 * ns, 500.0) for detail, ns in DETAILS]
    + [
        Cost("fs", ANOTHER_CALL, detail, RUN_NS, 0.9 * RUN_NS, 1.1 * RUN_NS, 100.0)
        for detail, _ in DETAILS
    ]
)
INTERVAL_S = 10.0
BUDGET_NS = 0.001 * 1e9 * INTERVAL_S


class FakeProbes:
    """Two CPUs and one point, whose events are as many as the test says."""

    def __init__(self, name: str) -> None:
        point = Point("read", "", Detail.DURATION, False)
        self.subsystem = Subsystem(name, "", (point,), ("all",), 1, "", "")
        self.cells = np.zeros((2, 1, 1, 1), CELL)
        self.accounts = np.zeros(2, ACCOUNT)
        self.now = Detail.OFF
        self.cost = self.run_cost = 0.0
        self.quota = 0.0
        self.switching_ns = 0
        self.switched_ns = 0

    def set(self, _point: int, detail: Detail, *, tracing: bool = False) -> None:
        if Detail.OFF in (self.now, detail) and self.now != detail:
            self.switched_ns += self.switching_ns
        self.now = detail

    def pause(self, *, paused: bool) -> None:
        self.paused = paused

    def wait(self) -> None: ...

    def set_cost(self, _point: int, ns: float) -> None:
        self.cost = ns

    def set_run_cost(self, ns: float) -> None:
        self.run_cost = ns

    def set_quota(self, ns: float) -> None:
        self.quota = ns
        self.accounts["quota_ns"] = self.accounts["charged_ns"] + np.uint64(ns)

    def sums(self, out: np.ndarray) -> None:
        events = self.cells["count"].sum(axis=(2, 3))
        out[:] = np.column_stack([self.accounts["charged_ns"], self.accounts["runs"], events])

    def count(self, events: int, others: int = 0) -> None:
        """On the first CPU; others: runs that find nothing."""
        self.cells["count"][0] += np.uint64(events)
        self.accounts["runs"][0] += np.uint64(events + others)
        cost = events * (self.cost + self.run_cost) + others * self.run_cost
        self.accounts["charged_ns"][0] += np.uint64(cost)


class Machine:
    """A governor with clocks that the test moves."""

    def __init__(self, *names: str, budget: float | None = 0.001, late_s: float = 0.0) -> None:
        """`late_s`: from the kernel's message until the governor has it."""
        self.probes = {name: FakeProbes(name) for name in names}
        self.time_ns = self.own_ns = 0
        self.late_s = late_s
        governed = [
            Governed(name, one, {0: Detail.DURATION})  # type: ignore[arg-type]
            for name, one in self.probes.items()
        ]
        self.governor = Governor(
            governed,
            COSTS,
            budget=budget,
            interval_s=INTERVAL_S,
            clock=lambda: self.time_ns,
            own=lambda: self.own_ns + sum(one.switched_ns for one in self.probes.values()),
        )
        self.governor.begin()

    def pass_interval(
        self, own_ns: int = 0, others: float = 0.0, asked: int = 1, **rates: float
    ) -> dict[str, float]:
        """Events come evenly; gives what each subsystem cost, in ns. Rates are per second.

        `others`: of runs that find nothing; `asked`: how often costs are read.
        """
        steps = 10_000
        due: dict[str, float] = {}
        costs: dict[str, float] = {}
        for step in range(steps):
            self.time_ns += int(1e9 * INTERVAL_S / steps)
            if step == steps - 1:
                self.own_ns += own_ns
            for name, rate in rates.items():
                one = self.probes[name]
                if one.now == Detail.OFF:
                    continue
                now, before = (round(k * INTERVAL_S / steps * rate) for k in (step + 1, step))
                one.count(now - before, round(others * INTERVAL_S / steps))
                if one.accounts["charged_ns"][0] < one.accounts["quota_ns"][0]:
                    continue
                if self.time_ns >= due.setdefault(name, self.time_ns + 1e9 * self.late_s):
                    due.pop(name)
                    self.governor.on_quota_reached(name)
            if (step + 1) % (steps // asked) == 0:
                for spending in self.governor.end():
                    spent = costs.get(spending.subsystem, 0.0) + spending.estimated_ns
                    costs[spending.subsystem] = spent
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
def test_frequent_ones_are_measured_at_less_detail(rate, expected):
    machine = Machine("fs")
    machine.pass_interval(fs=rate)
    assert machine.probes["fs"].now == expected
    # 0.1 % of 10 s is 10 ms for each CPU; a run that finds nothing costs 50 ns of each event.
    demand = rate * INTERVAL_S * {1: 150, 2: 250, 3: 350}[expected]
    assert demand <= FILLING * BUDGET_NS


@pytest.mark.parametrize("late_s", [0.0, 0.02])
def test_the_budget_holds_over_every_stretch_however_many_events_come(late_s):
    machine = Machine("fs", late_s=late_s)
    spent = 0.0
    for passed in range(1, 11):
        spent += machine.pass_interval(fs=1_000_000)["fs"]
        assert spent <= 1.5 * BUDGET_NS * passed
        # A twentieth of a second at this rate costs the budget; it is not all that is left.
        assert spent >= 0.4 * BUDGET_NS * passed


def test_a_first_burst_costs_a_tenth_before_it_is_looked_at():
    machine = Machine("fs", "block", "task", "vm")
    quotas = [one.quota for one in machine.probes.values()]
    assert sum(quotas) == pytest.approx(FIRST_SHARE * BUDGET_NS)
    assert len(set(quotas)) == 1


def test_what_is_seen_first_decides_about_the_rest_of_the_interval():
    machine = Machine("fs")
    seen: list[Detail] = []
    take = machine.governor.on_quota_reached
    machine.governor.on_quota_reached = lambda name: (
        take(name),
        seen.append(machine.probes[name].now),
    )
    cost = machine.pass_interval(fs=4000)["fs"]
    assert seen == [Detail.COUNT]
    assert cost < BUDGET_NS


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("rate", [1, 4000, 1_000_000])
def test_who_asks_what_was_spent_changes_nothing(rate):
    quiet, asked = Machine("fs"), Machine("fs")
    for _ in range(3):
        assert quiet.pass_interval(fs=rate) == asked.pass_interval(asked=100, fs=rate)
        assert quiet.probes["fs"].now == asked.probes["fs"].now
        assert quiet.probes["fs"].quota == asked.probes["fs"].quota


def test_what_counts_until_its_part_is_spent_is_detached_without_computing_again(monkeypatch):
    machine = Machine("fs")
    machine.pass_interval(fs=1_000_000)  # until now it may have been looked at
    computed: list[int] = []
    monkeypatch.setattr(machine.governor.counters, "read_one", computed.append)
    for _ in range(5):
        spent = machine.pass_interval(fs=1_000_000)["fs"]
        assert 0.4 * BUDGET_NS <= spent <= 1.5 * BUDGET_NS
    assert computed == []


def test_runs_that_find_nothing_are_paid_for():
    machine = Machine("fs")
    machine.pass_interval(fs=10, others=16_000)
    assert machine.probes["fs"].now == Detail.COUNT  # 16,000 runs of 50 ns are 8 of 10 ms
    spent = sum(machine.pass_interval(fs=10, others=1_000_000)["fs"] for _ in range(10))
    assert spent <= 1.1 * 10 * BUDGET_NS


def test_what_the_process_itself_takes_is_of_the_budget():
    machine = Machine("fs")
    costs = [machine.pass_interval(own_ns=4_000_000, fs=1_000_000) for _ in range(10)]
    assert all(one[OWN] == 4_000_000 for one in costs)
    total = sum(sum(one.values()) for one in costs)
    assert total == pytest.approx(10 * BUDGET_NS, rel=0.1)


def test_switching_is_paid_for_and_waits_until_it_is_worth_it():
    machine = Machine("fs")
    machine.probes["fs"].switching_ns = 6_000_000  # on, and the same off: more than an interval has
    costs = [machine.pass_interval(fs=1_000_000) for _ in range(20)]
    on = sum(one["fs"] > 0 for one in costs)
    assert 5 <= on <= 10
    assert sum(sum(one.values()) for one in costs) <= 1.2 * 20 * BUDGET_NS


def test_who_needs_little_stays_on_while_a_debt_is_paid():
    machine = Machine("fs", "block")
    machine.pass_interval(own_ns=50_000_000, fs=1_000_000, block=10)
    costs = [machine.pass_interval(fs=1_000_000, block=10) for _ in range(4)]
    assert all(one["block"] > 0 for one in costs)
    assert machine.probes["block"].now == Detail.DURATION
    assert sum(one["fs"] for one in costs) <= 0.5 * 4 * BUDGET_NS


def test_detail_is_full_again_when_events_become_rare():
    machine = Machine("fs")
    machine.pass_interval(fs=1_000_000)
    machine.pass_interval(fs=1_000_000)
    machine.pass_interval(fs=10)
    assert machine.probes["fs"].now == Detail.DURATION


def test_who_needs_little_leaves_its_part_to_the_others():
    machine = Machine("fs", "block")
    machine.pass_interval(fs=1500, block=1)
    assert machine.probes["fs"].now == Detail.DURATION  # 5.3 ms, more than half of 10 ms
    assert machine.probes["fs"].quota > 0.9 * BUDGET_NS


def test_with_nothing_to_govern_it_has_nothing_to_do():
    machine = Machine()
    for _ in range(2):
        assert machine.pass_interval().keys() == {OWN}


def test_without_a_budget_everything_is_timed():
    machine = Machine("fs", budget=None)
    machine.pass_interval(fs=10_000_000)
    assert machine.probes["fs"].now == Detail.DURATION
    assert machine.probes["fs"].quota == 0


def test_uncertain_costs_are_not_taken():
    table = CostTable([Cost("task", "create", "count", 90_000.0, -120_000.0, 500_000.0, 1.0)])
    assert table.run_ns("task", Detail.COUNT) == CostTable([]).run_ns("task", Detail.COUNT)


def test_a_run_that_counts_two_events_is_paid_once():
    table = CostTable([Cost("sched", "run,wait", "count", 40.0, 35.0, 45.0, 2000.0, runs=0.5)])
    assert table.run_ns("sched", Detail.COUNT) == 80.0
    assert table.event_ns("sched", Detail.COUNT) == 0.0


def test_runs_that_count_nothing_are_cheaper_where_a_load_makes_them(monkeypatch):
    """Of a subsystem whose loads all count, each run is charged as an event."""
    for detail in (Detail.COUNT, Detail.SAMPLED, Detail.DURATION):
        table = CostTable([])
        assert table.run_ns("futex", detail) == GUESSED[detail]
        assert table.event_ns("futex", detail) == 0
    monkeypatch.setattr(governor, "LOADS", (*LOADS, Load("ask", 1, "futex", {})))
    for detail in (Detail.COUNT, Detail.SAMPLED, Detail.DURATION):
        table = CostTable([])
        assert table.run_ns("futex", detail) == GUESSED_RUN[detail] < GUESSED[detail]
        assert table.run_ns("futex", detail) + table.event_ns("futex", detail) == GUESSED[detail]


def test_a_load_is_measured_as_closely_as_its_points_look(monkeypatch):
    points = (Point("wake", "", Detail.COUNT, False), Point("wait", "", Detail.DURATION, False))
    futex = Subsystem("futex", "", points, ("all",), 1, "", "")
    monkeypatch.setattr(cost, "subsystems", lambda: {"futex": futex})
    closely = [Detail.COUNT, Detail.SAMPLED, Detail.DURATION]
    assert cost._details(Load("wake", 1, "futex", {"wake": 1})) == [Detail.COUNT]
    assert cost._details(Load("wait", 1, "futex", {"wait": 1})) == closely
    assert cost._details(Load("ask", 1, "futex", {})) == closely


def test_the_interval_of_a_median_holds_it_as_often_as_it_says():
    generator = np.random.default_rng(1)
    holds = 0
    for _ in range(2000):
        middle, least, most = median_and_interval(list(generator.exponential(1.0, 15)))
        assert least <= middle <= most
        holds += least <= np.log(2) <= most
    assert 0.95 <= holds / 2000 <= 0.99


@pytest.mark.parametrize("share", [0.005, 0.025, 0.05, 0.2])
def test_the_binomial_quantile_is_that_of_scipy(share):
    for n in range(1, 120):
        assert binomial_quantile(share, n) == binom.ppf(share, n, 0.5)
