"""How much longer one run takes than another, with an interval if there are repeats.

With several runs on both sides the ratio is the median of the ratios of all pairs, and its interval
that of the Mann-Whitney test (Hodges and Lehmann, 1963). The test assumes only that the times of
the two sides have the same distribution up to a factor.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from sesame.settings import setting
from sesame.trust import Doubt, Estimate, Reason, median_of

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Ratio:
    """`value` is new / old. The interval is None if there is one run of each side; it is
    [value, value] if both sides repeat exactly."""

    value: float
    low: float | None
    high: float | None
    exact: bool
    doubts: tuple[Doubt, ...] = ()

    @property
    def verdict(self) -> str:
        """`slower`, `faster`, `same`, or `unknown` if the difference may be noise only."""
        if self.low is None or self.high is None or self.doubts:
            return "unknown"
        if self.low > 1:
            return "slower"
        if self.high < 1:
            return "faster"
        return "same" if self.exact else "unknown"

    def as_json(self) -> dict[str, object]:
        return {
            "ratio": self.value,
            "low": self.low,
            "high": self.high,
            "exact": self.exact,
            "verdict": self.verdict,
        }


def _repeat_hint() -> str:
    return f"give several runs of each side, 4 or more, or simulate with {setting('repeat', 7)}"


def ratio_of(
    old: Sequence[float], new: Sequence[float], *, old_exact: bool, new_exact: bool
) -> Ratio | None:
    """new / old with its interval; None if an old time is 0, or one side has no times. One sample
    represents a side that is exact."""
    if min(old, default=0) <= 0 or not new:
        return None
    old, new = (old[:1] if old_exact else old), (new[:1] if new_exact else new)
    ratios = [after / before for before in old for after in new]
    if old_exact and new_exact:
        return Ratio(ratios[0], ratios[0], ratios[0], True)
    if len(ratios) == 1:
        doubt = Doubt(
            Reason.FEW_SAMPLES,
            "one run of a side: how much of the difference is noise is not known",
            _repeat_hint(),
        )
        return Ratio(ratios[0], None, None, False, (doubt,))
    found = _of_pairs(ratios, len(old), len(new), one_side=old_exact or new_exact)
    return Ratio(found.value, found.low, found.high, False, found.doubts)


def _of_pairs(ratios: list[float], old: int, new: int, *, one_side: bool) -> Estimate:
    if one_side:
        return median_of(ratios, CONFIDENCE)
    ordered, dropped = sorted(ratios), dropped_pairs(old, new)
    doubts: tuple[Doubt, ...] = ()
    if dropped < 0:
        text = f"{old} and {new} runs; the interval is the range of their ratios"
        doubts = (Doubt(Reason.FEW_SAMPLES, text, _repeat_hint()),)
    at = max(dropped, 0)
    value = statistics.median(ordered)
    return Estimate(value, ordered[at], ordered[-1 - at], old + new, doubts)


@functools.cache
def dropped_pairs(old: int, new: int) -> int:
    """How many of the old x new sorted pairs to drop at either end for an interval of 95 %; -1 if
    all of them are too few. Exact: from the number of orders that give each U."""
    ways = math.comb(old + new, new)
    outside, dropped = 0.0, -1
    for u, count in enumerate(_orders(old, new)):
        outside += 2 * count / ways
        if outside > 1 - CONFIDENCE:
            break
        dropped = u
    return dropped


def _orders(old: int, new: int) -> list[int]:
    """The numbers of orders of `old` and `new` values with a Mann-Whitney count U of 0, 1, 2, …:
    the coefficients of the Gaussian binomial (old + new over new)."""
    size = old * new + 1
    counts = [1] + [0] * (size - 1)
    for i in range(1, new + 1):
        for u in range(size - 1, old + i - 1, -1):  # times (1 - q^(old + i))
            counts[u] -= counts[u - old - i]
        for u in range(i, size):  # over (1 - q^i)
            counts[u] += counts[u - i]
    return counts
