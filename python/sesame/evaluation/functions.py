"""What worked under which release: the results of each probe, and its last answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
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


def probe_summaries(site: Site, store: Store, begin: float, end: float) -> list[ProbeSummary]:
    """Counts are of whole days."""
    return [_summary(store, probe, begin, end) for probe in all_probes(site, store)]


def _summary(store: Store, probe: Probe, begin: float, end: float) -> ProbeSummary:
    name, target = probe.name, probe.target.name
    bounds = int(begin // DAY), math.ceil(end / DAY)
    days = store.probe_days(name, target, *bounds)
    by_release: dict[str, list[ProbeDay]] = {}
    for day in days:
        by_release.setdefault(day.release, []).append(day)
    releases = []
    for release, each in by_release.items():
        last = _last_observed(store, probe, release, each)
        works = None if last is None else last.outcome is Outcome.PASS
        releases.append(ReleaseAnswers(_answers(release, each), works, _why(last)))
    by_month = []
    for month, low, high in months(begin, end):
        first, last_day = int(low // DAY), math.ceil(high / DAY)
        each = [day for day in days if first <= day.day < last_day]
        if each:
            by_month.append(_answers(month, each))
    return ProbeSummary(name, target, probe.aspect, releases, by_month)


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


def release_summaries(site: Site, store: Store, begin: float, end: float) -> list[ReleaseSummary]:
    """The releases of the period."""
    known = [(probe.name, probe.target.name) for probe in site.probes.values()]
    bounds = int(begin // DAY), math.ceil(end / DAY)
    ends: dict[str, tuple[int, int]] = {}
    for name, target in known:
        for day in store.probe_days(name, target, *bounds):
            first, last = ends.get(day.release, (day.day, day.day))
            ends[day.release] = min(first, day.day), max(last, day.day)
    facts = store.releases()
    order = {fingerprint: place for place, fingerprint in enumerate(facts)}
    ordered = sorted(ends, key=lambda one: (ends[one][0], order[one]))
    return [
        ReleaseSummary(f"R{place}", one, facts[one], *ends[one])
        for place, one in enumerate(ordered, 1)
    ]
