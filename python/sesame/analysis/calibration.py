"""Makes a machine file from measurements: fits the constants of the network model to the curve of
the workload `messages`. docs/models/network.md has the equations, docs/models/calibration.md
describes the method."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np

from sesame.analysis.findings.messages import curve_of
from sesame.analysis.quantities import format_bytes, format_seconds, format_size
from sesame.analysis.robust_segments import fit_message_segments
from sesame.analysis.segments import Segment, breaks_of
from sesame.analysis.storage_fit import StorageFit, storage_text
from sesame.trust import Doubt, Estimate, Reason, median_of

Report = dict[str, Any]
SEND, RECEIVE = "send overhead", "receive overhead"  # figures of the workload
MOST_OVERHEAD = 0.9  # of the smallest message's time: the rest is for the wire
# Above the first limit of a pair constants are doubtful, above the second uncertain.
MOST_ERROR, WIDE_ERROR = 0.25, 0.1  # median relative error of the fitted curve
MOST_UNKNOWN, MANY_UNKNOWN = 0.5, 0.25  # share of the sizes whose lines have wide intervals
WIDEST = 0.5  # half an interval over its value: above it a constant is doubtful
FEWEST = 3  # samples of the cost of sharing
WIDE_OVERHEAD, WIDE_SHARING = 0.25, 0.2  # half an interval: above it a constant is uncertain
DOUBT, UNCERTAIN = "# doubtful: ", "# uncertain: "  # begin lines of the file
MEASURE_AGAIN = "repeat it on an idle machine, with a longer budget of time"
SIGNIFICANT = 4  # digits of what is written: more than was measured


@dataclass(frozen=True)
class NetworkFit:
    """The constants of one network, in seconds and bytes."""

    send_overhead: float
    receive_overhead: float
    gap: float
    eager_limit: int | None  # None: all messages are eager
    segments: list[Segment]
    sizes: Any = field(repr=False)
    times: Any = field(repr=False)  # measured
    stream_sizes: Any = field(repr=False)
    stream_intervals: Any = field(repr=False)  # measured
    spread: dict[str, Estimate] = field(default_factory=dict)  # of repeats, by the figures' names
    copy_bandwidth: float | None = None  # bytes/s, of copies that do not stay in caches
    reduction_bandwidth: float | None = None  # bytes/s of one of the vectors that are added

    @property
    def limits(self) -> list[int]:
        """The largest sizes of the segments but the last."""
        return [int(found.at) for found in breaks_of(self.segments)]

    def _segment_of(self, size: float) -> Segment:
        return self.segments[bisect_left(self.limits, size)]

    def ping_pong(self, size: float) -> float:
        """Half the round trip, as the model has it: equation (1)."""
        return self._segment_of(size).at(size)

    def stream_interval(self, size: float) -> float:
        """The time between messages of a stream: equation (5), with the time of receiving."""
        slope = self._segment_of(size).slope
        return max(self.send_overhead, self.receive_overhead, self.gap, size * slope)

    def ping_pong_errors(self) -> Any:
        """The relative error of the fitted constants at each measured size."""
        return np.array([self.ping_pong(size) for size in self.sizes]) / self.times - 1

    def stream_errors(self) -> Any:
        predicted = np.array([self.stream_interval(size) for size in self.stream_sizes])
        return predicted / self.stream_intervals - 1

    @property
    def widest(self) -> float:
        """Half the interval over the value, of the latency or the bandwidth."""
        first, last = self.segments[0], self.segments[-1]
        return max(first.intercept_interval / first.intercept, last.slope_interval / last.slope)

    def overhead_spread(self, name: str) -> float:
        """Half the interval over the latency, which the overhead is part of."""
        found = self.spread.get(name)
        if found is None or found.samples < 2:
            return 0.0
        return found.relative_width * found.value / self.segments[0].intercept

    def doubts(self) -> list[Doubt]:
        """Why these constants are doubtful."""
        return [
            Doubt(Reason.SCATTER, text, MEASURE_AGAIN)
            for text in (*self._curve_doubts(MOST_ERROR), *self._constant_doubts())
        ]

    def uncertainties(self) -> list[Doubt]:
        """Constants with wide intervals that a prediction can live with.

        The overheads are parts of the latency, which the ping-pong gives without them. So an
        overhead that is off leaves the time of a message as it is, and the rate of small messages
        has its own measurement (`gap`). It changes only how much of the latency, at most all of
        it, overlaps with computation.
        """
        overheads = [
            f"the {name} is known within ± {_percent(spread)} of the latency: its overlap with "
            "computation is uncertain, not the time of a message"
            for name in (SEND, RECEIVE)
            if (spread := self.overhead_spread(name)) > WIDE_OVERHEAD
        ]
        curve = [] if list(self._curve_doubts(MOST_ERROR)) else self._curve_doubts(WIDE_ERROR)
        lines = [] if list(self._line_doubts(MOST_UNKNOWN)) else self._line_doubts(MANY_UNKNOWN)
        texts = (*curve, *lines, *overheads)
        return [Doubt(Reason.SCATTER, text, MEASURE_AGAIN) for text in texts]

    def _curve_doubts(self, limit: float) -> Iterator[str]:
        errors = np.abs(self.ping_pong_errors())
        half = float(np.median(errors))
        if half > limit:
            yield (
                f"half of the message times are more than {_percent(half)} off any curve that "
                f"rises with the size, expected at most {_percent(limit)}"
            )

    def _line_doubts(self, limit: float) -> Iterator[str]:
        open_ = [segment for segment in self.segments if segment.time_interval > WIDEST]
        inside = sum(np.sum((self.sizes >= s.first) & (self.sizes <= s.last)) for s in open_)
        if inside > limit * len(self.sizes):
            yield (
                f"for {_percent(inside / len(self.sizes))} of the sizes the line's time is not "
                f"known within ± {_percent(WIDEST)}"
            )

    def _constant_doubts(self) -> Iterator[str]:
        first, last = self.segments[0], self.segments[-1]
        if first.intercept_interval > WIDEST * first.intercept:
            latency = format_seconds(first.intercept)
            yield f"the latency is {latency} ± {format_seconds(first.intercept_interval)}"
        if last.slope_interval > WIDEST * last.slope:
            share = _percent(last.slope_interval / last.slope)
            yield f"the bandwidth is {format_bytes(last.bandwidth)}/s ± {share}"
        yield from self._line_doubts(MOST_UNKNOWN)
        if max(self.send_overhead, self.receive_overhead, self.gap) <= 0:
            yield "sending, receiving and a stream of small messages took no time at all"


@dataclass(frozen=True)
class ComputeFit:
    """The time of one kernel on this machine and in the simulator; medians, s."""

    kernel: str
    alone: float
    all_cores: float  # one copy on every core, the mean of them
    simulated: float
    # By the number of copies that run at once: their time over the time alone.
    shared: dict[int, Estimate] = field(default_factory=dict)

    def doubts(self) -> list[Doubt]:
        """Why the cost of sharing is doubtful."""
        return self._scattered(
            lambda ratio: ratio.samples < FEWEST or ratio.relative_width > WIDEST
        )

    def uncertainties(self) -> list[Doubt]:
        """Costs of sharing with wide intervals that a prediction can live with."""
        return self._scattered(
            lambda ratio: ratio.samples >= FEWEST and WIDE_SHARING < ratio.relative_width <= WIDEST
        )

    def _scattered(self, is_wide: Callable[[Estimate], bool]) -> list[Doubt]:
        return [
            Doubt(
                Reason.SCATTER,
                f"{self.kernel}, time of {count} copies at once over one alone: {_interval(ratio)}",
                MEASURE_AGAIN,
            )
            for count, ratio in self.shared.items()
            if is_wide(ratio)
        ]

    @property
    def ratio(self) -> float:
        return self.all_cores / self.simulated


@dataclass(frozen=True)
class Calibration:
    """All that a machine file is written from."""

    name: str
    host: str
    processor: str
    date: str
    cores: int
    inside: NetworkFit
    mpi: str
    kernels: list[ComputeFit]
    between: NetworkFit | None = None
    hosts: Sequence[str] = ()
    storage: StorageFit | None = None
    doubts: Sequence[Doubt] = ()  # which the user accepted; the file states them
    uncertainties: Sequence[Doubt] = ()  # wide intervals, which the file states

    @property
    def slowdown(self) -> list[float]:
        """The factors of the time of computation if 1, 2, … cores of the node compute."""
        counts = sorted({count for kernel in self.kernels for count in kernel.shared})
        if not counts:
            return []
        medians = [
            float(np.median([k.shared[count].value for k in self.kernels if count in k.shared]))
            for count in counts
        ]
        cores = np.arange(1, self.cores + 1)
        factors = np.interp(cores, [1, *counts], [1.0, *medians])
        return [float(factor) for factor in np.maximum.accumulate(np.maximum(factors, 1.0))]


def merged_curve(reports: Sequence[Report]) -> tuple[Any, Any]:
    """The median of the runs at each size. Only some runs may have a size near a step."""
    times: dict[float, list[float]] = {}
    for report in reports:
        for size, value in zip(*curve_of(report), strict=True):
            times.setdefault(float(size), []).append(float(value))
    sizes = sorted(times)
    return np.array(sizes), np.array([np.median(times[size]) for size in sizes])


def _figures(reports: Sequence[Report]) -> dict[str, Estimate]:
    values: dict[str, list[float]] = {}
    for report in reports:
        for figure in report["figures"]:
            values.setdefault(figure["name"], []).append(figure["value"])
    return {name: median_of(samples) for name, samples in values.items()}


def fit_network(*reports: Report) -> NetworkFit:
    """Fits the constants to the reports of one or more runs of the workload `messages`."""
    sizes, times = merged_curve(reports)
    spread = _figures(reports)
    figures = {name: estimate.value for name, estimate in spread.items()}
    tables = [report["tables"]["stream"] for report in reports]
    stream = {
        name: np.median([table[name]["values"] for table in tables], axis=0)
        for name in ("size", "interval")
    }
    send, receive = _overheads(figures, float(times[0]))
    slowest = max(send, receive)
    interval = float(stream["interval"][0])
    limit = figures.get("eager limit")
    return NetworkFit(
        send_overhead=send,
        receive_overhead=receive,
        gap=interval if interval > slowest else 0.0,
        eager_limit=None if limit is None else int(limit),
        segments=fit_message_segments(sizes, times, least_intercept=send + receive),
        sizes=sizes,
        times=times,
        stream_sizes=stream["size"],
        stream_intervals=stream["interval"],
        spread=spread,
        copy_bandwidth=figures.get("copy bandwidth"),
        reduction_bandwidth=figures.get("reduction bandwidth"),
    )


def _overheads(figures: dict[str, float], latency: float) -> tuple[float, float]:
    """Send and receive overhead. Both are parts of the latency, but measured separately their sum
    may exceed it if the two ends work at the same time. Then both are reduced by one factor."""
    send, receive = figures[SEND], figures[RECEIVE]
    share = min(1.0, MOST_OVERHEAD * latency / max(send + receive, 1e-300))
    return send * share, receive * share


def machine_text(calibration: Calibration) -> str:
    """The text of the machine file."""
    parts = [
        _heading(calibration),
        _node(calibration),
        _network("node.network", "inside a node", calibration.inside),
    ]
    if calibration.between is not None:
        parts.append(_network("network", "between nodes", calibration.between))
    else:
        parts.append(
            "# Between nodes nothing was measured: one host. To be complete the file repeats here\n"
            "# what was measured inside the node.\n" + _constants("network", calibration.inside)
        )
    parts.append('[topology]\nkind = "crossbar"\n')
    if calibration.storage is not None:
        parts.append(storage_text(calibration.storage))
    else:
        parts.append("# Storage was not measured.\n")
    return "\n".join(parts)


def _heading(calibration: Calibration) -> str:
    nodes = max(1, len(calibration.hosts))
    where = ", ".join(calibration.hosts) if calibration.hosts else calibration.host
    return f"""# Measured by `sesame machine calibrate`.
#   date       {calibration.date}
#   host       {where}
#   processor  {calibration.processor}
#   MPI        {calibration.mpi}
{_comments(DOUBT, calibration.doubts)}{_comments(UNCERTAIN, calibration.uncertainties)}
name = "{calibration.name}"
description = "{where}: {calibration.cores} cores, {calibration.mpi}"
sources = ["sesame machine calibrate on {where}, {calibration.date}"]
nodes = {nodes}
"""


def _comments(prefix: str, doubts: Sequence[Doubt]) -> str:
    """Doubts as comments of the file, which `sesame machine check` reads."""
    return "".join(f"{prefix}{doubt}\n" for doubt in doubts)


def _node(calibration: Calibration) -> str:
    lines = ["[node]", f"cores = {calibration.cores}"]
    lines += [
        "# This machine is the host: the ratio is 1 by definition. The same computation, medians:"
    ]
    for kernel in calibration.kernels:
        lines.append(
            f"#   {kernel.kernel:12} alone {format_seconds(kernel.alone)}, on all cores at once "
            f"{format_seconds(kernel.all_cores)}, in the simulator "
            f"{format_seconds(kernel.simulated)}: ratio {kernel.ratio:.3f}"
        )
    lines.append("compute_ratio = 1.0")
    if calibration.slowdown:
        lines.append("# Copies that compute at the same time, over one alone:")
        for kernel in calibration.kernels:
            lines.append(f"#   {kernel.kernel:12} {_sharing(kernel)}")
        factors = ", ".join(f"{factor:.3f}" for factor in calibration.slowdown)
        lines.append(f"slowdown = [{factors}]")
    inside = calibration.inside
    for key, value, what in (
        ("copy_bandwidth", inside.copy_bandwidth, "Copies inside a rank, beyond the caches"),
        ("reduction_bandwidth", inside.reduction_bandwidth, "MPI_SUM of 1 MiB of doubles"),
    ):
        if value is not None:
            spread = _repeat_spread(inside, key.replace("_", " "))
            lines.append(f"# {what}, two ranks at once:")
            lines.append(f'{key} = "{float(f"{value:.{SIGNIFICANT}g}"):.0f} B/s"{spread}')
    return "\n".join([*lines, ""])


def _sharing(kernel: ComputeFit) -> str:
    return ", ".join(f"{n}: {_interval(ratio)}" for n, ratio in sorted(kernel.shared.items()))


def _interval(ratio: Estimate) -> str:
    if ratio.samples < FEWEST:
        return f"{ratio.value:.3f} (only {ratio.samples} measured)"
    return f"{ratio.value:.3f} ± {_percent(ratio.relative_width)}"


def _network(table: str, where: str, fit: NetworkFit) -> str:
    errors = fit.ping_pong_errors()
    worst = int(np.argmax(np.abs(errors)))
    lines = [
        f"# Messages {where}: half round trips of {len(fit.sizes)} sizes from "
        f"{format_size(int(fit.sizes[0]))} to {format_size(int(fit.sizes[-1]))}.",
        f"# These constants against them: median error {_percent(np.median(np.abs(errors)))}, "
        f"worst {_percent(errors[worst])} at {format_size(int(fit.sizes[worst]))}.",
        "# A non-blocking stream, from message to message, measured and by these constants:",
    ]
    for size, interval in zip(fit.stream_sizes, fit.stream_intervals, strict=True):
        predicted = format_seconds(fit.stream_interval(size))
        measured = format_seconds(interval)
        lines.append(f"#   {format_size(int(size)):9} {measured:>8} {predicted:>8}")
    return "\n".join([*lines, _constants(table, fit)])


def _constants(table: str, fit: NetworkFit) -> str:
    lines = [
        f"[{table}]",
        f"latency = {_duration(fit.segments[0].intercept)}  # {_latency_spread(fit.segments[0])}",
        f"bandwidth = {_bandwidth(fit.segments[-1])}  # {_slope_spread(fit.segments[-1])}",
        f"send_overhead = {_overhead(fit.send_overhead)}{_overhead_spread(fit, SEND)}",
        f"receive_overhead = {_overhead(fit.receive_overhead)}{_overhead_spread(fit, RECEIVE)}",
    ]
    if fit.gap > 0:
        lines.append(f"gap = {_duration(fit.gap)}")
    if fit.eager_limit is not None:
        lines.append(f'eager_limit = "{fit.eager_limit} B"')
    lines.append("")
    for segment, up_to in zip_longest(fit.segments, fit.limits):
        lines += _segment(table, segment, up_to)
    return "\n".join(lines)


def _segment(table: str, segment: Segment, up_to: int | None) -> list[str]:
    residual = f"residual {_percent(segment.residual)}, at most {_percent(segment.worst_residual)}"
    lines = [f"[[{table}.segment]]  # time ± {_percent(segment.time_interval)}; {residual}"]
    if up_to is not None:
        lines.append(f'up_to = "{up_to} B"')
    lines.append(f"latency = {_duration(segment.intercept)}  # {_latency_spread(segment)}")
    lines.append(f"bandwidth = {_bandwidth(segment)}  # {_slope_spread(segment)}")
    return [*lines, ""]


def _latency_spread(segment: Segment) -> str:
    return _part_spread(segment.intercept_interval / max(segment.intercept, 1e-300))


def _part_spread(share: float) -> str:
    """The interval of one constant of a line. The two constants may be unknown although their sum
    is known."""
    return f"± {_percent(share)}" if share <= WIDEST else "only known together with the other"


def _repeat_spread(fit: NetworkFit, name: str) -> str:
    """Half the interval of the runs as a comment; empty for a single run."""
    estimate = fit.spread.get(name)
    if estimate is None or estimate.samples < 2 or estimate.value <= 0:
        return ""
    return f"  # ± {_percent(estimate.relative_width)}"


def _overhead_spread(fit: NetworkFit, name: str) -> str:
    share = fit.overhead_spread(name)
    return f"  # ± {_percent(share)} of the latency" if share > 0 else ""


def _slope_spread(segment: Segment) -> str:
    return _part_spread(segment.slope_interval / segment.slope)


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _duration(seconds: float) -> str:
    return f'"{seconds * 1e9:.3f} ns"'


def _overhead(seconds: float) -> str:
    """Rounded down: together they must not exceed the latency that they are part of."""
    return _duration(math.floor(seconds * 1e12) * 1e-12)


def _bandwidth(segment: Segment) -> str:
    return f'"{float(f"{segment.bandwidth:.{SIGNIFICANT}g}"):.0f} B/s"'
