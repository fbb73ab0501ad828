"""`sesame simulate` of a program with simulated files, against a stand-in for the simulator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sesame.analysis.report.storage import activity_plot
from sesame.datasets import DataSet

MACHINE = ["--machine", "paragon", "--set", "storage.ionodes=2"]
NO_FILES = 'name = "bare"\nnodes = 4\n[network]\nlatency = "1 us"\nbandwidth = "1 GB/s"\n'


@pytest.fixture
def bare_machine(tmp_path: Path) -> str:
    path = tmp_path / "bare.toml"
    path.write_text(NO_FILES + '[topology]\nkind = "crossbar"\n')
    return str(path)


def test_summary_has_a_table_of_the_file_system(sesame):
    run = sesame("simulate", "-n", "4", *MACHINE, "--", "files", "3")
    assert run.status == 0
    row = next(line for line in run.stderr.splitlines() if line.startswith("shared "))
    assert "12" in row  # requests
    assert "786 kB" in row  # written
    # 3 hits of 4 blocks at each of two I/O nodes, 5 of 5 at the compute node
    assert "85 %" in row
    assert "--files DIR keeps them" in run.stderr


def test_run_without_simulated_files_says_nothing_of_them(sesame):
    run = sesame("simulate", "-n", "4", *MACHINE, "-o", "a.sesame", "--", "ring", "3")
    assert "file system" not in run.stderr


def test_files_are_kept_where_asked_and_nowhere_else(sesame, tmp_path):
    assert sesame("simulate", *MACHINE, "--files", "kept/here", "--", "files").status == 0
    assert (tmp_path / "kept/here/data").read_bytes() == b"simulated"
    assert sesame("simulate", *MACHINE, "-o", "a.sesame", "--", "files").status == 0
    assert not list((tmp_path / "a.sesame").glob("**/data"))


def test_data_set_has_each_part_and_the_calls(sesame, tmp_path):
    run = sesame("simulate", "-n", "2", *MACHINE, "-o", "a.sesame", "--", "files", "3")
    assert run.status == 0, run.stderr
    data_set = DataSet(tmp_path / "a.sesame")
    assert data_set.table("storage_file").column("name").to_pylist() == ["/pfs/data"]
    ionodes = data_set.table("storage_ionode")
    assert ionodes.column("ionode").to_pylist() == [0, 1]
    assert ionodes.column("device_writes").to_pylist() == [6, 6]
    assert ionodes.column("write_hits").to_pylist() == [3, 3]
    assert data_set.table("storage_cache").column("node").to_pylist() == [1]
    activity = data_set.table("storage_activity")
    assert activity.column("begin_s").to_pylist() == [0.0, 0.004, 0.0, 0.004]
    calls = data_set.table("io")
    # The outer call stands before the one inside it, although it ends later.
    assert calls.column("call").to_pylist() == ["MPI_File_write_at", "pwrite"] * 2
    assert calls.column("offset").to_pylist() == [0, 0, 65536, 65536]
    assert calls.column("duration_ns").to_pylist() == [4000, 2000] * 2
    assert calls.column("flags").to_pylist() == [0, 1] * 2
    assert data_set.table("file").column("path").to_pylist() == ["/pfs/data"]


def test_report_has_files_nodes_devices_and_findings(sesame, tmp_path):
    run = sesame("simulate", "-n", "2", *MACHINE, "-o", "a.sesame", "--", "files", "3")
    assert run.status == 0, run.stderr
    report = sesame("report", "a.sesame", "page.html")
    assert report.status == 0, report.stderr
    page = (tmp_path / "page.html").read_text()
    devices = "Devices of I/O nodes over time"
    for part in ("Simulated files", "I/O nodes and devices", devices, "Findings"):
        assert f"<h2>{part}</h2>" in page
    assert "data sent to compute nodes" in page  # each title says what it means
    assert "/pfs/data" in page
    assert "predicted time" in page  # it is the report of a simulated run, not of a traced one


def test_devices_with_slices_of_different_length_are_drawn_over_the_same_time():
    """A device that ended early has shorter slices than one that worked on."""
    found = {
        "ionode": np.array([0, 0, 0, 1, 1]),
        "begin_s": np.array([0.0, 1.0, 5.0, 0.0, 4.0]),
        "length_s": np.array([1.0, 1.0, 1.0, 4.0, 4.0]),
        "busy_s": np.array([1.0, 0.5, 1.0, 4.0, 2.0]),
    }
    first, second = activity_plot(found, "ionode").chart.marks
    assert first["name"] == "I/O node 0"
    assert list(first["x"]) == list(second["x"]) == [0, 4, 8]
    assert list(first["y"]) == [37.5, 25, 25]  # 1.5 and 1 of 4 seconds; the end again
    assert list(second["y"]) == [100, 50, 50]


def test_page_of_a_series_has_curves_of_storage(sesame, tmp_path):
    arguments = ["-n", "2", *MACHINE[:2], "--compute", "none", "--report", "page.html"]
    sweeps = ["--sweep", "storage.ionodes=1,2,4", "--sweep", "storage.collective.cb_nodes=1,2"]
    run = sesame("simulate", *arguments, *sweeps, "--json", "--", "files", "3")
    assert run.status == 0, run.stderr
    assert [one["device_writes"] for one in run.json["runs"]] == [6, 6, 12, 12, 24, 24]
    page = (tmp_path / "page.html").read_text()
    assert "<h2>Time in file systems, mean of the ranks</h2>" in page
    assert "<h2>Writes of devices</h2>" in page
    assert "<h2>Reads of devices</h2>" not in page  # there were none


@pytest.mark.parametrize(
    "options", [["--collective", "barrier"], ["--files", "kept"], ["--discard-data"]]
)
def test_options_about_files_need_a_machine_with_files(sesame, tmp_path, bare_machine, options):
    run = sesame("simulate", "--machine", bare_machine, *options, "--", "files")
    assert run.status == 2
    assert f"{options[0]} is for machines with file systems, and bare has no [storage]" in (
        run.stderr
    )
    assert not (tmp_path / "kept").exists()


def test_wrong_strategy_is_reported_with_the_known_ones(sesame):
    run = sesame("simulate", *MACHINE, "--collective", "three-phase", "--", "files")
    assert run.status == 2
    assert "expected barrier, grouping, two-phase or disk-directed" in run.stderr


def test_series_keeps_no_files(sesame, tmp_path):
    run = sesame("simulate", "-n", "1,2", *MACHINE, "--files", "kept", "--", "files")
    assert run.status == 2
    assert "--files keeps the files of one run" in run.stderr
    assert not (tmp_path / "kept").exists()
