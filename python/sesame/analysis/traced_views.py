"""The views of a traced, imported or replayed run."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from sesame.analysis import traced_plots
from sesame.analysis.plots import Plot
from sesame.analysis.study import Study, study_run
from sesame.analysis.views import View
from sesame.datasets import DataSet

NAMES = ("time line", "I/O over time", "ranks")


def views_of(data_set: DataSet, study: Study | None = None) -> list[View]:
    """The views that the tables of the data set allow; without `study`, the first that is drawn
    makes one for all."""
    found = []

    @cache
    def known() -> Study:
        return study or study_run(data_set)

    def of_study(draw: Callable[[Study], Plot]) -> Callable[[DataSet], Plot]:
        return lambda _: draw(known())

    if data_set.has("io") or data_set.has("mpi"):
        about = "What every rank did when."
        found.append(View("time line", about, of_study(traced_plots.timeline_plot)))
    if data_set.has("io"):
        about = "Bytes per second that the application's own calls move."
        found.append(View("I/O over time", about, of_study(traced_plots.rate_plot)))
    if data_set.has("process"):
        about = "Where the time of each process went."
        found.append(View("ranks", about, of_study(traced_plots.rank_plot)))
    return found
