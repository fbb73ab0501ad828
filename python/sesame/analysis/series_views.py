"""The views of a series of simulated runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sesame.analysis.curve import curve_chart, speed_up_chart
from sesame.analysis.ordinates import ordinates_of
from sesame.analysis.plots import Plot
from sesame.analysis.scaling import scalings_of
from sesame.analysis.views import View
from sesame.datasets import DataSet
from sesame.simulation.series import read_series
from sesame.web.chart import Chart


def views_of(data_set: DataSet) -> list[View]:
    """A curve for each quantity, and the speed-up if the number of ranks varies."""
    if not data_set.has("point"):
        return []
    runs = read_series(data_set)
    about = "Each point is one simulated run."
    curves = [
        View(ordinate.title, about, _drawing(curve_chart, runs, ordinate))
        for ordinate in ordinates_of(runs)
    ]
    if any(scalings_of(runs)):
        about = "The time on the fewest ranks over that on more; the dashed line is ideal."
        curves.append(View("speed-up", about, _drawing(speed_up_chart, runs)))
    return curves


def _drawing(draw: Callable[..., Chart], *arguments: Any) -> Callable[[DataSet], Plot]:
    return lambda _: Plot(draw(*arguments))
