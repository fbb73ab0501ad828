"""The page of a summary, and a page for each probe."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from html import escape
from pathlib import Path
from typing import Any

from sesame.errors import OutputError
from sesame.evaluation.charts import Plot, curves_of, level_plot, plots_of, ratios_of
from sesame.evaluation.functions import ProbeSummary
from sesame.evaluation.periods import shown
from sesame.evaluation.probing import Outcome, Result
from sesame.evaluation.store import Store
from sesame.evaluation.summary import Summary
from sesame.evaluation.tables import SummaryTable, probe_tables, series_of_probe, tables_of
from sesame.evaluation.words import counted, percent, share
from sesame.web.page import Headline, Section, write_page
from sesame.web.table import Column, rows_left_out, table_html

MOST_FAILURES = 20  # on the page of a probe
MOST_FILE_NAME = 100  # characters of a page's file name that say whose page it is


def write_summary(summary: Summary, path: Path) -> None:
    """Writes one page. Raises OutputError."""
    _write(summary, path, [_findings(summary)])


def write_pages(summary: Summary, store: Store, directory: Path) -> None:
    """Writes index.html and a page for each probe. Raises OutputError."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{directory}: cannot make it: {error.strerror}") from error
    for probe in summary.probes:
        _write_probe(summary, store, probe, directory / _file_of(probe))
    _write(summary, directory / "index.html", [_findings(summary), _links(summary)])


def _write(summary: Summary, path: Path, first: Sequence[Section]) -> None:
    write_page(
        path,
        title=f"Evaluation of {summary.site}",
        subtitle=_period(summary),
        headline=_headline(summary),
        doubts=_doubts(summary),
        sections=[*first, *map(_plot, plots_of(summary)), *map(_table, tables_of(summary))],
    )


def _period(summary: Summary) -> str:
    return f"{shown(summary.begin)} to {shown(summary.end)} UTC"


def _headline(summary: Summary) -> Headline | None:
    for one in summary.targets:
        estimate = one.whole.availability.estimate
        if estimate is not None:
            value, limits = share(estimate).split(" (")
            about = f"availability of {one.target}, of the observed time ({limits}"
            return Headline(value, about)
    return None


def _doubts(summary: Summary) -> list[dict[str, Any]]:
    found = []
    for one in summary.targets:
        estimates = {
            "availability": one.whole.availability.estimate,
            "mean time to incident": one.whole.time_to_incident,
        }
        for name, each in estimates.items():
            for doubt in each.doubts if each else ():
                text = f"{name} of {one.target}: {doubt.text}"
                found.append(replace(doubt, text=text).as_json())
    return found


def _findings(summary: Summary) -> Section:
    return Section("Findings", "", _list(summary.findings or ["No probe has run."]))


def _list(lines: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


def _links(summary: Summary) -> Section:
    items = "".join(
        f'<li><a href="{_file_of(one)}">{escape(one.probe)} on {escape(one.target)}</a></li>'
        for one in summary.probes
    )
    return Section("Probes", "A page for each.", f"<ul>{items}</ul>")


def _file_of(probe: ProbeSummary) -> str:
    """A case has any name, so that two may be alike without their other characters."""
    name = re.sub(r"[^A-Za-z0-9._]+", "-", f"{probe.probe}-{probe.target}")[:MOST_FILE_NAME]
    own = f"{probe.probe}\0{probe.target}".encode()
    return f"probe-{name}-{blake2b(own, digest_size=4).hexdigest()}.html"


def _write_probe(summary: Summary, store: Store, probe: ProbeSummary, path: Path) -> None:
    own = (probe.probe, probe.target)
    series = series_of_probe(summary, probe)
    passed = sum(month.passed for month in probe.months)
    failed = sum(month.failed for month in probe.months)
    curves = [one for one in summary.curves if (one.probe, one.target) == own]
    plots = curves_of(summary, series, curves) + ratios_of(series)
    if not plots:
        plots += [level_plot(summary, one) for one in series]
    last = store.results(probe.probe, probe.target, summary.begin, summary.end, MOST_FAILURES * 50)
    failures = [one for one in last if one.outcome is not Outcome.PASS][-MOST_FAILURES:]
    worked = percent(passed / (passed + failed)) if passed + failed else "–"
    write_page(
        path,
        title=f"{probe.probe} on {probe.target}",
        subtitle=f"{summary.site}, {_period(summary)}",
        headline=Headline(worked, f"of {counted(passed + failed, 'run')} passed"),
        sections=[
            Section("Site", "", '<p><a href="index.html">All probes</a></p>'),
            *map(_plot, plots),
            *map(_table, probe_tables(summary, probe)),
            *_failures(failures),
        ],
    )


def _failures(failures: Sequence[Result]) -> list[Section]:
    if not failures:
        return []
    items = "".join(
        f"<details><summary>{shown(one.began)} {one.outcome}: "
        f"{escape(f'{one.step}: ' if one.step else '')}{escape(one.reason)}</summary>"
        f'<pre tabindex="0">{escape(one.output) or "(no output)"}</pre></details>'
        for one in reversed(failures)
    )
    return [Section("Last failures", "With what the step printed; times in UTC.", items)]


def _plot(plot: Plot) -> Section:
    return Section(plot.title, plot.about, plot.chart.html(plot.title))


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
