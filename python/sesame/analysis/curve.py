"""The curve of a series of runs: predicted time over the number of ranks or a key that varies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sesame.analysis.ordinates import PREDICTED, Ordinate, Runs
from sesame.analysis.scaling import interval_of, scalings_of
from sesame.datasets.describe import count_of
from sesame.errors import InputError, OutputError
from sesame.extras import require
from sesame.machines.values import numbers_of
from sesame.settings import setting
from sesame.simulation import RunResult
from sesame.simulation.sweep import MACHINE
from sesame.web.chart import Chart, curve_colour, time_unit

# For pictures that matplotlib draws; charts of pages name their colours.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#1d2733")
IDEAL_COLOUR = "#5b6b7b"
RANKS = "ranks"
# An axis of numbers is logarithmic if the largest is this many times the smallest.
LOG_FROM = 100


@dataclass(frozen=True)
class Axis:
    """Where the values of what varies are on the axis: numbers at their place, in order, other
    values side by side as they were given."""

    name: str
    places: dict[str, float]
    is_numeric: bool
    unit: str = ""  # of the places

    @property
    def title(self) -> str:
        return f"{self.name} ({self.unit})" if self.unit else self.name

    @property
    def is_log(self) -> bool:
        least, most = min(self.places.values()), max(self.places.values())
        return self.is_numeric and (self.name == RANKS or 0 < least <= most / LOG_FROM)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """The values as text, thousands of ranks with commas, at their places."""
        ordered = sorted(self.places.items(), key=lambda one: one[1])
        return [
            (place, f"{int(place):,}" if self.name == RANKS else text) for text, place in ordered
        ]


def _axis(runs: Runs) -> Axis:
    name = axis_of(runs)
    if name == RANKS:
        return Axis(name, {str(point.ranks): float(point.ranks) for point, _ in runs}, True)
    texts = list(dict.fromkeys(dict(point.settings)[name] for point, _ in runs))
    found = numbers_of(name, texts)
    if found is None:
        return Axis(name, {text: float(i) for i, text in enumerate(texts)}, False)
    unit, values = found
    scale = {"s": time_unit(max(values)), "B": (1.0, "B"), "B_per_s": (1e-9, "GB/s")}
    factor, unit = scale.get(unit, (1.0, unit))
    return Axis(name, {t: v * factor for t, v in zip(texts, values, strict=True)}, True, unit)


def axis_of(runs: Runs) -> str:
    """The axis of the curve: the number of ranks if it varies, else the first key that varies, else
    the machine."""
    ranks = {point.ranks for point, _ in runs}
    keys = sorted((key for key, _ in runs[0][0].settings), key=lambda key: key == MACHINE)
    if len(ranks) > 1 or not keys:
        return RANKS
    varied = (key for key in keys if len({dict(p.settings)[key] for p, _ in runs}) > 1)
    return next(varied, keys[0])


@dataclass(frozen=True)
class Dot:
    """A figure on a curve, with its interval; without repeats that is the figure itself."""

    at: str  # the value on the axis, as text
    value: float
    low: float
    high: float


def curves_of(runs: Runs, ordinate: Ordinate = PREDICTED) -> dict[str, list[Dot]]:
    """The curves; each is named after the machine, and the values of all other keys that vary."""
    dots = [Dot("", ordinate.of(run), *_interval(run, ordinate)) for _, run in runs]
    return _by_name(runs, dots)


def speed_up_curves_of(runs: Runs) -> dict[str, list[Dot]]:
    """The curves of the speed-up; empty if the number of ranks does not vary."""
    scalings = scalings_of(runs)
    known = [(run, s) for run, s in zip(runs, scalings, strict=True) if s is not None]
    dots = [Dot("", s.speed_up, s.low, s.high) for _, s in known]
    return _by_name([run for run, _ in known], dots) if known else {}


def _interval(run: RunResult, ordinate: Ordinate) -> tuple[float, float]:
    value = ordinate.of(run)
    return interval_of(run) if ordinate is PREDICTED else (value, value)


def _by_name(runs: Runs, dots: Sequence[Dot]) -> dict[str, list[Dot]]:
    axis = axis_of(runs)
    curves: dict[str, list[Dot]] = {}
    for (point, _), dot in zip(runs, dots, strict=True):
        values = {RANKS: str(point.ranks), **dict(point.settings)}
        varied = {k: v for k, v in values.items() if k not in (axis, RANKS)}
        name = ", ".join(v if key == MACHINE else f"{key}={v}" for key, v in varied.items())
        curves.setdefault(name, []).append(replace(dot, at=values[axis]))
    return curves


def _scale(runs: Runs, ordinate: Ordinate) -> tuple[float, str]:
    """The factor for the figures, and the title of their axis."""
    if not ordinate.is_time:
        return 1.0, ordinate.title
    factor, unit = time_unit(max(_interval(run, ordinate)[1] for _, run in runs))
    return factor, f"{ordinate.title} ({unit})"


def curve_chart(runs: Runs, ordinate: Ordinate = PREDICTED) -> Chart:
    factor, title = _scale(runs, ordinate)
    chart = _chart_of(runs, curves_of(runs, ordinate), factor)
    chart.y(title, zero=True)
    return chart


def speed_up_chart(runs: Runs) -> Chart:
    """The speed-up with the ideal line, both axes logarithmic: ideal is straight at any scale."""
    chart = _chart_of(runs, speed_up_curves_of(runs), 1.0)
    ideal = ideal_line(runs)
    ranks, speed_ups = zip(*ideal, strict=True)
    chart.line("ideal", ranks, speed_ups, "soft", dashed=True)
    chart.y(f"speed-up over {count_of(ideal[0][0], 'rank')}", log=True)
    return chart


def ideal_line(runs: Runs) -> list[tuple[int, float]]:
    counts = sorted({point.ranks for point, run in runs if run.succeeded})
    return [(ranks, ranks / counts[0]) for ranks in counts]


def _chart_of(runs: Runs, curves: dict[str, list[Dot]], factor: float) -> Chart:
    chart = Chart(420)
    axis = _axis(runs)
    for i, (name, given) in enumerate(curves.items()):
        dots = sorted(given, key=lambda dot: axis.places[dot.at])
        colour = curve_colour(i, len(curves))
        bars: dict[str, Any] = {}
        if any(dot.low < dot.high for dot in dots):
            bars = {
                "low": [dot.low * factor for dot in dots],
                "high": [dot.high * factor for dot in dots],
                "errors": True,
            }
        places = [axis.places[dot.at] for dot in dots]
        values = [dot.value * factor for dot in dots]
        chart.line(name or "simulated", places, values, colour, points=True, **bars)
    if axis.is_numeric:
        chart.x(axis.title, log=axis.is_log, ticks=[list(tick) for tick in axis.ticks])
    else:
        chart.x(axis.name, names=list(axis.places))
    return chart


def _reaches(dots: Sequence[Dot], factor: float) -> tuple[list[float], list[float]]:
    """How far the intervals reach above and below their values."""
    up = [(dot.high - dot.value) * factor for dot in dots]
    return up, [(dot.value - dot.low) * factor for dot in dots]


def check_plot(path: Path) -> None:
    """Checks, before the run, that write_plot can draw this kind of picture. Raises InputError."""
    if path.suffix not in (".png", ".svg"):
        raise InputError(f"{setting('plot', path)}: expected a name that ends in .png or .svg")
    require("plot", setting("plot"))


def write_plot(runs: Runs, path: Path) -> None:
    """Draws the curve, and the speed-up beside it if there is one. Raises OutputError."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    speed_ups = speed_up_curves_of(runs)
    panels = 2 if speed_ups else 1
    figure, axes = pyplot.subplots(
        1, panels, figsize=(6.6 * panels, 4.2), dpi=150, layout="constrained", squeeze=False
    )
    factor, title = _scale(runs, PREDICTED)
    _draw(axes[0][0], runs, curves_of(runs), factor, title)
    axes[0][0].set_ylim(bottom=0)
    if speed_ups:
        _draw_speed_up(axes[0][1], runs, speed_ups)
    try:
        figure.savefig(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {error.strerror}") from error
    finally:
        pyplot.close(figure)


def _draw(axes: Any, runs: Runs, curves: dict[str, list[Dot]], factor: float, title: str) -> None:
    axis = _axis(runs)
    for i, (name, given) in enumerate(curves.items()):
        dots = sorted(given, key=lambda dot: axis.places[dot.at])
        up, down = _reaches(dots, factor)
        axes.errorbar(
            [axis.places[dot.at] for dot in dots],
            [dot.value * factor for dot in dots],
            yerr=[down, up] if any(up) or any(down) else None,
            fmt="o-",
            capsize=4,
            color=COLOURS[i % len(COLOURS)],
            label=name or None,
        )
    axes.set_xlabel(axis.title)
    axes.set_ylabel(title)
    axes.grid(color="#e8ecf0")
    if axis.is_log:
        axes.set_xscale("log", base=2 if axis.name == RANKS else 10)
    axes.set_xticks(*zip(*axis.ticks, strict=True))
    axes.set_xticks([], minor=True)
    if len(curves) > 1:
        axes.legend()


def _draw_speed_up(axes: Any, runs: Runs, curves: dict[str, list[Dot]]) -> None:
    ideal = ideal_line(runs)
    title = f"speed-up over {count_of(ideal[0][0], 'rank')}"
    _draw(axes, runs, curves, 1.0, title)
    axes.plot(*zip(*ideal, strict=True), "--", color=IDEAL_COLOUR, label="ideal")
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.legend()
