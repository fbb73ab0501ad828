"""The charts of a difference's page. Each gives a piece of HTML."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sesame.comparison.difference import Change, Difference
from sesame.comparison.in_words import signed_seconds
from sesame.web.chart import Chart, curve_colour, time_unit

MOST_BARS = 12


def changes_chart(difference: Difference, changes: Sequence[Change]) -> str:
    """Bars of how much longer or shorter each call takes than on the first side."""
    shown = changes[:MOST_BARS]
    factor, unit = time_unit(max(change.largest_s for change in shown))
    labels = [side.label for side in difference.sides]
    others, count = labels[1:], len(labels)
    names = [
        change.name if len(others) == 1 else f"{change.name}, {label}"
        for change in shown
        for label in others
    ]
    chart = Chart(max(150, 60 + 26 * len(names)))
    for i, label in enumerate(others):
        seconds = np.array([change.change_s[i] for change in shown])
        chart.spans(
            f"{label} - {labels[0]}",
            np.arange(len(shown)) * len(others) + i,
            np.minimum(seconds, 0) * factor,
            np.abs(seconds) * factor,
            curve_colour(i + 1, count),
            texts=[signed_seconds(one) for one in seconds],
        )
    chart.x(f"mean time of a rank, difference ({unit})", zero=True)
    chart.y("call", names=names, reversed=True, grid=False)
    return chart.html("how much longer or shorter each call takes")


def ranks_chart(difference: Difference) -> str:
    """The time of each rank on each side; of sides with other numbers of ranks as well."""
    longest = max(float(side.run.rank_s.max()) for side in difference.sides)
    factor, unit = time_unit(longest)
    chart = Chart(340)
    for i, side in enumerate(difference.sides):
        chart.line(
            side.label,
            np.arange(side.run.ranks),
            side.run.rank_s * factor,
            curve_colour(i, len(difference.sides)),
            points=side.run.ranks <= 64,
        )
    chart.x("rank", whole=True)
    chart.y(f"time ({unit})", zero=True)
    return chart.html("time of each rank")
