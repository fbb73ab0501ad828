"""What the player makes of a traced run's calls on files of the target machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.played_runs import TraceBuilder

from sesame.datasets import DataSet
from sesame.datasets.traced import IoFlag
from sesame.simulation import place_files, plan_run

CREATE = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
FILES = [
    {"index": 0, "path": "/run/out", "kind": "regular", "size_before": -1},
    {"index": 1, "path": "/run/in", "kind": "regular", "size_before": 5000},
    {"index": 2, "path": "/lib/libm.so", "kind": "regular", "size_before": 9},
    {"index": 3, "path": "/run/../pfs/x", "kind": "regular", "size_before": -1},
    {"index": 4, "path": "/run/pipe", "kind": "pipe", "size_before": -1},
]


@pytest.fixture
def planned(tmp_path: Path):
    """planned(builder): the run, and the operations of each rank as (call, fields)."""

    def plan(builder: TraceBuilder):
        data_set = DataSet(builder.write(tmp_path / "run.sesame", file=FILES))
        placed = place_files(data_set, ["."], [("/run", ".")], "/home/me")
        run = plan_run(data_set, placed)
        ends = np.cumsum(run.plan.counts)[:-1]
        operations = [
            [
                (run.plan.names[row["call"]], dict(zip(row.dtype.names, row.item(), strict=True)))
                for row in part
            ]
            for part in np.split(run.plan.operations, ends)
        ]
        return run, operations

    return plan


def calls(operations: list[Any]) -> list[str]:
    return [name for name, _ in operations]


def one_rank() -> TraceBuilder:
    trace = TraceBuilder(1)
    trace.call(0, "MPI_Init")
    return trace


def test_files_below_a_mapping_or_a_mount_are_placed(tmp_path: Path):
    data_set = DataSet(one_rank().write(tmp_path / "run.sesame", file=FILES))
    placed = place_files(data_set, [".", "/pfs"], [("/run", ".")], "/home/me")
    assert placed.paths == ("/home/me/out", "/home/me/in", None, "/pfs/x", None)
    assert placed.initial == {"/home/me/out": -1, "/home/me/in": 5000, "/pfs/x": -1}
    elsewhere = place_files(data_set, ["."], [], "/home/me")
    assert not elsewhere.known.any()
    longest = place_files(data_set, ["/pfs"], [("/", "/tmp"), ("/run/in", "/pfs/a")], "/")
    assert longest.paths[:2] == (None, "/pfs/a")


def test_posix_calls_are_played_with_the_computation_before_them(planned):
    trace = one_rank()
    trace.file(0, "open", file=0, handle=7, size=CREATE | os.O_APPEND)
    trace.file(0, "write", file=0, handle=7, offset=4096, bytes=100, gap=3000)
    trace.file(0, "write", file=2, handle=8, bytes=10, duration=900)  # not on the machine
    trace.file(0, "fsync", file=0, handle=7, gap=500)
    trace.file(0, "close", file=0, handle=7)
    trace.file(0, "read", file=1, offset=0, bytes=0)  # the end of a file
    trace.file(0, "unlink", file=0)
    run, (operations,) = planned(trace)
    assert calls(operations) == [
        "file_open",
        "file_write",
        "io",
        "file_sync",
        "file_close",
        "file_remove",
        "MPI_Finalize",
    ]
    opened, written = operations[0][1], operations[1][1]
    assert (opened["comm"], opened["tag"]) == (0, CREATE)
    assert (written["comm"], written["peer"]) == (0, opened["peer"])
    assert (written["list"], written["bytes"]) == (4096, 100)
    assert run.io_s.tolist() == pytest.approx([900e-9])
    # MPI_Init and the player's own, open, write, fsync with the gap before the other file.
    assert run.plan.times[0].tolist()[:5] == [1000, 0, 1000, 3000, 1500]
    assert run.plan.opens.tolist() == [2]  # one of the handle, one for what needs none


def test_advice_empties_the_cache_if_it_says_that_data_may_go(planned):
    trace = one_rank()
    trace.file(0, "open", file=0, handle=7, size=CREATE)
    trace.file(0, "posix_fadvise", file=0, offset=4096, size=8192, flags=int(IoFlag.DONT_NEED))
    trace.file(0, "posix_fadvise", file=0, offset=0, size=0, flags=int(IoFlag.WILL_NEED))
    trace.file(0, "posix_fadvise", file=0, error=22, flags=int(IoFlag.DONT_NEED))
    _, (operations,) = planned(trace)
    assert calls(operations) == ["file_open", "file_drop", "MPI_Finalize"]
    dropped = operations[1][1]
    assert (dropped["list"], dropped["bytes"]) == (4096, 8192)


def test_streams_and_calls_about_names(planned):
    trace = one_rank()
    trace.file(0, "fopen", file=0, handle=1, size=CREATE)
    trace.file(0, "fprintf", file=0, handle=1, offset=0, bytes=30)
    trace.file(0, "fflush", file=0, handle=1)
    trace.file(0, "fclose", file=0, handle=1)
    trace.file(0, "open", file=1, error=2)
    trace.file(0, "stat", file=1)
    trace.file(0, "rename", file=0, other_file=1)
    trace.file(0, "lseek", file=1)
    _, (operations,) = planned(trace)
    assert calls(operations) == [
        "file_open_stream",
        "file_write",
        "file_flush",
        "file_close",
        "file_stat",
        "file_stat",
        "file_rename",
        "MPI_Finalize",
    ]
    assert operations[6][1]["tag"] == 1


def inside(trace: TraceBuilder, rank: int, name: str, **fields: Any) -> None:
    """A record inside the last one."""
    outer = trace.io[rank][-1]
    flags = int(IoFlag.NESTED)
    trace.io[rank].append({**outer, "call": name, "flags": flags, "comm": -1, **fields})


def test_a_collective_write_is_an_exchange_the_accesses_inside_and_a_barrier(planned):
    trace = TraceBuilder(2)
    trace.everyone("MPI_Init")
    together = {"file": 0, "comm": 0, "flags": int(IoFlag.COLLECTIVE)}
    for rank in range(2):
        trace.file(rank, "MPI_File_write_all", bytes=800, duration=9000, **together)
        if rank == 0:
            inside(trace, 0, "pwrite", handle=3, offset=0, bytes=1600, duration_ns=5000)
        trace.file(rank, "MPI_File_read_all", bytes=800, duration=9000, **together)
        if rank == 0:
            inside(trace, 0, "pread", handle=3, offset=0, bytes=1600, duration_ns=5000)
        trace.call(rank, "MPI_Barrier", comm=0, gap=40)
    run, operations = planned(trace)
    exchange, barrier = "MPI_Alltoallv", "MPI_Barrier"
    assert calls(operations[0]) == [
        *(exchange, "file_write", barrier),
        *(barrier, "file_read", exchange),
        *(barrier, "MPI_Finalize"),
    ]
    assert calls(operations[1]) == [
        *(exchange, barrier, barrier, exchange, barrier, "MPI_Finalize")
    ]
    assert operations[0][1][1]["bytes"] == 1600
    # What the collective calls took is the machine's affair: computation is what lies between.
    assert run.plan.times[1].tolist() == [1000, 0, 1000, 0, 1000, 0, 40, 0, 0]
    assert run.io_s.tolist() == [0, 0]


def test_an_independent_call_is_what_is_inside_and_the_rest_of_it_no_computation(planned):
    trace = one_rank()
    trace.file(0, "MPI_File_write_at", file=0, bytes=100, duration=5000)
    begin = trace.io[0][0]["begin_ns"]
    inside(trace, 0, "pwrite", begin_ns=begin + 2000, duration_ns=1000, offset=0, bytes=100)
    run, (operations,) = planned(trace)
    assert calls(operations) == ["file_write", "MPI_Finalize"]
    assert run.plan.times[0].tolist() == [1000, 0, 1000, 0, 0]


def test_without_what_is_inside_the_call_itself_is_played(planned):
    trace = TraceBuilder(2)
    trace.everyone("MPI_Init")
    together = {"file": 0, "comm": 0, "flags": int(IoFlag.COLLECTIVE)}
    for rank in range(2):
        trace.file(rank, "MPI_File_write_at_all", offset=rank * 800, bytes=800, **together)
    _, operations = planned(trace)
    assert calls(operations[1]) == ["file_write", "MPI_Barrier", "MPI_Finalize"]
    assert operations[1][0][1]["list"] == 800


def test_an_access_in_the_background_is_started_and_waited_for(planned):
    trace = one_rank()
    access = trace.file(0, "aio_write", file=0, handle=2, offset=8192, bytes=4096)
    trace.file(0, "aio_return", gap=7000, file=0, handle=2)
    trace.io[0][access]["completion"] = 1
    _, (operations,) = planned(trace)
    assert calls(operations) == ["file_start_write", "file_wait", "MPI_Finalize"]
    started, waited = operations[0][1], operations[1][1]
    assert (started["number"], started["bytes"], started["list"]) == (8192, 4096, waited["list"])
