"""What the workload sparse found: whether computation hides reading, and what dynamic distribution
of work gains."""

from __future__ import annotations

from typing import Any

from sesame.analysis.findings.found import Findings, Report

HIDDEN = 0.1  # of a pass: less waiting than this counts as hidden


def analyse(report: Report) -> Findings:
    passes = report["tables"]["passes"]
    works = [work for work in ("static", "dynamic") if f"{work} total" in passes]
    sentences = [_reading(work, passes) for work in works] + [_waiting(passes)]
    if len(works) < 2 or not all(passes["static total"]["values"]):
        return Findings([sentence for sentence in sentences if sentence])
    gains = [
        100 * (static - dynamic) / static
        for static, dynamic in zip(
            passes["static total"]["values"], passes["dynamic total"]["values"], strict=True
        )
    ]
    sentences.append(_gain(gains, passes["read size"]["values"], report["ranks"]))
    table = {
        "read size": passes["read size"],
        "gain of dynamic work": {"unit": "%", "values": gains},
    }
    figures = [
        {"name": "largest gain of dynamic work", "value": max(gains), "unit": "%"},
        {"name": "smallest gain of dynamic work", "value": min(gains), "unit": "%"},
    ]
    return Findings([sentence for sentence in sentences if sentence], figures, {"gains": table})


def _reading(work: str, passes: dict[str, Any]) -> str:
    """Empty when nothing took time, as in a simulation without computation."""
    shares = _shares(passes, work, "read")
    if not shares:
        return ""
    share = f"{100 * min(shares):.0f} %"
    if min(shares) < HIDDEN:
        return f"{work} work: reading is hidden, {share} of the time goes to it"
    return f"{work} work: {share} of the time goes to reading; more vectors would hide it"


def _waiting(passes: dict[str, Any]) -> str:
    shares = _shares(passes, "dynamic", "messages")
    if not shares or max(shares) < HIDDEN:
        return ""
    return (
        f"dynamic work: workers wait for the manager up to {100 * max(shares):.0f} % of the time; "
        "is there a processor for each rank?"
    )


def _shares(passes: dict[str, Any], work: str, name: str) -> list[float]:
    """The share of `name` in the time of each pass; passes that took no time are left out."""
    if f"{work} {name}" not in passes:
        return []
    columns = (passes[f"{work} {column}"]["values"] for column in (name, "total"))
    return [part / total for part, total in zip(*columns, strict=True) if total > 0]


def _gain(gains: list[float], sizes: list[float], ranks: int) -> str:
    best = max(range(len(gains)), key=gains.__getitem__)
    where = f"reads of {sizes[best] / 1024:.0f} KiB"
    workers = f"{ranks - 1} workers and a manager against {ranks} workers"
    if gains[best] <= 0:
        loss = f"{-gains[best]:.1f} %"
        return f"dynamic work loses at every read size, least with {where}: {loss} ({workers})"
    return f"dynamic work gains most with {where}: {gains[best]:.1f} % ({workers})"
