"""Makes a machine file of measurements: the constants of the network model from the curve of the
workload messages (docs/models/network.md has the equations, docs/models/calibration.md the way)."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np

from sesame.analysis.findings.messages import curve_of
from sesame.analysis.quantities import format_seconds, format_size
from sesame.analysis.segments import Segment, breaks_of, fit_segments
from sesame.analysis.storage_fit import StorageFit, storage_text

Report = dict[str, Any]
MOST_OVERHEAD = 0.9  # of the smallest message's time: the wire takes something
HIGHEST_BANDWIDTH = 1e13  # bytes/s, of a segment whose slope is lost in the latency
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
        """From a message of a stream to the next: equation (5), and what receiving takes."""
        slope = self._segment_of(size).slope
        return max(self.send_overhead, self.receive_overhead, self.gap, size * slope)

    def ping_pong_errors(self) -> Any:
        """Relative, for each size that was measured."""
        return np.array([self.ping_pong(size) for size in self.sizes]) / self.times - 1

    def stream_errors(self) -> Any:
        predicted = np.array([self.stream_interval(size) for size in self.stream_sizes])
        return predicted / self.stream_intervals - 1


@dataclass(frozen=True)
class ComputeFit:
    """One kernel's time on one rank of this machine and in the simulator, medians, s."""

    kernel: str
    alone: float
    all_cores: float  # one copy on every core, the mean of them
    simulated: float

    @property
    def ratio(self) -> float:
        return self.all_cores / self.simulated


@dataclass(frozen=True)
class Calibration:
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


def fit_network(report: Report) -> NetworkFit:
    sizes, times = curve_of(report)
    figures = {figure["name"]: figure["value"] for figure in report["figures"]}
    stream = {name: np.array(part["values"]) for name, part in report["tables"]["stream"].items()}
    send, receive = _overheads(figures, float(times[0]))
    slowest = max(send, receive)
    interval = float(stream["interval"][0])
    limit = figures.get("eager limit")
    return NetworkFit(
        send_overhead=send,
        receive_overhead=receive,
        gap=interval if interval > slowest else 0.0,
        eager_limit=None if limit is None else int(limit),
        segments=fit_segments(sizes, times, least_intercept=send + receive),
        sizes=sizes,
        times=times,
        stream_sizes=stream["size"],
        stream_intervals=stream["interval"],
    )


def _overheads(figures: dict[str, float], latency: float) -> tuple[float, float]:
    """Both are part of the latency. Measured apart they may come to more, when the two ends work
    at the same time: then they are shortened alike."""
    send, receive = figures["send overhead"], figures["receive overhead"]
    share = min(1.0, MOST_OVERHEAD * latency / max(send + receive, 1e-300))
    return send * share, receive * share


def machine_text(calibration: Calibration) -> str:
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

name = "{calibration.name}"
description = "{where}: {calibration.cores} cores, {calibration.mpi}"
sources = ["sesame machine calibrate on {where}, {calibration.date}"]
nodes = {nodes}
"""


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
    return "\n".join([*lines, "compute_ratio = 1.0", ""])


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
        f"latency = {_duration(fit.segments[0].intercept)}",
        f"bandwidth = {_bandwidth(fit.segments[-1])}",
        f"send_overhead = {_overhead(fit.send_overhead)}",
        f"receive_overhead = {_overhead(fit.receive_overhead)}",
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
    lines = [f"[[{table}.segment]]  # residual {_percent(segment.residual)}, " + _worst(segment)]
    if up_to is not None:
        lines.append(f'up_to = "{up_to} B"')
    spread = f"± {format_seconds(segment.intercept_interval)}"
    lines.append(f"latency = {_duration(segment.intercept)}  # {spread}")
    lines.append(f"bandwidth = {_bandwidth(segment)}  # {_slope_spread(segment)}")
    return [*lines, ""]


def _worst(segment: Segment) -> str:
    return f"at most {_percent(segment.worst_residual)}"


def _slope_spread(segment: Segment) -> str:
    if segment.bandwidth > HIGHEST_BANDWIDTH:
        return "the size makes no difference here"
    return f"± {_percent(segment.slope_interval / segment.slope)}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _duration(seconds: float) -> str:
    return f'"{seconds * 1e9:.3f} ns"'


def _overhead(seconds: float) -> str:
    """Rounded down: together they must not exceed the latency that they are part of."""
    return _duration(math.floor(seconds * 1e12) * 1e-12)


def _bandwidth(segment: Segment) -> str:
    return f'"{float(f"{min(segment.bandwidth, HIGHEST_BANDWIDTH):.{SIGNIFICANT}g}"):.0f} B/s"'
