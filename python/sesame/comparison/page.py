"""The page of a difference: what differs most, by call and by rank, and how the runs were made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sesame.analysis.quantities import (
    format_bytes,
    format_count,
    format_quantity,
    format_seconds,
)
from sesame.comparison.charts import changes_chart, ranks_chart, shares_chart
from sesame.comparison.difference import Difference
from sesame.comparison.in_words import in_words, percent, signed_seconds
from sesame.web.page import Headline, Section, write_page
from sesame.web.table import Column, rows_left_out, table_html

ABOUT_CHANGES = (
    "Mean over ranks of the time in each call and of computation; together they are the mean time "
    "of a rank. What differs most comes first."
)
ABOUT_SHARES = (
    "The predicted time of the slowest rank of each side, divided. Of several runs the one counts "
    "whose time is nearest to that of the side."
)
ABOUT_START = (
    "Times are from the end of MPI_Init to the beginning of MPI_Finalize: the start of real "
    "processes is not predicted."
)


def write_difference(difference: Difference, path: Path) -> None:
    """One file of HTML that needs no network. Raises OutputError."""
    first, others = difference.sides[0], difference.sides[1:]
    ratio = difference.ratios[0]
    write_page(
        path,
        title=f"{first.run.title or first.run.path.name}, compared",
        subtitle=" ".join(str(run.path) for side in difference.sides for run in side.runs),
        headline=Headline(
            format_seconds(others[0].time.value) if ratio is None else percent(ratio.value),
            f"time of {others[0].label}, {others[0].name}, relative to {first.label}, "
            f"{first.name}: {'' if ratio is None else in_words(ratio)}",
        ),
        outcome="completed",
        doubts=[doubt.as_json() for doubt in difference.doubts],
        cards=[(f"time of {s.label}", format_seconds(s.time.value)) for s in difference.sides],
        sections=sections_of(difference),
        machine=None,
        facts=[
            (side.label, _side_in_words(difference, i)) for i, side in enumerate(difference.sides)
        ],
    )


def sections_of(difference: Difference) -> list[Section]:
    """What differs, by call, rank and figure, and how the runs were made."""
    return [
        *_changes(difference),
        *_shares(difference),
        *_ranks(difference),
        *_figures(difference),
        *_values("Settings", "setting", "How the runs were made.", difference, difference.settings),
        *_values(
            "Machine files",
            "key",
            "Keys whose values differ; – where the file does not have it.",
            difference,
            difference.machine_values,
        ),
    ]


def _side_in_words(difference: Difference, number: int) -> str:
    side = difference.sides[number]
    words = f"{side.run.path}: {side.run.title}, {format_seconds(side.time.value)}"
    if number and (ratio := difference.ratios[number - 1]) is not None:
        words += f", {in_words(ratio)}"
    return words


def _changes(difference: Difference) -> list[Section]:
    changes, labels = difference.changes, [side.label for side in difference.sides]
    if not changes or not changes[0].largest_s:
        return []
    columns = [Column("call", [change.name for change in changes])]
    for i, label in enumerate(labels):
        columns.append(Column(label, [c.mean_s[i] for c in changes], format_seconds))
    for i, label in enumerate(labels[1:]):
        seconds = [change.change_s[i] for change in changes]
        columns.append(Column(f"{label} - {labels[0]}", seconds, signed_seconds))
    for i, label in enumerate(labels):
        columns.append(Column(f"calls {label}", [c.count[i] for c in changes], format_count))
    for i, label in enumerate(labels):
        columns.append(Column(f"data {label}", [c.bytes[i] for c in changes], format_bytes))
    html = changes_chart(difference, changes) + table_html("calls", columns)
    about = ABOUT_CHANGES + (f" {ABOUT_START}" if difference.without_start else "")
    return [Section("What differs most", about, html, rows_left_out(len(changes)).strip())]


def _shares(difference: Difference) -> list[Section]:
    if not difference.shares:
        return []
    columns = [Column("share", [share.name for share in difference.shares])]
    for i, label in enumerate(difference.slowest_labels):
        seconds = [share.seconds[i] for share in difference.shares]
        columns.append(Column(label, seconds, format_seconds))
    for i, side in enumerate(difference.sides[1:], 1):
        change = [share.seconds[i] - share.seconds[0] for share in difference.shares]
        columns.append(Column(f"{side.label} - A", change, signed_seconds))
    html = shares_chart(difference) + table_html("shares", columns)
    return [Section("Where the time goes", ABOUT_SHARES, html)]


def _ranks(difference: Difference) -> list[Section]:
    if any(len(side.run.rank_s) == 0 for side in difference.sides):
        return []
    html, note = ranks_chart(difference), ""
    if difference.rank_s is not None:
        ranks = difference.ranks_by_change()
        columns = [Column("rank", ranks, str)]
        for i, side in enumerate(difference.sides):
            columns.append(Column(side.label, difference.rank_s[i, ranks], format_seconds))
        for i, side in enumerate(difference.sides[1:], 1):
            change = (difference.rank_s[i] - difference.rank_s[0])[ranks]
            columns.append(Column(f"{side.label} - A", change, signed_seconds))
        html += table_html("ranks", columns)
        note = rows_left_out(len(ranks)).strip()
    return [Section("Ranks", "The time of each rank; those that differ most first.", html, note)]


def _figures(difference: Difference) -> list[Section]:
    if not difference.figures:
        return []
    figures = difference.figures
    columns = [Column("figure", [figure.name for figure in figures])]
    for i, side in enumerate(difference.sides):
        shown = [
            "" if f.values[i] is None else format_quantity(f.values[i] or 0.0, f.unit)
            for f in figures
        ]
        columns.append(Column(side.label, shown))
    return [Section("Figures", "What the workload reports.", table_html("figures", columns))]


def _values(
    title: str,
    name: str,
    about: str,
    difference: Difference,
    rows: Sequence[tuple[str, Sequence[str | None]]],
) -> list[Section]:
    if not rows:
        return []
    columns = [Column(name, [name for name, _ in rows])]
    for i, side in enumerate(difference.sides):
        columns.append(Column(side.label, [values[i] or "–" for _, values in rows]))
    return [Section(title, about, table_html(title, columns))]
