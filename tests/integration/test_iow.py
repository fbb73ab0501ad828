"""iow writes what it says where it says, checks it, and is understood by its analysis."""

from __future__ import annotations

import json

import pytest
from tests.integration.installations import IN_PLACE

from sesame.datasets import DataSet
from sesame.machines import find_machine

SMALL = ["--size", "64:4096", "--operations", "16", "--repeat", "2"]


@pytest.fixture(scope="session")
def iow(program):
    return program("iow")


@pytest.fixture
def table(tmp_path):
    """table(name): rows of the report that the program wrote."""

    def read(name):
        columns = json.loads((tmp_path / "report.json").read_text())["tables"][name]
        values = [part["values"] for part in columns.values()]
        return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]

    return read


@pytest.mark.few_cases(2)
@pytest.mark.parametrize(
    ("ranks", "interface"), [(1, "posix"), (2, "posix"), (4, "posix"), (2, "mpi")]
)
def test_data_is_read_back_right(ranks, interface, iow, mpiexec, tmp_path):
    outcome = mpiexec(ranks, iow, *SMALL, "--interface", interface)
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    assert outcome.stdout.endswith("verified\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ranks", [4, 16])
def test_simulated_ranks_read_it_back_right(ranks, iow, simulate, tmp_path):
    options = ["-n", ranks, "--machine", "paragon", "--compute", "none"]
    outcome = simulate(*options, *IN_PLACE, "--", iow, *SMALL, "--shift", 1, "--map", "cyclic")
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    assert outcome.stdout.endswith("verified\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.few_cases(1)
@pytest.mark.parametrize(
    ("files", "map", "sync"),
    [("shared", "block", "none"), ("shared", "cyclic", "each"), ("each", "block", "end")],
)
def test_other_ranks_read_what_a_rank_wrote(files, map, sync, iow, mpiexec):
    places = ["--stride", "8192", "--offset", "24", "--shift", "1", "--clear"]
    outcome = mpiexec(2, iow, *SMALL, *places, "--files", files, "--map", map, "--sync", sync)
    assert outcome.status == 0, outcome.stdout + outcome.stderr


def test_direct_input_and_output(iow, mpiexec):
    options = ["--size", "4096:16384", "--operations", "8", "--direct"]
    outcome = mpiexec(2, iow, *options)
    if "does the file system support O_DIRECT?" in outcome.stderr:
        pytest.skip("the file system of the tests does not support O_DIRECT")
    assert outcome.status == 0, outcome.stdout + outcome.stderr


def test_tables_have_every_run_and_record(iow, mpiexec, table):
    outcome = mpiexec(2, iow, *SMALL, "--files", "each", "--report", "report.json")
    assert outcome.status == 0, outcome.stderr
    for mode in ("write", "read"):
        runs, records = table(mode), table(f"{mode}_record")
        assert [row["size"] for row in runs] == [64.0 * 2**i for i in range(7)] * 2
        assert all(row["bytes"] == 2 * 16 * row["size"] for row in runs)
        assert len(records) == 7 * 16 * 2
        for run in runs[7:]:
            own = [row["time"] for row in records if row["size"] == run["size"]]
            # In microseconds, of both ranks: the slower one's sum is in the run's time.
            assert sum(own) / 2 * 1e-6 <= run["time"]
            assert run["rate"] == pytest.approx(run["bytes"] / run["time"] * 1e-6)
    assert sum(row["remove"] > 0 for row in table("file")) == 2 * 7 * 2


def test_findings_are_words_figures_and_tables(bench, iow, tmp_path):
    options = ["--size", "64:1048576", "--total", 4 << 20, "--repeat", 3]
    outcome = bench("iow", "-n", 1, "--json", "-o", "iow.sesame", "--report", "iow.html", *options)
    assert outcome.status == 0, outcome.stderr
    assert outcome.json["verified"] is True
    assert any("performance over the sizes" in text for text in outcome.json["findings"])
    names = {figure["name"] for figure in outcome.json["figures"]}
    assert {"best write rate", "best read rate"} <= names
    data = DataSet(tmp_path / "iow.sesame")
    sizes = data.table("write_regions")["size"].to_pylist()
    assert sizes == [64.0 * 2**i for i in range(15)]
    assert (tmp_path / "iow.html").stat().st_size > 10_000


def test_simulation_without_times_of_files_says_so(bench, iow, tmp_path):
    shipped = find_machine("paragon").read_text()
    machine = tmp_path / "without-storage.toml"
    machine.write_text(shipped[: shipped.index("[storage]")])
    options = ["-n", 2, "--simulate", machine, "--compute", "none", "--json", *SMALL]
    outcome = bench("iow", *options)
    assert outcome.status == 0, outcome.stderr
    assert outcome.json["verified"] is True
    assert any("no time was measured" in text for text in outcome.json["findings"])


@pytest.mark.few_cases(3)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--size", "x"], "--size x: expected a size such as 64KiB"),
        (["--size", "64:"], "--size : expected a size such as 64KiB"),
        (["--size", "4KiB:64"], "--size 4KiB:64: expected SIZE or FROM:TO"),
        (["--size", "12"], "--size 12: expected a multiple of 8"),
        (["--size", "64:100"], "--size 64:100: expected powers of 2"),
        (["--mode", "append"], "--mode append: expected one of write, read, both"),
        (["--stride", "64"], "--stride: expected a multiple of 8, at least the largest size"),
        (["--direct"], "--direct needs sizes, --offset and --stride that are multiples of 512"),
        (["--dir", "nowhere"], "--dir nowhere: cannot write there: No such file"),
    ],
)
def test_wrong_options_are_reported_once(options, message, iow, mpiexec, tmp_path):
    outcome = mpiexec(2, iow, *options)
    outcome.assert_refused(message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("interface", ["posix", "mpi"])
def test_error_in_the_middle_ends_all_ranks(interface, iow, mpiexec, small_files, tmp_path):
    options = ["--size", "1048576", "--operations", "12", "--interface", interface]
    outcome = mpiexec(2, iow, *options)
    assert outcome.status == 1
    assert outcome.stderr.count("error: iow: rank 1: ") == 1
    assert "/data: cannot write" in outcome.stderr
    assert list(tmp_path.iterdir()) == []


def test_too_little_space_is_reported_before_the_run(iow, mpiexec, small_disk):
    outcome = mpiexec(2, iow, "--dir", "disk", "--size", "1048576", "--operations", "4")
    assert outcome.status == 2
    assert "--dir disk: 6.29 MB are free, the run needs 8.39 MB" in outcome.stderr
    assert list(small_disk.iterdir()) == []
