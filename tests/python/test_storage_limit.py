"""Limits on a device's rate are found in how long the chunks of a run take."""

from __future__ import annotations

import random

import pytest

from sesame.workloads.storage_limit import CHUNK, Limit, Pace, limit_of

FAST = 60e-6  # s a chunk
RATE = 32e6
BURST = 1_600_000
PERIOD = 0.1


def bucket(chunks: int) -> list[float]:
    """Bytes come all the time, and at most BURST are saved."""
    saved, times = float(BURST), []
    for _ in range(chunks):
        took = max(FAST, (CHUNK - saved) / RATE)
        saved = min(saved + took * RATE, BURST) - CHUNK
        times.append(took)
    return times


def periods(chunks: int) -> list[float]:
    """What a period allows is there at its begin."""
    now, end, left, times = 0.0, PERIOD, RATE * PERIOD, []
    for _ in range(chunks):
        begin = now
        if left < CHUNK:
            now, end, left = end, end + PERIOD, left + RATE * PERIOD
        now, left = now + FAST, left - CHUNK
        times.append(now - begin)
    return times


def test_a_bucket_is_found_with_what_it_saves():
    limit = limit_of(bucket(400))
    assert limit is not None
    assert limit.rate == pytest.approx(RATE, rel=0.01)
    assert limit.burst == pytest.approx(BURST, abs=CHUNK)
    assert limit.refill == 0


def test_a_limit_by_periods_is_found_with_their_length():
    limit = limit_of(periods(500))
    assert limit is not None
    assert limit.rate == pytest.approx(RATE, rel=0.02)
    assert limit.refill == pytest.approx(PERIOD, rel=0.02)
    assert limit.burst == pytest.approx(RATE * PERIOD, rel=0.02)


@pytest.mark.parametrize("made", [bucket, periods])
def test_what_else_the_machine_does_hides_no_limit(made):
    noise = random.Random(1)
    times = [took * noise.choice([1, 1, 1, 1, 1, 8]) if took < 1e-3 else took for took in made(500)]
    limit = limit_of(times)
    assert limit is not None
    assert limit.rate == pytest.approx(RATE, rel=0.1)
    assert (limit.refill > 0) == (made is periods)


def test_a_device_without_a_limit_has_none():
    assert limit_of([FAST] * 500) is None
    assert limit_of([0.002] * 500) is None  # slow from the begin
    held_up = [FAST] * 500
    held_up[100] = held_up[300] = 0.1  # by something else
    assert limit_of(held_up) is None


def test_measuring_pauses_before_a_limit_holds_it_back(monkeypatch):
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    pace = Pace(Limit(RATE, BURST, 0.0))
    for _ in range(6):
        pace.before(BURST // 4)
    assert pauses == pytest.approx([2 * BURST / RATE] * 3)
    Pace(None).before(1 << 40)
    assert len(pauses) == 3
