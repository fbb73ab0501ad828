"""From raw records of files to the data set: opens, positions, paths, mappings, nesting."""

from __future__ import annotations

import os
import struct

import pytest
from tests.python.collated import CREATE, REGULAR, Collated, open_file
from tests.python.raw_trace import RawTrace

from sesame.tracing.filesystems import FileSystems

TRUNCATE, APPEND, WRITE = 0o1000, 0o2000, 1
NESTED, MERGED, ASYNCHRONOUS, COLLECTIVE, IMPLIED, SCATTERED = 1, 2, 4, 8, 16, 128


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


def test_advice_says_whether_data_will_be_needed(tmp_path):
    trace = RawTrace()
    process = trace.process()
    open_file(process, "a")
    for advice in (os.POSIX_FADV_RANDOM, os.POSIX_FADV_WILLNEED, os.POSIX_FADV_DONTNEED):
        process.put("advice", "posix_fadvise", file=3, offset=50, size=100, advice=advice)
    rows = Collated(trace, tmp_path).rows("io", "call", "offset", "size", "flags")
    assert rows[1:] == [("posix_fadvise", 50, 100, flags) for flags in (0, 32, 64)]


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
    assert done.rows("file", "path") == ["/job/a", "/job/b"]
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


def test_descriptors_from_elsewhere_are_matched_and_pipes_have_no_position(tmp_path):
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


def test_a_wait_has_a_record_for_each_access_to_a_file_that_it_completed(tmp_path):
    trace = RawTrace()
    process = trace.process(0, 1)
    process.put("mpi_open", "MPI_File_open", comm=0, file=0, path="data")
    at = {"file": 0, "bytes": 80}
    process.put("request", "aio_write", begin=9000, end=9100, file=3, size=80, block=0x10)
    process.put(
        "mpi_data_at", "MPI_File_iwrite_at", begin=8900, end=9200, offset=30, request=7, **at
    )
    process.put("mpi_data", "MPI_File_iread_shared", request=8, **at)
    process.put("start", "MPI_Irecv", comm=0, peer=-2, request=9)
    process.put("mpi_data", "MPI_File_iread", request=10, **at)
    process.put("completed", request=8)
    process.put("wait", "MPI_Test", count=1, done=1)
    process.put("request_done", "aio_return", begin=20000, end=20100, block=0x10, bytes=80)
    for request in (7, 9):
        process.put("completed", request=request)
    process.put("wait", "MPI_Waitall", begin=19900, end=20200, count=2, done=2)
    process.put("completed", request=10, flags=2)
    process.put("wait", "MPI_Request_free", count=1, done=1)
    done = Collated(trace, tmp_path)
    assert done.rows("io", "call", "offset", "completion", "flags")[1:] == [
        ("MPI_File_iwrite_at", 30, 5, ASYNCHRONOUS),
        ("aio_write", 0, 5, ASYNCHRONOUS | NESTED),
        ("MPI_File_iread_shared", -1, 2, ASYNCHRONOUS),
        ("MPI_File_iread", 0, 0, ASYNCHRONOUS),
        ("MPI_Test", -1, 0, NESTED),
        ("MPI_Waitall", 30, 0, NESTED),
        ("aio_return", 0, 0, NESTED),
    ]
    waits = done.rows("mpi", "call", "completion", "flags")
    assert waits[-4:] == [
        ("MPI_Irecv", 2, 8),
        ("MPI_Test", 0, 0),
        ("MPI_Waitall", 0, 0),
        ("MPI_Request_free", 0, 0),
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
    scattered = [(row[0], row[1] & SCATTERED != 0) for row in done.rows("io", "call", "flags")]
    assert {call for call, is_so in scattered if is_so} == {
        "MPI_File_write",
        "MPI_File_read_at",
        "MPI_File_read",
        "MPI_File_write_shared",
        "MPI_File_write_all_begin",
    }


def test_offsets_are_unknown_from_a_seek_to_an_unknown_place_to_the_next_seek(tmp_path):
    trace = RawTrace()
    process = trace.process(0, 1)
    process.put("mpi_open", "MPI_File_open", comm=0, file=0, path="data")
    process.put("mpi_data", "MPI_File_write", file=0, bytes=8)
    process.put("mpi_file", "MPI_File_seek", file=0, value=-1)
    process.put("mpi_data", "MPI_File_write", file=0, bytes=8)
    process.put("mpi_data", "MPI_File_write", file=0, bytes=8)
    process.put("mpi_file", "MPI_File_seek", file=0, value=24)
    process.put("mpi_data", "MPI_File_write", file=0, bytes=8)
    process.put("mpi_open", "MPI_File_open", comm=0, file=1, path="log", flags=os.O_APPEND)
    process.put("mpi_data", "MPI_File_write", file=1, bytes=8)
    done = Collated(trace, tmp_path)
    writes = [row[1] for row in done.rows("io", "call", "offset") if row[0] == "MPI_File_write"]
    assert writes == [0, -1, -1, 24, -1]


def test_a_view_without_holes_has_its_data_at_the_offset(tmp_path):
    trace = RawTrace()
    process = trace.process(0, 1)
    process.put("mpi_open", "MPI_File_open", comm=0, file=0, path="data")
    view = {"displacement": 1000, "etype_size": 8, "filetype_size": 80, "filetype_extent": 80}
    process.put("mpi_view", "MPI_File_set_view", file=0, **view)
    process.put("mpi_data", "MPI_File_write", file=0, bytes=80)
    process.put("mpi_data", "MPI_File_write", file=0, bytes=80)
    done = Collated(trace, tmp_path)
    assert done.rows("io", "offset", "flags")[2:] == [(1000, 0), (1080, 0)]


def run_numbers(*runs: tuple[int, int, int, int]) -> list[int]:
    """As the record has them: each s64 as two s32, the low one first."""
    return [
        half
        for run in runs
        for number in run
        for half in struct.unpack("<ii", struct.pack("<q", number))
    ]


def test_places_in_a_view_whose_layout_is_recorded_are_exact(tmp_path):
    trace = RawTrace()
    process = trace.process(0, 1)
    process.put("mpi_open", "MPI_File_open", comm=0, file=0, path="data")
    view = {"displacement": 1000, "etype_size": 8, "filetype_size": 32, "filetype_extent": 1 << 40}
    runs = run_numbers((16, 8, 3, 80), (1 << 33, 8, 1, 0))
    process.put("mpi_view", "MPI_File_set_view", file=0, **view, runs=runs)
    process.put("mpi_data", "MPI_File_write", file=0, bytes=8)
    process.put("mpi_data", "MPI_File_write", file=0, bytes=16)
    process.put("mpi_data", "MPI_File_write", file=0, bytes=16)
    process.put("mpi_data_at", "MPI_File_read_at", file=0, bytes=8, offset=6)
    done = Collated(trace, tmp_path)
    assert done.rows("io", "offset", "flags")[2:] == [
        (1016, 0),
        (1096, SCATTERED),
        (1000 + (1 << 33), SCATTERED),
        (1000 + (1 << 40) + 176, 0),
    ]
    ((_, begin),) = done.rows("io", "call", "begin_ns")[1:2]
    fields = ("rank", "begin_ns", "handle", "file", "displacement", "data_bytes", "extent", "runs")
    assert done.rows("file_view", *fields) == [
        (0, begin, 0, 0, 1000, 32, 1 << 40, "16+8x3/80,8589934592+8")
    ]


def test_file_systems_are_found_by_the_longest_mount_point():
    systems = FileSystems("dev / ext4 rw\ntmp /tmp tmpfs rw\nx /tmp/a\\040b xfs rw\n")
    assert systems.type_of("/home/x") == "ext4"
    assert systems.type_of("/tmp/x/y") == "tmpfs"
    assert systems.type_of("/tmp/a b/c") == "xfs"
    assert systems.type_of("pipe:[3]") == ""


def test_times_without_the_processor_are_those_of_their_threads(tmp_path):
    trace = RawTrace()
    process = trace.process()
    open_file(process)
    begin = process.thread().clock
    process.put("preempted", begin=begin, end=begin + 3000, lost=1200)
    process.put("data", "write", file=3, bytes=10)
    other = process.thread(2)
    other.put("preempted", begin=begin + 9, end=begin + 9 + (1 << 33), lost=20_000, wide=True)
    done = Collated(trace, tmp_path)
    assert done.rows("preempted", "rank", "thread", "duration_ns", "lost_ns") == [
        (0, 0, 3000, 1200),
        (0, 2, 1 << 33, 20_000),
    ]
    opening, write = done.rows("io", "begin_ns")
    first, second = done.rows("preempted", "begin_ns")
    assert (first, write, second) == (opening + 5, opening + 5 + 3000 + 10, first + 9)


def test_a_run_without_preemption_has_no_such_records(tmp_path):
    trace = RawTrace()
    open_file(trace.process())
    assert "preempted" not in Collated(trace, tmp_path).data.record_types
