"""Constants of storage from times with noise, and from those that say none."""

from __future__ import annotations

import random

import pytest

from sesame import native
from sesame.analysis.machine_doubts import doubts_of_machine
from sesame.analysis.storage_line import LEAST_SHARE, fit_device, fit_line
from sesame.machines import find_machine
from sesame.workloads.storage_times import Curve

SIZES = [4096 << k for k in range(11)]
LATENCY, BANDWIDTH = 1e-4, 500e6


def noisy(seed: int, *, latency: float = LATENCY, scatter: float = 0.03, busy: int = 0) -> Curve:
    """Times of a line with noise; `busy` of them are three times as long."""
    chance = random.Random(seed)
    times = [
        (latency + size / BANDWIDTH) * (1 + chance.uniform(-scatter, scatter)) for size in SIZES
    ]
    for at in chance.sample(range(len(SIZES) - 1), busy):
        times[at] *= 3
    return Curve(SIZES, times)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("busy", [0, 2])
def test_busy_samples_do_not_move_a_line(seed, busy):
    line = fit_line(noisy(seed, busy=busy))
    assert line.bandwidth == pytest.approx(BANDWIDTH, rel=0.15)
    assert line.latency == pytest.approx(LATENCY, rel=0.15)
    assert line.doubt() is None


@pytest.mark.parametrize("fit", [fit_line, fit_device])
@pytest.mark.parametrize("seed", range(20))
def test_no_bandwidth_is_beyond_what_was_measured(fit, seed):
    """Times that do not depend on the size, with noise."""
    chance = random.Random(seed)
    times = [1e-3 * (1 + chance.uniform(-0.02, 0.02)) for _ in SIZES]
    line = fit(Curve(SIZES, times))
    assert line.bandwidth <= SIZES[-1] / times[-1] / LEAST_SHARE * (1 + 1e-9)
    assert line.latency == pytest.approx(1e-3, rel=0.1)
    assert line.doubt() is not None


def test_times_that_lie_on_no_line_are_doubtful():
    chance = random.Random(1)
    times = [(1e-4 + size / BANDWIDTH) * 4 ** chance.uniform(-1, 1) for size in SIZES]
    assert fit_line(Curve(SIZES, times)).doubt() is not None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('bandwidth = "10000000000000 B/s"', "implausible"),
        ('bandwidth = "500000000 B/s"  # ± 132.0 % (residual 1.0 %)', "± 132.0 %"),
    ],
)
def test_check_looks_at_storage(change, said, tmp_path):
    text = find_machine("paragon").read_text(encoding="utf-8")
    assert "[node.storage]" not in text
    storage = f"""
[node.storage]
mount = ["/scratch"]
block = "4096 B"
[node.storage.device]
kind = "fixed"
read_latency = "100000 ns"
write_latency = "100000 ns"
write_bandwidth = "400000000 B/s"
read_{change}
"""
    path = tmp_path / "here.toml"
    path.write_text(text + storage)
    native.read_machine(str(path))
    (doubt,) = doubts_of_machine(path)
    assert said in doubt.text
    assert "read_bandwidth" in doubt.text
