"""The colours of charts: names of assets/style.css, and other forms that charts take."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sesame.web.chart import Chart

# By name, as in the light scheme of assets/style.css.
COLOURS = {
    "ink": "#1d2733",
    "soft": "#526171",
    "blue": "#0072b2",
    "vermillion": "#d55e00",
    "green": "#009e73",
    "purple": "#cc79a7",
    "orange": "#e69f00",
    "sky": "#56b4e9",
    "yellow": "#d8c91e",
    "grey": "#8b949e",
    "pale": "#cfe3d4",
}
_OTHER = re.compile(r"#[0-9a-fA-F]{6}|hsl\(\d+, \d+%, \d+%\)")


def unknown_colour(chart: Chart) -> object:
    """The first colour of a chart that is neither one of COLOURS nor #rrggbb or hsl(…); None if
    all are known."""
    return next((one for one in _colours_of(chart) if not _is_known(one)), None)


def _is_known(colour: object) -> bool:
    return isinstance(colour, str) and (colour in COLOURS or _OTHER.fullmatch(colour) is not None)


def _colours_of(chart: Chart) -> Iterator[object]:
    for mark in chart.marks:
        if "colour" in mark:
            yield mark["colour"]
        yield from dict.fromkeys(mark.get("colours") or ())
        yield from (colour for _, colour in mark.get("classes") or ())
