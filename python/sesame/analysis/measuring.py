"""The uncertainty of a predicted time, in words."""

from __future__ import annotations

from sesame.analysis.quantities import format_seconds
from sesame.datasets.describe import count_of
from sesame.simulation.measuring import Measuring
from sesame.trust import Estimate, median_rank


def interval_name(samples: int) -> str:
    """What the interval of a median of so many samples is: `95 % interval`, or of too few `range`
    (see `median_of`)."""
    return "range" if median_rank(samples, 0.95) < 0 else "95 % interval"


def interval_in_words(estimate: Estimate) -> str:
    """`median of 7 repeats, 95 % interval 2.1 ms to 2.4 ms`"""
    low, high = format_seconds(estimate.low), format_seconds(estimate.high)
    name = interval_name(estimate.samples)
    return f"median of {estimate.samples} repeats, {name} {low} to {high}"


def measuring_in_words(measuring: Measuring) -> str:
    """One line about the samples of the computation: their number, scatter and length."""
    samples, regions = count_of(measuring.samples, "sample"), count_of(measuring.regions, "region")
    parts = [f"computation measured in {samples} of {regions}"]
    if measuring.spread is None or measuring.excess is None:
        parts.append("no region was repeated, so that nothing tells how much measuring varies")
    else:
        parts.append(f"successive samples of a region differ by {_percent(measuring.spread)}")
        parts.append(
            f"{_percent(measuring.excess)} less if each were as fast as the fastest of its region"
        )
    if measuring.short_share >= 0.01:
        reading = format_seconds(measuring.reading_s)
        parts.append(
            f"{_percent(measuring.short_share)} of it in samples shorter than ten readings of the "
            f"clock ({reading} each)"
        )
    return "; ".join(parts)


def measuring_rows(measuring: dict[str, float | None]) -> list[tuple[str, str]]:
    """For a table of a page, from the JSON of a Measuring."""
    known = Measuring(**measuring)  # type: ignore[arg-type]
    return [
        ("measured computation", measuring_in_words(known)),
        ("share of the ranks' time", _percent(known.compute_share)),
        ("the simulator waited for a processor", _percent(known.delayed_share)),
        ("it was preempted", count_of(known.preemptions, "time")),
        ("others used of the processors", f"{known.others_share:.2f}"),
        ("the hypervisor took of the processors", f"{known.steal_share:.2f}"),
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.0995 else f"{100 * share:.0f} %"
