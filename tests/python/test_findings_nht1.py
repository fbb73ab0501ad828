"""nht1's analysis tells a cost of I/O from noise."""

from __future__ import annotations

import numpy as np
import pytest

from sesame.analysis.findings import with_findings


def report_of(without, with_dumps):
    times = [time for pair in zip(without, with_dumps, strict=True) for time in pair]
    columns = {"with dumps": [0.0, 1.0] * len(without), "time": times}
    table = {name: {"unit": "", "values": values} for name, values in columns.items()}
    figures = [
        {"name": "write bandwidth", "value": 50.0, "unit": "MB/s"},
        {"name": "concurrent write rate", "value": 200.0, "unit": "MB/s"},
    ]
    given = {"workload": "nht1", "ranks": 4, "verified": True, "checks": []}
    return {**given, "figures": figures, "tables": {"run": table}}


def test_cost_of_io_is_reported_with_its_interval():
    found = with_findings(report_of([1.0, 1.01, 0.99], [1.2, 1.21, 1.19]))["findings"]
    # Standard error sqrt(2 * 0.01^2 / 3), t of 4 degrees of freedom 2.776.
    assert found[0] == "I/O changes the time of 1.00 s by +20.0 % (95 %: +17.7 to +22.3 %)."
    assert "at 0.25 times the rate of large records" in found[1]


def test_noise_is_no_cost():
    generator = np.random.default_rng(5)
    claims = 0
    for _ in range(400):
        times = 1 + 0.1 * generator.normal(size=(2, 3))
        claims += "noise" not in with_findings(report_of(*times.tolist()))["findings"][0]
    # 5 % are wrong; 400 trials are within three standard deviations of that.
    assert claims / 400 == pytest.approx(0.05, abs=0.033)


def test_one_run_of_each_kind_is_not_enough():
    assert "cannot tell this from noise" in with_findings(report_of([1.0], [2.0]))["findings"][0]


def test_no_time_is_reported():
    assert "No time was measured" in with_findings(report_of([0.0, 0.0], [0.0, 0.0]))["findings"][0]
