"""What the workload ipc found: latency and bandwidth of pipes and sockets between two processes."""

from __future__ import annotations

from typing import Any

import numpy as np

from sesame.analysis.findings.found import Findings, Report
from sesame.analysis.findings.messages import segment_sentences
from sesame.analysis.quantities import format_bytes, format_seconds
from sesame.analysis.segments import breaks_of, fit_segments

NAMES = {"pipe": "pipe", "unix": "Unix socket", "tcp": "TCP over loopback"}


def analyse(report: Report) -> Findings:
    sentences: list[str] = []
    figures: list[dict[str, Any]] = []
    for table, name in NAMES.items():
        columns = {k: np.array(part["values"]) for k, part in report["tables"][table].items()}
        sizes, message = columns["size"], columns["message"]
        latency = float(columns["half_round_trip"][0])
        peak = float(np.max(sizes / message))
        figures += [
            {"name": f"{table} latency", "value": latency, "unit": "s"},
            {"name": f"{table} bandwidth", "value": peak, "unit": "B/s"},
        ]
        sentences.append(
            f"{name}: latency {format_seconds(latency)}, bandwidth {format_bytes(peak)}/s at most"
        )
        segments = fit_segments(sizes, message, least_intercept=0.0)
        lines = segment_sentences(segments, breaks_of(segments))
        sentences += [f"  a message of a stream, {line}" for line in lines]
    return Findings(sentences, figures)
