"""Compares data sets: what differs most between runs, machines and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sesame.lazy import names_of

if TYPE_CHECKING:
    from sesame.comparison.difference import Difference, compare
    from sesame.comparison.page import write_difference
    from sesame.comparison.run import Run, read_run
    from sesame.comparison.side import Side, read_sides
else:
    __getattr__ = names_of(__name__)

__all__ = [
    "Difference",
    "Run",
    "Side",
    "compare",
    "read_run",
    "read_sides",
    "write_difference",
]
