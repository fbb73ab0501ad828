"""What worked under which release: the results of each probe, and its last answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sesame.evaluation.cases import all_probes
from sesame.evaluation.periods import DAY, months
from sesame.evaluation.probing import Outcome
from sesame.evaluation.site import Probe, Site
from sesame.evaluation.store import Observation, ProbeCounts, Store


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
    latest: float  # when its last run began, seconds since 1970


@dataclass(frozen=True)
class ProbeSummary:
    """A probe of the site. Lists leave out releases and months in which it did not run."""

    probe: str
    target: str
    aspect: str
    releases: list[ReleaseAnswers]  # in order of appearance
    months: list[Answers]

    def last(self) -> ReleaseAnswers:
        """Of the release that it ran under last: an earlier one may have come back. Needs one."""
        return max(self.releases, key=lambda one: one.latest)


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
    periods = months(begin, end)
    first_days = [int(low // DAY) for _, low, _ in periods]
    days = list(pairwise([*first_days, math.ceil(end / DAY)]))
    probes = all_probes(site, store)
    counts = store.probe_counts([(one.name, one.target.name) for one in probes], days)
    last = _last_observed(store, probes, counts)
    names = [name for name, _, _ in periods]
    found = [_summary(probe, each, last, names) for probe, each in zip(probes, counts, strict=True)]
    return found, _releases(store, [one for each in counts for one in each])


Last = Mapping[tuple[str, str, str], Observation | None]


def _last_observed(
    store: Store, probes: Sequence[Probe], counts: Sequence[Sequence[ProbeCounts]]
) -> Last:
    """The last result by probe, target and release that passed or failed."""
    days: dict[tuple[str, str, str], int] = {}
    for probe, each in zip(probes, counts, strict=True):
        for one in each:
            if one.last_observed is not None:
                key = (probe.name, probe.target.name, one.release)
                days[key] = max(days.get(key, 0), one.last_observed)
    found = store.last_observed([(*key, day) for key, day in days.items()])
    return dict(zip(days, found, strict=True))


def _summary(
    probe: Probe, counts: Sequence[ProbeCounts], last: Last, months: Sequence[str]
) -> ProbeSummary:
    by_release: dict[str, list[ProbeCounts]] = {}
    by_month: dict[str, list[ProbeCounts]] = {}
    for one in counts:
        by_release.setdefault(one.release, []).append(one)
        by_month.setdefault(months[one.period], []).append(one)
    releases = []
    for release, each in by_release.items():
        found = last.get((probe.name, probe.target.name, release))
        works = None if found is None else found.outcome is Outcome.PASS
        latest = max(one.latest for one in each)
        releases.append(ReleaseAnswers(_answers(release, each), works, _why(found), latest))
    return ProbeSummary(
        probe.name,
        probe.target.name,
        probe.aspect,
        releases,
        [_answers(month, each) for month, each in by_month.items()],
    )


def _answers(name: str, counts: Sequence[ProbeCounts]) -> Answers:
    columns = zip(*((one.passed, one.failed, one.unobserved) for one in counts), strict=True)
    return Answers(name, *map(sum, columns))


def _why(last: Observation | None) -> str:
    if last is None:
        return "not observed"
    step = f"step {last.step}: " if last.step else ""
    return "" if last.outcome is Outcome.PASS else f"{step}{last.reason}"


def _releases(store: Store, counts: Iterable[ProbeCounts]) -> list[ReleaseSummary]:
    ends: dict[str, tuple[int, int]] = {}
    for one in counts:
        first, last = ends.get(one.release, (one.first_day, one.last_day))
        ends[one.release] = min(first, one.first_day), max(last, one.last_day)
    facts = store.releases()
    order = {fingerprint: place for place, fingerprint in enumerate(facts)}
    ordered = sorted(ends, key=lambda one: (ends[one][0], order[one]))
    return [
        ReleaseSummary(f"R{place}", one, facts[one], *ends[one])
        for place, one in enumerate(ordered, 1)
    ]
