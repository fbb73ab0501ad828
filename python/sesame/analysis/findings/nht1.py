"""What the workload nht1 found: how much longer BT runs with its dumps, if that exceeds noise."""

from __future__ import annotations

import numpy as np

from sesame.analysis.findings.found import Findings, Report
from sesame.analysis.findings.regions import Array
from sesame.analysis.quantities import format_seconds

# Student's t, 95 %, by degrees of freedom: two runs with dumps and two without have 2.
STUDENT = {2: 4.30, 4: 2.78, 6: 2.45, 8: 2.31, 10: 2.23, 12: 2.18, 14: 2.14, 16: 2.12, 18: 2.10}
STUDENT_OF_MORE = 2.09  # for more degrees of freedom, where t is at most this


def analyse(report: Report) -> Findings:
    columns = report["tables"]["run"]
    times = np.array(columns["time"]["values"])
    with_dumps = np.array(columns["with dumps"]["values"]) != 0
    found = Findings()
    found.sentences.append(_overhead(times[~with_dumps], times[with_dumps]))
    figures = {figure["name"]: figure["value"] for figure in report["figures"]}
    if {"write bandwidth", "concurrent write rate"} <= set(figures):
        share = figures["write bandwidth"] / figures["concurrent write rate"]
        found.sentences.append(
            f"Dumps are written at {share:.2g} times the rate of large records that all ranks "
            "write to the disk at the same time."
        )
    return found


def _overhead(without: Array, with_dumps: Array) -> str:
    base = float(np.mean(without))
    more = float(np.mean(with_dumps)) - base
    if base <= 0:
        return "No time was measured, so that there is nothing to compare."
    count = len(without)
    text = f"I/O changes the time of {format_seconds(base)} by {100 * more / base:+.1f} %"
    if count < 2:
        return f"{text}; one run of each kind cannot tell this from noise."
    variance = (np.var(without, ddof=1) + np.var(with_dumps, ddof=1)) / count
    error = STUDENT.get(2 * (count - 1), STUDENT_OF_MORE) * float(np.sqrt(variance))
    interval = f"{100 * (more - error) / base:+.1f} to {100 * (more + error) / base:+.1f} %"
    if abs(more) <= error:
        return f"{text} (95 %: {interval}), which does not exceed noise."
    return f"{text} (95 %: {interval})."
