"""Every kind of page in a real browser, wide and narrow, by keyboard and pointer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page
from test_bench import bench_page
from test_report_measured import READ, cost, idle
from test_report_measured import page as measured_page
from test_simulated_files import MACHINE
from tests.browser import SIZES, SPLIT, axe_script, look
from tests.python.reproduced_page import write_reproduction
from tests.python.traced_runs import MS, MadeRun, many_ranks, rank_zero_writer

from sesame.analysis.reports import write_page as write_data_set_page
from sesame.datasets import DataSet
from sesame.reproduction import Arrow, Band, Bar, Diagram, Judgement, Lanes, Outcome, Table
from sesame.web.chart import Chart
from sesame.web.page import Headline, Section, template, write_page
from sesame.web.table import Column, table_html


@pytest.fixture(scope="module")
def axe() -> str:
    return axe_script()


def simulated(path: Path, sesame: Callable, run_path: Path) -> None:
    write_data_set_page(DataSet(run_path), path)


def simulated_files(path: Path, sesame: Callable, run_path: Path) -> None:
    arguments = ("-n", "2", *MACHINE[:2], "--compute", "none", "--report", str(path))
    assert sesame("simulate", *arguments, "--", "files", "3").status == 0


def series(path: Path, sesame: Callable, run_path: Path) -> None:
    arguments = ("-n", "1,2,4,8", "--machine", "paragon", "--report", str(path))
    sweep = ("--sweep", "network.latency=200us,400us")
    assert sesame("simulate", *arguments, *sweep, "--", "ring", "5").status == 0


def traced(path: Path, sesame: Callable, run_path: Path) -> None:
    write_data_set_page(rank_zero_writer().write(path.with_suffix(".sesame")), path)


def traced_in_cells(path: Path, sesame: Callable, run_path: Path) -> None:
    write_data_set_page(many_ranks(70, 7_000).write(path.with_suffix(".sesame")), path)


def characterized(path: Path, sesame: Callable, run_path: Path) -> None:
    rank_zero_writer().write(path.with_suffix(".sesame"))
    done = sesame("characterize", str(path.with_suffix(".sesame")), "--report", str(path))
    assert done.status == 0, done.stderr


def measured(path: Path, sesame: Callable, run_path: Path) -> None:
    later = {**READ, "begin_ns": 10**9, "end_ns": 2 * 10**9}
    measured_page(
        path.parent,
        kernel_summary=[READ, later, {**READ, "point": "write"}],
        measurement_cost=cost("a", 0, 2, 1000),
        cpu_time=[idle("a", 0, 0.5)],
    )
    (path.parent / "m.html").rename(path)


def workload(path: Path, sesame: Callable, run_path: Path) -> None:
    phases = {
        "phase": {"unit": "", "values": ["solve", "norm of the residual"]},
        "longest": {"unit": "s", "values": [0.2, 0.05]},
        "mean": {"unit": "s", "values": [0.1, 0.04]},
    }
    rates = {
        "size": {"unit": "byte", "values": [0.0, 512.0, 512.0, 1048576.0, 1048576.0]},
        "rate": {"unit": "MB/s", "values": [0.0, 10.0, 12.0, 4000.0, 5000.0]},
        "repeat": {"unit": "", "values": [0, 0, 1, 0, 1]},
    }
    bench_page(path.parent, tables={"phases": phases, "rates": rates}, findings=["it converges"])
    (path.parent / "page.html").rename(path)


def reproduced(path: Path, sesame: Callable, run_path: Path) -> None:
    bands = [Band(0, 0.5, "sleeping"), Band(0.5, 1, "reading")]
    diagrams = [
        Diagram("one", "size (B)", "time (ms)", {"c": [(1, 2), (4, 8)]}, is_logarithmic=True),
        Diagram("two", "x", "y", {"c": [(0, 0.5), (1, 0.7)]}, bands=bands),
        Lanes(
            "three",
            "time (ms)",
            ["a", "b"],
            [Bar("a", 0, 2, "call", "MPI_Init")],
            [Arrow("a", 0, "b", 1, "8 bytes")],
        ),
    ]
    table = Table("counts", ["run", "n"], [["a", "17"]])
    judged = [Judgement("it falls", True, "3 of 4", "")]
    outcome = Outcome("sesame-7.9", "a title", "a source", judged, [table], diagrams)
    write_reproduction([outcome], path)


def difference(path: Path, sesame: Callable, run_path: Path) -> None:
    for machine in ("paragon", "infiniband"):
        output = ("--compute", "none", "-o", f"{machine}.sesame")
        assert (
            sesame("simulate", "-n", "4", "--machine", machine, *output, "--", "ring", "5").status
            == 0
        )
    done = sesame("diff", "paragon.sesame", "infiniband.sesame", "--report", str(path))
    assert done.status == 0, done.stderr


def fitted_lengths(path: Path, sesame: Callable, run_path: Path) -> None:
    lengths = np.random.default_rng(1).lognormal(-7, 1, 300)
    rows = [f"application,{kind},{length:.9f}" for kind in ("cpu", "pause") for length in lengths]
    (path.parent / "lengths.csv").write_text("\n".join(["class,quantity,seconds", *rows]))
    words = ("overhead", "characterize", "lengths.csv", "-o", "node.toml", "--report", str(path))
    done = sesame(*words)
    assert done.status == 0, done.stderr


def overhead_sweep(path: Path, sesame: Callable, run_path: Path) -> None:
    words = ("overhead", "sweep", "paradyn", "processes=1,2", "--by", "policy")
    done = sesame(*words, "-r", "2", "--seconds", "2", "--report", str(path))
    assert done.status == 0, done.stderr


def overhead_factors(path: Path, sesame: Callable, run_path: Path) -> None:
    words = ("overhead", "factors", "paradyn", "processes=1,2", "policy=forward,batch")
    done = sesame(*words, "-r", "2", "--seconds", "2", "--report", str(path))
    assert done.status == 0, done.stderr


def evaluated(path: Path, sesame: Callable, run_path: Path) -> None:
    step = f'[[probe.p.step]]\ncommand = ["test", "-e", "{path.parent}/there"]\ntimeout = "9s"\n'
    (path.parent / "site.toml").write_text(
        f'[target.t]\n[probe.p]\ntarget = "t"\ninterval = "1h"\navailability = true\n{step}'
    )
    for is_there in (True, False, True):
        (path.parent / "there").touch() if is_there else (path.parent / "there").unlink()
        done = sesame("evaluate", "run", "site.toml", "--once", "p")
        assert done.status == (0 if is_there else 1), done.stderr
    done = sesame("evaluate", "report", "site.toml", "--report", str(path))
    assert done.status == 0, done.stderr


# The first ones have the kinds of charts and tables of the others.
PAGES = (
    simulated,
    measured,
    traced_in_cells,
    evaluated,
    simulated_files,
    series,
    traced,
    characterized,
    workload,
    reproduced,
    difference,
    fitted_lengths,
    overhead_sweep,
    overhead_factors,
)


@pytest.mark.few_cases(2)
@pytest.mark.parametrize("make", PAGES, ids=lambda make: make.__name__)
def test_everybody_can_use_the_page(make, browser, axe, sesame, run_path, tmp_path):
    """Wide and light, narrow and dark: no error, every chart is drawn, axe finds nothing
    serious, nothing is cut or wider than the window."""
    path = tmp_path / "page.html"
    make(path, sesame, run_path)
    assert path.stat().st_size < 1_500_000
    for width, scheme in SIZES:
        seen = look(browser, path.as_uri(), axe, width, scheme)
        assert seen.problems == [], (width, scheme)
        assert seen.drawn >= seen.charts > 0


PATH = "/work/" + "a-directory-with-a-long-name/" * 4 + "run.sesame"
LONG = {"computation": "123,456.789 ms", "communication of all ranks": "1.21 ms to 3.42 ms"}


def test_a_phone_splits_no_number_and_no_word(browser, axe, tmp_path):
    columns = [
        Column("MPI function", ["node.storage.cache.write_hit", PATH, "computation"]),
        *(
            Column(f"time of side {i}", [1.25, 12_345.678, 3.0], "{:,.3f} ms".format)
            for i in "ABCD"
        ),
    ]
    most = "rank 17 976.12 µs, rank 4 501.33 µs, MPI_Neighbor_alltoallv 419.9 µs"
    share = {"name": "queueing in the network", "time": "1.21 ms", "share": "12.1 %", "most": most}
    parts = template("explained.html").render(shares=[share], limits=[], constants=[])
    write_page(
        tmp_path / "page.html",
        title="Communication-avoiding computation on infiniband",
        headline=Headline("123,456.789 ms", "predicted time on the target machine"),
        cards=[*LONG.items(), ("messages", "123,456,789,012")],
        sections=[
            Section("Characterisation", "", table_html("calls", columns)),
            Section("Where the time goes", "", parts),
        ],
        facts=[*LONG.items(), ("data set", PATH), ("interpretation", f"computation in {PATH}")],
    )
    text = (tmp_path / "page.html").read_text()
    assert "<td>node.<wbr>storage.<wbr>cache.<wbr>write_<wbr>hit</td>" in text
    assert look(browser, (tmp_path / "page.html").as_uri(), axe, 390, "light").problems == []
    page = opened(browser, tmp_path / "page.html")
    assert page.evaluate(SPLIT) == []
    page.evaluate("document.querySelector('dd').style = 'width: 30px; word-break: break-all'")
    assert "split: 123,456.789" in page.evaluate(SPLIT)


def opened(browser: Browser, path: Path) -> Page:
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    page.goto(path.as_uri())
    return page


@pytest.fixture
def chart_page(browser, tmp_path) -> Callable[[Chart], Page]:
    def of(chart: Chart) -> Page:
        path = tmp_path / "chart.html"
        section = Section("A chart", "", chart.html("A chart"))
        write_page(path, title="t", headline=Headline("1", "x"), sections=[section], facts=[])
        page = opened(browser, path)
        page.wait_for_selector("figure.chart canvas")
        return page

    return of


X_RANGE = "(({min, max}) => [min, max])(document.querySelector('figure').chart.plot.scales.x)"


def test_a_chart_is_zoomed_and_moved_by_keyboard(chart_page):
    chart = Chart()
    chart.line("a", list(range(101)), list(range(101)), "blue")
    chart.x("time (s)", range=[0, 100])
    page = chart_page(chart)
    page.focus(".plot")
    page.keyboard.press("+")
    assert page.evaluate(X_RANGE) == [25, 75]
    page.keyboard.press("ArrowRight")
    assert page.evaluate(X_RANGE) == [35, 85]
    page.keyboard.press("0")
    assert page.evaluate(X_RANGE) == [0, 100]


def colours_of(page: Page) -> set[tuple[int, ...]]:
    """Of the pixels of the chart."""
    found = page.evaluate(
        """() => {
          const canvas = document.querySelector("figure.chart .u-wrap canvas");
          const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
          const seen = new Set();
          for (let i = 0; i < data.length; i += 4)
            if (data[i + 3] === 255) seen.add(data.slice(i, i + 3).join());
          return [...seen];
        }"""
    )
    return {tuple(map(int, text.split(","))) for text in found}


BLUE, ORANGE = (0, 114, 178), (230, 159, 0)


def test_the_legend_hides_and_shows(chart_page):
    chart = Chart()
    chart.spans("computes", [0], [0.0], [1.0], "blue")
    chart.spans("writes", [1], [0.0], [1.0], "orange")
    page = chart_page(chart)
    assert {BLUE, ORANGE} <= colours_of(page)
    page.focus("button.entry >> nth=1")
    page.keyboard.press("Enter")
    assert page.get_attribute("button.entry >> nth=1", "aria-pressed") == "false"
    assert BLUE in colours_of(page) and ORANGE not in colours_of(page)


def test_cells_have_the_colours_of_their_classes_where_they_are(chart_page):
    chart = Chart(zoomY=True)
    states = np.array([[0, 1], [-1, 0]], np.int8)
    chart.classes(states, (0, 1.0), (-0.5, 1.0), [("computes", "blue"), ("writes", "orange")])
    chart.x("time (s)", range=[0, 2])
    chart.y("rank", reversed=True, whole=True)
    page = chart_page(chart)
    box = page.locator(".u-over").bounding_box()
    texts = []
    for row, column in ((0, 0), (0, 1), (1, 0), (1, 1)):
        page.mouse.move(
            box["x"] + (0.25 + 0.5 * column) * box["width"],
            box["y"] + (0.25 + 0.5 * row) * box["height"],
        )
        tip = page.locator(".tip")
        texts.append(tip.inner_text().split("\n")[0] if tip.is_visible() else "")
    assert texts == ["computes", "writes", "", "computes"]
    assert {BLUE, ORANGE} <= colours_of(page)


def test_a_logarithmic_axis_leaves_out_zeros_and_shows_the_rest(chart_page):
    chart = Chart()
    chart.line("a", [0, 1, 1024], [1e-6, 2e-6, 5e-3], "blue", points=True)
    chart.x("size (B)", log=True, bytes=True)
    chart.y("time", log=True, seconds=True)
    page = chart_page(chart)
    low, high = page.evaluate(X_RANGE)
    assert 0.4 < low < 1 and 1024 < high < 2048
    page.click(".values summary")
    page.locator(".values tbody tr").first.wait_for()
    rows = page.locator(".values tbody tr").all_inner_texts()
    assert [row.split("\t")[1:] for row in rows] == [["1", "2 µs"], ["1,024", "5 ms"]]


def test_labels_of_ticks_are_not_rounded(chart_page):
    """Steps of 2.5 were labelled 3, 5, 8."""
    page = chart_page(Chart())
    assert page.evaluate("tickText([0, 2.5, 5, 7.5], {})") == ["0", "2.5", "5.0", "7.5"]
    assert page.evaluate("tickText([0, 25000, 50000], {})") == ["0", "25k", "50k"]
    assert page.evaluate("tickText([0, 12500, 25000], {})") == ["0", "12.5k", "25.0k"]


def test_values_are_there_as_a_table(chart_page):
    chart = Chart()
    chart.columns("reads", [0, 1], [10, 2500], "blue")
    chart.x("size", names=["1 KiB", "4 KiB"])
    chart.y("requests", zero=True)
    page = chart_page(chart)
    page.click(".values summary")
    page.locator(".values tbody tr").first.wait_for()
    rows = page.locator(".values tbody tr").all_inner_texts()
    assert [row.split("\t") for row in rows] == [
        ["reads", "1 KiB", "10"],
        ["reads", "4 KiB", "2,500"],
    ]


def test_a_million_points_are_drawn(chart_page):
    chart = Chart()
    x = np.arange(1_000_000, dtype=np.int32)
    chart.line("a", x, np.sin(x / 1e5).astype(np.float32), "blue")
    assert BLUE in colours_of(chart_page(chart))


def test_a_title_sorts_its_table(browser, tmp_path):
    """By the time in I/O, down and then up; ranks 0 to 3 spend 10, 30, 20 and 0 ms."""
    run = MadeRun(4)
    file = run.file("/f")
    for rank, duration in enumerate((10, 30, 20)):
        run.io(rank, "write", duration=duration * MS, file=file, bytes=1)
    write_data_set_page(run.write(tmp_path / "run.sesame"), tmp_path / "r.html")
    page = opened(browser, tmp_path / "r.html")
    title = page.locator("[aria-label=ranks] th >> nth=1")
    first = page.locator("[aria-label=ranks] tbody tr td:first-child")
    title.locator("button").focus()
    page.keyboard.press("Enter")
    assert "".join(first.all_inner_texts()) == "1203"
    assert title.get_attribute("aria-sort") == "descending"
    page.keyboard.press("Enter")
    assert "".join(first.all_inner_texts()) == "3021"
