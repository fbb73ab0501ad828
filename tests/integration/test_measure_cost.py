"""What events cost, by the kernel's own account."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.integration.test_measure import REASON

from sesame.measurement import account, measure_requests

pytestmark = pytest.mark.skipif(REASON is not None, reason=REASON or "")


def test_costs_of_requests_are_the_kernels_own_account(monkeypatch, tmp_path):
    switch = Path("/proc/sys/kernel/bpf_stats_enabled")
    before = switch.read_text()
    costs = measure_requests(20)
    assert switch.read_text() == before
    if not costs:
        pytest.skip("reads past the page cache of /var/tmp reach no device")
    assert [cost.detail for cost in costs] == ["count", "sampled", "duration"]
    assert all(0 < cost.least_ns <= cost.ns <= cost.most_ns < 10_000 for cost in costs)
    memory_only = tmp_path / "memory"
    memory_only.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", memory_only], check=True)
    try:
        monkeypatch.setattr(account, "SCRATCH", memory_only)
        assert measure_requests(3) == []
    finally:
        subprocess.run(["umount", memory_only], check=True)
