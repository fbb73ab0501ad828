"""Keeps what measuring costs within a budget: a share of each processor's time.

The programs in the kernel, and the hooks in front of MPI, sum up what they cost, run by run and
event by event, with calibrated costs. At each begin of an interval the governor looks how often
they ran in the one before, and has every subsystem look as closely as its part of the budget
allows: durations, sampled durations, counts. A subsystem that is too much even so counts until its
part is spent, and is then detached: the kernel says so at that moment, since at a million events a
second a whole interval would cost a hundred budgets. Where rates are not known yet, it says so
after a tenth of the part, and the rest goes by what was seen until then. Whoever wants to know more
often what was spent does not get a new budget by it.

What this process takes itself (readings, sending, switching) counts, too. What an interval has cost
too much is a debt, which the next ones have less for; what an interval leaves lapses. Switching
costs processor time as well, so a subsystem that is detached saves its parts until they are worth
it.

What was done stands in the data: how closely, and for how long.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sesame.errors import SesameError
from sesame.measurement.cost import ANOTHER_CALL, Cost
from sesame.measurement.counters import CHARGED, EVENTS, RUNS, Counters, Snapshot, Sums
from sesame.measurement.defaults import DEFAULT_BUDGET
from sesame.measurement.detail import Detail
from sesame.measurement.probes import Probes, Subsystem

# What a subsystem may be expected to take of its part before it looks less closely: rates vary.
FILLING = 0.8
# Of a part: what may be spent before rates are known.
FIRST_LOOK = 0.1
# Less is not worth a message from the kernel: to hear and to answer it takes as much.
MESSAGE_NS = 200_000
# A subsystem that was detached comes back when it has so many times what switching takes.
WORTH_SWITCHING = 2.0
# In budgets of an interval: what is left for those who need little, however large the debt is; and
# the most that is remembered of it.
LEFT, MOST_DEBT = 0.1, 10.0
# Where nothing was calibrated, ns per event: measured on Linux 6.18 (docs/models/measuring.md).
GUESSED = {Detail.OFF: 0.0, Detail.COUNT: 100.0, Detail.SAMPLED: 300.0, Detail.DURATION: 400.0}
# Of that, a run at a call of the system that is not counted.
GUESSED_RUN = {Detail.OFF: 0.0, Detail.COUNT: 50.0, Detail.SAMPLED: 105.0, Detail.DURATION: 105.0}
TRACE_COST = 230.0
# What the process that measures took itself, among the subsystems' costs.
OWN = "sesame"


class CostTable:
    """What a run of a subsystem's programs costs, and an event on top of that, in ns."""

    def __init__(self, costs: list[Cost]) -> None:
        certain = [cost for cost in costs if cost.is_certain]
        self._events = {_key(cost): cost for cost in certain if cost.points != ANOTHER_CALL}
        self._others = {_key(cost): cost for cost in certain if cost.points == ANOTHER_CALL}
        # Their programs run at more than what they count.
        self._run_at_all = {"fs"} | {name for name, _ in self._others}
        self._guessed: dict[str, dict[Detail, float]] = {}

    def expect(self, subsystem: Subsystem) -> None:
        """Takes its own guess where nothing was calibrated."""
        if subsystem.guessed_ns:
            self._guessed[subsystem.name] = dict(zip(Detail, subsystem.guessed_ns, strict=True))

    def run_ns(self, subsystem: str, detail: Detail) -> float:
        if subsystem not in self._run_at_all:
            return self._all_ns(subsystem, detail) / self.runs(subsystem, detail)
        known = self._others.get((subsystem, detail))
        return known.ns if known else GUESSED_RUN[detail]

    def event_ns(self, subsystem: str, detail: Detail) -> float:
        if subsystem not in self._run_at_all:
            return 0.0
        return max(self._all_ns(subsystem, detail) - self.run_ns(subsystem, detail), 0.0)

    def runs(self, subsystem: str, detail: Detail) -> float:
        """For each event that is counted."""
        known = self._events.get((subsystem, detail))
        return known.runs if known else 1.0

    def _all_ns(self, subsystem: str, detail: Detail) -> float:
        known = self._events.get((subsystem, detail))
        return known.ns if known else self._guessed.get(subsystem, GUESSED)[detail]


def _key(cost: Cost) -> tuple[str, Detail]:
    return cost.subsystem, Detail[cost.detail.upper()]


@dataclass
class Rates:
    """Per second: runs [CPU] and events [CPU, point], as closely as the points looked."""

    detail: Detail
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
    attached: tuple[Detail, dict[int, Detail], frozenset[int]] | None = None
    active_ns: int = 0  # before that
    part_ns: float = 0.0  # what it may spend in this interval
    saved_ns: float = 0.0  # while it was detached
    switching_ns: int = 0  # what switching it off, and on, has taken last
    rates: Rates | None = None

    def active_until(self, now_ns: int) -> int:
        """ns for which it was on."""
        since = self.on_since_ns
        return self.active_ns + (now_ns - since if since is not None else 0)


@dataclass(frozen=True)
class IntervalCost:
    """What a subsystem cost in an interval, in ns of the CPU that paid most."""

    subsystem: str
    detail: Detail
    active_ns: int
    estimated_ns: int
    events: int


@dataclass(frozen=True)
class IdleLimits:
    """As long as no subsystem, and all with this process, take more than so many ns of an interval,
    `begin` would leave all as it is. None: whatever they take."""

    part_ns: int | None
    whole_ns: int | None
    renewal_ns: int  # what each may spend in the next one; 0: nothing is limited
    sums: Sums  # at the begin
    since: Moment


@dataclass(frozen=True)
class Moment:
    """Of the clock, and of the processor time of this process."""

    time_ns: int
    own_ns: int


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
        own: Callable[[], int] = time.process_time_ns,
    ) -> None:
        """`own`: the processor time that this process has taken."""
        self._subsystems = {one.name: one for one in subsystems}
        self._number = {one.name: number for number, one in enumerate(subsystems)}
        self.counters = Counters([one.probes for one in subsystems])
        self._costs = costs
        for one in subsystems:
            costs.expect(one.probes.subsystem)
        self._budget = budget
        self._interval_s = interval_s
        self._clock, self._own = clock, own
        self._is_on = False
        # When the budget's interval began, and when `end` was last called.
        self._begun = self._ended = self._stopped = Moment(0, 0)
        self._at_begin = self._at_end = self._read(0)
        self._debt_ns = 0.0
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Switches on what is wanted, as closely as the rates until the last `end` allow."""
        with self._lock:
            spent = self._close()
            amount = self._amount()
            part = self._most_calm(amount)
            if (
                self._is_on
                and self._look_closest()
                and (part is None or max(spent, default=0) <= part)
            ):
                self._renew(amount)
            else:
                self._share(amount)
            if not self._is_on:  # what the first switching has taken is not of any interval
                self._is_on, self._ended = True, self._now()
            self._begun, self._at_begin = self._ended, self._at_end

    def idle_limits(self) -> IdleLimits | None:
        """The limits within which this interval may end without `end` and `begin`, by finish_idle.

        None: `begin` may have something to do.
        """
        with self._lock:
            amount = self._amount()
            part = self._most_calm(amount)
            if not (self._is_on and self._look_closest()):
                return None
            sums, since = self._at_begin.sums, self._begun
            if self._budget is None or amount is None or part is None:
                return IdleLimits(None, None, 0, sums, since)
            whole = 1e9 * self._budget * self._interval_s
            renewal = amount / len(self._subsystems)
            return IdleLimits(int(part), int(whole), int(renewal), sums, since)

    def finish_idle(self, sums: Sums, end: Moment) -> None:
        """Idle intervals have ended, the last of them then."""
        with self._lock:
            active_ns = [one.active_until(end.time_ns) for one in self._subsystems.values()]
            self._at_end, self._ended = Snapshot(sums, active_ns), end
            self._close()
            self._begun, self._at_begin = self._ended, self._at_end

    def _close(self) -> list[int]:
        """Reckons what the interval has cost; gives what each subsystem has spent."""
        change = self.counters.change(self._at_begin.sums, self._at_end.sums)
        self._reckon(change.together)
        return change.spent

    def _look_closest(self) -> bool:
        """All subsystems, and what they cost is known."""
        return all(
            one.on_since_ns is not None and one.rates is not None and one.detail == Detail.DURATION
            for one in self._subsystems.values()
        )

    def _most_calm(self, amount: float | None) -> float | None:
        """What each may spend so that none needs what another leaves."""
        return None if amount is None else FILLING * amount / max(len(self._subsystems), 1)

    def _renew(self, amount: float | None) -> None:
        if amount is None:
            return
        for one in self._subsystems.values():
            one.part_ns = amount / len(self._subsystems)
            one.probes.set_quota(one.part_ns)

    def _share(self, amount: float | None) -> None:
        for number, one in enumerate(self._subsystems.values()):
            sums = self.counters.of(number, self._at_end.sums)
            self._learn(one, sums, self._at_end.active_ns[number])
        parts = self._parts(amount, self._interval_s)
        for one in self._subsystems.values():
            self._open(one, parts[one.name])

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
                one.rates = None  # they were those of other points
                self._open(one, self._parts(self._amount(), self._interval_s)[name])

    def refusal(self, name: str, point: int) -> str | None:
        """Why the kernel does not attach a point; one that is on already has been attached."""
        with self._lock:
            one = self._subsystems[name]
            if one.probes.detail(point) != Detail.OFF:
                return None
            try:
                one.probes.set(point, Detail.COUNT)
            except SesameError as error:
                return error.message
            if one.on_since_ns is None:
                one.probes.set(point, Detail.OFF)  # it comes back with the others
            return None

    def on_quota_reached(self, name: str) -> None:
        """The kernel says that the subsystem has spent what it was allowed."""
        with self._lock:
            one = self._subsystems[name]
            spent = one.probes.accounts
            amount = self._amount()
            is_over = (spent["charged_ns"] >= spent["quota_ns"]).any()
            if amount is None or one.on_since_ns is None or not is_over:
                return
            if one.detail == Detail.COUNT and self._is_dear(one):
                self._detach(one)  # to reckon again would cost more than it could find
                return
            now_ns = self._clock()
            sums = self.counters.read_one(self._number[name])
            charged_ns = int(self._learn(one, sums, one.active_until(now_ns))[:, CHARGED].max())
            rest_s = max(self._interval_s - 1e-9 * (now_ns - self._begun.time_ns), 0.0)
            for_rest = self._parts(amount * rest_s / self._interval_s, rest_s)[name] or 0.0
            one.part_ns = max(one.part_ns, self._parts(amount, self._interval_s)[name] or 0.0)
            try:
                if max(self._demand(one, Detail.COUNT, rest_s), MESSAGE_NS) <= for_rest:
                    self._settle(one, for_rest, rest_s)
                elif charged_ns + MESSAGE_NS <= one.part_ns:
                    self._look(one, Detail.COUNT, one.part_ns - charged_ns)
                else:
                    self._detach(one)
            except SesameError:  # what is to come instead cannot be attached now
                self._detach(one)

    def _is_dear(self, one: Governed) -> bool:
        """Even counting takes more than its part, so it was to count until that is spent."""
        demand = self._demand(one, Detail.COUNT, self._interval_s)
        return one.rates is not None and demand > one.part_ns

    def end(self) -> list[IntervalCost]:
        """What was spent since the last call; what may be spent stays as it is until `begin`."""
        with self._lock:
            before, self._ended = self._ended, self._now() if self._is_on else self._stopped
            passed_ns = self._ended.time_ns - before.time_ns
            own_ns = self._ended.own_ns - before.own_ns
            return [*self._end(), IntervalCost(OWN, Detail.OFF, passed_ns, own_ns, 0)]

    def stop(self) -> None:
        """When it returns, what has been counted and traced stays as it is.

        `end` can be called once more; what switching off takes is not of its interval.
        """
        with self._lock:
            if self._is_on:
                self._is_on, self._stopped = False, self._now()
            probes = [one.probes for one in self._subsystems.values()]
            for each in probes:
                each.pause(paused=True)
            for each in probes[:1]:
                each.wait()
            for one in self._subsystems.values():
                self._detach(one)
            for each in probes[:1]:
                each.wait()

    # ---- Switching ----

    def _detach(self, one: Governed) -> None:
        if one.on_since_ns is None:
            return
        begin = self._own()
        one.probes.pause(paused=True)
        for point in one.wanted:
            one.probes.set(point, Detail.OFF)
        one.active_ns += self._clock() - one.on_since_ns
        one.on_since_ns = None
        one.switching_ns = 2 * (self._own() - begin)

    def _attach(self, one: Governed) -> None:
        state = (one.detail, one.wanted, one.tracing)
        if one.on_since_ns is not None and one.attached == state:
            return
        if one.on_since_ns is None:
            one.probes.pause(paused=True)
        for point, wanted in one.wanted.items():
            one.probes.set_cost(point, self._cost(one, point, one.detail))
            one.probes.set(point, min(wanted, one.detail), tracing=point in one.tracing)
        one.probes.set_run_cost(self._costs.run_ns(one.name, self._finest(one, one.detail)))
        one.attached = (one.detail, dict(one.wanted), one.tracing)
        if one.on_since_ns is None:
            one.probes.pause(paused=False)
            one.on_since_ns = self._clock()

    def _look(self, one: Governed, detail: Detail, allowed_ns: float | None) -> None:
        """So closely, until so much is spent."""
        one.detail = detail
        if allowed_ns is not None:
            one.probes.set_quota(allowed_ns)
        self._attach(one)

    def _open(self, one: Governed, part_ns: float | None) -> None:
        """With what it may cost in an interval."""
        if part_ns is None:
            self._look(one, Detail.DURATION, None)
        elif self._is_worth_it(one, part_ns):
            one.part_ns, one.saved_ns = part_ns + one.saved_ns, 0.0
            self._settle(one, one.part_ns, self._interval_s)
        else:
            one.saved_ns += part_ns

    def _settle(self, one: Governed, part_ns: float, seconds: float) -> None:
        """As closely as the part allows for so long."""
        detail = Detail.DURATION
        while detail > Detail.COUNT and self._demand(one, detail, seconds) > FILLING * part_ns:
            detail = Detail(detail - 1)
        self._look(one, detail, part_ns if one.rates is not None else FIRST_LOOK * part_ns)

    def _is_worth_it(self, one: Governed, part_ns: float) -> bool:
        """To switch it on, or to leave it so."""
        if one.on_since_ns is not None or one.rates is None:
            return True
        return (
            self._demand(one, Detail.COUNT, self._interval_s) <= part_ns
            or part_ns + one.saved_ns >= WORTH_SWITCHING * one.switching_ns
        )

    # ---- Reckoning ----

    @staticmethod
    def _finest(one: Governed, detail: Detail) -> Detail:
        """As closely as any of its points looks."""
        points = one.probes.subsystem.points
        each = [min(wanted, detail, points[i].finest) for i, wanted in one.wanted.items()]
        return max(each, default=Detail.OFF)

    def _cost(self, one: Governed, point: int, detail: Detail) -> float:
        """Of an event, on top of the run."""
        wanted = one.wanted.get(point, Detail.OFF)
        if wanted == Detail.OFF:
            return 0.0
        extra = TRACE_COST if point in one.tracing else 0.0
        if one.probes.subsystem.points[point].is_sum:
            return extra
        return self._costs.event_ns(one.name, min(wanted, detail)) + extra

    def _demand(self, one: Governed, detail: Detail, seconds: float) -> float:
        """ns in so many seconds, of the CPU that would pay most."""
        if one.rates is None:
            return 0.0
        detail = self._finest(one, detail)
        more_runs = self._costs.runs(one.name, detail) / self._costs.runs(
            one.name, one.rates.detail
        )
        costs = [self._cost(one, point, detail) for point in range(one.rates.events.shape[1])]
        per_second = one.rates.events @ np.array(costs) + (
            one.rates.runs * more_runs * self._costs.run_ns(one.name, detail)
        )
        return float(per_second.max()) * seconds

    def _amount(self) -> float | None:
        """ns that the interval may cost."""
        if self._budget is None:
            return None
        whole = 1e9 * self._budget * self._interval_s
        return max(whole - max(self._debt_ns, 0.0), LEFT * whole)

    def _parts(self, amount: float | None, seconds: float) -> dict[str, float | None]:
        """Of an amount: equal parts, of which who needs less leaves the rest to the others."""
        if amount is None:
            return dict.fromkeys(self._subsystems)
        demands = {
            name: self._demand(one, Detail.DURATION, seconds) / FILLING if one.rates else math.inf
            for name, one in self._subsystems.items()
        }
        parts: dict[str, float | None] = {}
        for done, name in enumerate(sorted(demands, key=lambda name: demands[name])):
            equal = amount / (len(demands) - done)
            parts[name] = equal
            amount -= min(demands[name], equal)
        return parts

    def _learn(self, one: Governed, sums: Sums, active_ns: int) -> Sums:
        """The rates of the interval until now, from what is new in it, which it gives."""
        number = self._number[one.name]
        new = sums - self.counters.of(number, self._at_begin.sums)
        seconds = 1e-9 * (active_ns - self._at_begin.active_ns[number])
        if seconds > 0:
            finest = self._finest(one, one.detail)
            one.rates = Rates(finest, new[:, RUNS] / seconds, new[:, EVENTS:] / seconds)
        return new

    def _read(self, now_ns: int) -> Snapshot:
        active_ns = [one.active_until(now_ns) for one in self._subsystems.values()]
        return Snapshot(self.counters.read(), active_ns)

    def _end(self) -> list[IntervalCost]:
        before, self._at_end = self._at_end, self._read(self._clock())
        new = self.counters.change(before.sums, self._at_end.sums)
        return [
            IntervalCost(one.name, one.detail, active_ns - active_before, most_ns, events)
            for one, active_ns, active_before, most_ns, events in zip(
                self._subsystems.values(),
                self._at_end.active_ns,
                before.active_ns,
                new.spent,
                new.events,
                strict=True,
            )
        ]

    def _now(self) -> Moment:
        return Moment(self._clock(), self._own())

    def _reckon(self, charged_ns: int) -> None:
        """What the interval has cost more than it may have; this process runs on any CPU."""
        if self._budget is None:
            return
        cost = self._ended.own_ns - self._begun.own_ns + charged_ns
        allowed = self._budget * (self._ended.time_ns - self._begun.time_ns)
        saved = sum(one.saved_ns for one in self._subsystems.values())
        most = MOST_DEBT * 1e9 * self._budget * self._interval_s
        self._debt_ns = min(max(self._debt_ns + cost - allowed, -saved), most)
