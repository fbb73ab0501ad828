"""What happened in a period: findings in words, and what the tables and plots of a report show."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from sesame.evaluation.absences import prober_off
from sesame.evaluation.curves import CurveSummary, curve_summaries
from sesame.evaluation.failures import ProbeFailures, probe_failures
from sesame.evaluation.findings import findings_of
from sesame.evaluation.functions import (
    ProbeSummary,
    ReleaseSummary,
    probe_summaries,
)
from sesame.evaluation.levels import SeriesSummary, series_summaries
from sesame.evaluation.periods import DAY
from sesame.evaluation.site import Site
from sesame.evaluation.store import Note, Store
from sesame.evaluation.stretches import TargetSummary, Unseen, target_summaries


@dataclass(frozen=True)
class Summary:
    """All of a period. Times are seconds since 1970."""

    site: str
    begin: float
    end: float
    targets: list[TargetSummary]
    unseen: list[Unseen]  # when the prober did not run for any target
    failures: list[ProbeFailures]  # of probes that are none of availability
    probes: list[ProbeSummary]
    series: list[SeriesSummary]
    curves: list[CurveSummary]
    releases: list[ReleaseSummary]
    notes: list[Note]
    findings: list[str]

    def as_json(self) -> dict[str, Any]:
        """Infinite limits are null."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain


def state_of(site: Site, store: Store, now: float) -> tuple[list[TargetSummary], list[Unseen]]:
    """The targets, and when the prober did not run, far enough back for the begin of all that lasts
    until now."""
    probes = [(one.name, one.target.name) for one in site.probes.values()]
    begin = min(store.all_passed_since(probes), now - DAY)
    unseen = prober_off(site, store, begin, now)
    return target_summaries(site, store, begin, now, False, unseen), unseen


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.item() if hasattr(value, "item") else value


def summarize(
    site: Site, store: Store, begin: float, end: float, *, mid_p: bool = False
) -> Summary:
    """The summary of [begin, end). Needs begin < end."""
    unseen = prober_off(site, store, begin, end)
    targets = target_summaries(site, store, begin, end, mid_p, unseen)
    failures = probe_failures(site, store, begin, end)
    probes, releases = probe_summaries(site, store, begin, end)
    series = series_summaries(site, store, begin, end)
    fingerprints = [one.fingerprint for one in releases]
    curves = curve_summaries(site, store, begin, end, fingerprints)
    notes = [note for note in store.notes() if note.began < end and note.ended >= begin]
    return Summary(
        site.name,
        begin,
        end,
        targets,
        unseen,
        failures,
        probes,
        series,
        curves,
        releases,
        notes,
        findings_of(targets, unseen, failures, probes, series, releases),
    )
