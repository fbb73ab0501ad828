"""The model of a simulation on several hosts."""

from __future__ import annotations

from dataclasses import replace

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
    speed_up,
)

EVEN = Load(computed_s=(1.0,) * 8, messages=800, message_s=0.01, predicted_s=1.0)


def test_the_host_with_the_most_work_bounds_the_speed_up():
    assert EVEN.alone_s == pytest.approx(16)
    assert EVEN.bound(4) == pytest.approx(4)
    # Blocks of 2 and 3 ranks.
    assert EVEN.bound(3) == pytest.approx(8 / 3)
    uneven = replace(EVEN, computed_s=(5.0, *(1.0,) * 7), messages=0)
    assert uneven.bound(4) == pytest.approx(12 / 6)


def test_a_simulation_is_no_faster_than_the_program():
    assert replace(EVEN, predicted_s=8.0).bound(8) == pytest.approx(2)


def test_messages_are_shared_by_the_hosts_and_rounds_are_not():
    frames = speed_up(EVEN, 8, Traffic(frames=8000))
    assert frames == pytest.approx(16 / (2 + 1000 * OVERHEADS_S))
    rounds = speed_up(EVEN, 8, Traffic(rounds=1000))
    assert rounds == pytest.approx(16 / (2 + 1000 * 3 * LATENCY_S))


def outcome(frames: int):
    def points(ranks: int) -> list[Point]:
        load = replace(EVEN, computed_s=(1.0,) * ranks)
        return [
            Point(hosts, load, Traffic(frames), Traffic(frames, 10_000)) for hosts in (2, ranks)
        ]

    return outcome_of({ranks: points(ranks) for ranks in (*TARGETS, LARGE_RANKS)})


def test_the_speed_ups_are_those_of_the_program_if_messages_cost_little():
    few = outcome(frames=100)
    assert few.judgements[0].is_reproduced
    assert few.tables[0].rows[0] == ["4", "2", "2.00", "100", "2.00", "1.87"]
    assert not outcome(frames=1_000_000).judgements[0].is_reproduced
