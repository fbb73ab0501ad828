"""The page of reproduced experiments: ours as curves and tables, beside what the report says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import plotly.graph_objects as go

from sesame.analysis.curve import COLOURS
from sesame.analysis.plots import new_figure, time_unit
from sesame.analysis.report.page import Headline, Section, figure_html, template, write_page
from sesame.reproduction import MACHINE, Experiment, Panel, Results

ORDINATES = {"time_s": "predicted time", "blocks_read": "blocks read from disks"}


def write_reproduction(experiments: Sequence[Experiment], results: Results, path: Path) -> None:
    """One self-contained page for all experiments. Raises OutputError."""
    findings = [f for experiment in experiments for f in experiment.findings]
    held = sum(finding.holds(results) for finding in findings)
    write_page(
        path,
        title="Reproduced: " + ", ".join(experiment.name for experiment in experiments),
        subtitle=f"sesame reproduce {' '.join(experiment.name for experiment in experiments)}",
        headline=Headline(f"{held} of {len(findings)}", "findings of the report come out here too"),
        outcome="completed",
        outcome_text="",
        cards=[],
        sections=[
            section for experiment in experiments for section in _sections(experiment, results)
        ],
        machine=None,
        facts=[
            ("simulated runs", str(len({c for e in experiments for c in e.cases}))),
            ("machine", MACHINE.read_text(encoding="utf-8").partition("\n\n")[0]),
        ],
    )


def _sections(experiment: Experiment, results: Results) -> list[Section]:
    words = template("reproduction.html").render(
        rows=[(row.name, row.theirs, row.ours(results)) for row in experiment.rows],
        findings=[(f.text, f.holds(results), f.remark) for f in experiment.findings],
        commands=[str(case) for case in experiment.cases],
    )
    figures = "".join(
        f"<h3>{panel.title}</h3>{figure_html(panel_figure(panel, results))}"
        for panel in experiment.panels
    )
    return [Section(f"{experiment.name}: {experiment.title}", experiment.source, words + figures)]


def panel_figure(panel: Panel, results: Results) -> go.Figure:
    factor, unit = 1.0, "blocks"
    if panel.quantity == "time_s":
        factor, unit = time_unit(max(max(panel.values(results, curve)) for curve in panel.curves))
    figure = new_figure(340)
    for i, (name, points) in enumerate(panel.curves.items()):
        figure.add_scatter(
            x=[place for place, _ in points],
            y=[value * factor for value in panel.values(results, name)],
            mode="lines+markers",
            name=name,
            line={"color": COLOURS[i % len(COLOURS)]},
            hovertemplate=f"{panel.axis} %{{x}}: %{{y:.4g}} {unit}<extra>{name}</extra>",
        )
    figure.update_xaxes(title=panel.axis)
    figure.update_yaxes(title=f"{ORDINATES[panel.quantity]} ({unit})", rangemode="tozero")
    return figure
