"""Messages that share links beside packets of ns-3 (bench/packets.py)."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"

pytestmark = pytest.mark.long


@pytest.fixture
def packets(monkeypatch) -> Any:
    monkeypatch.syspath_prepend(BENCH)
    return importlib.import_module("packets")


def test_messages_on_a_tree_arrive_about_when_their_packets_do(packets, tmp_path):
    programs = packets.build_both(tmp_path)
    if programs is None:
        pytest.skip("libns3-dev is not installed")
    for case in packets.CASES:
        found = packets.compare(programs, case, 3000, tmp_path)
        assert abs(found.mean) < 0.08, case
        assert abs(found.last) < 0.05, case


def test_a_message_alone_takes_as_long_as_its_packets(packets, tmp_path):
    programs = packets.build_both(tmp_path)
    if programs is None:
        pytest.skip("libns3-dev is not installed")
    messages = [(0.0, 0, 1, 1), (1e6, 2, 1, 64), (2e6, 3, 9, 1), (3e6, 0, 15, 64)]
    alone = packets.alone_ns(messages) + [start for start, *_ in messages]
    for arrivals in (
        packets.as_packets(programs[1], 2, messages),
        packets.simulated(programs[0], 2, messages, tmp_path),
    ):
        assert arrivals == pytest.approx(alone, abs=0.1)
