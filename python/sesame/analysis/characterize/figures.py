"""The figures of the study (docs/models/characterize.md): size and position over time, bands, hot
spots; and, beyond the study, rate, queue depth and latency."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sesame.analysis.characterize.profile import (
    DEPTHS,
    LATENCY_STEPS,
    PLACE_CELLS,
    READS,
    TIME_CELLS,
    WRITES,
    Profile,
)
from sesame.analysis.plots import Plot
from sesame.analysis.quantities import format_bytes, format_size
from sesame.analysis.traced_plots import READ_COLOUR, WRITE_COLOUR
from sesame.datasets.block import SECTOR_BYTES
from sesame.web.chart import Chart, stacked, time_unit

COLOURS = (READ_COLOUR, WRITE_COLOUR)
WORDS = ("reads", "writes")
MOST_HOT = 3000


def place_axis(p: Profile) -> tuple[float, str]:
    """(units in a byte, title) of an axis of positions: sectors of a disk, or bytes of files."""
    if p.source.is_disk:
        return 1 / SECTOR_BYTES, "sector"
    return 1.0, "byte, files concatenated"


def size_plot(p: Profile) -> Plot:
    """Request size over time: figures 2 to 5 of the study."""
    chart, factor = _over_time(p)
    used = np.array(sorted(p.sizes))
    lowest, highest = int(math.log2(used[0])), int(math.log2(used[-1]))
    if p.points:
        powers = 2.0 ** np.arange(lowest, math.ceil(math.log2(used[-1])) + 1)
        ticks = [[size, format_size(int(size))] for size in powers.tolist()]
        chart.y("request size", log=True, ticks=ticks)
        _scatter(chart, p, factor, "bytes", 1.0)
        return Plot(chart, "Each request is a point.")
    names = [format_size(1 << power) for power in range(lowest, highest + 1)]
    chart.y("request size", names=names)
    _cells(chart, p, p.size_over_time[lowest : highest + 1], (-0.5, 1.0), factor)
    return Plot(
        chart, "Sizes in powers of two; the stronger a cell, the more requests (logarithm)."
    )


def place_plot(p: Profile) -> Plot:
    """Position over time: figures 1 and 6 of the study."""
    chart, factor = _over_time(p)
    scale, title = place_axis(p)
    chart.y(title, range=[0, p.extent * scale])
    if p.points:
        _scatter(chart, p, factor, "position", scale)
        return Plot(chart, "Each request is a point, where it begins.")
    step = p.extent * scale / PLACE_CELLS
    _cells(chart, p, p.place_over_time, (0.0, step), factor)
    return Plot(chart, "In a stronger cell more requests begin (logarithm).")


def band_plot(p: Profile) -> Plot:
    """Requests by band of the space: figure 7 of the study."""
    scale, title = place_axis(p)
    chart = Chart(320)
    width = p.band_bytes * scale
    middle = (np.arange(p.bands.shape[1]) + 0.5) * width
    shares = [100 * p.bands[kind] / p.total for kind in (READS, WRITES)]
    for kind, base in zip((READS, WRITES), stacked(shares), strict=True):
        chart.columns(WORDS[kind], middle, shares[kind], COLOURS[kind], base=base, width=width)
    chart.x(title, range=[0, p.bands.shape[1] * width])
    chart.y("% of the requests", zero=True)
    of = f"{p.band_bytes // SECTOR_BYTES:,} sectors" if p.source.is_disk else format_bytes(width)
    return Plot(chart, f"Bands of {of}.")


def hot_plot(p: Profile) -> Plot:
    """The positions with the most accesses: figure 8 of the study."""
    scale, title = place_axis(p)
    chart = Chart(320)
    hot = p.locality.hottest(MOST_HOT)
    x = np.array([place for place, _ in hot]) * scale
    y = np.array([count for _, count in hot]) / p.span_s
    chart.links("", x, np.zeros(len(x)), x, y, READ_COLOUR, arrows=False)
    chart.x(title, range=[0, p.extent * scale])
    chart.y("accesses each second", zero=True)
    left = len(p.locality.counts) - len(hot)
    unit = format_size(p.locality.unit)
    note = f"Requests that begin in the same {unit}, over the whole time."
    return Plot(chart, note + (f" {left:,} places with fewer are left out." if left else ""))


def rate_plot(p: Profile) -> Plot:
    chart, factor = _over_time(p)
    cell_s = p.span_s / TIME_CELLS
    x = np.arange(TIME_CELLS + 1) * cell_s * factor
    for kind in (READS, WRITES):
        y = p.over_time[kind] / max(cell_s, 1e-9)
        chart.line(WORDS[kind], x, np.append(y, y[-1]), COLOURS[kind], stepped=True, width=1.2)
    chart.y("requests each second", zero=True)
    return Plot(chart)


def depth_plot(p: Profile) -> Plot:
    chart = Chart(280)
    most = int(p.depths.nonzero()[0].max())
    x = np.arange(most + 1)
    chart.columns("", x, 100 * p.depths[: most + 1] / p.total, READ_COLOUR, width=0.9)
    chart.x("requests at the device when one is issued, that one among them", whole=True)
    chart.y("% of the requests", zero=True)
    return Plot(chart, f"{DEPTHS - 1} stands for more, too." if most == DEPTHS - 1 else "")


def latency_plot(p: Profile) -> Plot:
    chart = Chart(280)
    used = p.latencies.sum(axis=0).nonzero()[0]
    low, high = int(used[0]), int(used[-1]) + 1
    ends = 2.0 ** (np.arange(low, high) / LATENCY_STEPS + 1 / LATENCY_STEPS) * 1e-6
    for kind in (READS, WRITES):
        if counts := int(p.latencies[kind].sum()):
            share = 100 * np.cumsum(p.latencies[kind, low:high]) / counts
            chart.line(WORDS[kind], ends, share, COLOURS[kind], stepped=True)
    chart.x("time until it was done (ms)", log=True)
    chart.y("% of the requests", range=[0, 101])
    return Plot(chart)


def _over_time(p: Profile) -> tuple[Chart, float]:
    factor, unit = time_unit(p.span_s)
    chart = Chart(340)
    chart.x(f"time ({unit})", range=[0, p.span_s * factor])
    return chart, factor


def _scatter(chart: Chart, p: Profile, factor: float, name: str, scale: float) -> None:
    write = np.concatenate([part.write for part in p.points])
    time = np.concatenate([part.time_ns for part in p.points]) - p.begin_ns
    value = np.concatenate([getattr(part, name) for part in p.points]) * scale
    for kind in (READS, WRITES):
        here = write == kind
        if here.any():
            x = time[here] * (factor * 1e-9)
            chart.points(WORDS[kind], x, value[here], COLOURS[kind], size=4)


def _cells(
    chart: Chart, p: Profile, counts: Any, place: tuple[float, float], factor: float
) -> None:
    """Adds the grid `counts`; `place`: where the first row begins, and the size of a row."""
    z = np.where(counts > 0, np.log10(np.maximum(counts, 1)) + 0.3, np.nan).astype(np.float32)
    shown = counts.astype(np.int32).ravel()
    time = (0.0, p.span_s / TIME_CELLS * factor)
    chart.amounts(z, time, place, colour=READ_COLOUR, counts=shown, unit="requests")
