"""What a workload's tables mean, in words: for workloads whose answer is a study, not a number.

An analysis takes the report that the program wrote (workloads/kit/report.h) and returns Findings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Report = dict[str, Any]


@dataclass(frozen=True)
class Findings:
    sentences: list[str] = field(default_factory=list)
    figures: list[dict[str, Any]] = field(default_factory=list)  # name, value, unit
    tables: dict[str, Any] = field(default_factory=dict)  # columns by name: unit, values


Analysis = Callable[[Report], Findings]

ANALYSES: dict[str, Analysis] = {}  # by the workload's name


def with_findings(report: Report) -> Report:
    """The report with what its workload's analysis found; the report itself is left alone."""
    analysis = ANALYSES.get(report["workload"])
    if analysis is None:
        return {**report, "findings": []}
    found = analysis(report)
    return {
        **report,
        "figures": [*report["figures"], *found.figures],
        "tables": {**report["tables"], **found.tables},
        "findings": found.sentences,
    }
