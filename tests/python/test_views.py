"""Views: the named charts of a data set, drawn as pictures, pages and in notebooks."""

from __future__ import annotations

import pkgutil
import re
import struct
from html import escape

import numpy as np
import pytest
from tests.python.every_kind import write_every_kind

import sesame as library
from sesame.analysis import views as registry
from sesame.analysis.chart_picture import write_picture
from sesame.analysis.plots import Plot
from sesame.analysis.views import VIEWS
from sesame.datasets import Kind
from sesame.errors import InputError
from sesame.web.chart import Chart
from sesame.web.colours import COLOURS
from sesame.web.page import asset, sentence

# The kinds that have a chart, and the one that is drawn first.
FIRST = {
    "simulated": "time line",
    "series": "predicted time",
    "traced": "time line",
    "replayed": "time line",
    "characterised": "requests over time",
    "measured": "events",
}


@pytest.fixture(scope="module")
def every_kind(fake_bin, tmp_path_factory):
    return write_every_kind(tmp_path_factory.mktemp("kinds"), fake_bin)


@pytest.fixture
def added():
    yield
    registry._added.clear()


@pytest.mark.few_cases(4)
@pytest.mark.parametrize("kind", [kind.value for kind in Kind])
def test_every_view_is_a_picture_and_a_page(every_kind, tmp_path, kind):
    data_set = library.open(every_kind[kind])
    views = data_set.views()
    if kind in FIRST:
        assert next(iter(views)) == FIRST[kind]
    for name, about in views.items():
        assert about.endswith(".")
        shown = data_set.plot(tmp_path / "view.png", view=name)
        header = (tmp_path / "view.png").read_bytes()[:24]
        assert header[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">2I", header[16:24]) > (1000, 200)
        data_set.plot(tmp_path / "view.html", view=name)
        assert "<iframe" in shown._repr_html_()
        page = (tmp_path / "view.html").read_text()
        assert page.count('<script type="application/json">') == 1
        assert name.lower() in page.lower()


@pytest.mark.usefixtures("added")
@pytest.mark.parametrize("kind", [kind.value for kind in Kind])
def test_every_view_is_on_the_page_with_its_title_and_chart(every_kind, tmp_path, kind):
    library.add_view(kind, "my own <view>", "It was added.", a_line)
    data_set = library.open(every_kind[kind])
    names = [escape(sentence(name)) for name in data_set.views()]
    assert "My own &lt;view&gt;" in names
    page = data_set.report(tmp_path / "page.html").read_text()
    titles = re.findall(r"<h[23]>(.*?)</h[23]>", page)
    drawn = re.findall(r'<figure class="chart" data-label="(.*?)"', page)
    for name in names:
        assert titles.count(name) == 1
        assert drawn.count(name) == 1


def test_the_chart_of_ranks_explains_that_waiting_includes_latency(every_kind):
    run = library.open(every_kind["simulated"])
    assert "flight (latency, transfer)" in run.plot(view="ranks").note


def a_line(_: library.DataSet) -> Plot:
    chart = Chart()
    chart.line("", [1, 2], [3, 4], "blue")
    return Plot(chart)


def a_chart(data_set: library.DataSet) -> Chart:
    return a_line(data_set).chart


def a_wrong_colour(_: library.DataSet) -> Plot:
    chart = Chart()
    chart.line("", [1, 2], [3, 4], "bleu")
    return Plot(chart)


def a_wrong_colour_of_bars(_: library.DataSet) -> Plot:
    chart = Chart()
    chart.spans("", [0, 1], [3, 4], [1, 1], "blue", colours=["blue", "12"])
    return Plot(chart)


@pytest.mark.usefixtures("added")
@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (a_chart, "the view mine returned a Chart, expected a Plot"),
        (a_wrong_colour, "the view mine has the unknown colour 'bleu'"),
        (a_wrong_colour_of_bars, "the view mine has the unknown colour '12'"),
    ],
)
def test_a_view_that_draws_wrongly_is_named(every_kind, tmp_path, draw, message):
    library.add_view("simulated", "mine", "Mine.", draw)
    run = library.open(every_kind["simulated"])
    with pytest.raises(InputError, match=message):
        run.plot(view="mine")
    with pytest.raises(InputError, match=message):
        run.report(tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_an_unknown_kind_of_a_view_is_refused_with_the_kinds():
    with pytest.raises(InputError, match="no kind 'simulate' of data sets, expected one of simul"):
        library.add_view("simulate", "mine", "Mine.", a_line)


def test_the_names_of_colours_are_those_of_the_style():
    for name, colour in COLOURS.items():
        assert f"--{name}: {colour};" in asset("style.css")


def busy_ranks(data_set) -> Plot:
    chart = Chart(240)
    ranks = data_set.table("rank")
    chart.columns("", ranks.column("rank").to_numpy(), ranks.column("compute_s").to_numpy(), "blue")
    chart.x("rank", whole=True)
    chart.y("computation (s)", zero=True)
    return Plot(chart)


@pytest.mark.usefixtures("added")
def test_a_view_can_be_added(every_kind, tmp_path):
    about = "Computation of each rank."
    library.add_view("simulated", "busy ranks", about, busy_ranks, needs=["rank"])
    run = library.open(every_kind["simulated"])
    assert run.views()["busy ranks"] == about
    assert "Busy ranks" in run.report(tmp_path / "page.html").read_text()
    run.plot(tmp_path / "busy.svg", view="busy ranks")
    assert "<svg" in (tmp_path / "busy.svg").read_text()
    assert "busy ranks" not in library.open(every_kind["simulated, no tables"]).views()
    assert "busy ranks" not in library.open(every_kind["traced"]).views()
    with pytest.raises(InputError, match="have a view busy ranks already"):
        library.add_view("simulated", "busy ranks", about, busy_ranks)


@pytest.mark.usefixtures("added")
@pytest.mark.parametrize("kind", ["simulated", "traced", "series", "bench", "characterised"])
def test_a_view_cannot_be_added_with_the_name_of_another(every_kind, kind):
    run = library.open(every_kind[kind])
    taken = next(iter(run.views()))
    with pytest.raises(InputError, match=f"view {re.escape(taken)}"):
        library.add_view(kind, taken, "Mine.", busy_ranks)
        run.views()


@pytest.mark.parametrize("kind", ["simulated", "traced"])
def test_names_of_built_in_views_are_those_that_are_refused(every_kind, kind):
    module = pkgutil.resolve_name(VIEWS[kind].partition(":")[0])
    assert set(library.open(every_kind[kind]).views()) <= set(module.NAMES)


def test_wrong_names_are_refused(every_kind, tmp_path):
    run = library.open(every_kind["simulated"])
    with pytest.raises(InputError, match="no view dreams of this data set, there are: time line"):
        run.plot(view="dreams")
    with pytest.raises(InputError, match=r"ends in \.png, \.svg or \.html"):
        run.plot(tmp_path / "a.pdf")
    with pytest.raises(InputError, match="no view of this data set"):
        library.open(every_kind["measured, no tables"]).plot()


def test_measurements_and_experiments_have_two_views_and_more(every_kind):
    assert list(library.open(every_kind["measured"]).views()) == ["events", "processors", "cost"]
    reproduced = library.open(every_kind["reproduced"])
    views = list(reproduced.views())
    assert len(views) >= 2
    assert views[-1] == "findings"
    assert reproduced.plot(view="findings").chart.marks[0]["kind"] == "spans"


def test_cells_of_classes_are_drawn_as_a_picture_with_a_legend(tmp_path):
    chart = Chart()
    classes = [("computation", "blue"), ("waiting", "orange"), ("nowhere", "grey")]
    chart.classes(np.array([[0, 1], [1, -1]]), (0.0, 1.0), (-0.5, 1), classes)
    write_picture(chart, tmp_path / "cells.png")
    assert (tmp_path / "cells.png").read_bytes().startswith(b"\x89PNG")
