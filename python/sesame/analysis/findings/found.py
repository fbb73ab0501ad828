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
