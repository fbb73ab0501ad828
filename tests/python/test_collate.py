"""From raw records to the data set: openings, positions, nesting, requests, communicators, clocks,
numbers of processes, and what is lost."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from raw_trace import PACKET, RawTrace

from sesame.datasets import DataSet, DataSetWriter
from sesame.errors import InputError
from sesame.tracing import collate
from sesame.tracing.filesystems import FileSystems

REGULAR = 0o100644
CREATE, TRUNCATE, APPEND, WRITE = 0o100, 0o1000, 0o2000, 1
NESTED, MERGED, ASYNCHRONOUS, COLLECTIVE, IMPLIED = 1, 2, 4, 8, 16


class Collated:
    def __init__(self, trace: RawTrace, tmp_path: Path, **options: Any) -> None:
        raw = tmp_path / "raw"
        if not raw.exists():
            trace.write(raw)
        with DataSetWriter(tmp_path / "run.sesame", force=True) as writer:
            info = collate(raw, writer, keep_raw=True, **options)
            writer.finish(info)
        self.result = info["result"]
        self.data = DataSet(tmp_path / "run.sesame")

    def rows(self, name: str, *columns: str) -> list[Any]:
        table = self.data.table(name, list(columns)).to_pydict()
        values = list(zip(*(table[column] for column in columns), strict=True))
        return [row[0] for row in values] if len(columns) == 1 else values


def open_file(process: Any, path: str = "data", **values: Any) -> None:
    values = {"file": 3, "directory": -100, "flags": CREATE, "mode": REGULAR, **values}
    process.put("open", "open", path=path, block_size=4096, **values)


# --- Files ---


def test_positions_are_tracked(tmp_path):
    trace = RawTrace()
    process = trace.process()
    open_file(process)
    process.put("data", "write", file=3, bytes=100)
    process.put("merged", "putc", file=3, bytes=7)
    process.put("position", "lseek", file=3, offset=10)
    process.put("data", "read", file=3, bytes=20)
    process.put("data_at", "pread", file=3, bytes=5, offset=1 << 40)
    process.put("partial", "read", file=3, size=50, bytes=9, offset=-1)
    process.put("data", "fprintf", file=3, bytes=1 << 33)
    done = Collated(trace, tmp_path)
    assert done.rows("io", "call", "offset", "size", "bytes", "flags") == [
        ("open", -1, CREATE, 0, 0),
        ("write", 0, 100, 100, 0),
        ("putc", 100, 7, 7, MERGED),
        ("lseek", 10, 0, 0, 0),
        ("read", 10, 20, 20, 0),
        ("pread", 1 << 40, 5, 5, 0),
        ("read", 30, 50, 9, 0),
        ("fprintf", 39, 1 << 33, 1 << 33, 0),
    ]


def test_a_file_opened_for_appending_is_written_at_its_end(tmp_path):
    trace = RawTrace()
    process = trace.process()
    open_file(process, flags=APPEND | WRITE, size=1000)
    process.put("data", "write", file=3, bytes=10)
    process.put("position", "lseek", file=3, offset=0)
    process.put("data", "write", file=3, bytes=10)
    process.put("position", "ftruncate", file=3, offset=4)
    process.put("data", "write", file=3, bytes=10)
    assert Collated(trace, tmp_path).rows("io", "offset") == [-1, 1000, 0, 1010, 4, 4]


def test_duplicates_share_the_position_and_the_opening_until_the_last_is_closed(tmp_path):
    trace = RawTrace()
    process = trace.process()
    open_file(process, "a")
    process.put("duplicate", "dup2", file=3, other_file=9)
    process.put("data", "write", file=3, bytes=10)
    process.put("handle", "close", file=3)
    open_file(process, "b")
    process.put("data", "write", file=9, bytes=10)
    process.put("data", "write", file=3, bytes=10)
    process.put("duplicate", "dup2", file=3, other_file=9)
    process.put("data", "write", file=9, bytes=10)
    done = Collated(trace, tmp_path)
    assert done.rows("file", "path") == ["/work/a", "/work/b"]
    writes = [
        row for row in done.rows("io", "call", "file", "handle", "offset") if row[0][0] == "w"
    ]
    assert writes == [
        ("write", 0, 0, 0),
        ("write", 0, 0, 10),
        ("write", 1, 1, 0),
        ("write", 1, 1, 10),
    ]


def test_a_close_that_ends_after_the_number_was_given_again_closes_the_old_opening(tmp_path):
    trace = RawTrace()
    process = trace.process()
    open_file(process, "old")
    process.put("handle", "close", file=3, begin=2000, end=2300)
    other = process.thread(1)
    other.put(
        "open", "open", begin=2100, end=2200, file=3, directory=-100, mode=REGULAR, path="new"
    )
    other.put("data", "write", begin=2400, file=3, bytes=10)
    done = Collated(trace, tmp_path)
    assert done.rows("io", "thread", "call", "file") == [
        (0, "open", 0),
        (0, "close", 0),
        (1, "open", 1),
        (1, "write", 1),
    ]


def test_paths_are_made_absolute(tmp_path):
    trace = RawTrace()
    process = trace.process(directory="/home/me")
    process.put("path", "stat", directory=-100, path="./x//y/.")
    process.put("path", "chdir", directory=-100, path="sub")
    process.put("path", "stat", directory=-100, path="../z")
    process.put("open", "open", file=5, directory=-100, mode=0o040755, path="/data")
    process.put("path", "unlinkat", directory=5, path="w")
    process.put("handle", "fchdir", file=5)
    process.put(
        "two_paths", "rename", directory=-100, other_directory=-100, path="a", other_path="/b"
    )
    done = Collated(trace, tmp_path)
    paths = done.rows("file", "path")
    named = [paths[file] for file in done.rows("io", "file")]
    assert named == [
        "/home/me/x/y",
        "/home/me/sub",
        "/home/me/sub/../z",
        "/data",
        "/data/w",
        "/data",
        "/data/a",
    ]
    assert paths[done.rows("io", "other_file")[-1]] == "/b"


@pytest.mark.parametrize(
    ("flags", "size", "before"),
    [(0, 70, 70), (CREATE, 0, -1), (CREATE, 70, 70), (CREATE | TRUNCATE, 0, -1), (TRUNCATE, 0, 0)],
)
def test_the_size_before_the_run_is_that_of_the_first_opening(tmp_path, flags, size, before):
    trace = RawTrace()
    later = trace.process(begin=10_000)
    open_file(later, size=123)
    first = trace.process(begin=1000)
    open_file(first, flags=flags, size=size)
    done = Collated(trace, tmp_path)
    assert done.rows("file", "size_before", "kind", "block_size") == [(before, "regular", 4096)]


def test_descriptors_from_elsewhere_are_met_and_pipes_have_no_position(tmp_path):
    trace = RawTrace()
    process = trace.process()
    process.put("descriptor", file=4, mode=REGULAR, size=50, offset=20, path="/etc/in")
    process.put("descriptor", file=1, mode=0o010600, offset=-1, path="pipe:[7]")
    process.put("descriptor", file=2, mode=0o020620, offset=-1, path="/dev/pts/3")
    for file in (4, 1, 2, 8):
        process.put("data", "write", file=file, bytes=5)
    done = Collated(trace, tmp_path)
    assert done.rows("io", "offset") == [20, -1, -1, -1]
    assert done.rows("file", "path", "kind") == [
        ("/etc/in", "regular"),
        ("pipe:[7]", "pipe"),
        ("/dev/pts/3", "terminal"),
        ("descriptor 8", "unknown"),
    ]


def test_copies_move_both_positions(tmp_path):
    trace = RawTrace()
    process = trace.process()
    open_file(process, "in", size=100, flags=0)
    open_file(process, "out", file=4)
    process.put(
        "copy", "sendfile", file=3, other_file=4, size=60, bytes=60, offset=-1, other_offset=-1
    )
    process.put(
        "copy", "copy_file_range", file=3, other_file=4, size=9, bytes=9, offset=-1, other_offset=7
    )
    process.put("data", "write", file=4, bytes=1)
    done = Collated(trace, tmp_path)
    assert done.rows("io", "file", "other_file", "offset")[2:] == [
        (0, 1, 0),
        (0, 1, 60),
        (1, -1, 60),
    ]


def test_accesses_to_mapped_files_are_implied(tmp_path):
    trace = RawTrace()
    process = trace.process()
    open_file(process, size=1 << 20)
    process.put("map", "mmap", file=3, address=0x10000, size=0x4000, offset=0x1000, protection=3)
    process.put("handle", "close", file=3)
    process.put("pages", address=0x11000, size=0x1000, written=1)
    process.put("map", "mremap", file=-1, address=0x90000, old_address=0x10000, size=0x8000)
    process.put("pages", address=0x92000, size=0x1000, written=0)
    process.put("region", "munmap", address=0x90000, size=0x2000)
    process.put("pages", address=0x91000, size=0x1000, written=2)
    process.put("region", "msync", address=0x93000, size=0x1000)
    done = Collated(trace, tmp_path)
    assert done.rows("io", "call", "file", "offset", "flags")[1:] == [
        ("mmap", 0, 0x1000, 0),
        ("close", 0, -1, 0),
        ("mapped_write", 0, 0x2000, IMPLIED),
        ("mremap", 0, 0, 0),
        ("mapped_read", 0, 0x3000, IMPLIED),
        ("munmap", 0, 0x1000, 0),
        ("mapped_access", -1, -1, IMPLIED),
        ("msync", 0, 0x4000, 0),
    ]


def test_asynchronous_requests_lead_to_their_results(tmp_path):
    trace = RawTrace()
    process = trace.process()
    open_file(process)
    process.put("request", "aio_write", file=3, size=100, offset=50, block=0x1000)
    process.put("request", "aio_read", file=3, size=10, offset=0, block=0x2000)
    process.put("request_done", "aio_return", block=0x2000, bytes=8)
    process.put("request_done", "aio_return", block=0x1000, bytes=100)
    done = Collated(trace, tmp_path)
    assert done.rows("io", "call", "bytes", "completion", "flags")[1:] == [
        ("aio_write", 100, 3, ASYNCHRONOUS),
        ("aio_read", 8, 1, ASYNCHRONOUS),
        ("aio_return", 0, 0, 0),
        ("aio_return", 0, 0, 0),
    ]


def test_calls_inside_others_are_marked_and_stand_behind_them(tmp_path):
    trace = RawTrace()
    process = trace.process(0, 1)
    open_file(process)
    process.put("mpi_open", "MPI_File_open", comm=0, file=0, path="ufs:data")
    process.put("data_at", "pwrite", begin=5000, end=5100, file=3, bytes=10, offset=80)
    process.put("data_at", "pwrite", begin=5200, end=5300, file=3, bytes=10, offset=90)
    process.put(
        "mpi_data_at", "MPI_File_write_at_all", begin=4900, end=5400, file=0, bytes=20, offset=80
    )
    process.put("data", "write", file=3, bytes=1)
    done = Collated(trace, tmp_path)
    assert done.rows("io", "call", "flags", "file", "comm")[2:] == [
        ("MPI_File_write_at_all", COLLECTIVE, 0, 0),
        ("pwrite", NESTED, 0, -1),
        ("pwrite", NESTED, 0, -1),
        ("write", 0, 0, -1),
    ]


def test_offsets_of_mpi_files_follow_the_view(tmp_path):
    trace = RawTrace()
    process = trace.process(0, 1)
    process.put("mpi_open", "MPI_File_open", comm=0, file=0, path="data")
    view = {"displacement": 1000, "etype_size": 8, "filetype_size": 80, "filetype_extent": 160}
    process.put("mpi_view", "MPI_File_set_view", file=0, **view)
    process.put("mpi_data", "MPI_File_write", file=0, bytes=80)
    process.put("mpi_data", "MPI_File_write", file=0, bytes=80)
    process.put("mpi_data_at", "MPI_File_read_at", file=0, bytes=80, offset=30)
    process.put("mpi_file", "MPI_File_seek", file=0, value=10)
    process.put("mpi_data", "MPI_File_read", file=0, bytes=8)
    process.put("mpi_data", "MPI_File_write_shared", file=0, bytes=8)
    process.put("mpi_data", "MPI_File_write_all_begin", file=0, bytes=16)
    process.put("mpi_file", "MPI_File_write_all_end", file=0)
    done = Collated(trace, tmp_path)
    assert done.rows("io", "offset", "completion")[2:] == [
        (1000, 0),
        (1160, 0),
        (1480, 0),
        (1160, 0),
        (1160, 0),
        (-1, 0),
        (1168, 1),
        (1168, 0),
    ]


# --- Messages ---


def test_receives_get_the_peer_the_tag_and_the_length_of_what_came(tmp_path):
    trace = RawTrace()
    sender, receiver = (trace.process(rank, 2) for rank in range(2))
    for size in (10, 20, 30, 40):
        sender.put("send", "MPI_Send", comm=0, peer=1, tag=5 if size < 40 else 6, bytes=size)
    receiver.put("start", "MPI_Irecv", comm=0, peer=-1, tag=-1, bytes=999, request=1)
    receiver.put("start", "MPI_Irecv", comm=0, peer=0, tag=5, bytes=999, request=2)
    receiver.put("receive", "MPI_Recv", comm=0, peer=0, tag=5, bytes=999, asked=1)
    receiver.put("receive", "MPI_Recv", comm=0, peer=0, tag=6, bytes=999, asked=2)
    receiver.put("completed", request=2, peer=0, tag=5)
    receiver.put("completed", request=1, peer=0, tag=5)
    receiver.put("wait", "MPI_Waitall", count=2, done=2)
    done = Collated(trace, tmp_path)
    assert done.rows("mpi", "call", "peer", "tag", "bytes", "completion", "flags")[4:] == [
        ("MPI_Irecv", 0, 5, 10, 4, 11),
        ("MPI_Irecv", 0, 5, 20, 3, 8),
        ("MPI_Recv", 0, 5, 30, 0, 1),
        ("MPI_Recv", 0, 6, 40, 0, 2),
        ("MPI_Waitall", -1, -1, 0, 0, 0),
    ]
    assert done.result["unmatched"] == {"messages": 0, "channels": []}


def test_one_handle_for_several_sends_is_taken_apart(tmp_path):
    trace = RawTrace()
    process = trace.process(0, 1)
    for _ in range(2):
        process.put("start", "MPI_Isend", comm=0, peer=0, tag=1, bytes=8, request=77)
    process.put("completed", request=77)
    process.put("completed", request=77)
    process.put("wait", "MPI_Waitall", count=2, done=2)
    assert Collated(trace, tmp_path).rows("mpi", "completion") == [2, 1, 0]


def test_a_request_may_be_completed_by_another_thread(tmp_path):
    trace = RawTrace()
    process = trace.process(0, 1)
    process.put("start", "MPI_Irecv", comm=0, peer=0, tag=1, bytes=8, request=5)
    other = process.thread(1)
    other.put("send", "MPI_Ssend", begin=2000, comm=0, peer=0, tag=1, bytes=8)
    other.put("completed", request=5, peer=0, tag=1)
    other.put("wait", "MPI_Wait", count=1, done=1)
    process.put("collective", "MPI_Barrier", begin=1500, comm=0, peer=-1)
    done = Collated(trace, tmp_path)
    assert done.rows("mpi", "thread", "call", "completion", "flags") == [
        (0, "MPI_Irecv", 3, 8),
        (0, "MPI_Barrier", 0, 0),
        (1, "MPI_Ssend", 0, 32),
        (1, "MPI_Wait", 0, 0),
    ]


def test_started_operations_lie_inside_the_call_in_their_order(tmp_path):
    trace = RawTrace()
    process = trace.process(0, 1)
    process.put("start", "MPI_Ssend_init", comm=0, peer=0, tag=1, bytes=8, request=1)
    process.put("start", "MPI_Recv_init", comm=0, peer=-1, tag=-1, bytes=8, request=2)
    process.put("collective_start", "MPI_Bcast_init", comm=0, peer=0, bytes=64, request=3)
    for request in (1, 2, 3):
        process.put("started", "MPI_Start", begin=2000, end=2100, request=request)
    process.put("plain", "MPI_Startall", begin=2000, end=2100)
    for request in (1, 2, 3):
        process.put("completed", request=request, peer=0, tag=1)
    process.put("wait", "MPI_Waitall", count=3, done=3)
    process.put("started", "MPI_Start", request=3)
    done = Collated(trace, tmp_path)
    assert done.rows("mpi", "call", "peer", "bytes", "completion", "flags")[3:] == [
        ("MPI_Startall", -1, 0, 0, 0),
        ("MPI_Issend", 0, 8, 3, 16 + 8 + 128 + 32),
        ("MPI_Irecv", 0, 8, 2, 16 + 8 + 128 + 3),
        ("MPI_Ibcast", 0, 64, 1, 16 + 8 + 128),
        ("MPI_Waitall", -1, 0, 0, 0),
        ("MPI_Start", -1, 0, 0, 0),
        ("MPI_Ibcast", 0, 64, 0, 16 + 8 + 128),
    ]


def test_a_call_that_sends_and_receives_is_the_send_with_a_receive_inside(tmp_path):
    trace = RawTrace()
    process = trace.process(0, 1)
    process.put("send", "MPI_Sendrecv", begin=2000, end=2100, comm=0, peer=0, tag=1, bytes=8)
    process.put(
        "receive", "MPI_Recv", begin=2000, end=2100, comm=0, peer=0, tag=1, bytes=99, asked=4
    )
    done = Collated(trace, tmp_path)
    assert done.rows("mpi", "call", "bytes", "flags") == [
        ("MPI_Sendrecv", 8, 0),
        ("MPI_Recv", 8, 128),
    ]


def test_unmatched_messages_are_counted_and_named(tmp_path):
    trace = RawTrace()
    sender, receiver = (trace.process(rank, 2) for rank in range(2))
    for _ in range(3):
        sender.put("send", "MPI_Send", comm=0, peer=1, tag=5, bytes=8)
    receiver.put("receive", "MPI_Recv", comm=0, peer=0, tag=5, bytes=8)
    receiver.put("receive", "MPI_Recv", comm=0, peer=0, tag=6, bytes=8)
    done = Collated(trace, tmp_path)
    assert done.result["unmatched"]["messages"] == 3
    assert done.result["unmatched"]["channels"] == [
        {"rank": 0, "peer": 1, "tag": 5, "comm": 0, "messages": 2, "side": "sent"},
        {"rank": 1, "peer": 0, "tag": 6, "comm": 0, "messages": 1, "side": "received"},
    ]


# --- Communicators ---


def test_communicators_of_different_processes_are_found_to_be_one(tmp_path):
    """Each process numbers as it likes; parent, order of calls and members tell."""
    trace = RawTrace()
    for rank in range(4):
        process = trace.process(rank, 4)
        first = rank % 2
        numbers = (5, 9) if rank < 2 else (2, 1)
        split = [first, 2, 2]
        put = process.put
        put("communicator", "MPI_Comm_split", parent=0, comm=numbers[0], members=split)
        put("communicator", "MPI_Comm_dup", parent=numbers[0], comm=numbers[1], members=split)
        put("communicator", "MPI_Comm_dup", parent=numbers[0], comm=30 + rank, members=split)
        put("named", "MPI_Comm_set_name", comm=30 + rank, name=f"second of {first}")
        put("send", "MPI_Send", comm=numbers[1], peer=rank // 2, tag=1, bytes=8)
    done = Collated(trace, tmp_path)
    assert done.rows("communicator", "parent", "members", "name") == [
        (-1, "0-3", "MPI_COMM_WORLD"),
        (0, "0,2", ""),
        (1, "0,2", ""),
        (1, "0,2", "second of 0"),
        (0, "1,3", ""),
        (4, "1,3", ""),
        (4, "1,3", "second of 1"),
    ]
    sends = [row for row in done.rows("mpi", "call", "comm", "peer") if row[0] == "MPI_Send"]
    assert [row[1:] for row in sends] == [(2, 0), (5, 1), (2, 2), (5, 3)]


def test_an_intercommunicator_is_one_from_both_sides(tmp_path):
    trace = RawTrace()
    for rank in range(3):
        process = trace.process(rank, 3)
        here, there = ([0, 1, 1], [1, 2, 1]) if rank == 0 else ([1, 2, 1], [0, 1, 1])
        put = process.put
        put("communicator", "MPI_Comm_split", parent=0, comm=1, members=here)
        put("communicator", "MPI_Intercomm_create", parent=1, comm=2, members=here, remote=there)
        put("send", "MPI_Send", comm=2, peer=0, tag=1, bytes=8)
    done = Collated(trace, tmp_path)
    inter = [row for row in done.rows("communicator", "members", "remote") if row[1]]
    assert inter == [("0", "1-2")]
    sends = [row for row in done.rows("mpi", "call", "peer") if row[0] == "MPI_Send"]
    assert [peer for _, peer in sends] == [1, 0, 0]


# --- Processes, clocks, loss ---


def test_children_and_replaced_programs_stand_behind_the_ranks(tmp_path):
    trace = RawTrace()
    script = trace.process(pid=50, begin=1000)
    script.end(2)
    mpi = trace.process(0, 1, pid=50, parent=1, begin=2000, number=1)
    mpi.end()
    child = trace.process(pid=60, parent=50, begin=3000, command="ls\x1f-l")
    child.put("plain", "sync")
    done = Collated(trace, tmp_path)
    assert done.rows("process", "rank", "mpi_rank", "parent", "pid", "outcome", "command") == [
        (0, 0, -1, 50, "exited", "app"),
        (1, -1, -1, 50, "replaced", "app"),
        (2, -1, 0, 60, "cut off", "ls -l"),
    ]
    assert done.result["outcome"] == "cut off"


def test_a_script_may_run_several_mpi_programs(tmp_path):
    trace = RawTrace()
    for run in range(2):
        for rank in range(2):
            process = trace.process(rank, 2, begin=1000 + 10_000 * run + rank)
            process.put("send", "MPI_Send", comm=0, peer=1, tag=1, bytes=8)
            process.end()
    done = Collated(trace, tmp_path)
    assert done.rows("process", "rank", "mpi_rank") == [(0, 0), (1, 1), (2, 0), (3, 1)]
    assert done.rows("mpi", "rank", "comm", "peer") == [(0, 0, 1), (1, 0, 1), (2, 1, 3), (3, 1, 3)]


def test_nodes_have_one_clock_each(tmp_path):
    trace = RawTrace()
    for rank, (host, begin, offset) in enumerate(
        [("a", 5000, 100_000), ("a", 6000, 99_900), ("b", 900_000, -790_000)]
    ):
        process = trace.process(rank, 3, host=host, begin=begin, offset=offset)
        process.put("collective", "MPI_Barrier", begin=begin + 100, comm=0, peer=-1)
    done = Collated(trace, tmp_path)
    assert done.rows("process", "begin_ns", "host") == [(0, "a"), (1000, "a"), (5000, "b")]
    assert done.rows("mpi", "begin_ns") == [100, 1100, 5100]


def test_what_was_made_and_is_not_there_is_lost(tmp_path):
    trace = RawTrace()
    process = trace.process()
    for _ in range(250):
        process.put("plain", "sync")
    raw = trace.write(tmp_path / "raw")
    stream = raw / f"{process.name}.0.stream"
    data = stream.read_bytes()
    whole = data.index(PACKET.pack(0xC1FC1FC1, 1, process.pid, 0, *[0] * 6)[:16], 100)
    stream.write_bytes(data[: whole + PACKET.size + 30])
    done = Collated(trace, tmp_path)
    assert done.result["records"] + done.result["discarded"] == 251
    assert done.result["discarded"] > 140
    assert len(done.result["damage"]) == 1
    assert "cut off" in done.result["damage"][0]


def test_a_process_that_wrote_nothing_has_lost_all(tmp_path):
    """Its state says that it made records, and how many."""
    trace = RawTrace()
    trace.process(0, 2).end()
    other = trace.process(1, 2)
    raw = trace.write(tmp_path / "raw")
    (raw / f"{other.name}.0.stream").unlink()
    done = Collated(trace, tmp_path)
    assert done.result["discarded"] == 2
    assert done.result["damage"] == ["rank 1 left no trace"]


def test_a_newer_format_is_refused(tmp_path):
    trace = RawTrace()
    trace.process()
    trace.write(tmp_path / "raw", version=99)
    with pytest.raises(InputError, match="format 99 of a traced run, expected 1"):
        Collated(trace, tmp_path)
    assert not (tmp_path / "run.sesame").exists()


def test_a_directory_that_is_no_raw_trace_is_refused(tmp_path):
    (tmp_path / "raw").mkdir()
    with pytest.raises(InputError, match="cannot read"):
        Collated(RawTrace(), tmp_path)
    (tmp_path / "raw/metadata").write_text("hello")
    with pytest.raises(InputError, match="not the metadata of a traced run"):
        Collated(RawTrace(), tmp_path)


def test_the_same_rows_come_in_any_batches_and_numbers_of_threads(tmp_path):
    trace = RawTrace()
    for rank in range(5):
        process = trace.process(rank, 5)
        open_file(process, f"file{rank % 2}")
        for _ in range(300):
            process.put("data", "write", file=3, bytes=rank)
            process.put("send", "MPI_Send", comm=0, peer=(rank + 1) % 5, tag=0, bytes=rank)
    one = Collated(trace, tmp_path, threads=1)
    tables = [one.data.table(name) for name in ("io", "mpi", "file")]
    many = Collated(trace, tmp_path, threads=7)
    assert [many.data.table(name) for name in ("io", "mpi", "file")] == tables


def test_file_systems_are_found_by_the_longest_mount_point():
    systems = FileSystems("dev / ext4 rw\ntmp /tmp tmpfs rw\nx /tmp/a\\040b xfs rw\n")
    assert systems.type_of("/home/x") == "ext4"
    assert systems.type_of("/tmp/x/y") == "tmpfs"
    assert systems.type_of("/tmp/a b/c") == "xfs"
    assert systems.type_of("pipe:[3]") == ""


def test_clocks_of_nodes_are_corrected_by_the_messages_between_them(tmp_path):
    """Node b is 3 ms behind and loses 20 us a second, node c is 1 ms ahead."""
    random = Random(5)
    trace = RawTrace()
    errors = [lambda t: 0, lambda t: -3_000_000 - t // 50_000, lambda t: 1_000_000]
    processes = [
        trace.process(rank, 3, host="abc"[rank], begin=1_000_000_000, offset=10**18)
        for rank in range(3)
    ]
    true_times = [[], [], []]
    now = 0
    for tag in range(600):
        now += random.randrange(5_000_000, 15_000_000)
        sender, receiver = random.sample(range(3), 2)
        end = now + random.randrange(2_000, 50_000)
        for rank, call, at in ((sender, "send", now), (receiver, "receive", end)):
            clock = 1_100_000_000 + at + errors[rank](at)
            begin, finish = (clock, clock + 900) if call == "send" else (clock - 900, clock)
            peer = receiver if call == "send" else sender
            processes[rank].put(
                call, f"MPI_{call}", begin=begin, end=finish, comm=0, peer=peer, tag=tag, bytes=8
            )
            true_times[rank].append((tag, call, at))
    done = Collated(trace, tmp_path)
    rows = done.rows("mpi", "rank", "call", "tag", "begin_ns", "duration_ns")
    found = {
        (rank, tag): begin + (call == "MPI_receive") * took for rank, call, tag, begin, took in rows
    }
    sent = {
        tag: found[(r, tag)] for r in range(3) for tag, call, _ in true_times[r] if call == "send"
    }
    shifts = []
    for rank, times in enumerate(true_times):
        for tag, call, at in times:
            shifts.append(found[(rank, tag)] - at)
            if call == "receive":
                assert found[(rank, tag)] >= sent[tag]
    assert max(shifts) - min(shifts) < 20_000
    assert done.result["damage"] == []
