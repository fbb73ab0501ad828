"""Ranks that wait in a loop for another rank to change memory."""

from __future__ import annotations

import pytest

SOURCE = "tests/programs/model/polling.c"
QUIET = ("-n", 2, "--machine", "infiniband", "--compute", "none", "--")
MENTIONED = "waits in a loop without a call for memory to change"


ORDERS = pytest.mark.parametrize("order", [(), ("--shuffle", 1)], ids=["in order", "shuffled"])


@ORDERS
@pytest.mark.parametrize("way", ["wtime", "clock", "usleep", "yield", "probe"])
def test_a_loop_that_reads_clocks_or_polls_advances(way, order, compiled, simulate):
    ours = simulate(*order, *QUIET, compiled(SOURCE), way, "set")
    assert ours.status == 0, ours.stderr
    value, seconds = ours.stdout.split()
    assert value == "9"
    assert 1e-3 <= float(seconds) < 1.02e-3
    assert MENTIONED not in ours.stderr


@pytest.mark.few_cases(2)
@ORDERS
@pytest.mark.parametrize(
    ("way", "options"), [("loads", ()), ("loads", ("-O0",)), ("pause", ()), ("library", ("-O0",))]
)
def test_a_loop_without_a_call_follows_the_others_and_is_mentioned(
    way, options, order, compiled, simulate
):
    ours = simulate(*order, *QUIET, compiled(SOURCE, flags=options), way, "set")
    assert ours.status == 0, ours.stderr
    value, seconds = ours.stdout.split()
    assert value == "9"
    assert 1e-3 <= float(seconds) < 1.02e-3
    assert ours.stderr.count(f"rank 1 {MENTIONED}") == 1
    assert "hint: for exact times" in ours.stderr


def test_polling_is_no_computation_where_that_is_measured(compiled, simulate):
    ours = simulate(*QUIET[:4], "--", compiled(SOURCE), "loads", "set")
    assert ours.status == 0, ours.stderr
    value, seconds = ours.stdout.split()
    assert value == "9"
    # Half a second was spent in the loop before it was recognised.
    assert float(seconds) < 0.2


def test_a_loop_that_no_rank_ends_is_reported(compiled, simulate):
    ours = simulate(*QUIET, compiled(SOURCE, flags=("-O0",)), "loads", "leave")
    assert ours.status == 1
    assert "rank 1 waits in a loop without a call for memory to change, at poll_flag" in ours.stderr
    assert "but no other rank can run" in ours.stderr
    assert "rank 0 in MPI_Barrier waits for a message from rank 1" in ours.stderr


@pytest.mark.parametrize("options", [(), ("-O0",)], ids=["optimised", "not optimised"])
def test_long_computation_is_not_taken_for_polling(options, compiled, simulate):
    ours = simulate(*QUIET, compiled(SOURCE, flags=options), "compute", "leave")
    assert ours.status == 0, ours.stderr
    assert MENTIONED not in ours.stderr
    assert float(ours.stdout.split()[1]) < 1e-6


def test_polls_between_small_work_do_not_sleep(compiled, simulate):
    """With sleep of 1/64 of the time polled, they would take 10^13 s."""
    ours = simulate(*QUIET, compiled("tests/programs/model/polled_work.c"))
    assert ours.status == 0, ours.stderr
    found, seconds = ours.stdout.split()
    assert found == "0"
    assert float(seconds) == pytest.approx(3000 * 100e-9, rel=0.01)


@pytest.mark.parametrize("options", [("-O2",), ("-O0",)], ids=["optimised", "not optimised"])
def test_a_long_wait_takes_few_polls(options, compiled, simulate):
    """One second of waiting would be 10^7 polls of 100 ns."""
    ours = simulate(*QUIET, compiled("tests/programs/model/long_wait.c", flags=options))
    assert ours.status == 0, ours.stderr
    polls, seconds = ours.stdout.split()
    assert 1 <= float(seconds) < 1.02
    assert int(polls) < 6000
