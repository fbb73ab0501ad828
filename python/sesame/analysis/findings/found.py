"""The input and the result of an analysis."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Report = dict[str, Any]


@dataclass(frozen=True)
class Findings:
    """What an analysis found; `with_findings` adds it to the report."""

    sentences: list[str] = field(default_factory=list)
    figures: list[dict[str, Any]] = field(default_factory=list)  # name, value, unit
    tables: dict[str, Any] = field(default_factory=dict)  # columns by name: unit, values
    checks: list[dict[str, Any]] = field(default_factory=list)  # made by `check`


def check(name: str, value: float, expected: float, tolerance: float) -> dict[str, Any]:
    """A check in the form of workloads/kit/report.h: right if the relative error is at most the
    tolerance."""
    error = abs(value - expected) / (abs(expected) or 1.0)
    return {
        "name": name,
        "value": value,
        "expected": expected,
        "relative_error": error,
        "tolerance": tolerance,
        "right": error <= tolerance,
    }
