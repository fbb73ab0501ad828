"""The views of a series of simulated runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sesame.analysis.curve import curve_chart, speed_up_chart
from sesame.analysis.measuring import interval_name
from sesame.analysis.ordinates import PREDICTED, ordinates_of, repeats_of
from sesame.analysis.plots import Plot
from sesame.analysis.scaling import scalings_of
from sesame.analysis.views import View
from sesame.datasets import DataSet
from sesame.simulation.series import Runs, read_series
from sesame.web.chart import Chart

ONE_RUN = "Each point is one simulated run."
SPEED_UP_ABOUT = (
    "The time on the fewest ranks over that on more, for a problem of fixed size. Both axes are "
    "logarithmic; the dashed line is ideal."
)


def views_of(data_set: DataSet, runs: Runs | None = None) -> list[View]:
    """The time, the speed-up if the number of ranks varies, and a curve for each other quantity.
    `runs`: those of the data set, if they were read already."""
    if not data_set.has("point"):
        return []
    if runs is None:
        runs = read_series(data_set)
    curves = [
        View(
            ordinate.title,
            _about(runs) if ordinate is PREDICTED else ONE_RUN,
            _drawing(curve_chart, runs, ordinate),
        )
        for ordinate in ordinates_of(runs)
    ]
    if any(scalings_of(runs)):
        curves.insert(1, View("speed-up", SPEED_UP_ABOUT, _drawing(speed_up_chart, runs)))
    return curves


def _about(runs: Runs) -> str:
    repeats = repeats_of(runs)
    if repeats == 1:
        return ONE_RUN
    return f"Each point is the median of {repeats} runs; its bar is the {interval_name(repeats)}."


def _drawing(draw: Callable[..., Chart], *arguments: Any) -> Callable[[DataSet], Plot]:
    return lambda _: Plot(draw(*arguments))
