"""Non-blocking accesses to files through MPI: recorded, replayed and played with their ends."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import SESAME, run
from tests.integration.traced_mpi import Bench

from sesame.datasets import DataSet
from sesame.datasets.traced import IoFlag

RANKS = 2
# Each access of the program, and what completed it.
COMPLETED = [
    ("MPI_File_iwrite_at", "MPI_Wait"),
    ("MPI_File_iread_at", "MPI_Test"),
    ("MPI_File_iwrite", "MPI_Waitall"),
    ("MPI_File_iwrite_at", "MPI_Waitall"),
    ("MPI_File_iwrite_at_all", "MPI_Wait"),
    ("MPI_File_iread_at_all", "MPI_Wait"),
]


@pytest.fixture(params=["mpich", "openmpi"])
def traced(request, tmp_path: Path) -> Path:
    bench = Bench(tmp_path)
    program = bench.compile("mpi_files.c", request.param)
    outcome = bench.trace(request.param, RANKS, program, tmp_path / "data")
    said = re.search(r"(\d+) accesses on each of (\d+) ranks", outcome.stdout)
    assert said is not None and [int(n) for n in said.groups()] == [len(COMPLETED), RANKS]
    (tmp_path / "new").mkdir()
    return tmp_path / "run.sesame"


def rows_of(path: Path, name: str, rank: int) -> list[dict[str, Any]]:
    rows = DataSet(path).table(name).to_pylist()
    return [row for row in rows if row["rank"] == rank]


def test_each_access_has_the_call_that_completed_it(traced):
    for rank in range(RANKS):
        io = rows_of(traced, "io", rank)
        waits = [(row["call"], row["begin_ns"]) for row in rows_of(traced, "mpi", rank)]
        found = []
        for at, row in enumerate(io):
            if row["call"].startswith(("MPI_File_iw", "MPI_File_ir")):
                end = io[at + row["completion"]]
                found.append((row["call"], end["call"]))
                assert end["flags"] & IoFlag.NESTED
                assert (end["call"], end["begin_ns"]) in waits
                same = ("file", "handle", "offset", "size")
                assert [end[key] for key in same] == [row[key] for key in same]
        assert found == COMPLETED


def test_what_the_library_did_below_is_seen_to_its_end(traced):
    """Inside the access itself, or inside the wait: all the bytes, and every request fetched."""
    for rank in range(RANKS):
        io = rows_of(traced, "io", rank)
        paths = {row["index"]: row["path"] for row in DataSet(traced).table("file").to_pylist()}
        below = [
            row
            for row in io
            if row["call"] in ("pread", "pwrite", "aio_read", "aio_write")
            and paths.get(row["file"], "").endswith("/data")
        ]
        requests = [row for row in below if row["call"].startswith("aio_")]
        assert len(requests) >= 4
        assert all(row["flags"] & IoFlag.NESTED for row in below)
        assert all(
            io[io.index(row) + row["completion"]]["call"] == "aio_return" for row in requests
        )
    # What all do together may be done by one of them for the others.
    total = sum(row["bytes"] for row in DataSet(traced).table("io").to_pylist() if is_data(row))
    assert total == 5 * (1 << 20) * RANKS


def is_data(row: dict[str, Any]) -> bool:
    return row["call"] in ("pread", "pwrite", "aio_read", "aio_write") and row["bytes"] >= 1 << 19


def test_the_replay_issues_them_and_waits_for_them(traced, tmp_path):
    outcome = run([*SESAME, "replay", str(traced), "--dir", "new", "--json"], tmp_path)
    assert outcome.status == 0, outcome.stderr
    answer = outcome.json
    requests = answer["calls"]["aio_read"] + answer["calls"]["aio_write"]
    assert answer["calls"]["aio_wait"] == requests >= 4 * RANKS
    # Which rank looks for the file before another has made it is a matter of chance.
    by_chance = {"statfs", "lstat", "stat", "open"}
    differing = [one for one in answer["differing"] if one["file"].endswith("/data")]
    assert [one for one in differing if one["call"] not in by_chance] == []
    assert answer["failed_data"] == []


def test_the_simulator_plays_them(traced, tmp_path):
    arguments = ["simulate", str(traced), "--machine", "ethernet", "--compute", "none", "--json"]
    # The machine's files are those of the working directory; others take the time they took.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    outcome = run([*SESAME, *arguments], elsewhere)
    assert outcome.status == 0, outcome.stderr
    # Each rank does one after the other, but for the two that one call waits for.
    at_least = []
    for rank in range(RANKS):
        io = rows_of(traced, "io", rank)
        spans = {
            end["begin_ns"]: end["begin_ns"] + end["duration_ns"] - row["begin_ns"]
            for row, end in reversed([(r, io[at + r["completion"]]) for at, r in enumerate(io)])
            if row["call"].startswith(("MPI_File_iw", "MPI_File_ir"))
        }
        assert len(spans) == len(COMPLETED) - 1
        at_least.append(sum(spans.values()))
    assert outcome.json["predicted_time_s"] >= max(at_least) * 1e-9
