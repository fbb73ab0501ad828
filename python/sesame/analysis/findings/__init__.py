"""Says in words what a workload's tables mean, for workloads that give a study and not one number.

An analysis takes the report that the program wrote (workloads/kit/report.h) and returns Findings.
"""

from __future__ import annotations

from collections.abc import Callable

from sesame.analysis.findings import (
    cachestudy,
    iow,
    ipc,
    memory,
    messages,
    nht1,
    sesame_sort,
    sparse,
)
from sesame.analysis.findings.found import Findings, Report

__all__ = ["ANALYSES", "Analysis", "Findings", "Report", "with_findings"]

Analysis = Callable[[Report], Findings]

# by the workload's name
ANALYSES: dict[str, Analysis] = {
    "iow": iow.analyse,
    "nht1": nht1.analyse,
    "sparse": sparse.analyse,
    "messages": messages.analyse,
    "ipc": ipc.analyse,
    "memory": memory.analyse,
    "cachestudy": cachestudy.analyse,
    "sesame-sort": sesame_sort.analyse,
}


def with_findings(report: Report) -> Report:
    """A copy of the report, with what the analysis of its workload found.

    A failed check of the analysis makes a verified report wrong. No check makes a wrong one right.
    """
    analysis = ANALYSES.get(report["workload"])
    if analysis is None:
        return {**report, "findings": []}
    found = analysis(report)
    wrong = any(not check["right"] for check in found.checks)
    return {
        **report,
        "verified": False if wrong else report["verified"],
        "checks": [*report["checks"], *found.checks],
        "figures": [*report["figures"], *found.figures],
        "tables": {**report["tables"], **found.tables},
        "findings": found.sentences,
    }
