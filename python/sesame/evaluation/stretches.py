"""Availability, reboots and incidents of a target by month and by week."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sesame.evaluation.estimates import (
    Availability,
    Span,
    State,
    availability_of,
    combined,
    cut,
    mean_time_to_incident,
    overlaid,
    spans_of,
    time_up,
)
from sesame.evaluation.incidents import Incident, incidents_of, samples_of, with_loads
from sesame.evaluation.periods import WEEK, months, part_of, parts, weeks
from sesame.evaluation.probing import MAINTENANCE
from sesame.evaluation.site import Probe, Site
from sesame.evaluation.store import Note, Observation, Store
from sesame.trust import Estimate

NO_PROBER = "the prober did not run"
NO_PROBE = "no probe of its availability ran"
GAP_INTERVALS = 1.5  # samples further apart leave the time between them unobserved


@dataclass(frozen=True)
class Stretch:
    """Availability and incidents of a target in a month, a week or the whole period."""

    name: str
    begin: float
    end: float
    availability: Availability
    reboots: int
    incidents: int
    time_to_incident: Estimate | None  # seconds; None if none of the time counts


@dataclass(frozen=True)
class Unseen:
    """A time that was not observed, and why."""

    begin: float
    end: float
    reason: str
    is_of_all: bool = False  # the prober did not run for any target


@dataclass(frozen=True)
class TargetSummary:
    """A target whose availability is probed. `parts` are those that suit the period, each a `part`
    (periods.PARTS, or a week)."""

    target: str
    whole: Stretch
    months: list[Stretch]
    weeks: list[Stretch]
    part: str
    parts: list[Stretch]
    incidents: list[Incident]
    unseen: list[Unseen]


def target_summaries(
    site: Site,
    store: Store,
    begin: float,
    end: float,
    mid_p: bool,
    off: Sequence[Unseen] = (),
) -> list[TargetSummary]:
    """Of all targets with probes of availability. `off`: when the prober did not run at all. Needs
    begin < end."""
    by_target: dict[str, list[Probe]] = {}
    for probe in site.probes.values():
        if probe.availability:
            by_target.setdefault(probe.target.name, []).append(probe)
    return [
        _Target(site, store, name, probes, (begin, end), mid_p).summary(off)
        for name, probes in by_target.items()
    ]


class _Target:
    """Makes the stretches of a target."""

    def __init__(
        self,
        site: Site,
        store: Store,
        name: str,
        probes: Sequence[Probe],
        period: tuple[float, float],
        mid_p: bool,
    ) -> None:
        self._store = store
        self._name, self._period, self._mid_p = name, period, mid_p
        begin, end = period
        self._part = part_of(begin, end, min(probe.interval for probe in probes))
        self._longest_gap = GAP_INTERVALS * max(probe.interval for probe in probes)
        self._may_run = max(
            self._longest_gap,
            *(probe.interval + time_limit(site, probe) for probe in probes),
        )
        self._reboots = store.boots(name, is_here=site.targets[name].is_here)
        ran = {
            probe.name: store.observations(
                probe.name, name, begin, end, GAP_INTERVALS * probe.interval, self._reboots
            )
            for probe in probes
        }
        self._ran = sorted((one for each in ran.values() for one in each), key=lambda one: one[1])
        notes = _touching(store.notes(name), self._ran, period)
        self._incidents = incidents_of(self._ran, self._reboots, notes)
        self._begins = sorted(one.began for one in self._incidents)
        planned = [(note.began, note.ended) for note in notes if note.planned]
        is_up = site.maintenance_is_available
        spans = self._spans_of(probes, ran, notes, is_up)
        self._spans = overlaid(spans, planned, State.UP) if is_up else spans
        # Failures in maintenance are no incidents, so its time is none in which they are counted.
        tried = {
            name: [one for one in each if not one.reason.startswith(MAINTENANCE)]
            for name, each in ran.items()
        }
        spans = self._spans_of(probes, tried, notes, True)
        self._exposed = overlaid(spans, planned, State.UNSEEN)

    def _spans_of(
        self,
        probes: Sequence[Probe],
        ran: Mapping[str, Sequence[Observation]],
        notes: Sequence[Note],
        maintenance_is_available: bool,
    ) -> list[Span]:
        every = []
        for probe in probes:
            samples = samples_of(ran[probe.name], notes, maintenance_is_available)
            longest = GAP_INTERVALS * probe.interval
            every.append(spans_of(samples, *self._period, longest, self._reboots))
        return combined(every)

    def summary(self, off: Sequence[Unseen]) -> TargetSummary:
        begin, end = self._period
        by_week = self._stretches(weeks(begin, end))
        part = self._part
        return TargetSummary(
            self._name,
            self._stretch("all", begin, end),
            self._stretches(months(begin, end)),
            by_week,
            part,
            by_week if part == WEEK else self._stretches(parts(begin, end, part)),
            with_loads(
                self._store,
                self._name,
                [one for one in self._incidents if one.began < end and one.ended >= begin],
                self._ran,
            ),
            self._unseen(off),
        )

    def _stretches(self, periods: Sequence[tuple[str, float, float]]) -> list[Stretch]:
        return [self._stretch(*one) for one in periods]

    def _stretch(self, name: str, begin: float, end: float) -> Stretch:
        found = availability_of(cut(self._spans, begin, end))
        count = _between(self._begins, begin, end)
        exposed = time_up(cut(self._exposed, begin, end))
        time = mean_time_to_incident(count, exposed, mid_p=self._mid_p) if exposed > 0 else None
        reboots = _between(self._reboots, begin, end)
        return Stretch(name, begin, end, found, reboots, count, time)

    def _unseen(self, off: Sequence[Unseen]) -> list[Unseen]:
        """The times since the first result, without that since the last which the next result may
        still close."""
        found = []
        if not self._ran:
            return []
        first, last = self._ran[0].began, self._ran[-1].began
        if self._period[1] - last > self._may_run:
            last = self._period[1]
        for one in self._spans:
            if one.state is State.UNSEEN and one.begin >= first and one.end <= last:
                inside = self._ran[
                    bisect_left(self._ran, one.begin, key=lambda ran: ran.began) + 1 : bisect_left(
                        self._ran, one.end, key=lambda ran: ran.began
                    )
                ]
                reasons = dict.fromkeys(ran.reason for ran in inside if ran.reason)
                rest = one.length - sum(_overlap(one, each) for each in off)
                is_of_all = not reasons and rest <= self._longest_gap and rest < one.length
                reason = NO_PROBER if is_of_all else "; ".join(list(reasons)[:3]) or NO_PROBE
                found.append(Unseen(one.begin, one.end, reason, is_of_all))
        return found


def time_limit(site: Site, probe: Probe) -> float:
    """That a probe of the same target may hold up this one."""
    queue = probe.target.queue
    waits = queue.limit if queue else 0.0
    return max(
        sum(step.timeout + (waits if step.launch else 0.0) for step in one.steps)
        for one in site.probes.values()
        if one.target.name == probe.target.name
    )


def _touching(
    notes: Sequence[Note], ran: Sequence[Observation], period: tuple[float, float]
) -> list[Note]:
    """The notes that touch the period or the results just outside of it."""
    begin = min([period[0], *(one.began for one in ran[:1])])
    end = max([period[1], *(one.began for one in ran[-1:])])
    return [note for note in notes if note.began <= end and note.ended >= begin]


def _overlap(one: Span, other: Unseen) -> float:
    return max(min(one.end, other.end) - max(one.begin, other.begin), 0.0)


def _between(times: Sequence[float], begin: float, end: float) -> int:
    return bisect_left(times, end) - bisect_left(times, begin)
