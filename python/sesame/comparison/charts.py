"""The charts of a difference's page. Each returns an HTML fragment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sesame.comparison.difference import Change, Difference
from sesame.web.chart import SERIES, Chart, curve_colour, time_unit

MOST_BARS = 12
MOST_DOTS = 64


def changes_chart(difference: Difference, changes: Sequence[Change]) -> str:
    """Bars of how much longer or shorter each call takes than on the first side."""
    shown = [change for change in changes if change.largest_s > 0][:MOST_BARS]
    factor, unit = time_unit(max(change.largest_s for change in shown))
    sides, first = difference.sides[1:], difference.sides[0].label
    chart = Chart(100 + 26 * len(shown) * len(sides), legend=len(sides) > 1)
    rows = np.arange(len(shown)) * len(sides)
    for i, side in enumerate(sides):
        change = np.array([one.change_s[i] for one in shown]) * factor
        chart.spans(
            f"{side.label} - {first}",
            rows + i,
            np.minimum(change, 0.0),
            np.abs(change),
            SERIES[(i + 1) % len(SERIES)],
            texts=[f"{value:+.4g} {unit}" for value in change],
        )
    names = [[one.name] + [side.label for side in sides[1:]] for one in shown]
    chart.x(f"mean time of a rank, difference ({unit})", zero=True)
    chart.y("", names=[name for of_one in names for name in of_one], reversed=True)
    return chart.html("How much longer each call takes than on the first side")


def shares_chart(difference: Difference) -> str:
    """A bar for each side, divided into the shares of its time."""
    sides = difference.sides
    totals = np.array([share.seconds for share in difference.shares]).sum(axis=0)
    factor, unit = time_unit(float(totals.max()))
    chart = Chart(110 + 34 * len(sides), legend=True)
    begin = np.zeros(len(sides))
    for i, share in enumerate(difference.shares):
        length = np.array(share.seconds) * factor
        chart.spans(
            share.name,
            np.arange(len(sides)),
            begin,
            length,
            curve_colour(i, len(difference.shares)),
            texts=[f"{value:.4g} {unit}" for value in length],
        )
        begin = begin + length
    chart.x(f"time of the slowest rank ({unit})", zero=True)
    chart.y("", names=difference.slowest_labels, reversed=True)
    return chart.html("Where the time of each side goes")


def ranks_chart(difference: Difference) -> str:
    """The time of each rank on each side; sides may have different numbers of ranks."""
    longest = max(float(side.run.rank_s.max()) for side in difference.sides)
    factor, unit = time_unit(longest)
    chart = Chart(320, legend=True)
    for i, side in enumerate(difference.sides):
        ranks = side.run.ranks
        chart.line(
            side.label,
            np.arange(ranks),
            side.run.rank_s * factor,
            curve_colour(i, len(difference.sides)),
            points=ranks <= MOST_DOTS,
        )
    chart.x("rank", whole=True)
    chart.y(f"time ({unit})", zero=True)
    return chart.html("The time of each rank on each side")
