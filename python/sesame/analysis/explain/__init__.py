"""Where each second of a predicted time comes from, and which constants the prediction uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sesame.lazy import names_of

if TYPE_CHECKING:
    from sesame.analysis.explain.explanation import Explanation, explain, why_not
    from sesame.analysis.explain.shares import TimeShare
else:
    __getattr__ = names_of(__name__)

__all__ = ["Explanation", "TimeShare", "explain", "why_not"]
