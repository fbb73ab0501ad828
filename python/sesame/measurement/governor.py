"""Keeps what measuring costs within a budget: a share of each processor's time.

The programs in the kernel sum up what they cost, event by event, with calibrated costs. At each
pull the governor looks how often events came, and has every subsystem look as closely as its part
of the budget allows: durations, sampled durations, counts. A subsystem that is too much even so
counts until its part is spent, and is then detached until the next interval: the kernel says so at
that moment, since at a million events a second a whole interval would cost a hundred budgets. What
was done stands in the data: how closely, and for how long.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sesame.measurement.cost import ANOTHER_CALL, Cost
from sesame.measurement.probes import Detail, Probes

DEFAULT_BUDGET = 0.001
# What a subsystem may be expected to take of its part before it looks less closely: rates vary.
FILLING = 0.8
# Where nothing was calibrated, ns per event: measured on Linux 6.18 (docs/models/measuring.md).
GUESSED = {Detail.OFF: 0.0, Detail.COUNT: 150.0, Detail.SAMPLED: 250.0, Detail.DURATION: 500.0}
GUESSED_RUN = 106.0
TRACE_COST = 230.0


class CostTable:
    """ns per event of a subsystem by how closely it looks, and per run that finds nothing."""

    def __init__(self, costs: list[Cost]) -> None:
        self._event = {
            (cost.subsystem, Detail[cost.detail.upper()]): cost.ns
            for cost in costs
            if cost.points != ANOTHER_CALL and cost.is_certain
        }
        runs = {
            cost.subsystem: cost.ns
            for cost in costs
            if cost.points == ANOTHER_CALL and cost.is_certain
        }
        self._run = {name: runs.get(name, GUESSED_RUN) for name in ("fs",)}

    def event_ns(self, subsystem: str, detail: Detail) -> float:
        """Without what a run costs anyway."""
        known = self._event.get((subsystem, detail), GUESSED[detail])
        return max(known - self.run_ns(subsystem), 0.0)

    def run_ns(self, subsystem: str) -> float:
        return self._run.get(subsystem, 0.0)


@dataclass
class Rates:
    """Events and runs per second of the CPU that had most to pay; [CPU] and [CPU, point]."""

    runs: NDArray[np.float64]
    events: NDArray[np.float64]


@dataclass
class Governed:
    """One subsystem: what is wanted of it, and what it is allowed."""

    name: str
    probes: Probes
    wanted: dict[int, Detail]
    tracing: frozenset[int] = frozenset()
    detail: Detail = Detail.DURATION
    on_since_ns: int | None = None  # monotonic; None while it is detached
    active_ns: int = 0
    rates: Rates | None = None
    before: tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]] | None = field(
        default=None, repr=False
    )


@dataclass(frozen=True)
class Spending:
    """What a subsystem cost in an interval, in ns of the CPU that paid most."""

    subsystem: str
    detail: Detail
    active_ns: int
    estimated_ns: int
    events: int


class Governor:
    """`budget` is a share of a processor's time; None: whatever it costs."""

    def __init__(
        self,
        subsystems: list[Governed],
        costs: CostTable,
        *,
        budget: float | None = DEFAULT_BUDGET,
        interval_s: float = 10.0,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._subsystems = {one.name: one for one in subsystems}
        self._costs = costs
        self._budget = budget
        self._interval_s = interval_s
        self._clock = clock
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Switches on what is wanted, as closely as the last interval's rates allow."""
        with self._lock:
            parts = self._parts()
            for one in self._subsystems.values():
                self._settle(one, parts[one.name])

    def set_interval(self, seconds: float) -> None:
        """From the next one on."""
        with self._lock:
            self._interval_s = seconds

    def want(self, name: str, points: dict[int, Detail], tracing: frozenset[int]) -> None:
        """Other points from now on; what is detached since it spent its part stays so for now."""
        with self._lock:
            one = self._subsystems[name]
            for point in one.wanted.keys() - points.keys():
                one.probes.set(point, Detail.OFF)
            one.wanted, one.tracing = points, tracing
            if one.on_since_ns is not None:
                self._attach(one)

    def on_spent(self, name: str) -> None:
        """The kernel says that the subsystem has spent its part."""
        with self._lock:
            one = self._subsystems[name]
            spent = one.probes.spending
            if (spent["spent_ns"] >= spent["allowance_ns"]).any():
                self._detach(one)

    def end(self) -> list[Spending]:
        """Closes an interval: what it cost. `begin` opens the next one."""
        with self._lock:
            return [self._close(one) for one in self._subsystems.values()]

    def stop(self) -> None:
        with self._lock:
            for one in self._subsystems.values():
                self._detach(one)

    def _detach(self, one: Governed) -> None:
        if one.on_since_ns is None:
            return
        one.probes.pause(paused=True)
        for point in one.wanted:
            one.probes.set(point, Detail.OFF)
        one.active_ns += self._clock() - one.on_since_ns
        one.on_since_ns = None

    def _attach(self, one: Governed) -> None:
        for point, wanted in one.wanted.items():
            one.probes.set_cost(point, self._cost(one, point, one.detail))
            one.probes.set(point, min(wanted, one.detail), tracing=point in one.tracing)
        one.probes.set_run_cost(self._costs.run_ns(one.name))
        if one.on_since_ns is None:
            one.probes.pause(paused=False)
            one.on_since_ns = self._clock()

    def _cost(self, one: Governed, point: int, detail: Detail) -> float:
        wanted = one.wanted.get(point, Detail.OFF)
        if wanted == Detail.OFF or one.probes.subsystem.points[point].is_sum:
            return 0.0
        extra = TRACE_COST if point in one.tracing else 0.0
        return self._costs.event_ns(one.name, min(wanted, detail)) + extra

    def _settle(self, one: Governed, part_ns: float | None) -> None:
        one.detail = Detail.DURATION
        if part_ns is not None:
            one.probes.allow(part_ns)
            while one.detail > Detail.COUNT and self._demand(one, one.detail) > FILLING * part_ns:
                one.detail = Detail(one.detail - 1)
        self._attach(one)

    def _demand(self, one: Governed, detail: Detail) -> float:
        """ns in an interval, of the CPU that would pay most."""
        if one.rates is None:
            return 0.0
        costs = [self._cost(one, point, detail) for point in range(one.rates.events.shape[1])]
        per_second = one.rates.events @ np.array(costs) + one.rates.runs * self._costs.run_ns(
            one.name
        )
        return float(per_second.max()) * self._interval_s

    def _parts(self) -> dict[str, float | None]:
        """The budget, in ns: equal parts, of which who needs less leaves the rest to the others."""
        if self._budget is None:
            return dict.fromkeys(self._subsystems)
        left = 1e9 * self._budget * self._interval_s
        demands = {
            name: self._demand(one, Detail.DURATION) / FILLING if one.rates else math.inf
            for name, one in self._subsystems.items()
        }
        parts: dict[str, float | None] = {}
        for done, name in enumerate(sorted(demands, key=lambda name: demands[name])):
            equal = left / (len(demands) - done)
            parts[name] = equal
            left -= min(demands[name], equal)
        return parts

    def _close(self, one: Governed) -> Spending:
        now = self._clock()
        if one.on_since_ns is not None:
            one.active_ns += now - one.on_since_ns
            one.on_since_ns = now
        spending = one.probes.spending
        spent, runs = spending["spent_ns"].copy(), spending["runs"].copy()
        events = one.probes.cells["count"].sum(axis=(2, 3))
        before = one.before or (np.zeros_like(spent), np.zeros_like(runs), np.zeros_like(events))
        one.before = (spent, runs, events)
        new_events = events - before[2]
        if one.active_ns > 0:
            seconds = 1e-9 * one.active_ns
            one.rates = Rates((runs - before[1]) / seconds, new_events / seconds)
        result = Spending(
            one.name,
            one.detail,
            one.active_ns,
            int((spent - before[0]).max()),
            int(new_events.sum()),
        )
        one.active_ns = 0
        return result
