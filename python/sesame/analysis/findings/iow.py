"""What the workload iow found: regions of performance over the sizes of records, with the elbow;
and signs of buffers and regular stalls in the times of single records."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from sesame.analysis.findings.found import Findings, Report
from sesame.analysis.findings.regions import Array, Fit, Region, fit_regions
from sesame.analysis.findings.stalls import describe_records
from sesame.analysis.quantities import format_seconds, format_size

# Rates that differ by a smaller share count as the same, however well they are measured.
SAME = 0.05
STEEP, FLAT = 0.8, 0.2  # slopes: log rate against log size
CLOCK = 1e-3  # relative range below which times count as all the same
MOST_SENTENCES = 8  # about records, for each mode


def analyse(report: Report) -> Findings:
    found = Findings()
    for mode in ("write", "read"):
        if mode in report["tables"]:
            _analyse_mode(mode, report, found)
    return found


def _analyse_mode(mode: str, report: Report, found: Findings) -> None:
    columns = {name: np.array(part["values"]) for name, part in report["tables"][mode].items()}
    records = report["tables"].get(f"{mode}_record")
    if not np.all(columns["time"] > 0) or _only_the_clock(records):
        found.sentences.append(f"{mode}: no time was measured, so that there is nothing to say.")
        return
    sizes = np.unique(columns["size"])
    rates, errors = _summary(columns, sizes)
    _add_figures(mode, sizes, rates, found)
    table: dict[str, Any] = {
        "size": {"unit": "byte", "values": sizes.tolist()},
        "rate": {"unit": "MB/s", "values": rates.tolist()},
    }
    if len(sizes) >= 5:
        fit = fit_regions(np.log2(sizes), np.log2(rates), errors)
        table["region"] = {"unit": "", "values": _numbers(fit)}
        table["fit"] = {"unit": "MB/s", "values": _fitted(fit, sizes)}
        found.sentences.extend(_describe(mode, fit, sizes, report["ranks"], found))
    found.tables[f"{mode}_regions"] = table
    sentences = describe_records(mode, records)
    found.sentences.extend(sentences[:MOST_SENTENCES])
    if len(sentences) > MOST_SENTENCES:
        more = len(sentences) - MOST_SENTENCES
        found.sentences.append(f"{mode}: {more} more findings about single records are left out.")


def _only_the_clock(records: dict[str, Any] | None) -> bool:
    """Whether all times are the same: if a simulation charges no computation, only the time of
    reading the clock is left."""
    times = np.array([] if records is None else records["time"]["values"])
    return len(times) > 1 and bool(np.ptp(times) <= CLOCK * np.max(times))


def _summary(columns: dict[str, Array], sizes: Array) -> tuple[Array, Array]:
    """Median rate of each size, and the standard error of its logarithm to base 2."""
    by_size = [np.log2(columns["rate"][columns["size"] == size]) for size in sizes]
    middle = np.array([np.median(rates) for rates in by_size])
    repeats = min(len(rates) for rates in by_size)
    if repeats < 2:
        spread = np.full(len(sizes), _roughness(middle))
    else:
        # Robust, since single runs are disturbed. No size gets less than the mean of all sizes.
        own = np.array([1.4826 * np.median(abs(r - np.median(r))) for r in by_size])
        spread = np.maximum(own, np.sqrt(np.mean(own**2)))
    # A median's standard error is sqrt(pi / 2) times that of a mean.
    error = spread * np.sqrt(np.pi / 2 / repeats) if repeats > 1 else spread
    return 2**middle, np.hypot(error, np.log2(1 + SAME))


def _roughness(values: Array) -> float:
    """The standard deviation of noise, from second differences: those of straight lines are 0."""
    if len(values) < 3:
        return 0.0
    return float(1.4826 * np.median(abs(np.diff(values, 2))) / np.sqrt(6))


def _add_figures(mode: str, sizes: Array, rates: Array, found: Findings) -> None:
    best = int(np.argmax(rates))
    found.figures.append({"name": f"best {mode} rate", "value": float(rates[best]), "unit": "MB/s"})
    if len(sizes) > 1:
        size = float(sizes[best])
        found.figures.append({"name": f"size of best {mode} rate", "value": size, "unit": "byte"})


def _numbers(fit: Fit) -> list[float]:
    return [float(i + 1) for i, r in enumerate(fit.regions) for _ in range(r.first, r.last + 1)]


def _fitted(fit: Fit, sizes: Array) -> list[float]:
    return [
        float(2 ** region.at(float(np.log2(sizes[i]))))
        for region in fit.regions
        for i in range(region.first, region.last + 1)
    ]


def _describe(mode: str, fit: Fit, sizes: Array, ranks: int, found: Findings) -> list[str]:
    count = len(fit.regions)
    plural = "region" if count == 1 else "regions"
    sentences = [f"{mode}: {count} {plural} of performance over the sizes of records."]
    for region in fit.regions:
        sentences.append(f"{mode}: {_name(region, sizes)}: {_behaviour(region, sizes, ranks)}.")
    elbow = _elbow(fit, sizes)
    if elbow is None:
        sentences.append(f"{mode}: there is no elbow, a size from which larger ones gain little.")
        return sentences
    size = sizes[fit.regions[elbow].first]
    low, high = (sizes[point] for point in fit.borders[elbow - 1])
    sentences.append(
        f"{mode}: the elbow is at {_size(size)} (95 %: {_size(low)} to {_size(high)}): "
        f"smaller records are slower, larger ones gain little."
    )
    found.figures.append({"name": f"{mode} elbow", "value": float(size), "unit": "byte"})
    return sentences


def _elbow(fit: Fit, sizes: Array) -> int | None:
    """The index of the region where the rate stops rising; the fastest such region if several."""
    ends = [
        (after.at(float(np.log2(sizes[after.first]))), number + 1)
        for number, (before, after) in enumerate(pairwise(fit.regions))
        if before.slope > FLAT > after.slope
    ]
    return max(ends)[1] if ends else None


def _size(size: float) -> str:
    return format_size(int(size))


def _name(region: Region, sizes: Array) -> str:
    return f"{_size(sizes[region.first])} to {_size(sizes[region.last])}"


def _behaviour(region: Region, sizes: Array, ranks: int) -> str:
    first, last = (
        float(2 ** region.at(float(np.log2(sizes[end])))) for end in (region.first, region.last)
    )
    if region.slope > STEEP:
        middle = (region.first + region.last) // 2
        rate = 2 ** region.at(float(np.log2(sizes[middle])))
        time = format_seconds(float(sizes[middle] * ranks / rate * 1e-6))
        return f"the time of a record hardly depends on its size, about {time}"
    if abs(region.slope) < FLAT:
        return f"the rate is nearly the same, about {_rate((first * last) ** 0.5)}"
    verb = "rises" if region.slope > 0 else "falls"
    power = f"like the size to the power {region.slope:.1f}"
    return f"the rate {verb} from {_rate(first)} to {_rate(last)}, {power}"


def _rate(rate: float) -> str:
    return f"{rate:,.0f} MB/s" if rate >= 10 else f"{rate:.2g} MB/s"
