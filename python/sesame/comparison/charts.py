"""The charts of a difference's page. Each gives a piece of HTML."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sesame.analysis.chart import Chart
from sesame.analysis.plots import time_unit
from sesame.comparison.difference import Change, Difference

# Distinct for colour-blind people (Okabe and Ito, 2008).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MOST_BARS = 12


def changes_chart(difference: Difference, changes: Sequence[Change]) -> str:
    """Bars of how much longer or shorter each call takes than on the first side."""
    shown = list(changes[:MOST_BARS])[::-1]
    factor, unit = time_unit(max(change.largest_s for change in shown))
    sides = difference.sides[1:]
    chart = Chart(120 + 24 * len(shown) * len(sides), barmode="group")
    for i, side in enumerate(sides):
        chart.add(
            "bar",
            orientation="h",
            x=[change.change_s[i] * factor for change in shown],
            y=[change.name for change in shown],
            name=f"{side.label} - {difference.sides[0].label}",
            marker={"color": COLOURS[(i + 1) % len(COLOURS)]},
        )
    chart.x(f"mean time of a rank, difference ({unit})", zeroline=True)
    chart.y("", automargin=True)
    return chart.html()


def ranks_chart(difference: Difference) -> str:
    """The time of each rank on each side; of sides with other numbers of ranks as well."""
    longest = max(float(side.run.rank_s.max()) for side in difference.sides)
    factor, unit = time_unit(longest)
    chart = Chart(340)
    for side, colour in zip(difference.sides, COLOURS * len(difference.sides), strict=False):
        chart.add(
            "scatter",
            mode="lines+markers" if side.run.ranks <= 64 else "lines",
            x=np.arange(side.run.ranks),
            y=side.run.rank_s * factor,
            name=side.label,
            line={"color": colour, "shape": "hvh"},
        )
    chart.x("rank")
    chart.y(f"time ({unit})", rangemode="tozero")
    return chart.html()
