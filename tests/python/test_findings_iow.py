"""iow's analysis finds what is in tables whose truth is known, and nothing in noise."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sesame.analysis.findings import with_findings
from sesame.analysis.findings.regions import fit_regions
from sesame.analysis.findings.stalls import find_change, find_stalls

SIZES = 2.0 ** np.arange(6, 27)  # 64 B to 64 MiB


def report_of(times, repeats=5, noise=0.02, seed=0):
    """iow's report of one rank; times: seconds for a record of each size."""
    generator = np.random.default_rng(seed)
    size = np.tile(SIZES, repeats)
    time = np.tile(times, repeats) * np.exp(noise * generator.normal(size=len(size)))
    columns = {"size": size, "rate": size / time * 1e-6, "time": time}
    table = {name: {"unit": "", "values": list(values)} for name, values in columns.items()}
    given = {"workload": "iow", "ranks": 1, "verified": True, "checks": [], "figures": []}
    return {**given, "tables": {"write": table}}


def figures_of(report):
    return {figure["name"]: figure["value"] for figure in report["figures"]}


def test_one_straight_curve_is_one_region():
    for seed in range(40):
        found = with_findings(report_of(1e-5 * SIZES**0.5, noise=0.1, seed=seed))
        assert set(found["tables"]["write_regions"]["region"]["values"]) == {1.0}
        assert "there is no elbow" in found["findings"][-1]


def test_five_regions_of_the_paragon_are_found():
    """SESAME report, 7.4.4, one disk: 19 ms to 1 KB, 11 ms to 4 KB, then faster to the elbow at
    64 KB, 2 MB/s to 1 MB or more, then less. Figures that it does not give are ours."""
    kib = SIZES / 1024
    times = np.select(
        [kib <= 1, kib <= 4, kib <= 32, kib <= 4096],
        [19e-3, 11e-3, SIZES / (0.25e6 * (kib / 8) ** 0.7), SIZES / 2e6],
        SIZES / (2e6 * (kib / 4096) ** -0.45),
    )
    found = with_findings(report_of(times))
    regions = found["tables"]["write_regions"]["region"]["values"]
    begins = [SIZES[regions.index(number)] for number in sorted(set(regions))]
    assert begins[:4] == [64, 2048, 8192, 65536]
    assert begins[4] in (4 << 20, 8 << 20)
    assert len(begins) == 5
    assert figures_of(found)["write elbow"] == 65536
    text = "\n".join(found["findings"])
    assert "write: 5 regions" in text
    fixed = "the time of a record hardly depends on its size, about"
    assert re.search(f"64 B to 1 KiB: {fixed} (18|19).. ms", text)
    assert re.search(f"2 KiB to 4 KiB: {fixed} (10|11).. ms", text)
    assert re.search("the rate is nearly the same, about (2|1.9|2.1) MB/s", text)
    assert "the elbow is at 64 KiB (95 %: 64 KiB to 64 KiB)" in text


def test_noise_widens_the_elbows_interval():
    x = np.arange(21.0)
    truth = np.minimum(x, 10.0)
    widths, hits = [], 0
    for error in (0.1, 1.0):
        for seed in range(20):
            y = truth + error * np.random.default_rng(seed).normal(size=21)
            fit = fit_regions(x, y, np.full(21, error))
            if len(fit.regions) != 2:
                continue
            low, high = fit.borders[0]
            widths.append((error, high - low))
            hits += low <= 11 and high >= 10
    narrow = [width for error, width in widths if error == 0.1]
    wide = [width for error, width in widths if error == 1.0]
    assert np.mean(narrow) + 1 < np.mean(wide)
    assert hits >= 0.9 * len(widths)


def test_single_measurement_still_has_its_elbow():
    found = with_findings(report_of(1e-4 + SIZES / 1e8, repeats=1, noise=0.01))
    # Time to start and time to move are the same at 10 kB.
    assert 4096 <= figures_of(found)["write elbow"] <= 65536


def test_no_time_is_reported():
    report = report_of(1e-4 + SIZES / 1e8)
    report["tables"]["write"]["time"]["values"][3] = 0.0
    assert with_findings(report)["findings"] == [
        "write: no time was measured, so that there is nothing to say."
    ]


def test_time_of_the_clock_alone_is_no_time():
    report = report_of(1e-4 + SIZES / 1e8)
    report["tables"]["write_record"] = {"time": {"unit": "us", "values": [0.0266] * 9}}
    found = with_findings(report)
    assert found["findings"] == ["write: no time was measured, so that there is nothing to say."]
    assert found["figures"] == []


@pytest.fixture
def noise():
    return np.exp(0.2 * np.random.default_rng(3).normal(size=1024)) * 1e-5


def test_regular_stalls_have_a_period_and_a_size(noise):
    noise[63::64] *= 30
    stalls = find_stalls(noise)
    assert stalls is not None
    assert stalls.period == 64
    assert stalls.count == 16
    assert stalls.factor == pytest.approx(30, rel=0.2)


def test_period_is_found_among_other_stalls(noise):
    noise[15::32] *= 20
    noise[np.random.default_rng(1).choice(1024, 20, replace=False)] *= 20
    stalls = find_stalls(noise)
    assert stalls is not None
    assert stalls.period == 32


def test_stalls_are_described(noise):
    noise[63::64] *= 30
    noise[100:] *= 3
    report = report_of(1e-4 + SIZES / 1e8)
    columns = {"record": np.arange(1024.0), "time": noise * 1e6}
    columns |= {"size": np.full(1024, 65536.0), "rank": np.zeros(1024)}
    report["tables"]["write_record"] = {
        name: {"unit": "", "values": list(values)} for name, values in columns.items()
    }
    text = "\n".join(with_findings(report)["findings"])
    assert "write of 64 KiB: one record in 64, always after 4 MiB, takes 3" in text
    assert "times the median: as when that much is buffered." in text
    assert re.search("64 KiB: the first 100 records take (9.9.|10..) us, later ones 30", text)
    assert "as when about 6.55 MB are buffered" in text


def test_stalls_at_random_have_no_period(noise):
    claimed = 0
    for seed in range(50):
        times = noise.copy()
        times[np.random.default_rng(seed).choice(1024, 16, replace=False)] *= 30
        stalls = find_stalls(times)
        assert stalls is not None
        assert stalls.count == 16
        claimed += stalls.period is not None
    assert claimed == 0


def test_noise_has_no_stalls_and_no_change(noise):
    assert find_stalls(noise) is None
    assert find_change(noise) is None


def test_change_after_the_buffer_is_found(noise):
    noise[24:] *= 40
    change = find_change(noise)
    assert change is not None
    assert change.after == 24
    assert change.later_s / change.before_s == pytest.approx(40, rel=0.3)
