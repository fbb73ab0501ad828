"""The page of a summary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from sesame.evaluation.periods import shown
from sesame.evaluation.summary import Stretch, Summary, percent
from sesame.evaluation.tables import SummaryTable, tables_of
from sesame.web.chart import Chart
from sesame.web.page import Headline, Section, write_page
from sesame.web.table import Column, rows_left_out, table_html


def write_summary(summary: Summary, path: Path) -> None:
    """Writes the page. Raises OutputError."""
    write_page(
        path,
        title=f"Evaluation of {summary.site}",
        subtitle=f"{shown(summary.begin)} to {shown(summary.end)} UTC",
        headline=_headline(summary),
        doubts=_doubts(summary),
        sections=[_findings(summary), *_charts(summary), *map(_table, tables_of(summary))],
    )


def _headline(summary: Summary) -> Headline | None:
    for one in summary.targets:
        estimate = one.whole.availability.estimate
        if estimate is not None:
            limits = f"{percent(estimate.low)} to {percent(estimate.high)}"
            return Headline(percent(estimate.value), f"availability of {one.target}, {limits}")
    return None


def _doubts(summary: Summary) -> list[dict[str, Any]]:
    found = []
    for one in summary.targets:
        estimates = (one.whole.availability.estimate, one.whole.time_to_incident)
        found += [doubt.as_json() for each in estimates if each for doubt in each.doubts]
    return found


def _findings(summary: Summary) -> Section:
    lines = summary.findings or ["No probe has run."]
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return Section("Findings", "", f"<ul>{items}</ul>")


def _charts(summary: Summary) -> list[Section]:
    return [
        Section(
            f"Weekly availability of {one.target}",
            "Bars: of the observed time. Lines: the interval of 95 %.",
            _chart(one.target, one.weeks).html(f"Weekly availability of {one.target}"),
        )
        for one in summary.targets
        if any(week.availability.estimate for week in one.weeks)
    ]


def _chart(target: str, weeks: Sequence[Stretch]) -> Chart:
    chart = Chart(260)
    places = [place for place, one in enumerate(weeks) if one.availability.estimate]
    estimates = [week.availability.estimate for week in weeks if week.availability.estimate]
    chart.x("week", names=[week.name for week in weeks])
    chart.y("availability in %", zero=True)
    chart.columns(
        target,
        places,
        [100 * one.value for one in estimates],
        "blue",
        low=[100 * one.low for one in estimates],
        high=[100 * one.high for one in estimates],
        width=0.7,
    )
    return chart


def _table(table: SummaryTable) -> Section:
    columns = [
        Column(name, [_sortable(row[number]) for row in table.rows], show)
        if show is None
        else Column(name, [row[number] for row in table.rows], show)
        for number, (name, show) in enumerate(table.columns.items())
    ]
    html = table_html(table.title, columns)
    return Section(table.title, table.about + rows_left_out(len(table.rows)), html)


def _sortable(value: Any) -> Any:
    return "" if isinstance(value, float) and math.isnan(value) else value
