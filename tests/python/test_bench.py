"""The catalogue of workloads, and `sesame bench` against stand-ins for compilers and mpiexec."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sesame.analysis.bench import STUDIES, panel_chart, panels_of, table_panels
from sesame.analysis.reports import write_page
from sesame.api import workloads
from sesame.api.display import CapturedOutput
from sesame.datasets import DataSet, DataSetWriter
from sesame.errors import AlreadyReported, BuildError, InputError, WorkloadError
from sesame.host_load import LoadWatch
from sesame.workloads import (
    Built,
    Compiler,
    all_workloads,
    build,
    build_workload,
    find_compiler,
    find_workload,
    run_here,
    write_run,
)
from sesame.workloads.build import fingerprint
from sesame.workloads.catalogue import PAGES, SOURCES

REPORT = {
    "workload": "cg",
    "version": 1,
    "parameters": {"class": "S"},
    "ranks": 2,
    "verified": True,
    "time_s": 0.25,
    "figures": [{"name": "rate", "value": 12.5, "unit": "Mop/s"}],
    "checks": [
        {
            "name": "zeta",
            "value": 8.5,
            "expected": 8.5,
            "relative_error": 0.0,
            "tolerance": 1e-10,
            "right": True,
        }
    ],
    "tables": {
        "phases": {
            "phase": {"unit": "", "values": ["solve", "norm"]},
            "longest": {"unit": "s", "values": [0.2, 0.05]},
        },
        "convergence": {
            "step": {"unit": "", "values": [1.0, 2.0]},
            "zeta": {"unit": "", "values": [8.0, 8.5]},
        },
    },
}


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def built_with(tmp_path: Path, report: dict | None, status: int) -> Built:
    """A workload whose mpiexec writes `report` where --report says, as the last argument."""
    text = f"for file; do :; done\necho started\nexit {status}"
    if report is not None:
        (tmp_path / "given.json").write_text(json.dumps(report))
        text = text.replace("echo", f"cp {tmp_path}/given.json $file\necho")
    mpiexec = script(tmp_path / "mpiexec", text)
    return Built(find_workload("cg"), Path("cg"), Compiler(Path("mpicxx"), mpiexec))


def test_catalogue_has_every_program_that_is_built_and_each_has_a_page():
    lists = [path.read_text() for path in SOURCES.rglob("CMakeLists.txt")]
    programs = {
        name for text in lists for name in re.findall(r"^sesame_workload\(([\w-]+) ", text, re.M)
    }
    assert programs == set(all_workloads())
    index = (PAGES / "index.md").read_text()
    for name, workload in all_workloads().items():
        assert f"[{name}]({name}.md)" in index
        assert workload.page().startswith(f"# {name}: ")


def test_list_says_what_there_is(sesame):
    shown = sesame("bench", "list")
    assert shown.status == 0
    listed = {workload["name"]: workload for workload in sesame("bench", "list", "--json").json}
    assert all(name in shown.stdout for name in listed)
    assert listed["cg"]["ranks"] == "a power of two"


@pytest.mark.parametrize("group", ["bench", "machine"])
def test_a_list_in_a_pipe_has_a_line_for_each_entry(sesame, group):
    listed = sesame(group, "list", "--json").json
    assert len(sesame(group, "list").stdout.splitlines()) == 1 + len(listed)


def test_show_prints_the_page(sesame):
    shown = sesame("bench", "show", "cg")
    assert shown.status == 0
    assert "conjugate gradients" in shown.stdout
    assert "|---|" not in shown.stdout  # the table is drawn


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "cgg"], "no workload called cgg, there are: ep, is, cg"),
        (["show", "cgg"], "hint: did you mean cg?"),
        (["run", "xhpl"], "hint: `sesame bench list`"),
        (["run", "cg", "-n", "0"], "-n"),
        (["run", "cg", "--simulate", "cray"], "no machine model called cray"),
        (["run", "cg", "--compute", "often"], "--compute often: expected measured"),
        (
            ["run", "cg", "--report", "a.png"],
            "--report a.png: expected a name that ends with .html",
        ),
        (["run", "cg", "--mpi", "no-such-mpicxx"], "--mpi no-such-mpicxx: no such compiler"),
    ],
)
def test_wrong_input_is_reported_with_status_2_and_leaves_nothing(
    sesame, tmp_path, arguments, message
):
    outcome = sesame("bench", *arguments)
    assert outcome.status == 2
    assert message in outcome.stderr
    assert list(tmp_path.iterdir()) == []


def test_failing_compiler_is_quoted_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    wrapper = script(tmp_path / "mpicxx", "echo no licence for you >&2; exit 1")
    with pytest.raises(BuildError) as caught:
        build_workload(find_workload("cg"), find_compiler(str(wrapper)))
    assert "cg cannot be built" in caught.value.message
    assert "mpicxx" in caught.value.message
    assert "libcli11-dev" in caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "a.cc:1: error: no such type",
        "a.f90:2:3:\n\n   integr i\n   1\nError: Unclassifiable statement",
        "CMake Error at CMakeLists.txt:3 (find_package):\n  Could not find MPI",
        "a.o: undefined reference to `f'\ncollect2: error: ld returned 1 exit status",
    ],
)
def test_the_first_error_of_a_build_is_shown(text):
    lines = ["ok"] * 99 + text.splitlines() + ["what follows"] * 99
    shown = build._of_error(lines)
    assert all(line in shown for line in text.splitlines())
    assert len(shown) == build.MOST_LINES


def test_the_last_lines_of_a_build_without_an_error_are_shown():
    assert build._of_error([str(i) for i in range(99)])[-1] == "98"
    assert build._of_error(["alone"]) == ["alone"]


def test_program_is_kept_by_compiler(tmp_path):
    first = Compiler(script(tmp_path / "one", "echo gcc 12"), None)
    second = Compiler(script(tmp_path / "two", "echo gcc 13"), None)
    before = fingerprint(first)
    assert before == fingerprint(first)
    assert before != fingerprint(second)
    script(tmp_path / "one", "echo gcc 14")
    assert before != fingerprint(first)


def test_mpiexec_is_the_one_beside_the_wrapper(tmp_path):
    for name in ("mpicxx.other", "mpiexec.other", "mpiexec", "mpicxx_abi"):
        script(tmp_path / name, "exit 0")
    assert find_compiler(str(tmp_path / "mpicxx.other")).mpiexec == tmp_path / "mpiexec.other"
    assert find_compiler(str(tmp_path / "mpicxx_abi")).mpiexec == tmp_path / "mpiexec"


def test_wrapper_is_looked_for_in_order(tmp_path, monkeypatch):
    for name in ("mpicxx", "mpicxx.mpich"):
        script(tmp_path / name, "exit 0")
    monkeypatch.setattr("sys.executable", str(tmp_path / "nowhere/python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_compiler().wrapper.name == "mpicxx.mpich"
    (tmp_path / "mpicxx.mpich").unlink()
    assert find_compiler().wrapper == tmp_path / "mpicxx"
    (tmp_path / "mpicxx").unlink()
    with pytest.raises(InputError, match="no MPI compiler wrapper") as caught:
        find_compiler()
    assert "apt-get install" in caught.value.hint


@pytest.mark.parametrize(("verified", "status"), [(True, 0), (None, 0), (False, 1)])
def test_run_gives_the_report_and_the_exit_status(tmp_path, capfd, verified, status):
    built = built_with(tmp_path, {**REPORT, "verified": verified}, status)
    run = run_here(built, 2, ["--class", "S"], output_to_stderr=True)
    assert run.exit_status == status
    assert run.to_json()["verified"] is verified
    assert run.to_json()["machine"] == "this machine"
    assert run.command[1:] == ["-n", "2", "cg", "--class", "S"]
    assert capfd.readouterr() == ("", "started\n")


def test_program_that_refuses_has_said_why(tmp_path):
    with pytest.raises(AlreadyReported) as caught:
        run_here(built_with(tmp_path, None, 2), 3, [], output_to_stderr=False)
    assert caught.value.exit_status == 2


def test_help_of_the_program_is_no_failure(tmp_path):
    with pytest.raises(AlreadyReported) as caught:
        run_here(built_with(tmp_path, None, 0), 1, ["--help"], output_to_stderr=False)
    assert caught.value.exit_status == 0


@pytest.mark.parametrize("status", [0, 1, 139])
def test_program_without_a_report_has_failed(tmp_path, status):
    with pytest.raises(WorkloadError, match=f"ended with status {status}"):
        run_here(built_with(tmp_path, None, status), 2, [], output_to_stderr=False)


def test_without_mpiexec_a_real_run_says_so(tmp_path):
    built = Built(find_workload("cg"), Path("cg"), Compiler(Path("/x/mpicxx"), None))
    with pytest.raises(InputError, match="no mpiexec beside /x/mpicxx"):
        run_here(built, 2, [], output_to_stderr=False)


def test_data_set_of_a_run_has_figures_checks_and_tables(tmp_path):
    run = run_here(built_with(tmp_path, REPORT, 0), 2, [], output_to_stderr=True)
    with DataSetWriter(tmp_path / "cg.sesame") as writer:
        write_run(writer, run, datetime.now(UTC))
    data = DataSet(tmp_path / "cg.sesame")
    assert data.info["kind"] == "bench"
    assert data.info["result"]["verified"] is True
    assert data.table("figure").to_pylist() == REPORT["figures"]
    assert data.table("check")["right"].to_pylist() == [1]
    assert data.table("phases").to_pydict() == {"phase": ["solve", "norm"], "longest": [0.2, 0.05]}
    units = {f["name"]: f["unit"] for f in data.record_types["phases"]["fields"]}
    assert units == {"phase": "", "longest": "s"}


def test_load_of_others_during_a_run_is_a_doubt(tmp_path, monkeypatch):
    """/proc/stat counts 100 ticks a second; others use both processors for longer than the run."""
    monkeypatch.setattr(workloads, "LoadWatch", lambda: LoadWatch(tmp_path / "stat"))
    stat = tmp_path / "stat"
    stat.write_text("cpu 0 0 0 0 0 0 0 0\n")
    report = tmp_path / "busy.json"
    report.write_text(json.dumps(REPORT))
    mpiexec = script(
        tmp_path / "mpiexec",
        f"for file; do :; done\ncp {report} $file\necho cpu 900000 0 0 0 0 0 0 0 >{stat}",
    )
    built = Built(find_workload("cg"), Path("cg"), Compiler(Path("mpicxx"), mpiexec))
    run = workloads._run_here(built, 2, CapturedOutput(quiet=True), [])
    assert [doubt["reason"] for doubt in run.to_json()["doubts"]] == ["busy host"]
    with DataSetWriter(tmp_path / "run.sesame") as writer:
        write_run(writer, run, datetime.now(UTC))
    write_page(DataSet(tmp_path / "run.sesame"), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "This number may be wrong" in page and "busy host" in page

    mpiexec.write_text(mpiexec.read_text().replace("900000", "0"))
    stat.write_text("cpu 0 0 0 0 0 0 0 0\n")
    assert workloads._run_here(built, 2, CapturedOutput(quiet=True), []).doubts == ()


def test_table_without_rows_is_written_and_drawn(tmp_path):
    empty = {"step": {"unit": "", "values": []}, "mass": {"unit": "1", "values": []}}
    report = {**REPORT, "tables": {"totals": empty}}
    run = run_here(built_with(tmp_path, report, 0), 2, [], output_to_stderr=True)
    with DataSetWriter(tmp_path / "ppm.sesame") as writer:
        write_run(writer, run, datetime.now(UTC))
    assert DataSet(tmp_path / "ppm.sesame").table("totals").num_rows == 0
    write_page(DataSet(tmp_path / "ppm.sesame"), tmp_path / "page.html")
    assert "totals <small>0 rows</small>" in (tmp_path / "page.html").read_text()


def bench_page(tmp_path: Path, **changes: Any) -> str:
    report = {**REPORT, **changes}
    run = run_here(built_with(tmp_path, report, 0), 2, [], output_to_stderr=True)
    with DataSetWriter(tmp_path / "run.sesame") as writer:
        write_run(writer, replace(run, report=report), datetime.now(UTC))
    write_page(DataSet(tmp_path / "run.sesame"), tmp_path / "page.html")
    return (tmp_path / "page.html").read_text()


def test_page_begins_with_the_verdict_and_the_findings(tmp_path):
    text = bench_page(tmp_path, findings=["it <converges>"])
    assert "answer verified" in text
    headings = re.findall(r"<h2>(.*?)</h2>", text)
    assert headings[:4] == ["Findings", "Convergence", "Phases", "Checks"]
    assert "it &lt;converges&gt;" in text and "<converges>" not in text
    assert text.count('<figure class="chart"') >= 2


def test_each_unit_has_a_plot_of_its_own_and_repetitions_a_band():
    table = {
        "size": {"unit": "byte", "values": [64, 64, 128, 128]},
        "rate": {"unit": "MB/s", "values": [1.0, 3.0, 5.0, 5.0]},
        "time": {"unit": "s", "values": [4.0, 2.0, 1.0, 1.0]},
        "bytes": {"unit": "byte", "values": [9, 9, 9, 9]},
        "records": {"unit": "", "values": [7, 7, 8, 8]},
        "repeat": {"unit": "", "values": [0, 1, 0, 1]},
    }
    rate, time = table_panels("write", table)
    assert (rate.unit, time.unit) == ("MB/s", "s")
    (line,) = rate.lines
    assert (line.x, line.y, line.low, line.high) == ([64, 128], [2, 5], [1, 5], [3, 5])
    assert line.has_range


def test_series_are_distinguished_and_do_not_run_into_each_other():
    table = {
        "record": {"unit": "", "values": [0, 1, 0, 1]},
        "time": {"unit": "us", "values": [1.0, 2.0, 10.0, 20.0]},
        "size": {"unit": "byte", "values": [1024, 1024, 4096, 4096]},
    }
    (panel,) = table_panels("write_record", table)
    assert [line.name for line in panel.lines] == ["time, size 1 KiB", "time, size 4 KiB"]
    assert [line.y for line in panel.lines] == [[1, 2], [10, 20]]


def test_study_plots_name_tables_that_a_run_of_the_workload_writes():
    for workload in STUDIES:
        assert workload in all_workloads()
    tables = {
        "write_regions": {
            "size": {"unit": "byte", "values": [64.0, 128.0]},
            "rate": {"unit": "MB/s", "values": [1.0, 2.0]},
            "region": {"unit": "", "values": [0.0, 0.0]},
            "fit": {"unit": "MB/s", "values": [1.0, 2.0]},
        }
    }
    (panel,) = panels_of("iow", tables)
    assert [line.name for line in panel.lines] == ["write rate", "write fit"]
    assert panel_chart(panel).axes["y"]["title"] == "MB/s"
