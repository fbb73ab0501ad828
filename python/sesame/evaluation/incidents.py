"""Incidents of a target: series of failures, unplanned reboots, and what a person entered."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from sesame.evaluation.estimates import Sample
from sesame.evaluation.load import Load
from sesame.evaluation.probing import MAINTENANCE, Outcome, Result
from sesame.evaluation.store import Note, Observation, Store

REBOOT = "unplanned reboot"
Ran = Result | Observation


@dataclass(frozen=True)
class Incident:
    """Began after `not_before` and at `began` at the latest; ended after `last_failed` and at
    `ended` at the latest, which is infinite while it is open."""

    not_before: float
    began: float
    last_failed: float
    ended: float
    cause: str
    probe: str = ""  # whose failure was the first
    load: Load | None = None  # in its first failure
    load_before: Load | None = None  # in the last pass before


@dataclass(frozen=True)
class Failure:
    """A series of failures of one probe. The times are those of an incident."""

    probe: str
    step: str  # of its first failure
    reason: str
    not_before: float
    began: float
    last_failed: float
    ended: float
    runs: int  # that failed
    load: Load | None = None  # as of an incident
    load_before: Load | None = None

    @property
    def cause(self) -> str:
        step = f"step {self.step}: " if self.step else ""
        return f"{self.probe}: {step}{self.reason or 'it failed'}"


Series = TypeVar("Series", Incident, Failure)


def incidents_of(
    results: Sequence[Ran], reboots: Iterable[float], notes: Iterable[Note]
) -> list[Incident]:
    """The incidents, in order. Those that overlap are one. What lies in planned maintenance is no
    incident; a failure that lasts longer begins with the first one after it. `results` are those
    of the probes of availability, in order."""
    entered = list(notes)
    passes = [one.began for one in results if one.outcome is Outcome.PASS]
    found = [
        Incident(one.not_before, one.began, one.last_failed, one.ended, one.cause, one.probe)
        for one in failures_of(results, entered)
    ]
    for at in reboots:
        if not is_planned(at, entered):
            last = bisect_left(passes, at)
            found.append(Incident(passes[last - 1] if last else at, at, at, at, REBOOT))
    found += [
        Incident(note.began, note.began, note.ended, note.ended, note.text)
        for note in entered
        if not note.planned
    ]
    return _merged(sorted(found, key=lambda one: (one.not_before, one.began)))


def with_loads(
    store: Store, target: str, found: Sequence[Series], results: Iterable[Observation]
) -> list[Series]:
    """With the loads of the first failure and of the pass before, where they are known: from
    `results` or, as these are not all, from the store."""
    loads = {(one.probe, one.began): one.load for one in results if one.load is not None}
    wanted = [(one.probe, at) for one in found for at in (one.began, one.not_before)]
    missing = [one for one in wanted if one not in loads]
    asked = store.loads_at([(probe, target, at) for probe, at in missing])
    loads |= {one: load for one, load in zip(missing, asked, strict=True) if load is not None}
    return [
        replace(
            one,
            load=loads.get((one.probe, one.began)),
            load_before=loads.get((one.probe, one.not_before))
            if one.not_before < one.began
            else None,
        )
        for one in found
    ]


def is_planned(time: float, notes: Iterable[Note]) -> bool:
    return any(note.planned and note.began <= time <= note.ended for note in notes)


def is_joined(result: Ran) -> bool:
    return isinstance(result, Observation) and result.is_joined


def samples_of(
    results: Iterable[Ran], notes: Sequence[Note], maintenance_is_available: bool
) -> list[Sample]:
    """The states that results show. Planned maintenance counts as the site file says."""
    samples = []
    planned = [note for note in notes if note.planned]
    for result in results:
        if maintenance_is_available and _in_maintenance(result, planned):
            samples.append(Sample(result.began, True, is_joined(result)))
        elif result.outcome is not Outcome.NOT_OBSERVED:
            is_up = result.outcome is Outcome.PASS
            samples.append(Sample(result.began, is_up, is_joined(result)))
    return samples


def _in_maintenance(result: Ran, notes: Sequence[Note]) -> bool:
    """By a note, or because the target's own system said so when it was probed."""
    return result.reason.startswith(MAINTENANCE) or (
        bool(notes) and is_planned(result.began, notes)
    )


def failures_of(results: Iterable[Ran], notes: Sequence[Note]) -> list[Failure]:
    """The series of failures of each probe, each until its next pass. Failures in planned
    maintenance are left out. `results` are in order."""
    found: list[Failure] = []
    latest: dict[str, float] = {}
    open_ones: dict[str, Failure] = {}
    for result in results:
        name = result.probe
        if result.outcome is Outcome.FAIL and not is_planned(result.began, notes):
            begin, at = latest.get(name, result.began), result.began
            new = Failure(name, result.step, result.reason, begin, at, at, math.inf, 0)
            first = open_ones.get(name, new)
            open_ones[name] = replace(first, last_failed=at, runs=first.runs + 1)
        elif result.outcome is Outcome.PASS:
            latest[name] = result.began
            if name in open_ones:
                found.append(replace(open_ones.pop(name), ended=result.began))
    return [*found, *open_ones.values()]


def _merged(ordered: Iterable[Incident]) -> list[Incident]:
    found: list[Incident] = []
    for one in ordered:
        if found and one.not_before < found[-1].ended:
            last = found[-1]
            causes = dict.fromkeys([*last.cause.split("; "), one.cause])
            found[-1] = Incident(
                last.not_before,
                min(last.began, one.began),
                max(last.last_failed, one.last_failed),
                max(last.ended, one.ended),
                "; ".join(causes),
                (last if last.began <= one.began else one).probe,
            )
        else:
            found.append(one)
    return found
