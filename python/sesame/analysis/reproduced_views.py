"""The views of reproduced experiments: a chart for each of their diagrams, and the findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sesame.analysis.plots import Plot, bar_list
from sesame.analysis.reproduction import chart_of
from sesame.analysis.views import View
from sesame.datasets import DataSet
from sesame.reproduction import Diagram, Lanes, Outcome
from sesame.reproduction.stored import read_outcomes


def views_of(data_set: DataSet, outcomes: Sequence[Outcome] | None = None) -> list[View]:
    """The diagrams by their titles; where two have the same, with the name of the experiment.
    `outcomes`: those of the data set, if they were read already."""
    if outcomes is None:
        outcomes = read_outcomes(data_set)
    views = [
        View(
            name_of(one, diagram, outcomes),
            f"{one.name}: {one.title.removesuffix('.')}.",
            _drawing(diagram),
        )
        for one in outcomes
        for diagram in one.diagrams
    ]
    judged = [one for one in outcomes if one.judgements]
    if judged:
        about = "How many findings of the report each experiment reproduces."
        views.append(View("findings", about, lambda _: _findings(judged)))
    return views


def name_of(outcome: Outcome, diagram: Diagram | Lanes, outcomes: Sequence[Outcome]) -> str:
    """The name of the view that shows this diagram of one of the outcomes."""
    titles = [diagram.title for one in outcomes for diagram in one.diagrams]
    is_alone = titles.count(diagram.title) == 1
    return diagram.title if is_alone else f"{outcome.name}: {diagram.title}"


def _drawing(diagram: Diagram | Lanes) -> Callable[[DataSet], Plot]:
    return lambda _: Plot(chart_of(diagram))


def _findings(outcomes: Sequence[Outcome]) -> Plot:
    held = [sum(j.is_reproduced for j in one.judgements) for one in outcomes]
    names = [
        f"{one.name} ({count} of {len(one.judgements)})"
        for one, count in zip(outcomes, held, strict=True)
    ]
    shares = [100 * count / len(one.judgements) for one, count in zip(outcomes, held, strict=True)]
    return Plot(bar_list(names, shares, "findings reproduced (%)", "experiment"))
