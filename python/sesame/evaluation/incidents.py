"""Incidents of a target: series of failures, unplanned reboots, and what a person entered."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sesame.evaluation.estimates import Sample
from sesame.evaluation.probing import Outcome, Result
from sesame.evaluation.store import Note


@dataclass(frozen=True)
class Incident:
    """Began after `not_before` and at `began` at the latest; ended after the last failure, at
    `ended` at the latest. `ended` is infinite while it is open."""

    not_before: float
    began: float
    ended: float
    cause: str


def incidents_of(
    results: Sequence[Result], reboots: Iterable[float], notes: Iterable[Note]
) -> list[Incident]:
    """The incidents, in order. Those that overlap are one. What lies in planned maintenance is no
    incident. `results` are those of the probes of availability, in order."""
    entered = list(notes)
    found = _series(results) + [
        Incident(_last_pass(results, at), at, at, "unplanned reboot") for at in reboots
    ]
    found += [
        Incident(note.began, note.began, note.ended, note.text)
        for note in entered
        if not note.planned
    ]
    unplanned = [one for one in found if not is_planned(one.began, entered)]
    return _merged(sorted(unplanned, key=lambda one: (one.not_before, one.began)))


def is_planned(time: float, notes: Iterable[Note]) -> bool:
    return any(note.planned and note.began <= time <= note.ended for note in notes)


def samples_of(
    results: Iterable[Result], notes: Sequence[Note], maintenance_is_available: bool
) -> list[Sample]:
    """The states that results show. Planned maintenance counts as the site file says."""
    samples = []
    for result in results:
        if maintenance_is_available and is_planned(result.began, notes):
            samples.append(Sample(result.began, True))
        elif result.outcome is not Outcome.NOT_OBSERVED:
            samples.append(Sample(result.began, result.outcome is Outcome.PASS))
    return samples


def _series(results: Sequence[Result]) -> list[Incident]:
    """The series of failures of each probe, each until its next pass."""
    found: list[Incident] = []
    latest: dict[str, float] = {}
    open_ones: dict[str, Incident] = {}
    for result in results:
        name = result.probe
        if result.outcome is Outcome.FAIL and name not in open_ones:
            cause = f"{name}: step {result.step}: {result.reason}"
            begin = latest.get(name, result.began)
            open_ones[name] = Incident(begin, result.began, math.inf, cause)
        elif result.outcome is Outcome.PASS:
            latest[name] = result.began
            if name in open_ones:
                found.append(replace(open_ones.pop(name), ended=result.began))
    return [*found, *open_ones.values()]


def _last_pass(results: Sequence[Result], before: float) -> float:
    return max(
        (one.began for one in results if one.outcome is Outcome.PASS and one.began < before),
        default=before,
    )


def _merged(ordered: Iterable[Incident]) -> list[Incident]:
    found: list[Incident] = []
    for one in ordered:
        if found and one.not_before < found[-1].ended:
            last = found[-1]
            causes = dict.fromkeys([*last.cause.split("; "), one.cause])
            found[-1] = Incident(
                last.not_before,
                min(last.began, one.began),
                max(last.ended, one.ended),
                "; ".join(causes),
            )
        else:
            found.append(one)
    return found
