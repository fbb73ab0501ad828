"""A view as a file, SVG or PNG: the charts that a browser draws, on paper white."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any, Protocol

import numpy as np

from sesame.analysis.quantities import format_quantity
from sesame.repository.looks.shown import Shown, Small, cell_at
from sesame.web.colours import COLOURS

Array = np.ndarray[Any, Any]
INK, SOFT, LINE, PAPER = COLOURS["ink"], COLOURS["soft"], "#dde3e9", "#ffffff"
WIDTH, LEFT, RIGHT, TOP, LEGEND, BELOW = 960, 92, 20, 60, 20, 52
TEXT, SMALL_TEXT = 13, 11
SMALL_COLUMNS, SMALL_HEIGHT = 8, 78
PALE, DARK = (214, 230, 240), (8, 48, 107)  # of the shades of a grid

Points = Sequence[tuple[float, float]]


class Surface(Protocol):
    """Draws; sizes are pixels from the left and the top."""

    def line(self, points: Points, colour: str, width: float = 1.5) -> None: ...
    def area(self, points: Points, colour: str) -> None: ...
    def dots(self, points: Points, colour: str) -> None: ...
    def text(self, x: float, y: float, text: str, **how: Any) -> None: ...
    def grid(self, box: tuple[float, float, float, float], pixels: Array) -> None: ...


class _Svg:
    def __init__(self, width: int, height: int) -> None:
        self._size = (width, height)
        self._parts = [f'<rect width="{width}" height="{height}" fill="{PAPER}"/>']

    def line(self, points: Points, colour: str, width: float = 1.5) -> None:
        self._path(points, f'fill="none" stroke="{colour}" stroke-width="{width}"')

    def area(self, points: Points, colour: str) -> None:
        self._path(points, f'fill="{colour}" fill-opacity="0.3"')

    def _path(self, points: Points, how: str) -> None:
        if points:
            nodes = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            self._parts.append(f'<path d="M{nodes}" {how}/>')

    def dots(self, points: Points, colour: str) -> None:
        """One element for all of them."""
        if points:
            nodes = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points)
            how = f'stroke="{colour}" stroke-width="3" stroke-linecap="round" opacity="0.8"'
            self._parts.append(f'<path d="{nodes}" {how}/>')

    def text(self, x: float, y: float, text: str, **how: Any) -> None:
        anchor = {"l": "start", "m": "middle", "r": "end"}[how.get("anchor", "l")]
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{how.get("size", TEXT)}" '
            f'fill="{how.get("colour", INK)}" text-anchor="{anchor}">{escape(text)}</text>'
        )

    def grid(self, box: tuple[float, float, float, float], pixels: Array) -> None:
        data = base64.b64encode(_png_of(pixels)).decode()
        left, top, width, height = box
        self._parts.append(
            f'<image x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'preserveAspectRatio="none" style="image-rendering:pixelated" '
            f'href="data:image/png;base64,{data}"/>'
        )

    def content(self) -> bytes:
        width, height = self._size
        parts = "\n".join(self._parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif">\n{parts}\n</svg>\n'
        ).encode()


class _Png:
    def __init__(self, width: int, height: int) -> None:
        from PIL import Image, ImageDraw

        self._image = Image.new("RGB", (width, height), PAPER)
        self._brush = ImageDraw.Draw(self._image)

    def line(self, points: Points, colour: str, width: float = 1.5) -> None:
        if len(points) > 1:
            self._brush.line(list(points), fill=colour, width=max(round(width), 1))

    def area(self, points: Points, colour: str) -> None:
        if len(points) > 2:
            self._brush.polygon(list(points), fill=_pale(colour))

    def dots(self, points: Points, colour: str) -> None:
        for x, y in points:
            self._brush.rectangle((x - 1, y - 1, x + 1, y + 1), fill=colour)

    def text(self, x: float, y: float, text: str, **how: Any) -> None:
        font = _font(how.get("size", TEXT))
        anchor = f"{how.get('anchor', 'l')}s"
        self._brush.text((x, y), text, fill=how.get("colour", INK), font=font, anchor=anchor)

    def grid(self, box: tuple[float, float, float, float], pixels: Array) -> None:
        from PIL import Image

        left, top, width, height = box
        size = (max(round(width), 1), max(round(height), 1))
        part = Image.fromarray(pixels).resize(size, Image.Resampling.NEAREST)
        self._image.paste(part, (round(left), round(top)))

    def content(self) -> bytes:
        out = io.BytesIO()
        self._image.save(out, "PNG", compress_level=3)  # 6 takes three times as long
        return out.getvalue()


@cache
def _font(size: int) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size)


def _pale(colour: str) -> tuple[int, int, int]:
    """Three tenths of a colour on white."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    red, green, blue = (round(255 - 0.3 * (255 - one)) for one in parts)
    return red, green, blue


def _png_of(pixels: Array) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def svg(shown: Shown, title: str) -> bytes:
    surface = _Svg(WIDTH, _height(shown))
    _draw(surface, shown, title)
    return surface.content()


def png(shown: Shown, title: str) -> bytes:
    surface = _Png(WIDTH, _height(shown))
    _draw(surface, shown, title)
    return surface.content()


# ---- What is drawn where ----


def _height(shown: Shown) -> int:
    charts = sum(_chart_height(chart.settings) for _, chart in shown.charts)
    rows = math.ceil(len(shown.small.names) / SMALL_COLUMNS) if shown.small else 0
    return TOP + charts + rows * SMALL_HEIGHT + 10


def _chart_height(settings: Any) -> int:
    return int(settings["height"]) + LEGEND + BELOW


def _draw(surface: Surface, shown: Shown, title: str) -> None:
    surface.text(14, 24, title, size=16)
    surface.text(14, 44, f"{shown.title}. {shown.about}", size=TEXT, colour=SOFT)
    top = float(TOP)
    for _, chart in shown.charts:
        _Plot(surface, chart.description(), top).draw()
        top += _chart_height(chart.settings)
    if shown.small is not None:
        _draw_small(surface, shown.small, top)


def _draw_small(surface: Surface, small: Small, top: float) -> None:
    wide = (WIDTH - 28) / SMALL_COLUMNS
    for number, name in enumerate(small.names):
        left = 14 + (number % SMALL_COLUMNS) * wide
        bottom = top + (number // SMALL_COLUMNS) * SMALL_HEIGHT + 46
        values = np.nan_to_num(small.values[number]) * (42 / (small.most or 1))
        step = (wide - 8) / len(values)
        points = [(left, bottom)]
        for i, value in enumerate(values):
            points += [(left + i * step, bottom - value), (left + (i + 1) * step, bottom - value)]
        points.append((left + wide - 8, bottom))
        surface.area(points, COLOURS["blue"])
        surface.line(points[1:-1], COLOURS["blue"], 1)
        short = name if len(name) < 17 else f"{name[:15]}…"
        surface.text(left, bottom + 14, short, size=SMALL_TEXT)


@dataclass(frozen=True)
class _Scale:
    """From values to pixels."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool

    def at(self, values: Any) -> Any:
        low, high = self._bent(self.low), self._bent(self.high)
        share = (self._bent(values) - low) / ((high - low) or 1.0)
        return self.start + share * (self.end - self.start)

    def _bent(self, values: Any) -> Any:
        if not self.is_log:
            return np.asarray(values, float)
        return np.log10(np.maximum(np.asarray(values, float), self.low * 1e-3 or 1e-300))

    def ticks(self) -> list[float]:
        if self.is_log:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            step = max((last - first) // 6, 1)
            found = [10.0**power for power in range(first, last + 1, step)]
            return found if len(found) > 1 else [self.low, self.high]
        rough = (self.high - self.low) / 6
        if rough <= 0:
            return [self.low]
        unit = 10 ** math.floor(math.log10(rough))
        step = next(unit * one for one in (1, 2, 5, 10) if unit * one >= rough)
        first = math.ceil(self.low / step)
        return [n * step for n in range(first, math.floor(self.high / step + 1e-9) + 1)]


class _Plot:
    """One chart on a surface, its legend above and its axes beside it."""

    def __init__(self, surface: Surface, chart: dict[str, Any], top: float) -> None:
        self._surface, self._chart = surface, chart
        self._top = top + LEGEND
        self._bottom = self._top + chart["height"]
        x_ends, y_ends = (self._ends(which) for which in ("x", "y"))
        self._x = _Scale(*x_ends, LEFT, WIDTH - RIGHT, bool(chart["x"].get("log")))
        self._y = _Scale(*y_ends, self._bottom, self._top, bool(chart["y"].get("log")))

    def _ends(self, which: str) -> tuple[float, float]:
        axis = self._chart[which]
        if found := axis.get("shown") or axis.get("range"):
            return float(found[0]), float(found[1])
        if names := axis.get("names"):
            return -0.5, len(names) - 0.5
        values = [np.zeros(0)]
        for mark in self._chart["marks"]:
            values.append(_ends_of(mark, which))
        every = np.concatenate(values)
        every = every[np.isfinite(every) & ((every > 0) | (not axis.get("log")))]
        low, high = (float(every.min()), float(every.max())) if len(every) else (0.0, 1.0)
        if axis.get("log"):
            return max(low, 1e-300), max(high, low * 10)
        low = min(low, 0.0) if axis.get("zero") else low
        return low, high + 0.04 * (high - low) if high > low else low + 1

    def draw(self) -> None:
        self._draw_axes()
        for mark in self._chart["marks"]:
            {"line": self._line, "points": self._points, "cells": self._cells}[mark["kind"]](mark)
        if self._chart.get("legend"):
            self._draw_legend()

    def _draw_axes(self) -> None:
        surface, x_axis, y_axis = self._surface, self._chart["x"], self._chart["y"]
        for value in self._y.ticks():
            y = float(self._y.at(value))
            surface.line([(LEFT, y), (WIDTH - RIGHT, y)], LINE, 1)
            surface.text(LEFT - 8, y + 4, _label(y_axis, value), anchor="r", size=SMALL_TEXT)
        for value in self._x.ticks():
            x = float(self._x.at(value))
            surface.line([(x, self._top), (x, self._bottom)], LINE, 1)
            text = _label(x_axis, value)
            surface.text(x, self._bottom + 16, text, anchor="m", size=SMALL_TEXT)
        middle = (LEFT + WIDTH - RIGHT) / 2
        surface.text(middle, self._bottom + 34, x_axis["title"], anchor="m", colour=SOFT)
        surface.text(14, self._top - 6, y_axis["title"], colour=SOFT)

    def _draw_legend(self) -> None:
        left = float(LEFT + 160)
        for mark in self._chart["marks"]:
            colour = COLOURS.get(mark.get("colour", ""), INK)
            self._surface.line([(left, self._top - 10), (left + 16, self._top - 10)], colour, 3)
            self._surface.text(left + 20, self._top - 6, mark["name"], size=SMALL_TEXT)
            left += 34 + 6.2 * len(mark["name"])

    def _inside(self, x: Array, y: Array) -> list[tuple[float, float]]:
        """Pixels; what is above or beside the plot is drawn at its edge."""
        px = np.clip(self._x.at(x), LEFT, WIDTH - RIGHT)
        py = np.clip(self._y.at(y), self._top, self._bottom)
        return list(zip(px.tolist(), py.tolist(), strict=True))

    def _line(self, mark: dict[str, Any]) -> None:
        """Stepped; it has gaps where there is no value."""
        colour = COLOURS.get(mark["colour"], INK)
        x, y = np.asarray(mark["x"], float), np.asarray(mark["y"], float)
        known = np.isfinite(y) & ((y > 0) | (not self._y.is_log))
        for part in np.split(np.arange(len(y)), np.flatnonzero(np.diff(known)) + 1):
            if not len(part) or not known[part[0]]:
                continue
            stop = min(part[-1] + 1, len(x) - 1)
            across = np.repeat(x[[*part, stop]], 2)[1:-1]
            points = self._inside(across, np.repeat(y[part], 2))
            if mark.get("filled"):
                ends = [(points[-1][0], self._bottom), (points[0][0], self._bottom)]
                self._surface.area([*points, *ends], colour)
            self._surface.line(points, colour)

    def _points(self, mark: dict[str, Any]) -> None:
        x, y = np.asarray(mark["x"], float), np.asarray(mark["y"], float)
        kept = np.isfinite(x) & np.isfinite(y)
        for values, scale in ((x, self._x), (y, self._y)):
            kept &= (values >= scale.low) & (values <= scale.high)
        points = self._inside(x[kept], y[kept])
        self._surface.dots(list(dict.fromkeys(points)), COLOURS.get(mark["colour"], INK))

    def _cells(self, mark: dict[str, Any]) -> None:
        rows, columns = mark["shape"]
        values = np.asarray(mark["values"], float).reshape(rows, columns)[::-1]
        share = np.nan_to_num(values / (mark["most"] or 1))[..., None]
        pixels = np.array(PALE) * (1 - share) + np.array(DARK) * share
        pixels = np.where(np.isnan(values)[..., None], 255, pixels).astype(np.uint8)
        x0, x1 = _cell_ends(mark, "x", columns)
        y0, y1 = _cell_ends(mark, "y", rows)
        left, right = float(self._x.at(x0)), float(self._x.at(x1))
        bottom, top = float(self._y.at(y0)), float(self._y.at(y1))
        self._surface.grid((left, top, right - left, bottom - top), pixels)


def _ends_of(mark: dict[str, Any], which: str) -> Array:
    if mark["kind"] == "cells":
        rows, columns = mark["shape"]
        return np.array(_cell_ends(mark, which, columns if which == "x" else rows))
    return np.asarray(mark[which], float)


def _cell_ends(mark: dict[str, Any], which: str, count: int) -> tuple[float, float]:
    begin, step = mark[f"{which}0"], mark[f"d{which}"]
    is_log = bool(mark.get(f"log{which.upper()}"))
    return begin, cell_at(begin, step, count, is_log=is_log)


def _label(axis: dict[str, Any], value: float) -> str:
    if names := axis.get("names"):
        at = round(value)
        return str(names[at])[:14] if 0 <= at < len(names) and at == value else ""
    if axis.get("seconds"):
        return format_quantity(value, "s") if value else "0"
    return f"{value:.4g}"
