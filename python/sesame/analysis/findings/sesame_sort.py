"""What the workload sesame-sort found: where the ranks' time went, by phase."""

from __future__ import annotations

import numpy as np

from sesame.analysis.findings.found import Findings, Report
from sesame.analysis.findings.regions import Array
from sesame.analysis.quantities import format_seconds

# The activities that are reported, and the phases of each.
ACTIVITIES = {
    "sorting": ["sort"],
    "trading": ["ask", "answer"],
    "reading and writing": ["open", "read", "write"],
    "waiting until all are as far": ["sync", "donewait"],
}


def analyse(report: Report) -> Findings:
    columns = report["tables"]["phase"]
    names = np.array(columns["phase"]["values"])
    ranks = np.array(columns["rank"]["values"], dtype=int)
    ends = np.array(columns["end"]["values"])
    durations = ends - np.array(columns["begin"]["values"])
    phases = list(dict.fromkeys(names))
    by_rank = {phase: _by_rank(durations, ranks, names == phase) for phase in phases}
    found = Findings()
    found.tables["phases"] = {
        "phase": {"unit": "", "values": [str(phase) for phase in phases]},
        "longest": {"unit": "s", "values": [float(by_rank[phase].max()) for phase in phases]},
        "mean": {"unit": "s", "values": [float(by_rank[phase].mean()) for phase in phases]},
    }
    whole = float(ends.max())
    if whole > 0:
        found.sentences.extend(_shares(by_rank, whole))
    return found


def _by_rank(durations: Array, ranks: Array, chosen: Array) -> Array:
    total = np.zeros(int(ranks.max()) + 1)
    np.add.at(total, ranks[chosen], durations[chosen])
    return total


def _shares(by_rank: dict[str, Array], whole: float) -> list[str]:
    parts = []
    for activity, phases in ACTIVITIES.items():
        total = sum(float(by_rank[phase].mean()) for phase in phases if phase in by_rank)
        parts.append(f"{activity} {100 * total / whole:.0f} %")
    sentences = [f"Of {format_seconds(whole)}, in the mean of the ranks: {', '.join(parts)}."]
    waits = by_rank["donewait"]
    if len(waits) > 1 and waits.max() > 0:
        rank = int(np.argmax(waits))
        share = 100 * float(waits[rank]) / whole
        sentences.append(
            f"Rank {rank} waits longest until no rank has more to trade: {share:.0f} % of the time."
        )
    return sentences
