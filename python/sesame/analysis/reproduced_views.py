"""The views of reproduced experiments: a chart for each of their diagrams, and the findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sesame.analysis.plots import Plot, bar_list
from sesame.analysis.reproduction import chart_of
from sesame.analysis.views import View
from sesame.datasets import DataSet
from sesame.reproduction import Diagram, Lanes, Outcome
from sesame.reproduction.stored import read_outcomes


def views_of(data_set: DataSet) -> list[View]:
    """The diagrams by their titles; where two have the same, with the name of the experiment."""
    outcomes = read_outcomes(data_set)
    titles = [diagram.title for outcome in outcomes for diagram in outcome.diagrams]
    views = [
        View(
            diagram.title if titles.count(diagram.title) == 1 else f"{one.name}: {diagram.title}",
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
