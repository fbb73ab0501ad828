"""What an analysis takes and gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Report = dict[str, Any]


@dataclass(frozen=True)
class Findings:
    sentences: list[str] = field(default_factory=list)
    figures: list[dict[str, Any]] = field(default_factory=list)  # name, value, unit
    tables: dict[str, Any] = field(default_factory=dict)  # columns by name: unit, values
    checks: list[dict[str, Any]] = field(default_factory=list)  # as the program's


def check(name: str, value: float, expected: float, tolerance: float) -> dict[str, Any]:
    """Right when the relative error is at most the tolerance, as in the kit's report.h."""
    error = abs(value - expected) / (abs(expected) or 1.0)
    return {
        "name": name,
        "value": value,
        "expected": expected,
        "relative_error": error,
        "tolerance": tolerance,
        "right": error <= tolerance,
    }
