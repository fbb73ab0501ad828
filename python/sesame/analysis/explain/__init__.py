"""Where each second of a predicted time comes from, and what the prediction rests on."""

from sesame.analysis.explain.explanation import Explanation, explain
from sesame.analysis.explain.parts import Part

__all__ = ["Explanation", "Part", "explain"]
