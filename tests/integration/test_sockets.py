"""Ranks of one process that wait for each other in calls of the operating system."""

from __future__ import annotations

import pytest

SOURCE = "tests/programs/model/sockets.c"
OUTSIDE = "tests/programs/model/waits.c"
QUIET = ("-n", 2, "--machine", "infiniband", "--compute", "none", "--")


@pytest.mark.few_cases(6)
@pytest.mark.parametrize("order", [(), ("--shuffle", 1)], ids=["in order", "shuffled"])
@pytest.mark.parametrize(
    "way",
    [
        *("read", "recv", "recvmsg", "poll", "poll-limited", "poll-in-a-loop", "ppoll-limited"),
        *("select", "select-limited", "pselect-limited", "epoll_wait", "epoll_wait-limited"),
        *("fortified-poll", "select-of-many", "select-of-one-word"),
    ],
)
def test_a_rank_waits_for_a_connection_and_data_of_another(way, order, compiled, simulate):
    ours = simulate(*order, *QUIET, compiled(SOURCE), way)
    assert ours.status == 0, ours.stderr
    size, _, connection, data = ours.stdout.split()
    assert size == "8"
    assert 1e-3 <= float(connection) < 1.05e-3
    assert 0.95e-3 <= float(data) < 1.05e-3


def test_a_wait_for_a_process_outside_takes_what_it_really_takes(compiled, simulate):
    ours = simulate(*QUIET, compiled(OUTSIDE), "child")
    assert ours.status == 0, ours.stderr
    [line] = [line for line in ours.stdout.splitlines() if line.startswith("child")]
    _, got, seconds = line.split()
    assert got == "1"
    assert 0.25 < float(seconds) < 30  # 870 s if polls are not tied to the host's clock


def test_a_time_limit_of_a_socket_holds(compiled, simulate):
    ours = simulate(*QUIET, compiled(OUTSIDE), "limit")
    assert ours.status == 0, ours.stderr
    assert "limit -1 1" in ours.stdout


@pytest.mark.parametrize("way", ["select", "epoll"])
def test_a_wait_ends_with_its_time_limit(way, compiled, simulate):
    ours = simulate(*QUIET, compiled(OUTSIDE), way)
    assert ours.status == 0, ours.stderr
    [line] = [line for line in ours.stdout.splitlines() if line.startswith(way)]
    _, ready, seconds = line.split()
    assert ready == "0"
    assert 0.1 <= float(seconds) < 0.102


def test_questions_without_a_wait_pass_time(compiled, simulate):
    ours = simulate(*QUIET, compiled(OUTSIDE), "spin")
    assert ours.status == 0, ours.stderr
    [line] = [line for line in ours.stdout.splitlines() if line.startswith("spin")]
    _, asked, refused = line.split()
    assert 5_000 <= int(asked) <= 10_000  # 100 ns each, and MPI_Wtime
    assert refused == "1"


def test_a_child_that_waits_does_not_run_the_other_ranks(compiled, simulate):
    ours = simulate(*QUIET, compiled(OUTSIDE), "fork")
    assert ours.status == 0, ours.stderr
    assert sorted(ours.stdout.splitlines()) == ["fork 0", "rank 1 works"]
