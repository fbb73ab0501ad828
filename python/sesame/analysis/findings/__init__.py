"""What a workload's tables mean, in words: for workloads whose answer is a study, not a number.

An analysis takes the report that the program wrote (workloads/kit/report.h) and returns Findings.
"""

from __future__ import annotations

from collections.abc import Callable

from sesame.analysis.findings import iow, nht1, sesame_sort
from sesame.analysis.findings.found import Findings, Report

__all__ = ["ANALYSES", "Analysis", "Findings", "Report", "with_findings"]

Analysis = Callable[[Report], Findings]

# by the workload's name
ANALYSES: dict[str, Analysis] = {
    "iow": iow.analyse,
    "nht1": nht1.analyse,
    "sesame-sort": sesame_sort.analyse,
}


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
