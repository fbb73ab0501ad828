"""Which rank hosts execute when, against schedules known from elsewhere."""

from __future__ import annotations

import pytest

from sesame.reproduction.schedule import Costs, Program, Step, schedule

FREE = Costs(message_s=0.0)


def end(compute_s: float) -> Step:
    return Step(compute_s, -1)


def pipeline(ranks: int, waves: int) -> Program:
    """Each wave takes one second on each rank, which then sends to the next."""
    steps: list[list[Step]] = []
    for rank in range(ranks):
        mine: list[Step] = []
        for wave in range(waves):
            if rank > 0:
                mine.append(Step(0.0, (rank - 1) * waves + wave))
            if rank < ranks - 1:
                mine.append(Step(1.0, rank * waves + wave, True))
            else:
                mine.append(Step(1.0, (ranks - 1) * waves + wave, True))
        steps.append([*mine, end(0.0)])
    last = [Step(0.0, (ranks - 1) * waves + wave) for wave in range(waves)]
    senders = [rank for rank in range(ranks) for _ in range(waves)]
    return Program(
        [*steps, [*last, end(0.0)]], senders, [sender + 1 for sender in senders]
    )  # the last rank takes the results


def test_one_host_takes_the_time_of_all_work():
    program = pipeline(3, 4)
    found = schedule(program, 1, Costs(0.5, overhead_s=9, latency_s=9))
    assert program.computed_s == 12
    assert found.end_s == pytest.approx(12 + 12 * 0.5)
    assert found.idle_share == pytest.approx(0)


def test_a_pipeline_fills_and_drains():
    """With a host for each of n ranks, w waves take n + w - 1 steps."""
    found = schedule(pipeline(3, 5), 4, FREE)
    assert found.end_s == pytest.approx(3 + 5 - 1)
    assert found.busy_s == pytest.approx([5, 5, 5, 0])


def test_messages_between_hosts_take_time_of_both_and_latency():
    """Two ranks that answer each other: nothing overlaps."""
    rounds = 10
    ping, pong = [], []
    for i in range(rounds):
        ping += [Step(1.0, 2 * i, True), Step(0.0, 2 * i + 1)]
        pong += [Step(0.0, 2 * i), Step(2.0, 2 * i + 1, True)]
    program = Program([[*ping, end(0.0)], [*pong, end(0.0)]], [0, 1] * rounds, [1, 0] * rounds)
    found = schedule(program, 2, Costs(0.2, overhead_s=0.4, latency_s=0.1))
    each = 0.2 + 0.4 + 0.1  # of a message, from its send until it is received
    assert found.end_s == pytest.approx(rounds * (3 + 2 * each))
    assert found.busy_s == pytest.approx([rounds * 1.6, rounds * 2.6])
    on_one = schedule(program, 1, Costs(0.2, overhead_s=0.4, latency_s=0.1))
    assert on_one.end_s == pytest.approx(rounds * (3 + 2 * 0.2))


def test_a_host_executes_another_rank_while_one_waits():
    """Ranks 0 and 1 are on the first host; rank 0 waits for the slow rank 2."""
    program = Program(
        [[Step(0.0, 0), end(1.0)], [end(4.0)], [Step(5.0, 0, True), end(0.0)], [end(0.0)]],
        [2],
        [0],
    )
    found = schedule(program, 2, FREE)
    assert found.end_s == pytest.approx(6)
    assert found.busy_s == pytest.approx([5, 5])
    assert found.idle_share == pytest.approx(1 / 6)


def test_a_message_that_no_rank_sends_is_found():
    with pytest.raises(RuntimeError, match="no rank sends: 1"):
        schedule(Program([[Step(0.0, 0), end(0.0)], [end(0.0)]], [1], [0]), 2, FREE)
