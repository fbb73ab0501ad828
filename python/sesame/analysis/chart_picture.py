"""A chart as a picture (PNG, SVG), drawn by matplotlib from the marks of `sesame.web.chart`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sesame.errors import OutputError
from sesame.web.chart import Chart
from sesame.web.colours import COLOURS

GRID = "#e8ecf0"
INCHES, DOTS_PER_INCH = 8.0, 150
LEGEND_COLUMNS = 4
PIXELS_PER_INCH = 96
MOST_LABELS = 16  # on an axis with names


def write_picture(chart: Chart, path: Path) -> None:
    """Writes the chart as a picture; the suffix of `path` is the format. Raises OutputError."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    height = chart.settings["height"] / PIXELS_PER_INCH
    figure, axes = pyplot.subplots(
        figsize=(INCHES, height), dpi=DOTS_PER_INCH, layout="constrained"
    )
    for mark in chart.marks:
        _DRAW[mark["kind"]](axes, mark)
    _set_axis(axes, axes.xaxis, "x", chart.axes["x"])
    _set_axis(axes, axes.yaxis, "y", chart.axes["y"])
    handles, names = axes.get_legend_handles_labels()
    if len(names) > 1 or (names and chart.settings.get("legend")):
        # Outside of the axes: a search for the emptiest corner takes long with many points.
        shown = dict(zip(names, handles, strict=True))
        figure.legend(shown.values(), shown, loc="outside lower center", ncols=LEGEND_COLUMNS)
    try:
        figure.savefig(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {error.strerror}") from error
    finally:
        pyplot.close(figure)


def _colour(name: str) -> Any:
    if name.startswith("hsl("):
        import colorsys

        hue, saturation, light = (float(v.strip(" %")) for v in name[4:-1].split(","))
        return colorsys.hls_to_rgb(hue / 360, light / 100, saturation / 100)
    return COLOURS.get(name, name)


def _set_axis(axes: Any, axis: Any, name: str, settings: dict[str, Any]) -> None:
    getattr(axes, f"set_{name}label")(settings.get("title", ""))
    if settings.get("log"):
        getattr(axes, f"set_{name}scale")("log", base=2 if settings.get("bytes") else 10)
    names = settings.get("names")
    if names is not None:
        step = -(-len(names) // MOST_LABELS)
        axis.set_ticks(range(0, len(names), step), [str(one) for one in names[::step]])
    if ticks := settings.get("ticks"):
        axis.set_ticks([tick[0] for tick in ticks], [str(tick[1]) for tick in ticks])
        axis.set_ticks([], minor=True)
    limits = getattr(axes, f"set_{name}lim")
    if settings.get("range"):
        limits(*settings["range"])
    elif settings.get("zero") and not settings.get("log"):
        limits(0, None)
    if settings.get("reversed"):
        axis.set_inverted(True)
    if settings.get("grid", True):
        axis.grid(color=GRID)
    axes.set_axisbelow(True)


def _line(axes: Any, mark: dict[str, Any]) -> None:
    colour, y = _colour(mark["colour"]), np.asarray(mark["y"], float)
    style = {
        "linestyle": "--" if mark.get("dashed") else "-",
        "marker": "o" if mark.get("points") else None,
        "drawstyle": "steps-post" if mark.get("stepped") else "default",
        "linewidth": mark.get("width", 1.6),
    }
    axes.plot(mark["x"], y, color=colour, label=mark["name"] or None, **style)
    if mark.get("filled"):
        axes.fill_between(mark["x"], y, color=colour, alpha=0.2)
    if "low" in mark and mark.get("errors"):
        reach = [y - np.asarray(mark["low"], float), np.asarray(mark["high"], float) - y]
        axes.errorbar(mark["x"], y, yerr=np.maximum(reach, 0), fmt="none", color=colour, capsize=4)
    elif "low" in mark:
        axes.fill_between(mark["x"], mark["low"], mark["high"], color=colour, alpha=0.2)


def _points(axes: Any, mark: dict[str, Any]) -> None:
    size = mark.get("size", 5) ** 2 / 2
    axes.scatter(mark["x"], mark["y"], size, _colour(mark["colour"]), label=mark["name"] or None)


def _columns(axes: Any, mark: dict[str, Any]) -> None:
    base = mark.get("base")
    axes.bar(
        mark["x"],
        mark["y"],
        mark["width"],
        0 if base is None else base,
        color=_colour(mark["colour"]),
        label=mark["name"] or None,
    )
    if "low" in mark:
        axes.vlines(mark["x"], mark["low"], mark["high"], color=COLOURS["ink"], linewidth=1)


def _spans(axes: Any, mark: dict[str, Any]) -> None:
    colours = mark.get("colours")
    colour = _colour(mark["colour"]) if colours is None else [_colour(one) for one in colours]
    axes.barh(
        mark["row"], mark["length"], 0.8, mark["begin"], color=colour, label=mark["name"] or None
    )


def _cells(axes: Any, mark: dict[str, Any]) -> None:
    rows, columns = mark["shape"]
    values = np.asarray(mark["values"]).reshape(rows, columns)
    x = mark["x0"] + mark["dx"] * np.arange(columns + 1)
    y = mark["y0"] + mark["dy"] * np.arange(rows + 1)
    if "classes" not in mark:
        mesh = axes.pcolormesh(x, y, np.ma.masked_invalid(values), cmap="viridis_r", vmin=0)
        axes.figure.colorbar(mesh, ax=axes, label=mark.get("unit", ""))
        return
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Rectangle

    names, colours = zip(*mark["classes"], strict=True)
    shown = np.ma.masked_less(values.astype(int), 0)
    palette = ListedColormap([_colour(one) for one in colours])
    axes.pcolormesh(x, y, shown, cmap=palette, vmin=-0.5, vmax=len(names) - 0.5)
    for number in np.unique(shown.compressed()).tolist():
        # Only for the legend. A mere Patch cannot be added to axes: it has no path.
        axes.add_patch(
            Rectangle((x[0], y[0]), 0, 0, color=_colour(colours[number]), label=names[number])
        )


def _links(axes: Any, mark: dict[str, Any]) -> None:
    if mark.get("hidden"):
        return
    begin = np.stack([np.asarray(mark["x1"], float), np.asarray(mark["y1"], float)], axis=1)
    end = np.stack([np.asarray(mark["x2"], float), np.asarray(mark["y2"], float)], axis=1)
    from matplotlib.collections import LineCollection

    lines = LineCollection(
        list(np.stack([begin, end], axis=1)),
        colors=_colour(mark["colour"]),
        linewidths=0.8,
        label=mark["name"] or None,
    )
    axes.add_collection(lines)
    axes.autoscale_view()


def _regions(axes: Any, mark: dict[str, Any]) -> None:
    rows = zip(mark["names"], mark["begin"], mark["end"], mark["colours"], strict=True)
    for name, begin, end, colour in rows:
        axes.axvspan(begin, end, color=_colour(colour), alpha=0.2, label=name)


_DRAW = {
    "line": _line,
    "points": _points,
    "columns": _columns,
    "spans": _spans,
    "cells": _cells,
    "links": _links,
    "regions": _regions,
}
