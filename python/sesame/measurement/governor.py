"""Keeps the cost of measuring within a budget: a share of each processor's time.

Costs. The eBPF programs in the kernel, and the hooks of the MPI preload library, charge the
calibrated cost of each run and event to the account of their CPU (or thread). The processor time of
this process counts, too.

Level of detail. At the begin of each interval the budget is divided into shares, one for each
subsystem; what a subsystem does not need goes to the others. From the rates of the interval before,
the governor computes the cost at each level of detail. It chooses the finest level that fits into
the share: durations, sampled durations, counts.

Quota. Each subsystem gets its share as a quota. When a CPU reaches the quota, the kernel sends a
message at once. The governor then chooses a coarser level or, if even counting costs too much,
detaches the subsystem until it can pay for it again. Without a quota, a million events a second
would cost a hundred budgets in an interval. While rates are unknown the quota is a tenth of the
share; when it is reached, the rates seen until then decide about the rest of the interval. Reading
the costs more often gives no new budget.

Debt. An interval that cost more than its budget leaves a debt, which reduces the next budgets.
Unused budget lapses. Switching costs processor time as well, so a detached subsystem saves its
shares until they pay for the switching.

Idle. While all subsystems are measured at full detail and stay below their limits
(`idle_limits`), `begin` would change nothing. Then intervals may end without it (daemon/idle.py),
and `finish_idle` accounts for them.

The level of detail, and the time for which a subsystem was attached, are recorded in the data.
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
from sesame.measurement.cost import ANOTHER_CALL, LOADS, Cost
from sesame.measurement.counters import CHARGED, EVENTS, RUNS, Counters, Snapshot, Sums
from sesame.measurement.defaults import DEFAULT_BUDGET
from sesame.measurement.detail import Detail
from sesame.measurement.probes import Probes, Subsystem

# The largest part of a share that a level of detail is expected to cost: below 1, as rates vary.
FILLING = 0.8
# The quota while rates are unknown, as a fraction of the share.
FIRST_SHARE = 0.1
# A smaller quota is useless: receiving and answering the message costs as much.
MESSAGE_NS = 200_000
# A detached subsystem is attached again when it has saved this multiple of the cost of switching.
WORTH_SWITCHING = 2.0
# In units of an interval's budget: the least budget for any debt, so that cheap subsystems are
# still measured; and the largest debt.
LEAST_BUDGET, MOST_DEBT = 0.1, 10.0
# Without calibration: ns per event, measured on Linux 6.18 (docs/models/measuring.md).
GUESSED = {Detail.OFF: 0.0, Detail.COUNT: 100.0, Detail.SAMPLED: 300.0, Detail.DURATION: 400.0}
# Part of that: the cost of a run at a system call that is not counted.
GUESSED_RUN = {Detail.OFF: 0.0, Detail.COUNT: 50.0, Detail.SAMPLED: 105.0, Detail.DURATION: 105.0}
TRACE_COST = 230.0
# The name of this process among the subsystems' costs.
OWN = "sesame"


class CostTable:
    """Costs in ns: of a run of a subsystem's eBPF programs, and of an event on top of its run."""

    def __init__(self, costs: list[Cost]) -> None:
        certain = [cost for cost in costs if cost.is_certain]
        self._events = {_key(cost): cost for cost in certain if cost.points != ANOTHER_CALL}
        self._others = {_key(cost): cost for cost in certain if cost.points == ANOTHER_CALL}
        # Subsystems whose programs also run at events that are not counted.
        self._run_at_all = {load.subsystem for load in LOADS if not load.events}
        self._guessed: dict[str, dict[Detail, float]] = {}

    def expect(self, subsystem: Subsystem) -> None:
        """Uses the subsystem's own guess where nothing was calibrated."""
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
        """The number of runs of eBPF programs for each counted event."""
        known = self._events.get((subsystem, detail))
        return known.runs if known else 1.0

    def _all_ns(self, subsystem: str, detail: Detail) -> float:
        known = self._events.get((subsystem, detail))
        return known.ns if known else self._guessed.get(subsystem, GUESSED)[detail]


def _key(cost: Cost) -> tuple[str, Detail]:
    return cost.subsystem, Detail[cost.detail.upper()]


@dataclass
class Rates:
    """Per second: runs [CPU] and events [CPU, point], seen at the level `detail`."""

    detail: Detail
    runs: NDArray[np.float64]
    events: NDArray[np.float64]


@dataclass
class Governed:
    """One subsystem: the points and details wanted, its state, and its share of the budget."""

    name: str
    probes: Probes
    wanted: dict[int, Detail]
    tracing: frozenset[int] = frozenset()
    detail: Detail = Detail.DURATION
    on_since_ns: int | None = None  # monotonic; None: detached
    attached: tuple[Detail, dict[int, Detail], frozenset[int]] | None = None
    active_ns: int = 0  # in earlier attachments
    share_ns: float = 0.0  # of the budget of this interval
    saved_ns: float = 0.0  # shares saved while detached
    switching_ns: int = 0  # cost of the last detaching and attaching
    rates: Rates | None = None

    def active_until(self, now_ns: int) -> int:
        """The time for which it was attached until `now_ns`, in ns."""
        since = self.on_since_ns
        return self.active_ns + (now_ns - since if since is not None else 0)


@dataclass(frozen=True)
class IntervalCost:
    """The cost of a subsystem in an interval, in ns of the CPU charged most."""

    subsystem: str
    detail: Detail
    active_ns: int
    estimated_ns: int
    events: int


@dataclass(frozen=True)
class IdleLimits:
    """Limits of the cost of an interval, in ns, below which `begin` would change nothing.

    `share_ns`: of each subsystem; `whole_ns`: of all and this process. None: no limit.
    """

    share_ns: int | None
    whole_ns: int | None
    renewal_ns: int  # the quota of each subsystem in the next interval; 0: none
    sums: Sums  # at the begin of the interval
    since: Moment


@dataclass(frozen=True)
class Moment:
    """A time of the monotonic clock, and the processor time of this process then."""

    time_ns: int
    own_ns: int


class Governor:
    """Chooses levels of detail and quotas. Any thread may call it.

    Call `begin` at the begin of each interval, `end` at its end, `stop` at last. `end` may be
    called more often: it returns the costs since its last call.
    `budget`: a share of a processor's time; None: unlimited."""

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
        """`interval_s`: the expected length of an interval. `clock`: returns the monotonic time,
        `own` the processor time of this process, both in ns."""
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
        # Begin of the interval of the current budget; last call of `end`; call of `stop`.
        self._started = self._ended = self._stopped = Moment(0, 0)
        self._at_begin = self._at_end = self._read(0)
        self._debt_ns = 0.0
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Starts an interval: chooses details and quotas by the rates until the last `end`."""
        with self._lock:
            charged = self._close()
            amount = self._amount()
            share = self._idle_share(amount)
            if (
                self._is_on
                and self._is_at_full_detail()
                and (share is None or max(charged, default=0) <= share)
            ):
                self._renew_quotas(amount)
            else:
                self._redistribute(amount)
            if not self._is_on:
                self._start()
            self._started, self._at_begin = self._ended, self._at_end

    def _start(self) -> None:
        """Starts all subsystems at the same time, once they are attached, which is not charged to
        an interval."""
        self._is_on, self._ended = True, self._now()
        for one in self._subsystems.values():
            if one.on_since_ns is not None:
                one.on_since_ns = self._ended.time_ns
                one.probes.pause(paused=False)

    @property
    def ended(self) -> Moment:
        """The begin of the first interval, and then the end of the last one."""
        return self._ended

    def idle_limits(self) -> IdleLimits | None:
        """The limits within which this interval may end with `finish_idle` in place of `end` and
        `begin`. None: `begin` may have to change something.
        """
        with self._lock:
            amount = self._amount()
            share = self._idle_share(amount)
            if not (self._is_on and self._is_at_full_detail()):
                return None
            sums, since = self._at_begin.sums, self._started
            if self._budget is None or amount is None or share is None:
                return IdleLimits(None, None, 0, sums, since)
            whole = 1e9 * self._budget * self._interval_s
            renewal = amount / len(self._subsystems)
            return IdleLimits(int(share), int(whole), int(renewal), sums, since)

    def finish_idle(self, sums: Sums, end: Moment) -> None:
        """Accounts for intervals within the limits that ended without `end`, the last one at
        `end`."""
        with self._lock:
            active_ns = [one.active_until(end.time_ns) for one in self._subsystems.values()]
            self._at_end, self._ended = Snapshot(sums, active_ns), end
            self._close()
            self._started, self._at_begin = self._ended, self._at_end

    def _close(self) -> list[int]:
        """Updates the debt; returns the cost of each subsystem in the interval."""
        change = self.counters.change(self._at_begin.sums, self._at_end.sums)
        self._update_debt(change.whole)
        return change.charged

    def _is_at_full_detail(self) -> bool:
        """Whether all subsystems are attached at full detail with known rates."""
        return all(
            one.on_since_ns is not None and one.rates is not None and one.detail == Detail.DURATION
            for one in self._subsystems.values()
        )

    def _idle_share(self, amount: float | None) -> float | None:
        """The cost in ns below which no subsystem needs the unused share of another."""
        return None if amount is None else FILLING * amount / max(len(self._subsystems), 1)

    def _renew_quotas(self, amount: float | None) -> None:
        if amount is None:
            return
        for one in self._subsystems.values():
            one.share_ns = amount / len(self._subsystems)
            one.probes.set_quota(one.share_ns)

    def _redistribute(self, amount: float | None) -> None:
        for number, one in enumerate(self._subsystems.values()):
            sums = self.counters.of(number, self._at_end.sums)
            self._learn(one, sums, self._at_end.active_ns[number])
        shares = self._shares(amount, self._interval_s)
        for one in self._subsystems.values():
            self._enable(one, shares[one.name])

    def set_interval(self, seconds: float) -> None:
        """Sets the length of intervals, from the next one on."""
        with self._lock:
            self._interval_s = seconds

    def want(self, name: str, points: dict[int, Detail], tracing: frozenset[int]) -> None:
        """Sets the points of a subsystem. If it is detached because of its cost, it stays so until
        `begin`."""
        with self._lock:
            one = self._subsystems[name]
            for point in one.wanted.keys() - points.keys():
                one.probes.set(point, Detail.OFF)
            one.wanted, one.tracing = points, tracing
            if one.on_since_ns is not None:
                one.rates = None  # rates of other points
                self._enable(one, self._shares(self._amount(), self._interval_s)[name])

    def refusal(self, name: str, point: int) -> str | None:
        """Why the kernel cannot attach a point; None if it can."""
        with self._lock:
            one = self._subsystems[name]
            if one.probes.detail(point) != Detail.OFF:
                return None
            try:
                one.probes.set(point, Detail.COUNT)
            except SesameError as error:
                return error.message
            if one.on_since_ns is None:
                one.probes.set(point, Detail.OFF)  # `begin` attaches it with the others
            return None

    def on_quota_reached(self, name: str) -> None:
        """Handles the message of the kernel that a CPU reached the subsystem's quota."""
        with self._lock:
            one = self._subsystems[name]
            accounts = one.probes.accounts
            amount = self._amount()
            is_over = (accounts["charged_ns"] >= accounts["quota_ns"]).any()
            if amount is None or one.on_since_ns is None or not is_over:
                return
            if one.detail == Detail.COUNT and self._exceeds_share(one):
                self._detach(one)  # computing rates again would cost more than it could gain
                return
            now_ns = self._clock()
            sums = self.counters.read_one(self._number[name])
            charged_ns = int(self._learn(one, sums, one.active_until(now_ns))[:, CHARGED].max())
            left_s = max(self._interval_s - 1e-9 * (now_ns - self._started.time_ns), 0.0)
            left_ns = self._shares(amount * left_s / self._interval_s, left_s)[name] or 0.0
            one.share_ns = max(one.share_ns, self._shares(amount, self._interval_s)[name] or 0.0)
            try:
                if max(self._demand(one, Detail.COUNT, left_s), MESSAGE_NS) <= left_ns:
                    self._choose_detail(one, left_ns, left_s)
                elif charged_ns + MESSAGE_NS <= one.share_ns:
                    self._attach_at(one, Detail.COUNT, one.share_ns - charged_ns)
                else:
                    self._detach(one)
            except SesameError:  # the coarser programs cannot be attached now
                self._detach(one)

    def _exceeds_share(self, one: Governed) -> bool:
        """Whether even counting costs more than the share."""
        demand = self._demand(one, Detail.COUNT, self._interval_s)
        return one.rates is not None and demand > one.share_ns

    def end(self) -> list[IntervalCost]:
        """The costs since the last call, by subsystem and of this process. Quotas stay until
        `begin`."""
        with self._lock:
            before, self._ended = self._ended, self._now() if self._is_on else self._stopped
            passed_ns = self._ended.time_ns - before.time_ns
            own_ns = self._ended.own_ns - before.own_ns
            return [*self._end(), IntervalCost(OWN, Detail.OFF, passed_ns, own_ns, 0)]

    def stop(self) -> None:
        """Detaches all points. When it returns, counters and traces no longer change.

        Call `end` once more for the last interval, which does not include the detaching.
        """
        with self._lock:
            probes = [one.probes for one in self._subsystems.values()]
            for each in probes:
                each.pause(paused=True)
            if self._is_on:
                self._is_on, self._stopped = False, self._now()
            for each in probes[:1]:
                each.wait()
            for one in self._subsystems.values():
                self._detach(one, self._stopped.time_ns)
            for each in probes[:1]:
                each.wait()

    # ---- Switching ----

    def _detach(self, one: Governed, paused_ns: int | None = None) -> None:
        """`paused_ns`: when it was paused; by default now."""
        if one.on_since_ns is None:
            return
        begin = self._own()
        one.probes.pause(paused=True)
        one.active_ns += (paused_ns or self._clock()) - one.on_since_ns
        one.on_since_ns = None
        for point in one.wanted:
            one.probes.set(point, Detail.OFF)
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
            one.on_since_ns = self._clock()
            if self._is_on:
                one.probes.pause(paused=False)

    def _attach_at(self, one: Governed, detail: Detail, allowed_ns: float | None) -> None:
        """Attaches it at this detail with this quota; None: the quota stays as it is."""
        one.detail = detail
        if allowed_ns is not None:
            one.probes.set_quota(allowed_ns)
        self._attach(one)

    def _enable(self, one: Governed, share_ns: float | None) -> None:
        """Attaches it with its share of an interval, or saves the share."""
        if share_ns is None:
            self._attach_at(one, Detail.DURATION, None)
        elif self._is_worth_it(one, share_ns):
            one.share_ns, one.saved_ns = share_ns + one.saved_ns, 0.0
            self._choose_detail(one, one.share_ns, self._interval_s)
        else:
            one.saved_ns += share_ns

    def _choose_detail(self, one: Governed, share_ns: float, seconds: float) -> None:
        """Attaches it at the finest detail that the share allows for this time."""
        detail = Detail.DURATION
        while detail > Detail.COUNT and self._demand(one, detail, seconds) > FILLING * share_ns:
            detail = Detail(detail - 1)
        self._attach_at(one, detail, share_ns if one.rates is not None else FIRST_SHARE * share_ns)

    def _is_worth_it(self, one: Governed, share_ns: float) -> bool:
        """Whether to attach it, or to leave it attached."""
        if one.on_since_ns is not None or one.rates is None:
            return True
        return (
            self._demand(one, Detail.COUNT, self._interval_s) <= share_ns
            or share_ns + one.saved_ns >= WORTH_SWITCHING * one.switching_ns
        )

    # ---- Estimates ----

    @staticmethod
    def _finest(one: Governed, detail: Detail) -> Detail:
        """The finest detail of its points while the subsystem is at `detail`."""
        points = one.probes.subsystem.points
        each = [min(wanted, detail, points[i].finest) for i, wanted in one.wanted.items()]
        return max(each, default=Detail.OFF)

    def _cost(self, one: Governed, point: int, detail: Detail) -> float:
        """The cost of an event of a point in ns, on top of the run."""
        wanted = one.wanted.get(point, Detail.OFF)
        if wanted == Detail.OFF:
            return 0.0
        extra = TRACE_COST if point in one.tracing else 0.0
        if one.probes.subsystem.points[point].is_sum:
            return extra
        return self._costs.event_ns(one.name, min(wanted, detail)) + extra

    def _demand(self, one: Governed, detail: Detail, seconds: float) -> float:
        """The expected cost in this time, in ns of the CPU charged most; 0 while unknown."""
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
        """The budget of the interval in ns; None: unlimited."""
        if self._budget is None:
            return None
        whole = 1e9 * self._budget * self._interval_s
        return max(whole - max(self._debt_ns, 0.0), LEAST_BUDGET * whole)

    def _shares(self, amount: float | None, seconds: float) -> dict[str, float | None]:
        """Divides an amount equally; what cheap subsystems do not need goes to the others."""
        if amount is None:
            return dict.fromkeys(self._subsystems)
        demands = {
            name: self._demand(one, Detail.DURATION, seconds) / FILLING if one.rates else math.inf
            for name, one in self._subsystems.items()
        }
        shares: dict[str, float | None] = {}
        for done, name in enumerate(sorted(demands, key=lambda name: demands[name])):
            equal = amount / (len(demands) - done)
            shares[name] = equal
            amount -= min(demands[name], equal)
        return shares

    def _learn(self, one: Governed, sums: Sums, active_ns: int) -> Sums:
        """Computes the rates of the interval until now; returns the counts of the interval."""
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
        before, self._at_end = self._at_end, self._read(self._ended.time_ns)
        new = self.counters.change(before.sums, self._at_end.sums)
        return [
            IntervalCost(one.name, one.detail, active_ns - active_before, most_ns, events)
            for one, active_ns, active_before, most_ns, events in zip(
                self._subsystems.values(),
                self._at_end.active_ns,
                before.active_ns,
                new.charged,
                new.events,
                strict=True,
            )
        ]

    def _now(self) -> Moment:
        return Moment(self._clock(), self._own())

    def _update_debt(self, charged_ns: int) -> None:
        """Adds the excess of the interval to the debt, as if this process ran on the CPU charged
        most: it may run on any."""
        if self._budget is None:
            return
        cost = self._ended.own_ns - self._started.own_ns + charged_ns
        allowed = self._budget * (self._ended.time_ns - self._started.time_ns)
        saved = sum(one.saved_ns for one in self._subsystems.values())
        most = MOST_DEBT * 1e9 * self._budget * self._interval_s
        self._debt_ns = min(max(self._debt_ns + cost - allowed, -saved), most)
