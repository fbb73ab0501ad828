"""What reports are made of."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from io import StringIO
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from tests.some_info import some_info

from sesame.analysis import calls, plots
from sesame.analysis.curve import axis_of, curves_of
from sesame.analysis.quantities import (
    format_bytes,
    format_count,
    format_quantity,
    format_seconds,
    format_size,
)
from sesame.analysis.reports import write_page
from sesame.analysis.timeline import OVER, add_intervals, bin_timeline
from sesame.cli.summary import print_curve
from sesame.datasets import DataSet, DataSetWriter, record_type
from sesame.simulation import Point, RunResult, Sweep, points_of


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("MPI_Isend", calls.POINT_TO_POINT),
        ("MPI_Sendrecv", calls.POINT_TO_POINT),
        ("MPI_Improbe", calls.POINT_TO_POINT),
        ("MPI_Waitall", calls.COMPLETION),
        ("MPI_Testsome", calls.COMPLETION),
        ("MPI_Allreduce", calls.COLLECTIVE),
        ("MPI_Ineighbor_alltoallw", calls.COLLECTIVE),
        ("MPI_Reduce_scatter_block", calls.COLLECTIVE),
        ("MPI_Exscan", calls.COLLECTIVE),
        ("MPI_Reduce_local", calls.OTHER),
        ("MPI_Comm_split", calls.OTHER),
        ("MPI_File_write_all", calls.FILE_ACCESS),
        ("MPI_File_open", calls.FILE_ACCESS),
        ("PMPI_File_iread_at", calls.FILE_ACCESS),
    ],
)
def test_calls_are_put_in_classes(name, kind):
    assert calls.call_class(name) == kind


def test_intervals_are_added_to_cells_exactly():
    random = np.random.default_rng(7)
    row = random.integers(0, 5, 300)
    begin = random.uniform(0, 20, 300)
    end = np.minimum(begin + random.exponential(3, 300), 20)
    begin[0], end[0], begin[1], end[1] = 3, 4, 0, 20
    cells = np.zeros((5, 20))
    add_intervals(cells, row, begin, end)
    for r in range(5):
        for c in range(20):
            mine = row == r
            cover = np.clip(np.minimum(end, c + 1) - np.maximum(begin, c), 0, None)[mine].sum()
            assert cells[r, c] == pytest.approx(cover, abs=1e-9)


def test_time_line_shows_what_most_of_each_cell_went_into(run_path):
    timeline = bin_timeline(DataSet(run_path), rows=4, columns=50)
    assert timeline.states.shape == (4, 50)
    assert timeline.ranks_per_row == 2
    # The stand-in's ranks spend 3 latencies of each round in the all-reduce.
    assert (timeline.states == calls.COLLECTIVE).mean() > 0.5
    assert not (timeline.states == OVER).any()


@pytest.mark.parametrize("value", ["timeline", "rank", "call", "matrix", "size"])
def test_every_plot_has_data_in_it(run_path, value):
    plot = getattr(plots, f"{value}_plot")(DataSet(run_path))
    assert len(plot.chart.marks) > 0


def test_many_calls_are_drawn_in_cells_and_the_page_says_so(run_path, monkeypatch):
    monkeypatch.setattr(plots, "MOST_DRAWN_CALLS", 10)
    plot = plots.timeline_plot(DataSet(run_path))
    assert "640 calls are drawn in cells of one rank" in plot.note


def test_report_is_one_file_that_needs_no_network(run_path, tmp_path):
    write_page(DataSet(run_path), tmp_path / "r.html")
    html = (tmp_path / "r.html").read_text()
    for text in ("ring on 8 simulated ranks", "Time line", "Message matrix", "[NAS]"):
        assert text in html
    own = re.sub(r"<script.*?</script>", "", html, flags=re.S)
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", own)
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


def test_report_escapes_what_the_user_wrote(run_path, tmp_path):
    data_set = DataSet(run_path)
    data_set.info = replace(data_set.info, title="<script>alert(1)</script>")
    write_page(data_set, tmp_path / "r.html")
    assert "<script>alert(1)" not in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (1.2345, "1.23 s"),
        (0.9999, "1.00 s"),
        (0.0123, "12.3 ms"),
        (184e-6, "184 us"),
        (40e-9, "40.0 ns"),
        (2.5e-12, "2.50 ps"),
        (4e-18, "0 s"),
        (86400, "86,400 s"),
    ],
)
def test_seconds_have_three_digits_and_the_unit_that_fits(seconds, text):
    assert format_seconds(seconds) == text


def test_sizes_and_counts_are_for_people():
    assert format_bytes(28e6) == "28.0 MB"
    assert format_size(65536) == "64 KiB"
    assert format_size(1000) == "1000 B"
    assert format_count(3_072_000) == "3.07 M"
    assert format_count(32000) == "32,000"


def test_quantities_take_the_prefix_of_their_unit():
    assert format_quantity(3.7e-7, "s") == "370 ns"
    assert format_quantity(1.69e9, "B/s") == "1.69 GB/s"
    assert format_quantity(131072, "B") == "128 KiB"
    assert format_quantity(32029.3, "Mop/s") == "32029 Mop/s"
    assert format_quantity(7, "") == "7"


@dataclass
class Made:
    """A result with nothing but a time."""

    seconds: float
    result: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.result = {"predicted_time_s": self.seconds}


def runs_of(points: list[Point]) -> list[tuple[Point, RunResult]]:
    return [(point, RunResult(Made(float(i)).result)) for i, point in enumerate(points)]


def values_of(runs: list[tuple[Point, RunResult]]) -> dict[str, list[tuple[str, float]]]:
    """The curves, of runs without repeats: each dot is its own interval."""
    curves = curves_of(runs)
    assert all(dot.low == dot.value == dot.high for dots in curves.values() for dot in dots)
    return {name: [(dot.at, dot.value) for dot in dots] for name, dots in curves.items()}


def test_curve_runs_along_the_ranks_when_they_vary():
    runs = runs_of(points_of([4, 16], [Sweep.parse("network.latency=1us,2us")]))
    assert axis_of(runs) == "ranks"
    assert values_of(runs) == {
        "network.latency=1us": [("4", 0.0), ("16", 2.0)],
        "network.latency=2us": [("4", 1.0), ("16", 3.0)],
    }


def test_curve_runs_along_the_first_key_when_ranks_do_not_vary():
    sweeps = [Sweep.parse("a=1,2"), Sweep.parse("b=[1,2],[3]")]
    runs = runs_of(points_of([4], sweeps))
    assert axis_of(runs) == "a"
    assert values_of(runs) == {
        "b=[1,2]": [("1", 0.0), ("2", 2.0)],
        "b=[3]": [("1", 1.0), ("2", 3.0)],
    }


def test_figures_of_a_series_are_never_cut():
    sweeps = [Sweep.parse("storage.ionodes=1,16"), Sweep.parse("storage.cache.policy=coordinated")]
    runs = runs_of(points_of([16384], sweeps))
    figures = {"io_time_s": 1523.0, "device_reads": 123857, "device_writes": 40590}
    for _, run in runs:
        run.result.update(figures)
    text = StringIO()
    print_curve(Console(file=text, width=80), runs)
    rows = text.getvalue().splitlines()[-2:]
    for row in rows:
        assert row.split()[-3:] == ["s", "123,857", "40,590"]
        assert "coordinated" in row


def data_set_with_files(path):
    """Two ranks: one writes by MPI-IO, one by POSIX; half of each rank's time is file access."""
    call = record_type("call")
    rows = {field.name: [0, 0] for field in call.fields}
    rows |= {"rank": [0, 1], "begin_ps": [0, 0], "end_ps": [5_000, 0], "peer": [-1, -1]}
    rows["call"] = ["MPI_File_write_at", "MPI_Comm_rank"]
    io = {field.name: [0, 0] for field in record_type("io").fields}
    io |= {"rank": [0, 1], "call": ["MPI_File_write_at", "write"], "duration_ns": [5, 5]}
    with DataSetWriter(path) as writer:
        ends = {field.name: [0, 0] for field in record_type("rank").fields}
        writer.write_records("rank", ends | {"rank": [0, 1], "end_s": [1e-8, 1e-8]})
        writer.write_records("call", rows)
        writer.write_records("io", io)
        totals = {"name": ["MPI_File_write_at", "MPI_Comm_rank", "MPI_Send"], "count": [1, 1, 2]}
        totals |= {"time_s": [5e-9, 0.0, 1e-9], "bytes": [9, 0, 9], "max_rank_time_s": [5e-9, 0, 0]}
        writer.write_records("call_total", totals)
        writer.finish(some_info("simulated", ranks=2))
    return DataSet(path)


def test_simulated_file_access_has_a_class_of_its_own(tmp_path):
    data_set = data_set_with_files(tmp_path / "a.sesame")
    timeline = bin_timeline(data_set, rows=2, columns=10)
    half = [calls.FILE_ACCESS] * 5 + [calls.COMPUTE] * 5
    assert timeline.states.tolist() == [half, half]
    drawn = plots.timeline_plot(data_set).chart
    (bars,) = [mark for mark in drawn.marks if mark["name"] == "file access"]
    assert sorted(bars["row"]) == [0, 1] and bars["colour"] == calls.IO_COLOUR


def test_functions_that_took_no_time_are_not_drawn(tmp_path):
    plot = plots.call_plot(data_set_with_files(tmp_path / "a.sesame"), most=1)
    assert plot.chart.axes["y"]["names"] == ["MPI_File_write_at"]
    assert [mark["name"] for mark in plot.chart.marks] == ["file access"]
    assert plot.note == "Functions not shown: 1 with less time and 1 that took no time."
