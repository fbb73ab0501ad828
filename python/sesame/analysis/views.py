"""Views: the charts of a data set, by name. Pages, `DataSet.views` and `DataSet.plot` use them.

A view is a name, a sentence about it and a function that draws it from the data set alone. Each
kind of data set has a function that lists its views, in the order of its page (VIEWS). Views that
are added with `add_view` come after them. Every page shows all of them: it takes their sections
from `sections_by_name`. docs/extending.md shows how to write one.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sesame.datasets.info import Kind
from sesame.errors import InputError

if TYPE_CHECKING:
    from sesame.analysis.plots import Plot
    from sesame.datasets import DataSet
    from sesame.web.page import Section

# For each kind the function that lists the views of a data set, as pkgutil.resolve_name takes it.
_OF_TRACED = "sesame.analysis.traced_views:views_of"
VIEWS: dict[Kind, str] = {
    Kind.SIMULATED: "sesame.analysis.simulated_views:views_of",
    Kind.SERIES: "sesame.analysis.series_views:views_of",
    Kind.TRACED: _OF_TRACED,
    Kind.IMPORTED: _OF_TRACED,
    Kind.REPLAYED: _OF_TRACED,
    Kind.BENCH: "sesame.analysis.bench_views:views_of",
    Kind.MEASURED: "sesame.analysis.measured_views:views_of",
    Kind.REPRODUCED: "sesame.analysis.reproduced_views:views_of",
    Kind.CHARACTERISED: "sesame.analysis.characterize.stored:views_of",
}
PICTURES = (".png", ".svg")


@dataclass(frozen=True)
class View:
    """One chart of a data set. `draw` returns the chart with a note; it may take seconds."""

    name: str  # as on the page, in lower case: "time line"
    about: str  # one sentence
    draw: Callable[[DataSet], Plot]
    needs: tuple[str, ...] = ()  # the tables that must have rows

    def drawn(self, data_set: DataSet) -> Plot:
        """What `draw` returns, checked. Raises InputError if that is no plot, or a colour in it is
        unknown."""
        from sesame.analysis.plots import Plot
        from sesame.web.colours import COLOURS, unknown_colour

        plot = self.draw(data_set)
        if not isinstance(plot, Plot):
            raise InputError(
                f"the view {self.name} returned a {type(plot).__name__}, expected a Plot",
                hint="return Plot(chart), of sesame.analysis.plots",
            )
        if (colour := unknown_colour(plot.chart)) is not None:
            raise InputError(
                f"the view {self.name} has the unknown colour {colour!r}",
                hint=f"use one of {', '.join(COLOURS)}, or #rrggbb",
            )
        return plot

    def section(self, data_set: DataSet) -> Section:
        """The section of a page that shows it."""
        from sesame.web.page import Section, sentence

        plot, title = self.drawn(data_set), sentence(self.name)
        return Section(title, self.about, plot.chart.html(title), plot.note)


_added: dict[Kind, list[View]] = {}


def add_view(
    kind: Kind | str,
    name: str,
    about: str,
    draw: Callable[[DataSet], Plot],
    *,
    needs: Sequence[str] = (),
) -> None:
    """Adds a view to all data sets of a kind for the rest of the process, on their pages as well.

    Raises InputError if there is no such kind, or it has a view of this name already, built in or
    added. The names of the views of a series, a workload and reproduced experiments depend on the
    data set: `views_of` refuses those.
    """
    kind = _kind_of(kind)
    views = _added.setdefault(kind, [])
    if name in [*_built_in_names(kind), *(view.name for view in views)]:
        raise InputError(
            f"{kind} data sets have a view {name} already", hint="give yours another name"
        )
    views.append(View(name, about, draw, tuple(needs)))


def _kind_of(kind: Kind | str) -> Kind:
    try:
        return Kind(kind)
    except ValueError:
        raise InputError(
            f"no kind {kind!r} of data sets, expected one of {', '.join(Kind)}"
        ) from None


def _built_in_names(kind: Kind) -> Sequence[str]:
    """Those that do not depend on the data set."""
    listed = VIEWS.get(kind)
    if listed is None:
        return ()
    module = pkgutil.resolve_name(listed.partition(":")[0])
    names: Sequence[str] = getattr(module, "NAMES", ())
    return names


def views_of(data_set: DataSet, *known: object) -> list[View]:
    """The views of a data set, in the order of its page; only those whose tables have rows.
    `known`: what was read of it already, as the function of its kind takes it (a study, runs).

    Raises InputError if a view was added whose name one of this data set's own views has.
    """
    listed = VIEWS.get(data_set.kind)
    found: list[View] = [] if listed is None else pkgutil.resolve_name(listed)(data_set, *known)
    every = [*found, *_added.get(data_set.kind, [])]
    names = [view.name for view in every]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(
            f"the view {twice} that was added has the name of one of this data set's own",
            path=str(data_set.path),
            hint="give yours another name",
        )
    return [view for view in every if all(map(data_set.has, view.needs))]


def sections_by_name(data_set: DataSet, *known: object) -> dict[str, Section]:
    """The sections of all its views, in their order, for the page of its kind. A page may add to
    them and change their order; it shows every one."""
    return {view.name: view.section(data_set) for view in views_of(data_set, *known)}


def find_view(data_set: DataSet, name: str | None) -> View:
    """The view of this name, or the first one. Raises InputError if there is none."""
    views = views_of(data_set)
    found = next((view for view in views if name in (None, view.name)), None)
    if found is None:
        names = ", ".join(view.name for view in views) or "none"
        wanted = "no view" if name is None else f"no view {name}"
        raise InputError(f"{wanted} of this data set, there are: {names}", path=str(data_set.path))
    return found


def plot_view(data_set: DataSet, name: str | None, path: Path | None) -> Plot:
    """Draws a view, and writes it to `path`: a picture (.png, .svg) or a page (.html).

    Raises InputError for another ending, an unknown view, or where matplotlib is not installed.
    """
    view = find_view(data_set, name)
    if path is not None:
        check_path(path)
    plot = view.drawn(data_set)
    if path is not None and path.suffix in PICTURES:
        from sesame.analysis.chart_picture import write_picture

        write_picture(plot.chart, path)
    elif path is not None:
        from sesame.web.page import write_page

        title = data_set.info.title or data_set.path.name
        write_page(path, title=title, outcome="completed", sections=[view.section(data_set)])
    return plot


def check_path(path: Path) -> None:
    """Raises InputError if `plot_view` cannot write a file of this name."""
    from sesame.extras import require

    if path.suffix not in (*PICTURES, ".html"):
        raise InputError(f"{path}: expected a name that ends in .png, .svg or .html")
    if path.suffix in PICTURES:
        require("plot", str(path))
