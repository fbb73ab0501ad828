"""The page of a traced run and the verb that writes it."""

from __future__ import annotations

import math
import re
import time
from dataclasses import replace

import numpy as np
import pytest
from tests.python.traced_run import TracedRun
from tests.python.traced_runs import (
    IMPLIED,
    MS,
    US,
    MadeRun,
    collective_writer,
    many_ranks,
    random_reader,
    rank_zero_writer,
    strided_shared,
)
from tests.some_info import some_info

from sesame.analysis import traced_plots
from sesame.analysis.report.traced_tables import rank_columns
from sesame.analysis.reports import write_page
from sesame.analysis.study import study_run
from sesame.datasets import DataSet, DataSetWriter
from sesame.errors import OutputError
from sesame.web.chart import Chart
from sesame.web.page import anchors, columns_for, with_code
from sesame.web.table import Column, table_html

HEADINGS = re.compile(r"<h2>(.*?)</h2>")


def own_text(html: str) -> str:
    return re.sub(r"<script.*?</script>", "", html, flags=re.S)


@pytest.fixture
def page(tmp_path):
    def of(run: MadeRun) -> str:
        write_page(run.write(tmp_path / "run.sesame"), tmp_path / "r.html")
        return (tmp_path / "r.html").read_text()

    return of


def test_no_card_stands_alone_on_a_line():
    for most in (4, 7):
        for cards in range(2, 13):
            columns = columns_for(cards, most)
            assert 1 < columns <= most and cards % columns != 1
    assert columns_for(9, 7) == 5


def test_each_section_has_an_id_of_its_own():
    titles = ["Time line", "MPI calls", "time line", "", "—"]
    assert anchors(titles) == ["time-line", "mpi-calls", "time-line-3", "part-4", "part-5"]


def test_commands_in_a_message_are_code():
    assert with_code("`sesame info` of <a>, or `--json`") == (
        "<code>sesame info</code> of &lt;a&gt;, or <code>--json</code>"
    )


def test_the_page_has_every_section(page):
    html = page(rank_zero_writer())
    assert HEADINGS.findall(html) == [
        "Findings",
        "Time line",
        "I/O over time",
        "Ranks",
        "Files",
        "Where in the files",
        "Requests",
        "Calls",
        "Who waits for whom",
        "The run",
    ]
    assert "Rank 0 of 4 writes 100 % of the bytes in 52-byte requests" in html
    assert "<dt>records discarded</dt><dd>0</dd>" in html


def test_the_page_needs_no_network_and_sends_nothing(page):
    html = page(strided_shared())
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", own_text(html))
    assert html.count('<figure class="chart"') >= 5
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert "default-src &#39;none&#39;" in policy[1] and "unsafe" not in policy[1]


def test_what_the_program_wrote_is_escaped(page):
    run = MadeRun(1)
    run.io(0, "write", file=run.file("</script><script>alert(1)</script>"), offset=0, bytes=1)
    html = page(run)
    assert "<script>alert(1)" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_discarded_records_and_processes_cut_off_stand_on_top(page):
    run = rank_zero_writer()
    run.discarded[2] = 1234
    run.outcome[1] = "cut off"
    html = page(run)
    assert 'role="alert"' in html
    assert "1,234 records were lost" in html
    assert "1 of 4 processes were cut off (rank 1)" in html
    assert html.index("1,234 records were lost") < html.index("<h2>Findings")


def test_what_pruning_left_out_is_reported(tmp_path):
    data_set = rank_zero_writer().write(tmp_path / "run.sesame")
    result = {**data_set.info.result, "pruning": "causal", "kept": 5, "dropped": 4321}
    data_set.info = replace(data_set.info, result=result)
    write_page(data_set, tmp_path / "r.html")
    assert "Pruning left out 4,321 MPI calls" in (tmp_path / "r.html").read_text()


def test_messages_that_were_not_recorded_are_no_time_of_zero(page):
    run = MadeRun(2)
    run.compute(None, 100 * MS)
    run.io(0, "write", file=run.file("/f"), bytes=1)
    html = page(run)
    assert "<dt>of the time in MPI</dt><dd>no record</dd>" in html
    assert "calls of MPI were not recorded" in html


def test_accesses_to_mapped_files_are_reported_and_not_counted(tmp_path):
    run = MadeRun(1)
    file = run.file("/data/map")
    run.io(0, "mmap", file=file)
    run.io(0, "mapped_read", duration=0, file=file, offset=0, bytes=40960, flags=IMPLIED)
    study = study_run(run.write(tmp_path / "run.sesame"))
    assert study.headline["bytes_read"] == 0
    write_page(study.run.data_set, tmp_path / "r.html", study)
    assert "Files mapped into memory: 1; pages of 41.0 kB" in own_text(
        (tmp_path / "r.html").read_text()
    )


def test_a_whole_run_has_no_warning(page):
    assert 'role="alert"' not in page(rank_zero_writer())


def test_calls_below_mpi_io_are_shown_apart(page):
    html = own_text(page(collective_writer()))
    files = html[html.index("<h2>Files") : html.index("<h2>Where")]
    assert "MPI-IO" in files
    assert '<td class="n" data-v="10">10</td></tr>' in files  # requests below, the last column
    calls = html[html.index("<h2>Calls") :]
    assert re.search(r"<td>pwrite</td><td>write</td><td>yes</td>", calls)
    assert re.search(r"<td>MPI_File_write_at_all</td><td>write</td><td></td>", calls)


@pytest.mark.parametrize("ranks", [0, 3])
def test_a_run_without_any_call_has_a_page(page, ranks):
    run = MadeRun(ranks)
    run.compute(None, MS)
    html = page(run)
    assert "No call on a file that keeps its data was recorded" in html
    assert "Time line" not in html


def test_a_run_of_messages_only_has_a_page(page):
    run = MadeRun(2)
    for rank in range(2):
        run.mpi(rank, "MPI_Barrier", duration=MS)
    html = page(run)
    assert "No call on a file that keeps its data was recorded" in html
    assert "Time line" in html
    assert "<dt>of the time in I/O</dt><dd>no record</dd>" in html
    assert "Findings are about calls on files, and none was recorded" in html


def test_a_page_that_cannot_be_written_is_refused_before_the_study(tmp_path, monkeypatch):
    from sesame.cli.report import report

    path = TracedRun(ranks=1).write(tmp_path / "run.sesame")
    monkeypatch.setattr("sesame.analysis.study.study_run", lambda _: pytest.fail("studied"))
    assert report.callback is not None
    with pytest.raises(OutputError, match="cannot write there"):
        report.callback(path, tmp_path / "missing" / "x.html", False)


def test_titles_of_tables_are_buttons_and_cells_carry_their_numbers():
    html = table_html("t", [Column("name", ["<a>"]), Column("size", [1500.0], lambda v: "1.5 kB")])
    assert "<b>" not in table_html("t", [Column("size", [1.0], lambda _: "<b>1")])
    assert '<th scope="col"><button type="button" title="name">name</button></th>' in html
    assert '<th scope="col" class="n"><button type="button"' in html
    assert "<td>&lt;a&gt;</td>" in html
    assert '<td class="n" data-v="1500">1.5 kB</td>' in html


def test_charts_carry_arrays_whole():
    chart = Chart(100)
    chart.classes(np.arange(6, dtype=np.int8).reshape(2, 3), (0, 1), (0, 1), [("a", "blue")])
    chart.points("n", np.array([1 << 40]), np.array([1, 2, 3]), "blue", texts=["</script>"])
    chart.line("n", [np.int64(5)], [0.5], "blue")
    html = chart.html('a "name"')
    assert '"values":{"type":"i1","base64":"AAECAwQF"},"shape":[2,3]' in html
    assert '{"type":"i4","base64":"AQAAAAIAAAADAAAA"}' in html
    assert '{"type":"f8","base64":"AAAAAAAAcEI="}' in html  # 2^40
    assert html.count("</script>") == 1
    assert '"x":[5]' in html
    assert 'data-label="a &quot;name&quot;"' in html


def test_arrows_are_limited_to_the_longest_waits(tmp_path, monkeypatch):
    monkeypatch.setattr(traced_plots, "MOST_ARROWS", 5)
    run = MadeRun(4)
    for i in range(20):
        for rank in range(4):
            run.clock[rank] = i * MS + rank * 10 * US
            run.mpi(rank, "MPI_Barrier", duration=100 * US)
    plot = traced_plots.timeline_plot(study_run(run.write(tmp_path / "r.sesame")))
    arrows = plot.chart.marks[-1]
    assert arrows["arrows"] and len(arrows["x1"]) == 5
    assert "the 5 longest of 60 waits" in plot.note


def test_many_calls_are_drawn_in_cells(tmp_path, monkeypatch):
    data_set = random_reader().write(tmp_path / "r.sesame")
    few = traced_plots.timeline_plot(study_run(data_set))
    assert few.chart.marks[0]["kind"] == "cells"  # 6,002 calls
    monkeypatch.setattr(traced_plots, "MOST_DRAWN_CALLS", 10_000)
    assert traced_plots.timeline_plot(study_run(data_set)).chart.marks[0]["kind"] == "spans"


def test_offsets_of_many_requests_are_drawn_in_cells(tmp_path):
    run = study_run(random_reader(requests=1600).write(tmp_path / "r.sesame")).run
    plot = traced_plots.offset_plot(run, 0)
    assert plot.chart.marks[0]["kind"] == "cells"
    assert "3,200 requests are drawn in cells" in plot.note


def test_a_page_of_a_thousand_ranks_is_light(tmp_path):
    data_set = many_ranks(1024, 50_000).write(tmp_path / "run.sesame")
    begin = time.process_time()  # not of others
    write_page(data_set, tmp_path / "r.html")
    took = time.process_time() - begin
    size = (tmp_path / "r.html").stat().st_size
    assert size < 4e6
    assert took < 20  # a loop over records somewhere would take longer


# the verb


def test_report_writes_the_page_and_the_numbers(sesame, tmp_path):
    rank_zero_writer().write(tmp_path / "run.sesame")
    done = sesame("report", "run.sesame", "r.html", "--json")
    assert (done.status, done.stderr) == (0, "")
    assert "one rank does the I/O" in (tmp_path / "r.html").read_text()
    numbers = done.json
    assert numbers["bytes_written"] == 104_000
    assert numbers["discarded"] == 0
    assert numbers["findings"][0]["topic"] == "one rank does the I/O"
    assert numbers["file_table"]["path"] == ["/data/out.dat"]
    assert numbers["ranks"]["bytes_written"] == [104_000, 0, 0, 0]
    assert numbers["request_sizes"]["write"] == [2000, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    assert numbers["wait_behind_io_s"] == pytest.approx(0.06, rel=0.01)


def test_report_puts_the_page_beside_the_data_set_unless_numbers_are_asked_for(sesame, tmp_path):
    rank_zero_writer().write(tmp_path / "run.sesame")
    assert sesame("report", "run.sesame", "--json").json["processes"] == 4
    assert not (tmp_path / "run.html").exists()
    assert "report: run.html" in sesame("report", "run.sesame").stderr
    assert (tmp_path / "run.html").is_file()


def test_report_of_a_simulated_run_is_that_of_simulate(sesame, tmp_path, run_path):
    assert sesame("report", str(run_path), "r.html").status == 0
    assert "Message matrix" in (tmp_path / "r.html").read_text()


def test_report_of_a_simulated_run_as_json_has_what_its_page_shows(sesame, tmp_path, run_path):
    content = sesame("report", str(run_path), "--json").json
    data_set = DataSet(run_path)
    assert content["kind"] == "simulated"
    assert content["result"]["predicted_time_s"] == data_set.info.result["predicted_time_s"]
    marks = {mark["name"]: mark for mark in content["charts"]["ranks"]["marks"]}
    computed = data_set.table("rank").column("compute_s").to_pylist()
    scale = marks["computation"]["y"][0] / computed[0]
    assert marks["computation"]["y"] == pytest.approx([scale * one for one in computed])
    assert not (tmp_path / "r.html").exists()


def test_report_of_another_data_set_says_what_it_expected(sesame, tmp_path):
    with DataSetWriter(tmp_path / "b.sesame") as writer:
        writer.write_records("figure", {"name": ["x"], "value": [1.0], "unit": ["s"]})
        writer.finish(some_info())
    done = sesame("report", "b.sesame")
    assert done.status == 2
    assert "nothing to report on in this traced data set" in done.stderr
    assert "there are records of type figure" in done.stderr
    assert not (tmp_path / "b.html").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["nothing.sesame"], 2, "this is no data set"),
        (["run.sesame", "."], 2, "this is a directory"),
        (["run.sesame", "no/where.html"], 2, "cannot write"),
    ],
)
def test_wrong_names_are_reported(sesame, tmp_path, arguments, status, message):
    rank_zero_writer().write(tmp_path / "run.sesame")
    done = sesame("report", *arguments)
    assert done.status == status
    assert message in done.stderr


def test_a_damaged_table_is_named(sesame, tmp_path):
    data_set = rank_zero_writer().write(tmp_path / "run.sesame")
    path = data_set.path / "io.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    done = sesame("report", "run.sesame", "r.html")
    assert done.status == 2
    assert "io.parquet: cannot read these records" in done.stderr
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize(("mpi_rank", "word"), [(0, "ranks"), (-1, "processes")])
def test_info_calls_ranks_only_what_has_one(mpi_rank, word, sesame, tmp_path):
    run = TracedRun(1, mpi_rank=mpi_rank)
    file = run.file("/data/out")
    run.io(0, 1, 1, "pwrite", file=file, offset=0, bytes=10)
    run.write(tmp_path / "run.sesame")
    lines = sesame("info", "run.sesame").stdout.splitlines()
    assert any(line.split() == [word, "1"] for line in lines)
    assert any(line.split()[:3] == ["file", word, "time"] for line in lines)


def test_the_share_of_processor_time_is_shown_where_it_is_known(tmp_path):
    columns = [
        rank_columns(study_run(DataSet(run.write(tmp_path / f"{i}.sesame"))))["processor"].tolist()
        for i, run in enumerate([TracedRun(1, processor_ns=25_000_000), TracedRun(1)])
    ]
    assert columns[0] == [0.25]  # of 100 ms
    assert math.isnan(columns[1][0])


def test_info_says_what_a_traced_run_did(sesame, tmp_path):
    run = rank_zero_writer()
    run.outcome[3] = "cut off"
    run.write(tmp_path / "run.sesame")
    text = re.sub(r"\s+", " ", sesame("info", "run.sesame").stdout)
    assert "processes 4 on 1 host: 3 exited, 1 cut off" in text
    assert "written 104 kB in 2,000 requests" in text
    assert "discarded 0 records" in text
    assert "1 of 4 processes were cut off (rank 3)" in text
    assert "/data/out.dat 1 20.0 ms 0 B 104 kB" in text
    assert "one rank does the I/O: Rank 0 of 4" in text


def test_a_data_set_opens_again(tmp_path):
    """What the fixture writes is what the format says: every field, of the type it has."""
    data_set = DataSet(strided_shared().write(tmp_path / "run.sesame").path)
    for name in ("io", "file", "process"):
        fields = {f["name"] for f in data_set.record_types[name]["fields"]}
        assert set(data_set.table(name).column_names) == fields
