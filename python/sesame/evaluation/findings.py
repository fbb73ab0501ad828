"""Findings in words: what a reader of a report has to know first."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sesame.evaluation.failures import ProbeFailures
from sesame.evaluation.functions import ProbeSummary, ReleaseSummary
from sesame.evaluation.incidents import Failure, Incident
from sesame.evaluation.levels import BUSIER, SeriesChange, SeriesSummary, direction
from sesame.evaluation.load import Load, load_words
from sesame.evaluation.periods import shown
from sesame.evaluation.stretches import TargetSummary, Unseen
from sesame.evaluation.words import counted, figure, mean_time, percent, share
from sesame.trust import Reason

MOST_LISTED = 10  # incidents, changes and times that were not observed; the tables have the rest


def findings_of(
    targets: Sequence[TargetSummary],
    unseen: Sequence[Unseen],
    failures: Sequence[ProbeFailures],
    probes: Sequence[ProbeSummary],
    series: Sequence[SeriesSummary],
    releases: Sequence[ReleaseSummary],
) -> list[str]:
    """In the order in which they matter."""
    aspects = {(one.probe, one.target): one.aspect for one in probes}
    use = [one for one in series if aspects[one.probe, one.target] == "utilisation"]
    return [
        *(line for one in targets for line in _of_target(one)),
        *_unseen("", unseen),
        *_failures(failures),
        *_failing(probes, releases, failures),
        *map(_use, use),
        *_changes([one for one in series if one not in use]),
    ]


def _of_target(target: TargetSummary) -> list[str]:
    whole, name = target.whole, target.target
    found = whole.availability
    if found.estimate is None:
        return [f"{name}: not observed"]
    first = (
        f"{name}: available {share(found.estimate)}, "
        f"{counted(whole.incidents, 'incident')}, {mean_time(whole.time_to_incident)}"
    )
    if whole.reboots:
        first += f", {counted(whole.reboots, 'reboot')}"
    lines = [first + _worst(target)]
    bounds = f"between {percent(found.low)} and {percent(found.high)}"
    lines.append(
        f"{name}: {percent(found.observed)} of the time was observed; of all time it was "
        f"available {bounds}"
    )
    listed = sorted(target.incidents, key=_length, reverse=True)[:MOST_LISTED]
    listed.sort(key=lambda one: one.began)
    lines += [f"{name}: {_series(one, 'available at')}" for one in listed]
    lines += _more(f"{name}: ", "shorter incident", len(target.incidents) - len(listed))
    return lines + _unseen(f"{name}: ", [one for one in target.unseen if not one.is_of_all])


def _more(where: str, noun: str, count: int, many: str = "") -> list[str]:
    return [f"{where}and {counted(count, noun, many)}; the tables have all"] if count > 0 else []


def _length(one: Incident | Failure) -> float:
    return one.ended - one.not_before


def _worst(target: TargetSummary) -> str:
    seen = [one for one in target.parts if one.availability.estimate is not None]
    if len(seen) < 2:
        return ""
    worst = min(seen, key=lambda one: one.availability.estimate.value)  # type: ignore[union-attr]
    assert worst.availability.estimate is not None
    if worst.availability.estimate.value >= 1:
        return ""
    return f"; worst {target.part} {worst.name}: {percent(worst.availability.estimate.value)}"


def _series(one: Incident | Failure, good: str) -> str:
    """`good`: what was at the moment before it."""
    if one.began == one.ended:
        return f"{shown(one.began)} UTC: {one.cause}"
    return f"{one.cause}: {_times(one, good)}{load_words(one.load, one.load_before)}"


def _open(one: Failure) -> str:
    return f"{_times(one, 'passed at')}{load_words(one.load, one.load_before)}"


def _times(one: Incident | Failure, good: str) -> str:
    began = f"began {shown(one.began)} UTC"
    if one.not_before < one.began:
        began += f" ({good} {shown(one.not_before)})"
    if math.isinf(one.ended):
        ended = f"not ended (last failed at {shown(one.last_failed)})"
    else:
        ended = f"ended {shown(one.ended)}"
        if one.began < one.last_failed < one.ended:
            ended += f" (last failed at {shown(one.last_failed)})"
    return f"{began}, {ended}"


def _unseen(where: str, every: Sequence[Unseen]) -> list[str]:
    unseen = [one for one in every if shown(one.begin) != shown(one.end)]
    longest = sorted(unseen, key=lambda one: one.begin - one.end)[:MOST_LISTED]
    lines = [
        f"{where}not observed from {shown(one.begin)} to {shown(one.end)} UTC: {one.reason}"
        for one in sorted(longest, key=lambda one: one.begin)
    ]
    one, many = "shorter time that was not observed", "shorter times that were not observed"
    return lines + _more(where, one, len(unseen) - len(longest), many)


def _failures(every: Sequence[ProbeFailures]) -> list[str]:
    """Those that have ended. A suite tells those of its cases."""
    suites = {(one.probe, one.target) for one in every}
    found = [
        (one.target, failure)
        for one in every
        if (one.probe.split("/")[0], one.target) not in suites or "/" not in one.probe
        for failure in one.failures
        if math.isfinite(failure.ended)
    ]
    found.sort(key=lambda pair: _length(pair[1]), reverse=True)
    listed = sorted(found[:MOST_LISTED], key=lambda pair: pair[1].began)
    lines = [f"{target}: {_series(one, 'passed at')}" for target, one in listed]
    noun = "shorter series of failures"  # of one and of several
    return lines + _more("probes: ", noun, len(found) - MOST_LISTED, noun)


def _failing(
    probes: Sequence[ProbeSummary],
    releases: Sequence[ReleaseSummary],
    failures: Sequence[ProbeFailures],
) -> list[str]:
    """Probes that do not work under the last release they ran under. A suite tells those of its
    cases, unless it works itself: it may have them no more."""
    suites = {
        (one.probe, one.target)
        for one in probes
        if not (one.releases and one.last().works) and "/" not in one.probe
    }
    since = {
        (one.probe, one.target): one.failures[-1]
        for one in failures
        if math.isinf(one.failures[-1].ended)
    }
    names = {one.fingerprint: one.name for one in releases}
    lines = []
    for probe in probes:
        if "/" in probe.probe and (probe.probe.split("/")[0], probe.target) in suites:
            continue
        if not probe.releases:
            lines.append(f"{probe.probe} on {probe.target}: never ran in this period")
            continue
        last = probe.last()
        if last.works is None:
            lines.append(f"{probe.probe} on {probe.target}: was not observed")
        elif not last.works:
            where = f" (release {names[last.answers.name]})" if len(releases) > 1 else ""
            line = f"{probe.probe} on {probe.target}: does not work{where}: {last.why}"
            failure = since.get((probe.probe, probe.target))
            lines.append(line if failure is None else f"{line}: {_open(failure)}")
    return lines


def _use(one: SeriesSummary) -> str:
    text = f"{one.target}: {one.figure} {figure(one.whole.mean, one.unit)} on average"
    if len(one.months) > 1:
        highest = max(one.months, key=lambda name: one.months[name].mean)
        lowest = min(one.months, key=lambda name: one.months[name].mean)
        low, high = one.months[lowest].mean, one.months[highest].mean
        text += (
            f", from {figure(low, one.unit)} in {lowest} to {figure(high, one.unit)} in {highest}"
        )
    return text


def _changes(series: Sequence[SeriesSummary]) -> list[str]:
    found = [(one, change) for one in series for change in one.changes]
    sure = [pair for pair in found if pair[1].change.is_confirmed]
    sure.sort(key=lambda pair: _share(pair[1]), reverse=True)
    lines = [_change(*pair) for pair in sorted(sure[:MOST_LISTED], key=lambda pair: pair[1].at)]
    return lines + _more("changes: ", "smaller change", len(sure) - MOST_LISTED)


def _share(one: SeriesChange) -> float:
    shares = one.change.shares()
    return math.inf if shares is None else abs(shares[0])


def _change(one: SeriesSummary, found: SeriesChange) -> str:
    """`message latency 7.9 % slower (7.1 to 8.6), 5.1 us to 5.5 us, since …`"""
    change, where = found.change, f"{one.probe} on {one.target}: {one.figure}"
    levels = f"{figure(change.before, one.unit)} to {figure(change.after, one.unit)}"
    if shares := change.shares():
        value, *ends = (100 * abs(share) for share in shares)
        size = f"{value:.1f} % {direction(one.unit, change.size.value)}"
        text = f"{where} {size} ({min(ends):.1f} to {max(ends):.1f}), {levels}"
    else:
        text = f"{where} {levels}"
    text += f", since {shown(found.at)} UTC"
    if found.release_changes:
        parts = (f"{name} {old} → {new}" for name, (old, new) in found.release_changes.items())
        text += f", when {', '.join(parts)}"
    if found.load is not None:
        text += load_words(*map(Load, reversed(found.load)))
    if any(doubt.reason is Reason.BUSY_HOST for doubt in change.size.doubts):
        text += f": {BUSIER}"
    return text
