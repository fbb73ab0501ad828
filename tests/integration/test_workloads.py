"""The workloads give the published answers, under a real MPI and under the simulator."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.installations import OPEN_MPI
from tests.processors import needs_processors

from sesame.datasets import DataSet
from sesame.workloads import build_workload, find_compiler, find_workload, run_copies

KERNELS = ["ep", "is", "cg", "mg", "ft"]


@pytest.fixture(scope="session")
def verdicts(kit_program) -> Path:
    """A program of the kit whose answer can be chosen."""
    return kit_program("verdicts")


@pytest.mark.few_cases(2)
@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("name", KERNELS)
def test_kernel_is_verified_under_a_real_mpi(name, ranks, program, mpiexec, tmp_path):
    outcome = mpiexec(ranks, program(name), "--class", "S", "--report", "report.json")
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["verified"] is True
    assert report["ranks"] == ranks
    assert report["time_s"] > 0


# 8 and 64 ranks are oblong and square grids for cg, slabs for ft; 128 makes ft's pencils.
@pytest.mark.few_cases(5)
@pytest.mark.parametrize("ranks", [8, 64])
@pytest.mark.parametrize("name", KERNELS)
def test_kernel_is_verified_in_the_simulator(name, ranks, program, simulate):
    options = ["-n", ranks, "--machine", "infiniband", "--compute", "none"]
    outcome = simulate(*options, "--", program(name), "--class", "S")
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    assert outcome.stdout.endswith("verified\n")


def test_more_ranks_than_planes_have_pencils(program, simulate):
    options = ["-n", 128, "--machine", "infiniband", "--compute", "none"]
    outcome = simulate(*options, "--", program("ft"), "--class", "S")
    assert outcome.status == 0, outcome.stdout + outcome.stderr


def test_keys_are_sorted_by_any_number_of_ranks(program, mpiexec):
    assert mpiexec(3, program("is")).status == 0


@pytest.mark.parametrize("name", ["cg", "mg", "ft"])
def test_wrong_number_of_ranks_is_reported_once(name, program, mpiexec):
    outcome = mpiexec(3, program(name))
    assert outcome.status == 2
    assert outcome.stderr.count(f"error: {name} needs a power of two of ranks; 3 given") == 1


def test_too_many_ranks_are_refused(program, simulate):
    options = ["-n", 8192, "--machine", "infiniband", "--compute", "none", "--stack-size", "64KiB"]
    outcome = simulate(*options, "--", program("mg"))
    assert outcome.status == 2
    assert "at most 4096 ranks" in outcome.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--class", "Q"], "--class Q: there is no such class, expected one of S, W, A, B"),
        (["--clas", "S"], "--clas"),
    ],
)
def test_wrong_options_are_reported_once(options, message, program, mpiexec):
    outcome = mpiexec(2, program("cg"), *options)
    outcome.assert_refused(message)


@pytest.mark.few_cases(3)
@pytest.mark.parametrize(
    ("options", "status", "verified"),
    [
        ([], 0, True),
        (["--value", "2.001"], 0, True),
        (["--value", "2.003"], 1, False),
        (["--count", "8"], 1, False),
        (["--undefined"], 1, False),
        (["--unknown"], 0, None),
    ],
)
def test_verdict_decides_the_exit_status(options, status, verified, verdicts, mpiexec, tmp_path):
    outcome = mpiexec(2, verdicts, *options, "--report", "report.json")
    assert outcome.status == status, outcome.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["verified"] is verified
    assert report["figures"] == [{"name": "rate", "value": 2.0, "unit": "Mop/s"}]
    assert report["tables"]["squares"]["square"] == {"unit": "m", "values": [1.0, 4.0, 9.0]}
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_report_that_cannot_be_written_is_no_success(verdicts, mpiexec):
    outcome = mpiexec(2, verdicts, "--report", "nowhere/report.json")
    assert outcome.status == 1
    assert "nowhere/report.json: cannot write: No such file" in outcome.stderr


def test_bench_runs_a_kernel_on_this_machine(bench, program, tmp_path):
    program("cg")
    outcome = bench("cg", "--class", "S", "-n", 4, "--json", "-o", "cg.sesame")
    assert outcome.status == 0, outcome.stderr
    assert outcome.json["verified"] is True
    assert outcome.json["machine"] == "this machine"
    assert outcome.json["ranks"] == 4
    assert [figure["name"] for figure in outcome.json["figures"]] == ["rate"]
    zeta = DataSet(tmp_path / "cg.sesame").table("convergence")["zeta"].to_pylist()
    assert len(zeta) == 15
    assert zeta[-1] == pytest.approx(8.5971775078648, rel=1e-10)


def test_bench_runs_a_kernel_in_the_simulator(bench, program):
    program("cg")
    outcome = bench("cg", "-n", 16, "--simulate", "paragon", "--compute", "none", "--json")
    assert outcome.status == 0, outcome.stderr
    assert outcome.json["verified"] is True
    assert outcome.json["machine"] == "paragon"
    # Latency decides: seven exchanges of each step follow each other, none under 10 us.
    assert 15 * 26 * 7 * 10e-6 < outcome.json["time_s"] < outcome.json["predicted_time_s"]


def test_a_workload_is_simulated_with_ranks_that_are_processes(bench):
    simulated = ("cg", "-n", 2, "--simulate", "infiniband", "--compute", "none", "--json")
    times = []
    for way in ("fibers", "processes"):
        outcome = bench(*simulated, "--ranks-as", way)
        assert outcome.status == 0, outcome.stderr
        assert outcome.json["verified"] is True
        times.append(outcome.json["time_s"])
    assert times[0] == times[1] > 0


def test_ranks_of_a_real_run_are_what_mpiexec_makes_them(bench):
    bench("cg", "-n", 2, "--ranks-as", "fibers").assert_refused(
        "--ranks-as fibers is for simulated runs"
    )


def test_bench_passes_wrong_usage_on(bench, program):
    program("cg")
    outcome = bench("cg", "-n", 3, "--simulate", "infiniband", "--json")
    assert outcome.status == 2
    assert outcome.stdout == ""
    assert "cg needs a power of two" in outcome.stderr


def test_dynamic_work_gains_over_a_tenth_where_rows_differ(bench, program):
    """A published gain: speed-up 9.405 instead of 7.921 (docs/workloads/sparse.md)."""
    program("sparse")
    matrix = ("--order", 1000, "--nonzeros", 100_000, "--skew", 0.5)
    work = ("--vectors", 125, "--product-time", 250, "--read-size", "128KiB", "--work", "both")
    machine = ("-n", 11, "--simulate", "paragon", "--compute", "none")
    runs = [bench("sparse", *machine, *matrix, *work, "--json") for _ in range(2)]
    for outcome in runs:
        assert outcome.status == 0, outcome.stderr
        assert outcome.json["verified"] is True
        gain = {one["name"]: one["value"] for one in outcome.json["figures"]}
        assert gain["largest gain of dynamic work"] > 10
    assert runs[0].json["time_s"] == runs[1].json["time_s"]


@pytest.mark.skipif(shutil.which("mpicxx.openmpi") is None, reason="needs Debian's libopenmpi-dev")
@needs_processors(2)
def test_copies_under_open_mpi_do_not_share_a_processor(cache, monkeypatch, capfd):
    for name, value in OPEN_MPI.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OMPI_MCA_hwloc_base_report_bindings", "1")
    built = build_workload(find_workload("ep"), find_compiler("mpicxx.openmpi"))
    run_copies(built, 2, ["--class", "S"])
    printed = capfd.readouterr().err
    assert printed.count("is not bound") == 2, printed


# Starts one rank, which first writes down where this mpiexec's directory is and what is there.
NOTES_SESSION_DIRECTORY = """#!/bin/sh
program=$3
shift 3
exec mpiexec.openmpi -n 1 sh -c 'd=$OMPI_MCA_orte_tmpdir_base
echo "$d $(ls $d)" >> {notes}; exec "$0" "$@"' "$program" "$@"
"""


@pytest.mark.skipif(shutil.which("mpicxx.openmpi") is None, reason="needs Debian's libopenmpi-dev")
def test_no_copy_under_open_mpi_removes_the_directory_of_another(cache, monkeypatch, tmp_path):
    for name, value in OPEN_MPI.items():
        monkeypatch.setenv(name, value)
    notes, mpiexec = tmp_path / "notes", tmp_path / "mpiexec"
    mpiexec.write_text(NOTES_SESSION_DIRECTORY.format(notes=notes))
    mpiexec.chmod(0o755)
    built = build_workload(find_workload("ep"), find_compiler("mpicxx.openmpi"))
    built = replace(built, compiler=replace(built.compiler, mpiexec=mpiexec))
    run_copies(built, 3, ["--class", "S"])
    entries = dict(line.split() for line in notes.read_text().splitlines())  # by directory
    assert len(entries) == 3
    assert all(entry.startswith("ompi.") for entry in entries.values())
    assert not any(Path(directory).exists() for directory in entries)


@pytest.mark.skipif(shutil.which("mpicxx.openmpi") is None, reason="needs Debian's libopenmpi-dev")
def test_the_name_of_the_mpi_library_is_a_line_of_text(bench, monkeypatch):
    """Machine files have it in a comment. Open MPI counts the null at the end of its name."""
    for name, value in OPEN_MPI.items():
        monkeypatch.setenv(name, value)
    options = ("--repeat", 1, "--most", 64, "--mpi", "mpicxx.openmpi", "--json")
    outcome = bench("messages", "-n", 2, *options)
    assert outcome.status == 0, outcome.stderr
    assert outcome.json["parameters"]["mpi"].startswith("Open MPI v4")
    assert outcome.json["parameters"]["mpi"].isprintable()
