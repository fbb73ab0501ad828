"""Numbers as words."""

from __future__ import annotations

import math

from sesame.evaluation.periods import DAY
from sesame.trust import Estimate

WHOLE = 1 - 1e-9  # a share that is 1 but for rounding


def percent(share: float) -> str:
    return f"{100 * share:.{_digits(share, 1)}f} %"


def _digits(share: float, least: int) -> int:
    """So many that what is not all does not look like all."""
    digits = least
    while share < WHOLE and round(100 * share, digits) >= 100:
        digits += 1
    return digits


def share(estimate: Estimate) -> str:
    """`98.9 % (98.1 to 99.4)`, with as many digits as the interval is worth, at most three unless
    it would look like all."""
    width = 100 * (estimate.high - estimate.low)
    digits = _digits(estimate.value, 1 if width >= 0.2 else 2 if width >= 0.02 else 3)
    value, low, high = (
        f"{100 * part:.{digits}f}" for part in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} % ({low} to {high})"


def hours(seconds: float) -> str:
    """`7:51`, in hours and minutes, as the published tables have it; days from 4 days on."""
    if seconds >= 4 * DAY:
        return f"{seconds / DAY:.1f} days"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60}:{minutes % 60:02} h"


def mean_time(estimate: Estimate | None) -> str:
    if estimate is None:
        return "mean time to incident unknown"
    if math.isinf(estimate.value):
        return f"mean time to incident at least {hours(estimate.low)}"
    limits = f"{hours(estimate.low)} to {hours(estimate.high)}"
    return f"mean time to incident {hours(estimate.value)} ({limits})"


def counted(number: int, noun: str, several: str = "") -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {several or f'{noun}s'}"


def figure(value: float, unit: str = "") -> str:
    """With bytes in the multiple of 1,000 that makes the number short."""
    if math.isnan(value):
        return "–"
    if unit in ("B", "B/s"):
        power = next((n for n in (4, 3, 2, 1) if abs(value) >= 1000**n), 0)
        value, unit = value / 1000**power, ("", "k", "M", "G", "T")[power] + unit
    text = f"{value:,.0f}" if 1e4 <= abs(value) < 1e12 else f"{value:.4g}"
    return text if unit in ("", "1") else f"{text} {unit}"
