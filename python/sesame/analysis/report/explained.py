"""The sections of a page that explain a prediction."""

from __future__ import annotations

from sesame.analysis.explain import explain
from sesame.analysis.explain.explanation import PS, why_not
from sesame.analysis.quantities import format_seconds
from sesame.datasets import DataSet
from sesame.web.page import Section, template


def explained_sections(data_set: DataSet) -> list[Section]:
    """The section; none for a run without records of calls, or one that did not complete."""
    if why_not(data_set) is not None:
        return []
    explanation = explain(data_set)
    whole = max(explanation.end_ps, 1)
    shares = [
        {
            "name": share.name,
            "time": format_seconds(share.time_ps * PS),
            "share": f"{100 * share.time_ps / whole:.1f} %",
            "most": ", ".join(f"{name} {format_seconds(ps * PS)}" for name, ps in share.most),
        }
        for share in explanation.shares
    ]
    html = template("explained.html").render(
        shares=shares, limits=explanation.limits, constants=explanation.constants
    )
    about = (
        f"All of the {format_seconds(explanation.end_ps * PS)} of rank {explanation.rank}, the "
        "slowest; the shares add up to its time."
    )
    return [Section("Where the time goes", about, html)]
