"""The tables of a summary: for the terminal, the page, and CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sesame.evaluation.functions import ProbeSummary, ReleaseAnswers
from sesame.evaluation.incidents import Failure, Incident
from sesame.evaluation.levels import SeriesSummary
from sesame.evaluation.load import load_words
from sesame.evaluation.periods import DAY, PARTS, WEEK, is_of_whole_days, shown
from sesame.evaluation.stretches import Stretch, TargetSummary
from sesame.evaluation.summary import Summary
from sesame.evaluation.words import figure, hours, percent

Format = Callable[[Any], str]


@dataclass(frozen=True)
class SummaryTable:
    """Cells are texts, or numbers with the function of their column that makes them text. A number
    that is missing is NaN."""

    title: str
    about: str
    columns: Mapping[str, Format | None]
    rows: list[list[Any]]


def tables_of(summary: Summary) -> list[SummaryTable]:
    """All tables that have rows."""
    tables = []
    for one in summary.targets:
        tables += [
            _availability(f"{one.target} by month", one.months),
            _availability(f"{one.target} by week", one.weeks),
            *_by_part(one),
        ]
    tables += [_incidents(summary), _failures(summary), _unseen(summary), _notes(summary)]
    tables += [_use(summary, part) for part in ("month", *PARTS, WEEK)]
    tables += [_functionality(summary), _performance(summary), _changes(summary)]
    tables += [_counts(summary), _figures(summary), _releases(summary)]
    return [table for table in tables if table.rows]


def probe_tables(summary: Summary, probe: ProbeSummary) -> list[SummaryTable]:
    """Those of one probe that have rows."""
    series = series_of_probe(summary, probe)
    own = (probe.probe, probe.target)
    failures = [one for one in summary.failures if (one.probe, one.target) == own]
    part = replace(summary, probes=[probe], series=series, failures=failures)
    tables = [_failures(part), _functionality(part), _performance(part), _changes(part)]
    tables.append(_counts(part))
    return [table for table in [*tables, _figures(part)] if table.rows]


def _availability(title: str, stretches: Sequence[Stretch]) -> SummaryTable:
    about = (
        "Available: of the observed time, with the interval of 95 %. Bounds: of all time, with "
        "what lies between a pass and a fail, and what was not observed, counted either way."
    )
    names: dict[str, Format | None] = {"period": None}
    names |= {"available": _share, "from": _share, "to": _share, "observed": _share}
    names |= {"at least": _share, "at most": _share, "reboots": _count, "incidents": _count}
    names |= {"mean time to incident": _time, "limit from": _time, "limit to": _time}
    rows = []
    for one in stretches:
        found, time = one.availability, one.time_to_incident
        shares = _parts(found.estimate)
        bounds = [found.observed, found.low, found.high, one.reboots, one.incidents]
        rows.append([one.name, *shares, *bounds, *_parts(time)])
    return SummaryTable(f"Availability of {title}", about, names, rows)


def _by_part(one: TargetSummary) -> list[SummaryTable]:
    return [] if one.part == WEEK else [_availability(f"{one.target} by {one.part}", one.parts)]


def _parts(estimate: Any) -> list[float]:
    return [math.nan] * 3 if estimate is None else [estimate.value, estimate.low, estimate.high]


def _incidents(summary: Summary) -> SummaryTable:
    times = ("available at", "began", "last failed", "ended")
    names: dict[str, Format | None] = dict.fromkeys(("target", *times, "cause", "load"))
    rows = [
        [
            one.target,
            *(_moment(at) for at in (it.not_before, it.began, it.last_failed, it.ended)),
            it.cause,
            _load(it),
        ]
        for one in summary.targets
        for it in one.incidents
    ]
    about = "It began between the first two times, and ended between the last two (UTC)."
    return SummaryTable("Incidents", about, names, rows)


def _failures(summary: Summary) -> SummaryTable:
    times = ("passed at", "began", "last failed", "ended")
    names: dict[str, Format | None] = dict.fromkeys(("probe", "target", *times))
    names |= {"failed runs": _count, "step": None, "why": None, "load": None}
    rows = [
        [
            *(one.probe, one.target),
            *(_moment(at) for at in (it.not_before, it.began, it.last_failed, it.ended)),
            *(it.runs, it.step, it.reason, _load(it)),
        ]
        for one in summary.failures
        for it in one.failures
    ]
    about = (
        "Series of failures of probes that are none of availability. Each began between the first "
        "two times, and ended between the last two (UTC)."
    )
    return SummaryTable("Failures of probes", about, names, rows)


def _unseen(summary: Summary) -> SummaryTable:
    names: dict[str, Format | None] = dict.fromkeys(("target", "from", "to"))
    names |= {"hours": _hours, "why": None}
    rows = [
        [target, shown(it.begin), shown(it.end), (it.end - it.begin) / 3600, it.reason]
        for target, unseen in (
            ("all", summary.unseen),
            *((one.target, one.unseen) for one in summary.targets),
        )
        for it in unseen
        if not it.is_of_all
    ]
    return SummaryTable("Not observed", "Times between two results (UTC).", names, rows)


def _notes(summary: Summary) -> SummaryTable:
    names: dict[str, Format | None] = dict.fromkeys(("from", "to", "target", "planned", "text"))
    rows = [
        [
            *(shown(note.began), shown(note.ended), note.target or "all"),
            *("yes" if note.planned else "no", note.text),
        ]
        for note in summary.notes
    ]
    return SummaryTable("Notes", "What a person entered (UTC).", names, rows)


def series_of(summary: Summary, *aspects: str) -> list[SeriesSummary]:
    """The figures of the probes of these aspects."""
    kinds = {(one.probe, one.target): one.aspect for one in summary.probes}
    return [one for one in summary.series if kinds[one.probe, one.target] in aspects]


def series_of_probe(summary: Summary, probe: ProbeSummary) -> list[SeriesSummary]:
    name, target = probe.probe, probe.target
    return [one for one in summary.series if (one.probe, one.target) == (name, target)]


def _use(summary: Summary, period: str) -> SummaryTable:
    """By month, by week, or by that of PARTS which suits the period."""
    names: dict[str, Format | None] = {period: None}
    levels = []
    for one in series_of(summary, "utilisation"):
        known = {"month": one.months, WEEK: one.weeks, one.part: one.parts}
        if period in known:
            names[_column(summary, one)] = figure
            levels.append(known[period])
    periods = sorted({name for each in levels for name in each})
    rows = [
        [name, *(each[name].mean if name in each else math.nan for each in levels)]
        for name in periods
    ]
    about = "Averages of whole days." if is_of_whole_days(period) else "Averages of runs."
    return SummaryTable(f"Utilisation by {period}", about, names, rows)


def _column(summary: Summary, one: SeriesSummary) -> str:
    where = f" of {one.target}" if len({each.target for each in summary.probes}) > 1 else ""
    unit = "" if one.unit == "1" else f" ({one.unit})"
    return f"{one.figure}{where}{unit}"


def _functionality(summary: Summary) -> SummaryTable:
    names: dict[str, Format | None] = {"probe": None, "target": None}
    names |= {one.name: None for one in summary.releases}
    rows = []
    for probe in summary.probes:
        found = {one.answers.name: one for one in probe.releases}
        if probe.aspect != "utilisation":
            cells = [_works(found.get(one.fingerprint)) for one in summary.releases]
            rows.append([probe.probe, probe.target, *cells])
    about = (
        "Whether a probe passed in its last run under each release, how many of its runs passed, "
        "and why it does not."
    )
    return SummaryTable("Functionality by release", about, names, rows)


def _works(found: ReleaseAnswers | None) -> str:
    if found is None:
        return "not run"
    counts = found.answers
    share = f"({counts.passed:,} of {counts.passed + counts.failed:,})"
    if found.works is None:
        return "not run: not observed"
    return f"yes {share}" if found.works else f"no {share}: {found.why}"


def _performance(summary: Summary) -> SummaryTable:
    found = series_of(summary, "availability", "performance", "functionality")
    names: dict[str, Format | None] = dict.fromkeys(("probe", "target", "figure", "unit"))
    names |= {one.name: figure for one in summary.releases}
    rows = []
    for one in found:
        levels = [one.releases.get(release.fingerprint) for release in summary.releases]
        means = [math.nan if level is None else level.mean for level in levels]
        rows.append([one.probe, one.target, one.figure, one.unit, *means])
    about = "Means of the runs that passed under each release."
    return SummaryTable("Performance by release", about, names, rows)


def _changes(summary: Summary) -> SummaryTable:
    names: dict[str, Format | None] = dict.fromkeys(("since", "probe", "target", "figure", "unit"))
    names |= {"before": figure, "after": figure, "change (%)": _hours, "from": _hours}
    names |= {"to": _hours, "confirmed": None, "load before": _hours, "load after": _hours}
    names |= {"what changed with it": None, "doubts": None}
    rows = []
    for one in summary.series:
        for found in one.changes:
            change, size = found.change, found.change.size
            sizes = [100 * share for share in change.shares() or [math.nan] * 3]
            with_it = "; ".join(
                f"{name} {old} → {new}" for name, (old, new) in found.release_changes.items()
            )
            levels = [change.before, change.after, *sizes]
            sure = "yes" if change.is_confirmed else "no"
            about = [shown(found.at), one.probe, one.target, one.figure, one.unit]
            loads = found.load or (math.nan, math.nan)
            doubts = "; ".join(doubt.text for doubt in size.doubts)
            rows.append([*about, *levels, sure, *loads, with_it, doubts])
    about_all = (
        "Confirmed: the runs since then differ at 99.9 %. Others may be false alarms, of which "
        "there is about one in 1,000 runs."
    )
    return SummaryTable("Changes", about_all, names, sorted(rows, key=lambda row: row[0]))


def _counts(summary: Summary) -> SummaryTable:
    names: dict[str, Format | None] = {"probe": None, "target": None, "month": None}
    names |= dict.fromkeys(("pass", "fail", "not observed"), _count)
    rows = [
        [one.probe, one.target, month.name, month.passed, month.failed, month.unobserved]
        for one in summary.probes
        for month in one.months
    ]
    about = "Results of whole days (UTC). Hours without the prober have no result at all."
    return SummaryTable("Results of probes", about, names, rows)


def _figures(summary: Summary) -> SummaryTable:
    texts = ("probe", "target", "figure", "unit", "month")
    names: dict[str, Format | None] = dict.fromkeys(texts)
    names |= {"runs": _count, **dict.fromkeys(("mean", "least", "most"), figure)}
    rows = [
        [
            *(one.probe, one.target, one.figure, one.unit, month),
            *(level.runs, level.mean, level.least, level.most),
        ]
        for one in summary.series
        for month, level in one.months.items()
    ]
    return SummaryTable("Figures by month", "Of runs that passed, whole days.", names, rows)


def _releases(summary: Summary) -> SummaryTable:
    names: dict[str, Format | None] = dict.fromkeys(
        ("release", "first day", "last day", "fingerprint", "what differs from the one before")
    )
    rows = []
    before: Mapping[str, str] = {}
    for one in summary.releases:
        days = [shown(day * DAY)[:10] for day in (one.first_day, one.last_day)]
        facts = [
            f"{name} {fact}" if not before else f"{name} {before.get(name, 'none')} → {fact}"
            for name, fact in one.facts.items()
            if before.get(name) != fact
        ]
        facts += [f"{name} {before[name]} → none" for name in before if name not in one.facts]
        rows.append([one.name, *days, one.fingerprint, "; ".join(facts)])
        before = one.facts
    return SummaryTable("Releases", "What the machine ran, in order of appearance.", names, rows)


def csv_of(summary: Summary) -> str:
    """All tables, one after the other; the first column has the table's title."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for table in tables_of(summary):
        writer.writerow(["table", *table.columns])
        for row in table.rows:
            cells = ("" if isinstance(cell, float) and math.isnan(cell) else cell for cell in row)
            writer.writerow([table.title, *map(_harmless, cells)])
    return text.getvalue()


def _harmless(cell: Any) -> Any:
    """A text that a spreadsheet would take for a formula gets an apostrophe."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@") else cell


def _load(one: Incident | Failure) -> str:
    return load_words(one.load, one.load_before).removeprefix("; ")


def _moment(time: float) -> str:
    return shown(time) if math.isfinite(time) else "open"


def _share(value: float) -> str:
    return "–" if math.isnan(value) else percent(value)


def _time(value: float) -> str:
    if math.isnan(value):
        return "–"
    return hours(value) if math.isfinite(value) else "no limit"


def _count(value: float) -> str:
    return f"{value:,}"


def _hours(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.1f}"
