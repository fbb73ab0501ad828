"""The findings about I/O, as a section of a page."""

from __future__ import annotations

from sesame.analysis.findings_io.found import Finding, percent
from sesame.analysis.report.traced_tables import figure
from sesame.analysis.study import Study
from sesame.web.page import Section, template

MATTERS = 0.01  # of the time of all ranks; findings about less time are folded away


def findings_section(study: Study) -> Section:
    if not study.has_io:
        text = "Findings are about calls on files, and none was recorded."
        return Section("Findings", "", f"<p>{text}</p>")
    shown = [
        {
            "finding": finding,
            "share": _share_text(study, finding),
            "evidence": [(name, figure(value)) for name, value in finding.evidence.items()],
            "matters": study.share_of(finding) >= MATTERS,
        }
        for finding in study.findings
    ]
    html = template("findings.html").render(
        first=[f for f in shown if f["matters"]], others=[f for f in shown if not f["matters"]]
    )
    about = (
        "What the numbers mean; findings about most time come first. Rules and thresholds are in "
        "Sesame's documentation, docs/models/findings.md."
    )
    return Section("Findings", about, html)


def _share_text(study: Study, finding: Finding) -> str:
    if finding.seconds is None:
        return "of the whole run"
    return f"{percent(study.share_of(finding))} of the time"
