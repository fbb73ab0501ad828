"""The page of reproduced experiments: our curves and tables, beside the findings of the report."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from sesame.analysis.reproduced_views import name_of
from sesame.analysis.views import sections_by_name
from sesame.datasets import DataSet, describe
from sesame.reproduction import Outcome
from sesame.reproduction.stored import read_outcomes
from sesame.web.page import Headline, Section, template, write_page


def write_reproduced(data_set: DataSet, path: Path) -> None:
    """One self-contained page for all experiments of the data set. Raises OutputError."""
    outcomes = read_outcomes(data_set)
    judged = [judgement for outcome in outcomes for judgement in outcome.judgements]
    held = sum(judgement.is_reproduced for judgement in judged)
    names = [outcome.name for outcome in outcomes]
    known = [(name, value) for name, value in data_set.info.result.get("facts", [])]
    write_page(
        path,
        title="Reproduced: " + ", ".join(names),
        subtitle=f"sesame reproduce {' '.join(names)}",
        headline=Headline(f"{held} of {len(judged)}", "findings of the report are reproduced"),
        sections=_sections(data_set, outcomes),
        facts=[*known, *describe.facts(data_set)],
    )


def _sections(data_set: DataSet, outcomes: Sequence[Outcome]) -> list[Section]:
    """A section for each experiment, with its diagrams; then the views of all together."""
    charts = sections_by_name(data_set, outcomes)
    sections = []
    for one in outcomes:
        words = template("reproduction.html").render(outcome=one)
        own = [charts.pop(name_of(one, diagram, outcomes)) for diagram in one.diagrams]
        figures = "".join(f"<h3>{escape(chart.title)}</h3>{chart.html}" for chart in own)
        sections.append(Section(f"{one.name}: {one.title}", one.source, words + figures))
    return [*sections, *charts.values()]
