"""Where each second of a predicted time comes from, and what the prediction rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sesame.lazy import names_of

if TYPE_CHECKING:
    from sesame.analysis.explain.explanation import Explanation, explain, why_not
    from sesame.analysis.explain.parts import Part
else:
    __getattr__ = names_of(__name__)

__all__ = ["Explanation", "Part", "explain", "why_not"]
