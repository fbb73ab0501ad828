"""A chart as plain data, which assets/chart.js draws on a canvas.

Values are in the units that the axes' titles name. Colours are names of web/colours.py ("blue",
"pale"), which have a light and a dark form, or #rrggbb or hsl(…). Arrays may be lists or numpy
arrays of any length; a page carries them as base64.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

# For curves in this order: distinct for colour-blind people (Okabe and Ito, 2008).
SERIES = ("blue", "vermillion", "green", "purple", "orange", "sky", "ink")
# Elements of these types go into the page as base64; others become lists.
_TYPES = {"int8": "i1", "int32": "i4", "float32": "f4", "float64": "f8"}


class Chart:
    """Add marks, then put `html(label)` into a page.

    The axes are settings of assets/chart.js: `title` (with unit), `log`, `bytes` (ticks are powers
    of two), `zero` (from zero on), `whole` (integers only), `range` (two ends), `names` (text for
    0, 1, 2 …), `ticks` (pairs of value and text), `seconds` (ticks have their unit),
    `reversed`, `grid`.
    """

    def __init__(self, height: int = 320, **settings: Any) -> None:
        """`height` is in pixels. `settings`: `width` (at most, in pixels), `square`,
        `equalUnits` (one of x is as many pixels as one of y), `zoomY`, `legend` (also for one
        mark), `dimBelowLines` (marks before a line are paler)."""
        self.settings = {"height": height, **settings}
        self.axes: dict[str, dict[str, Any]] = {"x": {"title": ""}, "y": {"title": ""}}
        self.marks: list[dict[str, Any]] = []

    def x(self, title: str, **settings: Any) -> None:
        self.axes["x"] |= {"title": title, **settings}

    def y(self, title: str, **settings: Any) -> None:
        self.axes["y"] |= {"title": title, **settings}

    def line(self, name: str, x: Any, y: Any, colour: str, **more: Any) -> None:
        """A line through points in order of x. `low`, `high`: a band, or error bars with `errors`;
        `dashed`, `stepped`, `filled`, `points` (dots as well), `width`."""
        self._add("line", name=name, x=x, y=y, colour=colour, **more)

    def points(self, name: str, x: Any, y: Any, colour: str, **more: Any) -> None:
        """Dots. `texts`: a text to show for each; `size` in pixels."""
        self._add("points", name=name, x=x, y=y, colour=colour, **more)

    def columns(self, name: str, x: Any, y: Any, colour: str, **more: Any) -> None:
        """Vertical bars. `base`: where each begins; `width` in units of x; `low` and `high`: error
        bars; `texts`."""
        self._add("columns", name=name, x=x, y=y, colour=colour, **{"width": 1.0, **more})

    def spans(self, name: str, row: Any, begin: Any, length: Any, colour: str, **more: Any) -> None:
        """Horizontal bars in rows. `colours`: one for each bar; `texts`; `fromZero`: the value is
        the length of a bar, not where it begins."""
        self._add("spans", name=name, row=row, begin=begin, length=length, colour=colour, **more)

    def classes(
        self,
        values: np.ndarray[Any, Any],
        x: tuple[float, float],
        y: tuple[float, float],
        classes: Sequence[tuple[str, str]],
    ) -> None:
        """A grid of numbers that index (name, colour); below 0 nothing is drawn. `x` and `y`: where
        the first cell begins and how large each is."""
        self._cells(values, x, y, classes=[list(one) for one in classes])

    def amounts(
        self,
        values: np.ndarray[Any, Any],
        x: tuple[float, float],
        y: tuple[float, float],
        **more: Any,
    ) -> None:
        """A grid of numbers from 0 on as shades; NaN for empty cells. `x` and `y` as for `classes`.
        `unit` and `mostText` are for the legend; `colour`: shades of this colour; `counts`: numbers
        to show instead of the values. With `logX` or `logY` a cell is as many times larger than the
        one before."""
        self._cells(values, x, y, most=float(np.nanmax(values, initial=0)), **more)

    def _cells(self, values: Any, x: Any, y: Any, **more: Any) -> None:
        shape = list(values.shape)
        place = {"x0": x[0], "dx": x[1], "y0": y[0], "dy": y[1]}
        self._add(
            "cells", values=np.ascontiguousarray(values).ravel(), shape=shape, **place, **more
        )

    def links(
        self, name: str, x1: Any, y1: Any, x2: Any, y2: Any, colour: str, **more: Any
    ) -> None:
        """Straight lines. `arrows`; `hidden` until the legend shows them; `texts` of their ends."""
        self._add("links", name=name, x1=x1, y1=y1, x2=x2, y2=y2, colour=colour, **more)

    def regions(self, names: list[str], begin: Any, end: Any, colours: list[str]) -> None:
        """Stretches of the x axis, behind all else."""
        self._add("regions", names=names, begin=begin, end=end, colours=colours)

    def _add(self, kind: str, **mark: Any) -> None:
        self.marks.append({"kind": kind, **mark})

    def description(self) -> dict[str, Any]:
        """What assets/chart.js draws."""
        return {**self.settings, **self.axes, "marks": self.marks}

    def html(self, label: str) -> str:
        """The chart as HTML. Screen readers read `label`."""
        text = packed_json(self.description())
        data = text.replace("<", "\\u003c")  # no text of the user's ends the script that holds it
        return (
            f'<figure class="chart" data-label="{escape(label)}">'
            f'<script type="application/json">{data}</script></figure>'
        )


def packed_json(value: Any) -> str:
    """JSON in which arrays are base64, as assets/chart.js unpacks them."""
    return json.dumps(value, default=_packed, separators=(",", ":"))


def _packed(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{type(value)} in a chart")
    narrow = _narrowed(value)
    kind = _TYPES.get(narrow.dtype.name)
    if kind is None:
        return value.tolist()
    return {"type": kind, "base64": base64.b64encode(narrow.tobytes()).decode()}


def _narrowed(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """JavaScript has no 64-bit integers in arrays."""
    if value.dtype.kind not in "iu" or value.dtype.itemsize == 1:
        return value
    fits = len(value) == 0 or abs(value).max() < 1 << 31
    return value.astype(np.int32 if fits else np.float64)


def curve_colour(number: int, count: int) -> str:
    """The colour of curve `number` of `count`. If there are more curves than SERIES, the colours go
    from pale to dark blue."""
    if count <= len(SERIES):
        return SERIES[number]
    share = number / (count - 1)
    return f"hsl(205, {40 + 50 * share:.0f}%, {76 - 44 * share:.0f}%)"


def time_unit(seconds: float) -> tuple[float, str]:
    """(factor to multiply seconds with, unit) for an axis that ends at `seconds`."""
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return factor, unit
    return 1e6, "µs"


def stacked(layers: Iterable[Any]) -> list[np.ndarray[Any, Any]]:
    """Where each layer of stacked bars begins: the sum of those before."""
    bases = [np.zeros(0)]
    for values in layers:
        bases.append(np.asarray(values, float) + (bases[-1] if len(bases) > 1 else 0.0))
    first = np.zeros_like(bases[1]) if len(bases) > 1 else bases[0]
    return [first, *bases[1:-1]]
