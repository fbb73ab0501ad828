"""The tables of a summary: for the terminal, the page, and CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sesame.evaluation.periods import shown
from sesame.evaluation.summary import Stretch, Summary, hours, percent


@dataclass(frozen=True)
class SummaryTable:
    """Cells are texts, or numbers with the function of their column that makes them text."""

    title: str
    about: str
    columns: Mapping[str, Callable[[Any], str] | None]
    rows: list[list[Any]]


def tables_of(summary: Summary) -> list[SummaryTable]:
    """All tables that have rows."""
    tables = []
    for one in summary.targets:
        tables += [
            _availability(f"{one.target} by month", one.months),
            _availability(f"{one.target} by week", one.weeks),
        ]
    tables += [_incidents(summary), _counts(summary), _figures(summary), _releases(summary)]
    return [table for table in tables if table.rows]


def _availability(title: str, stretches: Sequence[Stretch]) -> SummaryTable:
    about = (
        "Available: of the observed time, with the interval of 95 %. Bounds: of all time, with "
        "what lies between a pass and a fail, and what was not observed, counted either way."
    )
    names: dict[str, Callable[[Any], str] | None] = {"period": None}
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


def _parts(estimate: Any) -> list[float]:
    return [math.nan] * 3 if estimate is None else [estimate.value, estimate.low, estimate.high]


def _incidents(summary: Summary) -> SummaryTable:
    names: dict[str, Callable[[Any], str] | None] = dict.fromkeys(
        ("target", "not before", "found", "ended by", "cause")
    )
    rows = [
        [one.target, *(_moment(time) for time in (it.not_before, it.began, it.ended)), it.cause]
        for one in summary.targets
        for it in one.incidents
    ]
    return SummaryTable("Incidents", "Times are in UTC.", names, rows)


def _counts(summary: Summary) -> SummaryTable:
    counts = ("pass", "fail", "not observed")
    names = {"probe": None, "target": None, "month": None, **dict.fromkeys(counts, _count)}
    rows = [[row[name] for name in names] for row in summary.counts]
    about = "Results of whole days (UTC). Hours without the prober have no result at all."
    return SummaryTable("Results of probes", about, names, rows)


def _figures(summary: Summary) -> SummaryTable:
    texts = ("probe", "target", "figure", "unit", "release")
    numbers = dict.fromkeys(("mean", "least", "most"), _figure)
    names = {**dict.fromkeys(texts), "runs": _count, **numbers}
    rows = [[row[name] for name in names] for row in summary.figures]
    return SummaryTable("Figures by release", "Of runs that passed, whole days.", names, rows)


def _releases(summary: Summary) -> SummaryTable:
    names: dict[str, Callable[[Any], str] | None] = dict.fromkeys(("release", "fact", "value"))
    rows = [
        [release, name, fact]
        for release, facts in summary.releases.items()
        for name, fact in facts.items()
    ]
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


def _figure(value: float) -> str:
    return f"{value:.4g}"
