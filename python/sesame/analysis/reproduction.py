"""The page of reproduced experiments: ours as curves and tables, beside what the report says."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

import plotly.graph_objects as go

from sesame.analysis.curve import COLOURS
from sesame.analysis.plots import new_figure
from sesame.analysis.report.page import Headline, Section, figure_html, template, write_page
from sesame.reproduction import Diagram, Lanes, Outcome

# Of phases behind curves, paler than these.
BAND_OPACITY = 0.13
MOST_NAMED_BANDS = 14
LANE_HEIGHT = 34


def write_reproduction(
    outcomes: Sequence[Outcome], facts: Sequence[tuple[str, str]], path: Path
) -> None:
    """One self-contained page for all of them. Raises OutputError."""
    judged = [judgement for outcome in outcomes for judgement in outcome.judgements]
    held = sum(judgement.comes_out for judgement in judged)
    names = [outcome.name for outcome in outcomes]
    write_page(
        path,
        title="Reproduced: " + ", ".join(names),
        subtitle=f"sesame reproduce {' '.join(names)}",
        headline=Headline(f"{held} of {len(judged)}", "findings of the report come out here too"),
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
        f"<h3>{diagram.title}</h3>{figure_html(figure_of(diagram))}" for diagram in outcome.diagrams
    )
    return Section(f"{outcome.name}: {outcome.title}", outcome.source, words + figures)


def figure_of(diagram: Diagram | Lanes) -> go.Figure:
    return _curves(diagram) if isinstance(diagram, Diagram) else _lanes(diagram)


def _curves(diagram: Diagram) -> go.Figure:
    figure = new_figure(340)
    mode = "lines+markers" if diagram.has_lines else "markers"
    if diagram.bands:
        mode = "lines"
    for (name, points), colour in zip(diagram.curves.items(), cycle(COLOURS), strict=False):
        figure.add_scatter(
            x=[place for place, _ in points],
            y=[value for _, value in points],
            mode=mode,
            name=name,
            line={"color": colour},
            marker={"color": colour, "size": 5},
            hovertemplate=f"{diagram.axis} %{{x}}: %{{y:.4g}}<extra>{name}</extra>",
        )
    names = list(dict.fromkeys(band.name for band in diagram.bands))
    for band in diagram.bands:
        figure.add_vrect(
            x0=band.begin,
            x1=band.end,
            fillcolor=COLOURS[(2 + names.index(band.name)) % len(COLOURS)],
            opacity=BAND_OPACITY,
            line_width=0,
            annotation={"text": band.name, "textangle": -90, "font": {"size": 10}}
            if len(diagram.bands) <= MOST_NAMED_BANDS
            else None,
        )
    kind = "log" if diagram.is_logarithmic else "linear"
    figure.update_xaxes(title=diagram.axis, type=kind)
    figure.update_yaxes(title=diagram.ordinate, type=kind)
    if not diagram.is_logarithmic:
        figure.update_yaxes(rangemode="tozero")
    return figure


def _lanes(lanes: Lanes) -> go.Figure:
    figure = new_figure(120 + LANE_HEIGHT * len(lanes.lanes), barmode="overlay", bargap=0.3)
    place = {name: number for number, name in enumerate(lanes.lanes)}
    kinds = dict.fromkeys(bar.kind for bar in lanes.bars)
    for kind, colour in zip(kinds, cycle(COLOURS), strict=False):
        bars = [bar for bar in lanes.bars if bar.kind == kind]
        figure.add_bar(
            orientation="h",
            base=[bar.begin for bar in bars],
            x=[bar.end - bar.begin for bar in bars],
            y=[place[bar.lane] for bar in bars],
            text=[bar.text for bar in bars],
            textposition="none",
            name=kind,
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate="%{text} at %{base:.6g}, %{x:.4g} long<extra></extra>",
        )
    x: list[float | None] = []
    y: list[float | None] = []
    for arrow in lanes.arrows:
        x += [arrow.begin, arrow.end, None]
        y += [place[arrow.source], place[arrow.destination], None]
    if x:
        figure.add_scatter(
            x=x, y=y, mode="lines", name="messages", line={"color": "#1d2733", "width": 1}
        )
        figure.add_scatter(
            x=[arrow.end for arrow in lanes.arrows],
            y=[place[arrow.destination] for arrow in lanes.arrows],
            text=[arrow.text for arrow in lanes.arrows],
            mode="markers",
            showlegend=False,
            marker={"color": "#1d2733", "size": 5},
            hovertemplate="%{text}<extra></extra>",
        )
    figure.update_xaxes(title=lanes.axis)
    figure.update_yaxes(
        tickvals=list(place.values()), ticktext=list(place), autorange="reversed", showgrid=False
    )
    return figure
