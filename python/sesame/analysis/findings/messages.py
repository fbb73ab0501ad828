"""What the workload messages found: segments and steps of the ping-pong curve, and streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sesame.analysis.findings.found import Findings, Report
from sesame.analysis.quantities import format_bytes, format_seconds, format_size
from sesame.analysis.segments import Break, Segment, breaks_of, fit_segments

NO_BANDWIDTH = 1e13  # bytes/s: a slope this flat says nothing about bandwidth


def curve_of(report: Report) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Sizes (B) and half round trips (s) of the ping-pong."""
    table = report["tables"]["ping_pong"]
    return np.array(table["size"]["values"]), np.array(table["median"]["values"])


def analyse(report: Report) -> Findings:
    sizes, times = curve_of(report)
    segments = fit_segments(sizes, times, least_intercept=0.0)
    breaks = breaks_of(segments)
    sentences = [*segment_sentences(segments, breaks), _fit_sentence(segments)]
    sentences += [_eager_sentence(report), *_stream_sentences(report, sizes, times)]
    figures = [
        {"name": "latency", "value": float(times[0]), "unit": "s"},
        {"name": "bandwidth", "value": float(sizes[-1] / times[-1]), "unit": "B/s"},
    ]
    asymptotic = segments[-1].bandwidth
    if asymptotic <= NO_BANDWIDTH and segments[-1].slope_interval <= segments[-1].slope:
        figures.append({"name": "asymptotic bandwidth", "value": asymptotic, "unit": "B/s"})
    return Findings(
        sentences=[sentence for sentence in sentences if sentence],
        figures=figures,
        tables={"segments": segment_table(segments, breaks)},
    )


def segment_table(segments: Sequence[Segment], breaks: Sequence[Break]) -> dict[str, Any]:
    columns = {
        "first": ("B", [s.first for s in segments]),
        "up_to": ("B", [*(b.at for b in breaks), segments[-1].last]),
        "latency": ("s", [s.intercept for s in segments]),
        "latency_interval": ("s", [s.intercept_interval for s in segments]),
        "slope": ("s/B", [s.slope for s in segments]),
        "slope_interval": ("s/B", [s.slope_interval for s in segments]),
        "residual": ("", [s.residual for s in segments]),
        "worst_residual": ("", [s.worst_residual for s in segments]),
    }
    return {name: {"unit": unit, "values": values} for name, (unit, values) in columns.items()}


def segment_sentences(segments: Sequence[Segment], breaks: Sequence[Break]) -> list[str]:
    """A sentence for each segment, and for each step between two."""
    sentences = []
    for i, segment in enumerate(segments):
        last = i == len(segments) - 1
        size = format_size(int(segment.last if last else breaks[i].at))
        where = f"from {format_size(int(segment.first))}" if last and i else f"up to {size}"
        sentences.append(f"{where}: {_line(segment)}")
        if not last and breaks[i].is_step:
            sentences.append(_step_sentence(breaks[i]))
    return sentences


def _line(segment: Segment) -> str:
    latency = format_seconds(segment.intercept)
    if segment.bandwidth > NO_BANDWIDTH or segment.slope_interval > segment.slope:
        return f"{latency}, whatever the size"
    latency += f" ± {format_seconds(segment.intercept_interval)}"
    percent = 100 * segment.slope_interval / segment.slope
    return f"{latency} + size at {format_bytes(segment.bandwidth)}/s ± {percent:.1f} %"


def _step_sentence(step: Break) -> str:
    sign = "+" if step.step > 0 else "-"
    size = format_size(int(step.before))
    where = f"above {size}" if step.after - step.before <= 1 else f"soon above {size}"
    amount = f"{sign}{format_seconds(abs(step.step))}, {100 * step.relative_step:+.0f} %"
    return f"{where} the protocol changes: {amount}"


def _fit_sentence(segments: Sequence[Segment]) -> str:
    worst = max(segments, key=lambda segment: segment.worst_residual)
    where = f"between {format_size(int(worst.first))} and {format_size(int(worst.last))}"
    return f"the lines are off by {100 * worst.worst_residual:.1f} % at most, {where}"


def _eager_sentence(report: Report) -> str:
    if report["ranks"] == 1:
        return "one rank: these are messages to itself"
    limit = next((f["value"] for f in report["figures"] if f["name"] == "eager limit"), None)
    if limit is None:
        return "messages of all sizes leave before their receive is posted (eager)"
    size = format_size(int(limit))
    return f"messages above {size} wait until their receive is posted (rendezvous)"


def _stream_sentences(report: Report, sizes: Any, times: Any) -> list[str]:
    stream = {k: np.array(v["values"]) for k, v in report["tables"]["stream"].items()}
    if stream["interval"][0] <= 0 or stream["exchange"][-1] <= 0:
        return ["streams took no time that the clock could tell: measure again on an idle machine"]
    rate = 1 / stream["interval"][0]
    one_way = np.interp(stream["size"][-1], sizes, times)
    both = 2 * stream["size"][-1] / stream["exchange"][-1] / (stream["size"][-1] / one_way)
    size = format_size(int(stream["size"][-1]))
    return [
        f"a stream of small messages: {rate * 1e-6:.3g} million per second",
        f"both ways at once, messages of {size}: {both:.2f} times the bandwidth of one way",
    ]
