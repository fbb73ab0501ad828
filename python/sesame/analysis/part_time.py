"""Totals of points that were enabled for a part of the time.

Within a budget, a subsystem with too many events is enabled for a part of each interval, or in some
intervals only. The number of its events is then estimated from the rate while it was enabled
(a ratio estimate; Cochran, Sampling Techniques, chapter 6). This holds if the rate was the same
meanwhile, on average; a load that comes in bursts may be off by more than the interval says.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sesame.settings import setting
from sesame.trust import Doubt, Estimate, Reason

# A subsystem counts as enabled all the time from this share of it on: switching takes a little.
ALL_THE_TIME = 0.95
Interval = tuple[int, int]  # begin and end, ns


@dataclass(frozen=True)
class Coverage:
    """When a subsystem of a node was enabled: time in ns by interval."""

    active_ns: Mapping[Interval, int]

    @property
    def share(self) -> float:
        return sum(self.active_ns.values()) / max(sum(map(_length, self.active_ns)), 1)

    @property
    def is_whole(self) -> bool:
        return self.share >= ALL_THE_TIME


def coverages(costs: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], Coverage]:
    """The coverage by node and subsystem, from records of the type measurement_cost."""
    found: dict[tuple[str, str], dict[Interval, int]] = {}
    for row in costs:
        of = found.setdefault((row["node"], row["subsystem"]), {})
        of[row["begin_ns"], row["end_ns"]] = row["active_ns"]
    return {key: Coverage(active_ns) for key, active_ns in found.items()}


def estimated_total(counts: Mapping[Interval, int], coverage: Coverage) -> Estimate:
    """The events of all the time, with an interval of 95 %, from those counted in each interval.

    Never less than was counted. With a single interval that was seen, it is assumed that events are
    independent of each other, and the estimate is doubtful.
    """
    from sesame.analysis.segments import t_quantile

    seen = {one: active for one, active in coverage.active_ns.items() if active > 0}
    counted = sum(counts.values())
    active_ns, length_ns = sum(seen.values()), sum(map(_length, coverage.active_ns))
    doubts = [
        Doubt(
            Reason.INCOMPLETE_INPUT,
            f"enabled {percent(coverage.share)} of the time",
            f"{setting('budget', 'none')} counts all events",
        )
    ]
    if not active_ns:
        return Estimate(counted, counted, math.inf, 0, tuple(doubts))
    rate = counted / active_ns
    variance, quantile = float(counted), t_quantile(10**6)
    if len(seen) > 1:
        squares = sum((counts.get(one, 0) - rate * active) ** 2 for one, active in seen.items())
        variance = max(variance, squares * len(seen) / (len(seen) - 1))
        quantile = t_quantile(len(seen) - 1)
    else:
        doubts.append(
            Doubt(
                Reason.FEW_SAMPLES, "seen in 1 interval", f"give a shorter {setting('interval_s')}"
            )
        )
    unseen = max(1 - active_ns / max(length_ns, 1), 0.0)
    half = quantile * math.sqrt(variance * unseen) * length_ns / active_ns
    total = max(rate * length_ns, counted)
    return Estimate(total, max(total - half, counted), total + half, len(seen), tuple(doubts))


def percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


def _length(interval: Interval) -> int:
    return interval[1] - interval[0]
