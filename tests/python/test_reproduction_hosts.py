"""The model of a simulation on several hosts."""

from __future__ import annotations

import pytest

from sesame.reproduction.hosts import (
    LARGE_RANKS,
    LATENCY_S,
    OVERHEADS_S,
    TARGETS,
    Load,
    Point,
    Traffic,
    outcome_of,
    point_of,
)
from sesame.reproduction.schedule import Program, Step


def ring(ranks: int, messages: int) -> Program:
    """Each rank computes a second in all, and sends messages to the next one."""
    steps = []
    for rank in range(ranks):
        mine = [Step(1.0 / messages, rank * messages + i, True) for i in range(messages)]
        before = (rank - 1) % ranks * messages
        steps.append([*mine, *(Step(0.0, before + i) for i in range(messages)), Step(0.0, -1)])
    senders = [rank for rank in range(ranks) for _ in range(messages)]
    return Program(steps, senders, [(sender + 1) % ranks for sender in senders])


EVEN = Load(ring(8, 100), message_s=0.01)


def test_without_a_protocol_a_host_does_its_share():
    assert EVEN.alone_s == pytest.approx(16)
    found = point_of(EVEN, 8, Traffic(), None)
    assert found.bound == pytest.approx(8)
    assert found.end_s == pytest.approx(2 + 100 * OVERHEADS_S)
    assert found.idle_share == pytest.approx(0, abs=1e-3)
    # Blocks of 2 and 3 ranks.
    assert point_of(EVEN, 3, Traffic(), None).bound == pytest.approx(8 / 3, rel=0.01)


def test_rounds_are_not_shared_by_the_hosts():
    point = point_of(EVEN, 8, Traffic(rounds=1000), None)
    assert point.speed_up == pytest.approx(16 / (point.end_s + 1000 * 3 * LATENCY_S))


def test_the_program_itself_needs_no_time_to_simulate_messages():
    own = point_of(EVEN, 8, Traffic(), None).own
    assert own == pytest.approx(8 / (1 + 100 * OVERHEADS_S), rel=0.001)


def outcome(rounds: int):
    def points(ranks: int) -> list[Point]:
        load = Load(ring(ranks, 100), message_s=0.01)
        few, many = Traffic(100, rounds), Traffic(100, 10_000)
        return [point_of(load, hosts, few, many) for hosts in (2, ranks)]

    return outcome_of({ranks: points(ranks) for ranks in (*TARGETS, LARGE_RANKS)})


@pytest.mark.long
def test_the_speed_ups_are_those_of_the_program_without_many_rounds():
    few = outcome(rounds=0)
    assert few.judgements[0].is_reproduced
    assert few.tables[0].rows[0] == ["4", "2", "2.00", "2.00", "100", "0 %", "2.00", "1.82"]
    assert not outcome(rounds=10_000).judgements[0].is_reproduced
