"""When a replay's operations are due: against programs run on paper, whose times are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.python.paper_machine import Paper, play_on_paper, random_program
from tests.python.traced_run import CREATE, NS, TracedRun

from sesame.datasets.traced import MpiFlag
from sesame.errors import InputError
from sesame.replaying.calls import call_numbers
from sesame.replaying.plan import _other_slots
from sesame.replaying.records import read_trace
from sesame.replaying.schedule import Schedule, Style, make_schedule
from sesame.replaying.targets import Target
from sesame.traced.members import members_of

COLLECTIVE, NESTED = 8, 1


def schedule_of(run: TracedRun, tmp_path: Path, style: Style | None = None) -> Schedule:
    path = run.write(tmp_path / "run.sesame")
    return make_schedule(read_trace(path), Target(tmp_path / "there"), style or Style())


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("io_factor", [1.0, 3.0, 0.2])
def test_random_programs_take_as_long_as_when_they_run_with_such_io(tmp_path, seed, io_factor):
    program = random_program(ranks=2 + seed % 5, steps=25, seed=seed)
    trace = read_trace(Paper(program, 1.0).write(tmp_path / "run.sesame"))
    schedule = make_schedule(trace, Target(tmp_path), Style())
    times = play_on_paper(schedule, io_factor)
    expected = Paper(program, io_factor)
    ends = np.zeros(len(program), np.int64)
    for stream, (_, end) in zip(schedule.operations.stream, times, strict=True):
        ends[stream] = max(ends[stream], end)
    # Records have begin and duration in whole nanoseconds.
    assert np.abs(ends + schedule.tail_ns - expected.now).max() <= 200


def test_a_receive_that_came_late_keeps_its_whole_time_as_transfer(tmp_path):
    run = TracedRun(2)
    run.mpi(0, 10, 1, "MPI_Send", peer=1, tag=5)
    run.mpi(1, 30, 4, "MPI_Recv", peer=0, tag=5)
    schedule = schedule_of(run, tmp_path)
    assert schedule.messages.messages == 1
    receive = schedule.operations.stream == 1
    assert schedule.operations.gap[receive].tolist() == [30 * NS]
    assert schedule.operations.transfer[receive].tolist() == [4 * NS]


def test_a_receive_that_came_early_keeps_what_followed_its_send(tmp_path):
    run = TracedRun(2)
    run.mpi(0, 32, 1, "MPI_Send", peer=1, tag=5)
    run.mpi(1, 30, 4, "MPI_Recv", peer=0, tag=5)
    schedule = schedule_of(run, tmp_path)
    assert schedule.operations.transfer[schedule.operations.stream == 1].tolist() == [2 * NS]


def test_large_sends_wait_for_their_receives_if_the_times_say_so(tmp_path):
    run = TracedRun(2)
    for number, (size, duration) in enumerate([(100, 0.01), (100_000, 11.0), (100, 0.01)]):
        run.mpi(0, 10 + 20 * number, duration, "MPI_Send", peer=1, tag=0, bytes=size)
        run.mpi(1, 20 + 20 * number, 1.5, "MPI_Recv", peer=0, tag=0, bytes=size)
    schedule = schedule_of(run, tmp_path)
    assert schedule.messages.rendezvous_bytes == 100_000
    sends = schedule.operations.transfer[schedule.operations.stream == 0] / NS
    assert sends.tolist() == [0.01, 1.0, 0.01]


def test_polls_in_a_row_are_part_of_the_wait_that_they_end_in(tmp_path):
    run = TracedRun(2)
    run.mpi(0, 50, 1, "MPI_Send", peer=1, tag=0)
    run.mpi(1, 10, 0.1, "MPI_Irecv", peer=0, tag=0, completion=101, flags=8)
    for number in range(100):
        run.mpi(1, 45 + 0.055 * number, 0.05, "MPI_Test", flags=4)
    run.mpi(1, 50.5, 0.05, "MPI_Test")
    schedule = schedule_of(run, tmp_path)
    test = np.flatnonzero(schedule.operations.stream == 1)
    assert schedule.operations.begin[test].tolist() == [45 * NS]
    assert schedule.operations.transfer[test].tolist() == [550_000]


def test_messages_with_one_end_are_counted_and_keep_their_time(tmp_path):
    run = TracedRun(2)
    run.mpi(1, 30, 4, "MPI_Recv", peer=0, tag=5)
    run.mpi(0, 30, 4, "MPI_Send", peer=1, tag=6)
    schedule = schedule_of(run, tmp_path)
    found = schedule.messages
    assert (found.messages, found.sends_alone, found.receives_alone) == (0, 1, 1)
    assert schedule.tail_ns.tolist() == [100 * NS, 100 * NS]


def test_started_persistent_operations_are_messages_and_collectives(tmp_path):
    run = TracedRun(2)
    started = {"completion": 2, "flags": 8 | 16 | 128}
    for rank in range(2):
        run.mpi(rank, 1, 0.1, "MPI_Recv_init", peer=1 - rank, tag=4)
        begin = 10 + 10 * rank
        run.mpi(rank, begin, 0.1, "MPI_Startall")
        run.mpi(rank, begin + 0.01, 0.02, "MPI_Isend", peer=1 - rank, tag=4, **started)
        more = started | {"completion": 1}
        run.mpi(rank, begin + 0.04, 0.02, "MPI_Irecv", peer=1 - rank, tag=4, **more)
        run.mpi(rank, 11 if rank == 0 else 21, 11 - 10 * rank, "MPI_Waitall")
        run.mpi(rank, 40 + rank, 0.1, "MPI_Start")
        more = started | {"completion": 1}
        run.mpi(rank, 40.01 + rank, 0.02, "MPI_Ibarrier", **more)
        run.mpi(rank, 40.5 + rank, 1.5 - rank, "MPI_Wait")
    schedule = schedule_of(run, tmp_path)
    assert (schedule.messages.messages, schedule.collectives.calls) == (2, 1)
    first = schedule.operations.stream == 0
    # Startall, Waitall, Start, Wait: those that wait have less than their whole time left.
    assert (schedule.operations.transfer[first] / NS).tolist() == [0.1, 2, 0.1, 1]


def test_a_broadcast_waits_for_its_root_only(tmp_path):
    run = TracedRun(3)
    for rank, (begin, duration) in enumerate([(20, 1), (10, 11), (40, 1)]):
        run.mpi(rank, begin, duration, "MPI_Bcast", peer=0, bytes=8)
    operations = schedule_of(run, tmp_path).operations
    assert (operations.transfer / NS).tolist() == [1, 1, 1]
    run = TracedRun(3)
    for rank, (begin, duration) in enumerate([(20, 1), (10, 31), (40, 1)]):
        run.mpi(rank, begin, duration, "MPI_Barrier")
    (tmp_path / "two").mkdir()
    operations = schedule_of(run, tmp_path / "two").operations
    # The first one left at 21, before the last one came: no barrier does so, and none is imposed.
    assert (operations.transfer / NS)[1:].tolist() == [1, 1]


def test_collective_writes_wait_for_all_at_their_begin_and_for_the_writer_at_their_end(tmp_path):
    run = TracedRun(2)
    file = run.file("/data/shared")
    for rank, begin in enumerate([10, 20]):
        more = {"file": file, "handle": 9, "comm": 0, "flags": COLLECTIVE, "size": 4096}
        run.io(rank, begin, 40 - begin, "MPI_File_write_all", bytes=4096, **more)
    run.io(0, 1, 1, "open", file=file, handle=1, size=CREATE)
    written = {"file": file, "handle": 1, "offset": 0, "size": 8192, "bytes": 8192}
    run.io(0, 22, 10, "pwrite", flags=NESTED, **written)
    schedule = schedule_of(run, tmp_path)
    slow = play_on_paper(schedule, 5.0)  # opening 1 -> 5, pwrite 10 -> 50
    ends = [
        max(end for s, (_, end) in zip(schedule.operations.stream, slow, strict=True) if s == r)
        for r in (0, 1)
    ]
    assert [end / NS for end in ends] == [22 + 50 + 8, 22 + 50 + 8]


def test_mpi_io_with_nothing_seen_below_is_issued_itself(tmp_path):
    run = TracedRun(1)
    file = run.file("/data/file")
    common = {"file": file, "handle": 2}
    run.io(0, 10, 1, "MPI_File_open", size=CREATE, comm=0, flags=COLLECTIVE, **common)
    run.io(0, 20, 1, "MPI_File_write_at", offset=64, size=32, bytes=32, **common)
    run.io(0, 30, 1, "MPI_File_read_at_all", offset=0, size=96, bytes=96, comm=0, flags=8, **common)
    run.io(0, 40, 1, "MPI_File_close", comm=0, flags=COLLECTIVE, **common)
    schedule = schedule_of(run, tmp_path)
    assert np.count_nonzero(schedule.operations.source >= 0) == 4


def test_what_lies_inside_another_call_is_not_issued_twice(tmp_path):
    run = TracedRun(1)
    file = run.file("/data/file")
    run.io(0, 10, 1, "fopen", file=file, handle=2, size=CREATE)
    run.io(0, 10.2, 0.5, "open", file=file, handle=2, size=CREATE, flags=NESTED)
    run.io(0, 20, 1, "fwrite", file=file, handle=2, size=8192, bytes=8192)
    run.io(0, 20.1, 0.5, "write", file=file, handle=2, size=8192, bytes=8192, flags=NESTED)
    run.mpi(0, 30, 10, "MPI_Init")
    run.io(0, 31, 1, "open", file=file, handle=3, size=0, flags=NESTED)
    operations = schedule_of(run, tmp_path).operations
    assert operations.source.tolist() == [0, 2]
    assert (operations.gap / NS).tolist() == [10, 9]


def test_a_file_is_opened_only_after_another_rank_has_made_it(tmp_path):
    run = TracedRun(2)
    file = run.file("/data/file")
    run.io(0, 10, 5, "open", file=file, handle=0, size=CREATE)
    run.io(1, 16, 1, "open", file=file, handle=0, size=0)
    run.io(1, 18, 1, "close", file=file, handle=0)
    run.io(0, 30, 1, "unlink", file=file)
    schedule = schedule_of(run, tmp_path)
    slow = play_on_paper(schedule, 4.0)
    assert [begin / NS for begin, _ in slow] == [10, 45, 30, 35]


def test_a_thread_begins_behind_what_its_process_did_before_it(tmp_path):
    run = TracedRun(1, threads=2)
    file = run.file("/data/file")
    run.io(0, 10, 5, "open", file=file, handle=0, size=CREATE)
    run.io(0, 20, 10, "pwrite", thread=1, file=file, handle=0, offset=0, size=8, bytes=8)
    run.io(0, 31, 1, "close", file=file, handle=0)
    schedule = schedule_of(run, tmp_path)
    slow = play_on_paper(schedule, 2.0)
    by_source = dict(zip(schedule.operations.source.tolist(), slow, strict=True))
    assert [by_source[row][0] / NS for row in (0, 2, 1)] == [10, 25, 46]


def test_only_io_waits_for_no_process_and_speed_leaves_the_order(tmp_path):
    run = TracedRun(2)
    file = run.file("/data/file")
    run.io(0, 10, 5, "open", file=file, handle=0, size=CREATE)
    run.mpi(0, 40, 1, "MPI_Send", peer=1, tag=0)
    run.mpi(1, 10, 31, "MPI_Recv", peer=0, tag=0)
    run.io(1, 45, 5, "stat", file=file)
    run.write(tmp_path / "run.sesame")
    trace, target = read_trace(tmp_path / "run.sesame"), Target(tmp_path)
    alone = make_schedule(trace, target, Style(only_io=True)).operations
    assert (alone.gap[alone.source >= 0] / NS).tolist() == [10, 45]
    fast = make_schedule(trace, target, Style(as_fast_as_possible=True))
    assert fast.operations.gap.sum() + fast.operations.transfer.sum() + fast.tail_ns.sum() == 0
    assert [begin / NS for begin, _ in play_on_paper(fast, 1.0)] == [0, 5, 0, 5]
    half = make_schedule(trace, target, Style(scale_compute=0.5)).operations
    assert (half.gap / NS).tolist() == [5, 12.5, 5, 2]


def test_members_of_a_communicator_are_read_as_written():
    assert members_of("0-7").tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert members_of("0-14:7,3,1").tolist() == [0, 7, 14, 3, 1]
    assert members_of("").tolist() == []


def test_members_without_a_trace_are_minus_one():
    assert members_of("2,-1").tolist() == [2, -1]
    assert members_of("-1-1,-1,-1,5-9:2").tolist() == [-1, 0, 1, -1, -1, 5, 7, 9]
    for text in ("-2", "1--", "a", "0-4:0", "1-2:"):
        with pytest.raises(InputError, match="no list of ranks"):
            members_of(text)


def test_a_rank_without_a_trace_leaves_the_others_of_its_communicator(tmp_path):
    run = TracedRun(2)
    run.communicator(1, "1,-1,0", 3)
    for rank in range(2):
        run.mpi(rank, 10 + rank, 5 - rank, "MPI_Scan", comm=1)
        run.mpi(rank, 20 + rank, 5 - rank, "MPI_Barrier", comm=1)
    schedule = schedule_of(run, tmp_path)
    assert (schedule.collectives.calls, schedule.collectives.incomplete) == (2, 2)


def issued_calls(schedule: Schedule) -> list[tuple[str, int]]:
    """The calls of the first thread and the computation before each, ns."""
    names = list(call_numbers())
    operations, call = schedule.operations, schedule.issued.call
    return [
        (names[call[row]], int(gap))
        for row, gap in zip(operations.source, operations.gap, strict=True)
        if row >= 0
    ]


@pytest.mark.parametrize("polls", [0, 3])
@pytest.mark.parametrize("below", [False, True])
def test_non_blocking_access_to_a_file_continues_until_it_is_waited_for(tmp_path, polls, below):
    """What the library did below is issued; without that, what the program asked for."""
    run = TracedRun(1)
    at = {"file": run.file("/data/one"), "size": 512, "offset": 1024}
    waited = {"flags": NESTED, **at}
    run.io(0, 0, 1, "MPI_File_open", handle=3, file=0, size=CREATE)
    if below:
        run.io(0, 0.2, 0.5, "open", handle=2, file=0, size=CREATE, flags=NESTED)
    run.io(0, 2, 1, "MPI_File_iwrite_at", handle=3, bytes=512, completion=1 + below, flags=4, **at)
    if below:
        run.io(0, 2.1, 0.8, "aio_write", handle=2, bytes=512, completion=2, flags=4 | NESTED, **at)
    for poll in range(polls):
        run.mpi(0, 10 + poll * 0.01, 0.01, "MPI_Test", flags=int(MpiFlag.POLL))
    call, begin = ("MPI_Test", 10 + polls * 0.01) if polls else ("MPI_Wait", 10)
    run.mpi(0, begin, 15 - begin, call)
    run.io(0, begin, 15 - begin, call, handle=3, **waited)
    if below:
        run.io(0, 14.8, 0.1, "aio_return", handle=2, **waited)
    run.io(0, 20, 1, "MPI_File_close", handle=3, file=0)
    if below:
        run.io(0, 20.1, 0.5, "close", handle=2, file=0, flags=NESTED)
    calls = issued_calls(schedule_of(run, tmp_path))
    assert [name for name, _ in calls] == ["open", "aio_write", "aio_wait", "close"]
    issue_end = 2.9 if below else 3
    assert calls[2][1] == round((10 - issue_end) * NS)


def test_io_inside_other_calls_of_mpi_stays_theirs(tmp_path):
    run = TracedRun(1)
    file = run.file("/data/one")
    run.io(0, 0, 1, "open", handle=3, file=file, size=CREATE)
    run.mpi(0, 2, 2, "MPI_Barrier")
    run.io(0, 3, 0.5, "pwrite", handle=3, file=file, size=8, bytes=8, offset=0, flags=NESTED)
    run.mpi(0, 5, 2, "MPI_Waitall")
    run.io(0, 6, 0.5, "pread", handle=3, file=file, size=8, bytes=8, offset=0, flags=NESTED)
    calls = issued_calls(schedule_of(run, tmp_path))
    assert [name for name, _ in calls] == ["open", "pread"]


def test_a_copy_goes_to_the_latest_open_file_of_its_path(tmp_path):
    """Another thread's row is last in the table but not in time, and a closed file is not used."""
    run = TracedRun(1)
    source, target = run.file("/a", size_before=9), run.file("/b", size_before=9)
    run.io(0, 1, 1, "open", file=source, handle=0)
    run.io(0, 20, 1, "open", file=target, handle=1)
    run.io(0, 40, 1, "open", file=target, handle=3)
    run.io(0, 45, 1, "close", file=target, handle=3)
    run.io(0, 50, 1, "copy_file_range", file=source, other_file=target, handle=0, size=9, bytes=9)
    run.io(0, 5, 1, "open", file=target, handle=2, thread=1)
    schedule = schedule_of(run, tmp_path)
    io = schedule.trace.io
    copy = np.flatnonzero(io["other_file"] == target)
    assert _other_slots(schedule, copy).tolist() == [1]
