"""Reports of real runs: what a program is known to do is what they say."""

from __future__ import annotations

import json

import pytest
from tests.command_line import SESAME, Outcome, run
from tests.integration.installations import MPIS

CELLS = 12**3 * 5 * 8  # bytes of one dump of class S


@pytest.fixture
def report_of(tmp_path):
    """report_of(ranks, program, *arguments): its run, traced, as the report's numbers."""

    def trace(ranks, program, *arguments):
        command = [MPIS["debian"].mpiexec, "-n", str(ranks), str(program), *arguments]
        traced = run([*SESAME, "trace", "-o", "run.sesame", "--", *command], tmp_path)
        assert traced.status == 0, traced.stderr
        done: Outcome = run([*SESAME, "report", "run.sesame", "run.html", "--json"], tmp_path)
        assert done.status == 0, done.stderr
        assert "Time line" in (tmp_path / "run.html").read_text()
        return json.loads(done.stdout)

    return trace


def dumps_of(numbers):
    """The row of the file of BTIO's dumps."""
    table = numbers["file_table"]
    row = next(i for i, path in enumerate(table["path"]) if path.endswith("bt.dumps"))
    return {name: values[row] for name, values in table.items()}


def test_btio_in_its_simple_form_is_seen_as_interleaved_small_requests(program, report_of):
    numbers = report_of(4, program("bt"), "--io", "simple")
    assert numbers["discarded"] == 0
    assert numbers["ranks_of_mpi"] == 4
    assert numbers["run_time_s"] < 300
    row = dumps_of(numbers)
    assert (row["ranks"], row["layer"]) == (4, "MPI-IO")
    assert row["bytes_written"] == 12 * CELLS
    assert row["writes"] == 12 * CELLS // 240  # one for each row of 6 cells of 40 B
    found = {finding["topic"]: finding for finding in numbers["findings"]}
    assert "MPI_File_write_all" in found["independent MPI-IO on interleaved parts"]["hint"]
    assert found["small requests"]["evidence"]["mean size"] == 240
    assert found["contention in a shared file"]["evidence"]["writers"] == 4


def test_btio_in_its_full_form_writes_collectively(program, report_of):
    numbers = report_of(4, program("bt"), "--io", "full")
    row = dumps_of(numbers)
    assert (row["writes"], row["bytes_written"]) == (4 * 12, 12 * CELLS)
    assert row["below_bytes"] >= 12 * CELLS
    topics = {finding["topic"] for finding in numbers["findings"]}
    assert not topics & {"independent MPI-IO on interleaved parts", "small requests"}


def test_dd_is_sequential_and_what_it_reads_from_is_no_file(tmp_path):
    command = ["dd", "if=/dev/zero", "of=out", "bs=64k", "count=200"]
    assert run([*SESAME, "trace", "-o", "dd.sesame", "--", *command], tmp_path).status == 0
    done = run([*SESAME, "characterize", "dd.sesame", "--json"], tmp_path)
    assert done.status == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["requests"] == {"reads": 0, "writes": 200}
    assert found["bytes"] == {"reads": 0, "writes": 200 << 16}
    assert found["sequential"] == {"reads": 0, "writes": 199}


@pytest.mark.few_cases(1)
@pytest.mark.parametrize(("whose", "found"), [("own", set()), ("same", {"ranks read the same"})])
def test_ranks_that_read_disjoint_columns_do_not_read_the_same(
    whose, found, compiled, tmp_path, report_of
):
    """Their views begin at the same byte and have holes: the columns lie between each other."""
    rows, columns = 2048, 4096
    (tmp_path / "matrix").write_bytes(bytes(rows * columns))
    program = compiled("tests/programs/trace/mpi_views.c")
    numbers = report_of(4, program, str(tmp_path / "matrix"), str(rows), str(columns), whose)
    table = numbers["file_table"]
    row = next(i for i, path in enumerate(table["path"]) if path.endswith("/matrix"))
    assert table["bytes_read"][row] == rows * columns
    topics = {finding["topic"] for finding in numbers["findings"]}
    assert topics & {"ranks read the same", "reading again"} == found
