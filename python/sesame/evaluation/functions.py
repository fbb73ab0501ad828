"""What worked under which release: the results of each probe, and its last answer."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sesame.evaluation.cases import all_probes
from sesame.evaluation.periods import DAY, months
from sesame.evaluation.probing import Outcome, Result
from sesame.evaluation.site import Probe, Site
from sesame.evaluation.store import ProbeDay, Store


@dataclass(frozen=True)
class Answers:
    """The results of a probe under a release, or in a month."""

    name: str  # the release's fingerprint, or the month
    passed: int
    failed: int
    unobserved: int


@dataclass(frozen=True)
class ReleaseAnswers:
    """The results of a probe under a release. `works` is that of its last run that was observed;
    None if there is none."""

    answers: Answers
    works: bool | None
    why: str  # it does not work, or was not observed


@dataclass(frozen=True)
class ProbeSummary:
    """A probe of the site. Lists leave out releases and months in which it did not run."""

    probe: str
    target: str
    aspect: str
    releases: list[ReleaseAnswers]
    months: list[Answers]


@dataclass(frozen=True)
class ReleaseSummary:
    """A release and what differs from the one before."""

    name: str  # R1, R2, … in order of appearance
    fingerprint: str
    facts: dict[str, str]
    first_day: int  # on which a probe of the period ran under it, in days since 1970
    last_day: int


def probe_summaries(
    site: Site, store: Store, begin: float, end: float
) -> tuple[list[ProbeSummary], list[ReleaseSummary]]:
    """The probes, and the releases they ran under. Counts are of whole days."""
    bounds = int(begin // DAY), math.ceil(end / DAY)
    days = [
        (probe, store.probe_days(probe.name, probe.target.name, *bounds))
        for probe in all_probes(site, store)
    ]
    periods = months(begin, end)
    probes = [_summary(store, *one, periods) for one in days]
    return probes, _releases(store, [each for _, each in days])


def _summary(
    store: Store,
    probe: Probe,
    days: Sequence[ProbeDay],
    periods: Sequence[tuple[str, float, float]],
) -> ProbeSummary:
    by_release: dict[str, list[ProbeDay]] = {}
    by_month: dict[str, list[ProbeDay]] = {}
    begins = [int(low // DAY) for _, low, _ in periods]
    for day in days:
        by_release.setdefault(day.release, []).append(day)
        month = periods[max(bisect_right(begins, day.day) - 1, 0)][0]
        by_month.setdefault(month, []).append(day)
    releases = []
    for release, each in by_release.items():
        last = _last_observed(store, probe, release, each)
        works = None if last is None else last.outcome is Outcome.PASS
        releases.append(ReleaseAnswers(_answers(release, each), works, _why(last)))
    return ProbeSummary(
        probe.name,
        probe.target.name,
        probe.aspect,
        releases,
        [_answers(month, each) for month, each in by_month.items()],
    )


def _answers(name: str, days: Sequence[ProbeDay]) -> Answers:
    counts = zip(*((day.passed, day.failed, day.unobserved) for day in days), strict=True)
    return Answers(name, *map(sum, counts))


def _last_observed(
    store: Store, probe: Probe, release: str, days: Sequence[ProbeDay]
) -> Result | None:
    for day in reversed(days):
        if day.passed + day.failed > 0:
            begin = day.day * DAY
            for one in reversed(store.results(probe.name, probe.target.name, begin, begin + DAY)):
                is_it = one.release["fingerprint"] == release
                if is_it and one.outcome is not Outcome.NOT_OBSERVED:
                    return one
    return None


def _why(last: Result | None) -> str:
    if last is None:
        return "not observed"
    step = f"step {last.step}: " if last.step else ""
    return "" if last.outcome is Outcome.PASS else f"{step}{last.reason}"


def _releases(store: Store, days: Iterable[Sequence[ProbeDay]]) -> list[ReleaseSummary]:
    ends: dict[str, tuple[int, int]] = {}
    for each in days:
        for day in each:
            first, last = ends.get(day.release, (day.day, day.day))
            ends[day.release] = min(first, day.day), max(last, day.day)
    facts = store.releases()
    order = {fingerprint: place for place, fingerprint in enumerate(facts)}
    ordered = sorted(ends, key=lambda one: (ends[one][0], order[one]))
    return [
        ReleaseSummary(f"R{place}", one, facts[one], *ends[one])
        for place, one in enumerate(ordered, 1)
    ]
