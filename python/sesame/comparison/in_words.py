"""Differences as text."""

from __future__ import annotations

from sesame.analysis.quantities import format_seconds
from sesame.comparison.ratio import Ratio


def in_words(ratio: Ratio) -> str:
    """A ratio as text, for instance `+4.2 % (+1.1 % to +7.0 %)`, with remarks on its certainty."""
    change = percent(ratio.value)
    if ratio.verdict == "same":
        return "the same"
    if ratio.low is None or ratio.high is None:
        return f"{change}, noise unknown"
    if ratio.exact:
        return f"{change}, repeats exactly"
    interval = f"{percent(ratio.low)} to {percent(ratio.high)}"
    if ratio.doubts:
        return f"{change} ({interval}, too few runs to be sure)"
    if ratio.verdict == "unknown":
        return f"no difference shown: {change} ({interval})"
    return f"{change} ({interval})"


def percent(ratio: float) -> str:
    """A ratio of times as text: `+5.0 %`; `12 x` for 2 and more."""
    return f"{ratio:.3g} x" if ratio >= 2 else f"{100 * (ratio - 1):+.1f} %"


def signed_seconds(seconds: float) -> str:
    """`+3 ms`"""
    return f"{'+' if seconds > 0 else ''}{format_seconds(seconds)}"
