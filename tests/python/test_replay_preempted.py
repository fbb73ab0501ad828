"""What others had the processor for is no part of a replay's computation and messages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.python.traced_run import NS, TracedRun

from sesame.replaying.preempted import Lost
from sesame.replaying.records import order_of, read_trace
from sesame.replaying.schedule import Schedule, Style, make_schedule
from sesame.replaying.targets import Target


def schedule_of(run: TracedRun, tmp_path: Path, **style: float) -> Schedule:
    trace = read_trace(run.write(tmp_path / "run.sesame"))
    return make_schedule(trace, Target(tmp_path / "there"), Style(**style))


def writes(tmp_path: Path, ranks: int = 1) -> TracedRun:
    """Each rank writes for a millisecond at 10, 20 and 40 ms."""
    run = TracedRun(ranks)
    file = run.file(str(tmp_path / "data"))
    for rank in range(ranks):
        for begin in (10, 20, 40):
            run.io(rank, begin, 1, "pwrite", file=file, handle=0, offset=0, size=1, bytes=1)
    return run


def test_a_gap_is_shorter_by_the_time_that_others_had_the_processor(tmp_path):
    run = writes(tmp_path, ranks=2)
    run.preempted(0, 11, 9, 4)
    run.preempted(1, 21, 19, 19)
    operations = schedule_of(run, tmp_path).operations
    gaps = [operations.gap[operations.stream == stream] / NS for stream in (0, 1)]
    assert gaps[0].tolist() == [10, 5, 19]
    assert gaps[1].tolist() == [10, 9, 0]


def test_what_is_left_of_a_gap_is_scaled(tmp_path):
    run = writes(tmp_path)
    run.preempted(0, 11, 9, 4)
    operations = schedule_of(run, tmp_path, scale_compute=2.0).operations
    assert (operations.gap / NS).tolist() == [20, 10, 38]


def test_within_io_it_is_the_file_systems(tmp_path):
    run = writes(tmp_path)
    run.preempted(0, 20, 1, 0.9)
    assert (schedule_of(run, tmp_path).operations.gap / NS).tolist() == [10, 9, 19]


def messages(tmp_path: Path, transfers: list[float]) -> TracedRun:
    """Each receive is there 5 ms before its send and ends so long after it began."""
    run = TracedRun(2)
    for number, transfer in enumerate(transfers):
        at = 10 * (number + 1)
        run.mpi(0, at, 0.5, "MPI_Send", peer=1, tag=0, bytes=100)
        run.mpi(1, at - 5, 5 + transfer, "MPI_Recv", peer=0, tag=0, bytes=100)
    return run


def transfers_of(schedule: Schedule) -> list[float]:
    operations = schedule.operations
    of_receiver = operations.transfer[operations.stream == 1] / NS
    return [float(one) for one in of_receiver]


def test_a_message_takes_no_longer_because_its_receiver_was_not_there(tmp_path):
    run = messages(tmp_path, [0.01] * 8 + [4.0, 2.0, 2.0])
    run.preempted(1, 85, 9, 3.5)  # less than the message took too long
    run.preempted(1, 95, 7, 6.5)  # most of it while there was no message yet
    found = transfers_of(schedule_of(run, tmp_path))
    assert found == [0.01] * 8 + [0.5, 0.01, 2.0]


def test_times_that_follow_each_other_are_distinguished(tmp_path):
    run = writes(tmp_path, ranks=2)
    run.preempted(1, 0, 10, 6)
    run.preempted(1, 10, 1, 1)
    run.preempted(1, 11, 9, 3)
    trace = read_trace(run.write(tmp_path / "run.sesame"))
    lost = Lost(trace, order_of(trace))
    ones, times = np.ones(5, np.int64), np.array([0, 5, 10, 11, 20, 40]) * NS
    assert (lost.between(ones, times[:-1], times[1:]) / NS).tolist() == [3, 3, 1, 3, 0]
    assert not lost.between(0 * ones, times[:-1], times[1:]).any()


def test_a_thread_without_calls_is_left_out(tmp_path):
    run = writes(tmp_path)
    run.preempted(7, 0, 10, 6)
    assert (schedule_of(run, tmp_path).operations.gap / NS).tolist() == [10, 9, 19]
