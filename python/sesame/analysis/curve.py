"""The curve of a series of runs: predicted time over what was varied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import plotly.graph_objects as go

from sesame.analysis.plots import GRID, LAYOUT, time_unit
from sesame.analysis.quantities import format_count, format_seconds
from sesame.errors import InputError, OutputError
from sesame.simulation import Point, RunResult

Runs = Sequence[tuple[Point, RunResult]]
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#1d2733")


@dataclass(frozen=True)
class Ordinate:
    """A figure of each run that a curve can show."""

    key: str  # in the result
    title: str
    short: str  # where there is little room
    is_time: bool

    def of(self, run: RunResult) -> float:
        return float(run.result.get(self.key, 0))

    def show(self, run: RunResult) -> str:
        return format_seconds(self.of(run)) if self.is_time else format_count(self.of(run))


PREDICTED = Ordinate("predicted_time_s", "predicted time", "predicted", True)
MESSAGES = Ordinate("messages", "messages", "messages", False)
STORAGE = (
    Ordinate("io_time_s", "time in file systems, mean of the ranks", "in files", True),
    Ordinate("device_reads", "reads of devices", "device reads", False),
    Ordinate("device_writes", "writes of devices", "device writes", False),
)


def ordinates_of(runs: Runs) -> list[Ordinate]:
    """The predicted time, and of storage what any of the runs had."""
    return [PREDICTED, *(o for o in STORAGE if any(o.of(run) for _, run in runs))]


def axis_of(runs: Runs) -> str:
    """What the curve runs along: the number of ranks when it varies, else the first key swept."""
    ranks = {point.ranks for point, _ in runs}
    if len(ranks) > 1 or not runs[0][0].settings:
        return "ranks"
    return next(
        (
            key
            for key, _ in runs[0][0].settings
            if len({dict(p.settings)[key] for p, _ in runs}) > 1
        ),
        runs[0][0].settings[0][0],
    )


def curves_of(runs: Runs, ordinate: Ordinate = PREDICTED) -> dict[str, list[tuple[str, float]]]:
    """The curves by the values of everything else that was varied: (value on the axis, figure)."""
    axis = axis_of(runs)
    curves: dict[str, list[tuple[str, float]]] = {}
    for point, run in runs:
        values = {"ranks": str(point.ranks), **dict(point.settings)}
        varied = {k: v for k, v in values.items() if k != axis and k != "ranks"}
        if axis != "ranks" and len({p.ranks for p, _ in runs}) > 1:
            varied["ranks"] = values["ranks"]
        name = ", ".join(f"{key}={value}" for key, value in varied.items())
        curves.setdefault(name, []).append((values[axis], ordinate.of(run)))
    return curves


def _scale(runs: Runs, ordinate: Ordinate) -> tuple[float, str]:
    """What to multiply the figures with, and the title of their axis."""
    if not ordinate.is_time:
        return 1.0, ordinate.title
    factor, unit = time_unit(max(ordinate.of(run) for _, run in runs))
    return factor, f"{ordinate.title} ({unit})"


def curve_figure(runs: Runs, ordinate: Ordinate = PREDICTED) -> go.Figure:
    factor, title = _scale(runs, ordinate)
    figure = go.Figure()
    figure.update_layout(**{**LAYOUT, "height": 420})
    axis = axis_of(runs)
    for i, (name, points) in enumerate(curves_of(runs, ordinate).items()):
        figure.add_scatter(
            x=[value for value, _ in points],
            y=[value * factor for _, value in points],
            mode="lines+markers",
            name=name or ordinate.title,
            line={"color": COLOURS[i % len(COLOURS)]},
            hovertemplate=f"{axis} %{{x}}: %{{y:.4g}}<extra></extra>",
        )
    # Values come with units, so they stand side by side as they were given.
    figure.update_xaxes(title=axis, type="category", **GRID)
    figure.update_yaxes(title=title, rangemode="tozero", **GRID)
    return figure


def check_plot(path: Path) -> None:
    """Before the run: can write_plot do it?"""
    if path.suffix not in (".png", ".svg"):
        raise InputError(f"--plot {path}: expected a name that ends in .png or .svg")
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise InputError(
            "--plot needs matplotlib", hint="pip install matplotlib, or use --report"
        ) from error


def write_plot(runs: Runs, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    factor, title = _scale(runs, PREDICTED)
    figure, axes = pyplot.subplots(figsize=(7, 4.2), dpi=150, layout="constrained")
    for i, (name, points) in enumerate(curves_of(runs).items()):
        axes.plot(
            [value for value, _ in points],
            [seconds * factor for _, seconds in points],
            "o-",
            color=COLOURS[i % len(COLOURS)],
            label=name or None,
        )
    axes.set_xlabel(axis_of(runs))
    axes.set_ylabel(title)
    axes.set_ylim(bottom=0)
    axes.grid(color="#e8ecf0")
    if len(axes.lines) > 1:
        axes.legend()
    try:
        figure.savefig(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {error.strerror}") from error
    finally:
        pyplot.close(figure)
