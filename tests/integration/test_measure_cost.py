"""What events cost, by the kernel's own account and in pairs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sesame.measurement import (
    Cost,
    Detail,
    Session,
    Wanted,
    kernel_account,
    loaded,
    measure_requests,
)
from sesame.measurement.cost import ANOTHER_CALL, calibrate
from sesame.measurement.governor import CostTable

pytestmark = pytest.mark.usefixtures("kernel_probes")


def test_costs_of_requests_are_the_kernels_own_account(monkeypatch, tmp_path):
    switch = Path("/proc/sys/kernel/bpf_stats_enabled")
    before = switch.read_text()
    costs = measure_requests(20)
    assert switch.read_text() == before
    if not costs:
        pytest.skip("reads past the page cache of /var/tmp reach no device")
    at_once = "issue,complete (32 at once)"
    assert [(cost.points, cost.detail) for cost in costs] == [
        (points, detail)
        for detail in ("count", "sampled", "duration")
        for points in (at_once, "issue,complete")
    ]
    assert all(0 < cost.least_ns <= cost.ns <= cost.most_ns < 10_000 for cost in costs)
    table = CostTable(costs)
    for cost in costs[1::2]:  # those of requests one at a time
        if cost.is_certain:
            assert table.run_ns("block", Detail[cost.detail.upper()]) == cost.ns
    memory_only = tmp_path / "memory"
    memory_only.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", memory_only], check=True)
    write = "dd if=/dev/zero of=$0 bs=4k count=1 oflag=direct status=none"
    subprocess.run(["sh", "-c", write, tmp_path / "other"], check=True)
    endless = f"while :; do {write}; done"
    with subprocess.Popen(["sh", "-c", endless, tmp_path / "other"]) as others:
        try:
            monkeypatch.setattr(kernel_account, "SCRATCH", memory_only)
            assert measure_requests(3) == []  # although others have requests meanwhile
        finally:
            others.kill()
            subprocess.run(["umount", memory_only], check=True)


def test_probes_that_are_loaded_are_calibrated_as_closely_as_they_look():
    with loaded(["fs"]) as probes:
        costs = calibrate(probes["fs"], 5)
        assert not any(probes["fs"].detail(i) for i in range(len(probes["fs"].subsystem.points)))
    assert [(cost.points, cost.detail) for cost in costs] == [
        (ANOTHER_CALL, "duration"),
        ("read", "duration"),
    ]
    assert costs[0].ns < costs[1].ns


def test_a_session_goes_by_the_costs_that_it_is_given():
    costs = [Cost("task", "create,exit", "count", 7.0, 6.0, 8.0, 0.0)]
    wanted = Wanted({("task", 0), ("task", 2)}, budget=None)
    with loaded(["task"]) as probes:
        session = Session(probes, wanted, costs=costs)
        with session.running():
            for _ in range(100):
                subprocess.run(["true"], check=True)
        spending = probes["task"].accounts
        assert spending["runs"].sum() >= 200
        assert spending["charged_ns"].sum() == 7 * spending["runs"].sum()
