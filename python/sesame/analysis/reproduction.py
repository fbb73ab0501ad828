"""The page of reproduced experiments: our curves and tables, beside the findings of the report."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from sesame.reproduction import Diagram, Lanes, Outcome
from sesame.web.chart import SERIES, Chart
from sesame.web.page import Headline, Section, template, write_page

LANE_HEIGHT = 34


def write_reproduction(
    outcomes: Sequence[Outcome], facts: Sequence[tuple[str, str]], path: Path
) -> None:
    """One self-contained page for all of them. Raises OutputError."""
    judged = [judgement for outcome in outcomes for judgement in outcome.judgements]
    held = sum(judgement.is_reproduced for judgement in judged)
    names = [outcome.name for outcome in outcomes]
    write_page(
        path,
        title="Reproduced: " + ", ".join(names),
        subtitle=f"sesame reproduce {' '.join(names)}",
        headline=Headline(f"{held} of {len(judged)}", "findings of the report are reproduced"),
        outcome="completed",
        outcome_text="",
        cards=[],
        sections=[_section(outcome) for outcome in outcomes],
        machine=None,
        facts=list(facts),
    )


def _section(outcome: Outcome) -> Section:
    words = template("reproduction.html").render(outcome=outcome)
    figures = "".join(
        f"<h3>{escape(diagram.title)}</h3>{chart_of(diagram).html(diagram.title)}"
        for diagram in outcome.diagrams
    )
    return Section(f"{outcome.name}: {outcome.title}", outcome.source, words + figures)


def chart_of(diagram: Diagram | Lanes) -> Chart:
    return _curves(diagram) if isinstance(diagram, Diagram) else _lanes(diagram)


def _curves(diagram: Diagram) -> Chart:
    chart = Chart(340)
    names = list(dict.fromkeys(band.name for band in diagram.bands))
    if diagram.bands:
        chart.regions(
            [band.name for band in diagram.bands],
            [band.begin for band in diagram.bands],
            [band.end for band in diagram.bands],
            [_colour(2 + names.index(band.name)) for band in diagram.bands],
        )
    for i, (name, points) in enumerate(diagram.curves.items()):
        x, y = [place for place, _ in points], [value for _, value in points]
        if diagram.has_lines or diagram.bands:
            chart.line(name, x, y, _colour(i), points=not diagram.bands)
        else:
            chart.points(name, x, y, _colour(i))
    chart.x(diagram.axis, log=diagram.is_logarithmic)
    chart.y(diagram.ordinate, log=diagram.is_logarithmic, zero=not diagram.is_logarithmic)
    return chart


def _colour(number: int) -> str:
    return SERIES[number % len(SERIES)]


def _lanes(lanes: Lanes) -> Chart:
    chart = Chart(120 + LANE_HEIGHT * len(lanes.lanes))
    place = {name: number for number, name in enumerate(lanes.lanes)}
    for i, kind in enumerate(dict.fromkeys(bar.kind for bar in lanes.bars)):
        bars = [bar for bar in lanes.bars if bar.kind == kind]
        chart.spans(
            kind,
            [place[bar.lane] for bar in bars],
            [bar.begin for bar in bars],
            [bar.end - bar.begin for bar in bars],
            _colour(i),
            texts=[bar.text for bar in bars],
        )
    if lanes.arrows:
        chart.links(
            "messages",
            [arrow.begin for arrow in lanes.arrows],
            [place[arrow.source] for arrow in lanes.arrows],
            [arrow.end for arrow in lanes.arrows],
            [place[arrow.destination] for arrow in lanes.arrows],
            "ink",
            arrows=True,
            texts=[arrow.text for arrow in lanes.arrows],
        )
    chart.x(lanes.axis)
    chart.y("", names=list(place), reversed=True, grid=False)
    return chart
