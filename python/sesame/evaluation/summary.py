"""What happened in a period: findings in words and the tables of a report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sesame.evaluation.changes import Change, changes
from sesame.evaluation.estimates import Availability, availability, mean_time_to_incident
from sesame.evaluation.incidents import Incident, incidents_of, samples_of
from sesame.evaluation.periods import DAY, months, shown, weeks
from sesame.evaluation.probing import Figure, Outcome, Result
from sesame.evaluation.site import Probe, Site
from sesame.evaluation.store import Note, Store
from sesame.trust import Estimate

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
    time_to_incident: Estimate | None  # seconds; None if nothing was observed


@dataclass(frozen=True)
class TargetSummary:
    """A target whose availability is probed."""

    target: str
    whole: Stretch
    months: list[Stretch]
    weeks: list[Stretch]
    incidents: list[Incident]


@dataclass(frozen=True)
class SeriesChange:
    """A change of a figure, and what changed in the release between the runs around it."""

    probe: str
    target: str
    figure: str
    unit: str
    at: float  # of the first run after it
    change: Change
    release_changes: dict[str, tuple[str, str]]


@dataclass(frozen=True)
class Summary:
    """All of a period. Times are seconds since 1970."""

    site: str
    begin: float
    end: float
    targets: list[TargetSummary]
    counts: list[dict[str, Any]]  # of outcomes, by probe and month
    figures: list[dict[str, Any]]  # by probe, figure and release
    changes: list[SeriesChange]
    releases: dict[str, dict[str, str]]
    findings: list[str]

    def as_json(self) -> dict[str, Any]:
        """Infinite limits are null."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def summarize(
    site: Site, store: Store, begin: float, end: float, *, mid_p: bool = False
) -> Summary:
    """The summary of [begin, end). Needs begin < end."""
    results = {
        name: store.results(name, probe.target.name, begin, end)
        for name, probe in site.probes.items()
    }
    notes, reboots = store.notes(), store.boots()[1:]  # the first boot was before the first run
    by_target: dict[str, list[Probe]] = {}
    for probe in site.probes.values():
        if probe.availability:
            by_target.setdefault(probe.target.name, []).append(probe)
    targets = [
        _Target(
            name, probes, results, notes, reboots, site.maintenance_is_available, mid_p
        ).summary(begin, end)
        for name, probes in by_target.items()
    ]
    releases = store.releases()
    found = [
        one
        for name, ran in results.items()
        for one in _changes_of(site.probes[name], _within(ran, begin, end), releases)
    ]
    return Summary(
        site.name,
        begin,
        end,
        targets,
        _counts(store, begin, end),
        _figures(store, begin, end),
        found,
        releases,
        [
            *(line for one in targets for line in _target_findings(one)),
            # A false alarm often has an interval that holds 0; it stays in the JSON only.
            *(
                _finding(one)
                for one in found
                if not one.change.size.low <= 0 <= one.change.size.high
            ),
        ],
    )


def _within(results: Sequence[Result], begin: float, end: float) -> list[Result]:
    return [one for one in results if begin <= one.began < end]


class _Target:
    """Makes the stretches of a target."""

    def __init__(
        self,
        name: str,
        probes: Sequence[Probe],
        results: Mapping[str, Sequence[Result]],
        notes: Sequence[Note],
        reboots: Sequence[float],
        maintenance_is_available: bool,
        mid_p: bool,
    ) -> None:
        self._name = name
        ran = [one for probe in probes for one in results[probe.name]]
        ran.sort(key=lambda one: one.began)
        self._incidents = incidents_of(ran, reboots, notes)
        self._samples = samples_of(ran, notes, maintenance_is_available)
        self._reboots = reboots
        self._longest_gap = GAP_INTERVALS * min(probe.interval for probe in probes)
        self._mid_p = mid_p

    def summary(self, begin: float, end: float) -> TargetSummary:
        return TargetSummary(
            self._name,
            self._stretch("all", begin, end),
            [self._stretch(*one) for one in months(begin, end)],
            [self._stretch(*one) for one in weeks(begin, end)],
            [one for one in self._incidents if one.began < end and one.ended >= begin],
        )

    def _stretch(self, name: str, begin: float, end: float) -> Stretch:
        found = availability(self._samples, begin, end, self._longest_gap, reboots=self._reboots)
        count = sum(begin <= one.began < end for one in self._incidents)
        time = None
        if found.estimate is not None and found.estimate.value > 0:
            exposed = found.estimate.value * found.observed * (end - begin)
            time = mean_time_to_incident(count, exposed, mid_p=self._mid_p)
        boots = sum(begin <= one < end for one in self._reboots)
        return Stretch(name, begin, end, found, boots, count, time)


def _counts(store: Store, begin: float, end: float) -> list[dict[str, Any]]:
    """From the counts of days, so the days at the ends count whole."""
    rows = []
    for name, low, high in months(begin, end):
        sums: dict[tuple[str, str], list[int]] = {}
        for day in store.days(int(low // DAY), math.ceil(high / DAY)):
            row = sums.setdefault((day.probe, day.target), [0, 0, 0])
            for index, count in enumerate((day.passed, day.failed, day.unobserved)):
                row[index] += count
        for (probe, target), counts in sums.items():
            outcomes = zip(("pass", "fail", "not observed"), counts, strict=True)
            rows.append({"probe": probe, "target": target, "month": name, **dict(outcomes)})
    return rows


def _figures(store: Store, begin: float, end: float) -> list[dict[str, Any]]:
    sums: dict[tuple[str, ...], list[float]] = {}
    for *key, _, count, total, least, most in store.figure_days(
        int(begin // DAY), math.ceil(end / DAY)
    ):
        row = sums.setdefault(tuple(key), [0, 0.0, math.inf, -math.inf])
        row[:] = row[0] + count, row[1] + total, min(row[2], least), max(row[3], most)
    names = ("probe", "target", "figure", "unit", "release")
    return [
        {
            **dict(zip(names, key, strict=True)),
            "runs": int(count),
            "mean": total / count,
            "least": least,
            "most": most,
        }
        for key, (count, total, least, most) in sums.items()
    ]


def _changes_of(
    probe: Probe, results: Sequence[Result], releases: Mapping[str, dict[str, str]]
) -> list[SeriesChange]:
    series: dict[tuple[str, str], list[tuple[Result, Figure]]] = {}
    for result in results:
        if result.outcome is Outcome.PASS:
            for figure in result.figures:
                series.setdefault((figure.name, figure.unit), []).append((result, figure))
    found = []
    for (name, unit), runs in series.items():
        for change in changes([figure.value for _, figure in runs]):
            before, after = (runs[change.first_after - back][0] for back in (1, 0))
            differs = _differences(
                releases[before.release["fingerprint"]], releases[after.release["fingerprint"]]
            )
            found.append(
                SeriesChange(
                    probe.name, probe.target.name, name, unit, after.began, change, differs
                )
            )
    return found


def _differences(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    names = sorted({*old, *new})
    pairs = {name: (old.get(name, "none"), new.get(name, "none")) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _target_findings(target: TargetSummary) -> list[str]:
    whole = target.whole
    found = whole.availability
    if found.estimate is None:
        return [f"{target.target}: not observed"]
    estimate = found.estimate
    lines = [
        f"{target.target}: available {percent(estimate.value)} "
        f"({percent(estimate.low)} to {percent(estimate.high)}) of the "
        f"{percent(found.observed)} of the time that was observed; "
        f"{percent(found.low)} to {percent(found.high)} of all time"
    ]
    noun = "incident" if whole.incidents == 1 else "incidents"
    lines.append(f"{target.target}: {whole.incidents} {noun}, {mean_time(whole.time_to_incident)}")
    for one in target.incidents:
        until = "open" if math.isinf(one.ended) else f"until {shown(one.ended)}"
        lines.append(f"{target.target}: {shown(one.began)} {until}: {one.cause}")
    lines += [f"{target.target}: doubt: {doubt}" for doubt in estimate.doubts]
    return lines


def mean_time(estimate: Estimate | None) -> str:
    if estimate is None:
        return "mean time to incident unknown"
    if math.isinf(estimate.value):
        return f"mean time to incident at least {hours(estimate.low)}"
    limits = f"{hours(estimate.low)} to {hours(estimate.high)}"
    return f"mean time to incident {hours(estimate.value)} ({limits})"


def _finding(one: SeriesChange) -> str:
    change = one.change
    text = f"{one.probe}: {one.figure} from {change.before:.4g} to {change.after:.4g} {one.unit}"
    if change.before != 0:
        share = 100 / abs(change.before)
        size = change.size
        text += f" ({share * size.value:+.1f} %, {share * size.low:+.1f} to "
        text += f"{share * size.high:+.1f} %)"
    text += f" since {shown(one.at)}"
    if one.release_changes:
        parts = (f"{name} {old} → {new}" for name, (old, new) in one.release_changes.items())
        text += f", when {', '.join(parts)}"
    return text


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def hours(seconds: float) -> str:
    """`7:51`, in hours and minutes, as the published tables have it; days from 4 days on."""
    if seconds >= 4 * DAY:
        return f"{seconds / DAY:.1f} days"
    minutes = round(seconds / 60)
    return f"{minutes // 60}:{minutes % 60:02} h"
