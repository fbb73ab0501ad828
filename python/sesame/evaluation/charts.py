"""The plots of a report: by week as the published ones, or by the parts that suit a shorter
period; curves over sizes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sesame.evaluation.curves import MOST_RUNS, CurveSummary
from sesame.evaluation.levels import Level, SeriesSummary
from sesame.evaluation.periods import is_of_whole_days, parts
from sesame.evaluation.stretches import TargetSummary
from sesame.evaluation.summary import Summary
from sesame.evaluation.tables import series_of
from sesame.web.chart import Chart, curve_colour

# A figure of this name is a point of a curve: `bandwidth at 4096 B`.
POINT = re.compile(r"(?P<name>.+) at (?P<x>[0-9]+(?:\.[0-9]+)?) ?(?P<unit>\S+)")
# `2 ranks: speed over iPSC/860, 128 nodes` of a benchmark.
RATIO = re.compile(r"(?:(?P<run>.+): )?speed over (?P<machine>.+)")
HEIGHT = 260
MOST_DOTS = 100  # of a line; more of them hide it
HOUR = 3600.0


@dataclass(frozen=True)
class Plot:
    title: str
    about: str
    chart: Chart


def plots_of(summary: Summary) -> list[Plot]:
    """All plots that have a value."""
    plots = [plot for one in summary.targets for plot in target_plots(one)]
    plots += [level_plot(summary, one) for one in series_of(summary, "utilisation")]
    return plots + curves_of(summary, summary.series, summary.curves) + ratios_of(summary.series)


def target_plots(one: TargetSummary) -> list[Plot]:
    """Availability, reboots and mean time to incident by part, where there are any. No mean time
    of parts shorter than a day: they are too short."""
    found = []
    if any(part.availability.estimate for part in one.parts):
        about = f"By {one.part} (UTC). Bars: of the observed time. Lines: the interval of 95 %."
        found.append(Plot(f"Availability of {one.target}", about, _availability(one)))
    if any(part.reboots for part in one.parts):
        chart = _by_part(one, "reboots", zero=True, whole=True)
        places = list(range(len(one.parts)))
        chart.columns("reboots", places, [part.reboots for part in one.parts], "blue", width=0.7)
        about = f"By {one.part} (UTC), planned and unplanned."
        found.append(Plot(f"Reboots of {one.target}", about, chart))
    times = [part.time_to_incident for part in one.parts]
    if is_of_whole_days(one.part) and any(
        time is not None and math.isfinite(time.value) for time in times
    ):
        about = (
            f"By {one.part} (UTC). Points: time up by incidents. Lines: the limits of 95 %, as far "
            f"as they fit. A {one.part} without an incident has a lower limit only."
        )
        found.append(Plot(f"Mean time to incident of {one.target}", about, _times(one)))
    return found


def _by_part(one: TargetSummary, title: str, **settings: bool) -> Chart:
    chart = Chart(HEIGHT)
    chart.x(one.part, names=_short([part.name for part in one.parts]))
    chart.y(title, **settings)
    return chart


def _short(names: Sequence[str]) -> list[str]:
    """Times of one day (2026-05-03 14:00) without it."""
    days = {name[:10] for name in names}
    return [name[11:] if len(days) == 1 and name[11:] else name for name in names]


def _availability(one: TargetSummary) -> Chart:
    chart = _by_part(one, "availability in %", zero=True)
    found = [part.availability.estimate for part in one.parts]
    places = [place for place, estimate in enumerate(found) if estimate]
    estimates = [estimate for estimate in found if estimate]
    chart.columns(
        "available",
        places,
        [100 * estimate.value for estimate in estimates],
        "blue",
        low=[100 * estimate.low for estimate in estimates],
        high=[100 * estimate.high for estimate in estimates],
        width=0.7,
    )
    return chart


def _times(target: TargetSummary) -> Chart:
    chart = _by_part(target, "mean time to incident in h", zero=True)
    known = [(place, one.time_to_incident) for place, one in enumerate(target.parts)]
    seen = [(place, one) for place, one in known if one is not None and math.isfinite(one.value)]
    most = 2 * max(one.value for _, one in seen) / HOUR
    chart.line(
        "time up by incidents",
        [place for place, _ in seen],
        [one.value / HOUR for _, one in seen],
        "blue",
        low=[one.low / HOUR for _, one in seen],
        high=[min(one.high / HOUR, most) for _, one in seen],
        errors=True,
        points=True,
    )
    none = [(place, one) for place, one in known if one is not None and math.isinf(one.value)]
    if none:
        limits = [min(one.low / HOUR, most) for _, one in none]
        chart.points("at least", [place for place, _ in none], limits, "orange")
    return chart


def level_plot(summary: Summary, one: SeriesSummary) -> Plot:
    """Means by part, with the least and the largest value as a band."""
    of = "of whole days" if is_of_whole_days(one.part) else "of runs"
    about = f"By {one.part} (UTC). Line: means {of}. Band: from the least to the largest value."
    names = [name for name, *_ in parts(summary.begin, summary.end, one.part)]
    return Plot(f"{one.figure} of {one.target}", about, _levels_chart(one, names))


def _levels_chart(one: SeriesSummary, names: Sequence[str]) -> Chart:
    shown: list[tuple[int, Level]] = [
        (place, one.parts[name]) for place, name in enumerate(names) if name in one.parts
    ]
    chart = Chart(HEIGHT)
    chart.x(one.part, names=_short(names))
    chart.y(one.figure if one.unit == "1" else f"{one.figure} in {one.unit}", zero=True)
    chart.line(
        "mean",
        [place for place, _ in shown],
        [level.mean for _, level in shown],
        "blue",
        low=[level.least for _, level in shown],
        high=[level.most for _, level in shown],
        points=True,
    )
    return chart


Key = tuple[str, str, str, str, str]  # probe, target, name, unit, unit of x
Line = tuple[Sequence[float], Sequence[float]]


def curves_of(
    summary: Summary, series: Sequence[SeriesSummary], curves: Sequence[CurveSummary]
) -> list[Plot]:
    """A plot for each curve, with a line for each release: of all points of a curve, or of figures
    that are points of one."""
    of_figures = _points(series)
    whole = {(one.probe, one.target, one.name, one.unit, one.x_unit): one for one in curves}
    plots = []
    for key in dict.fromkeys([*of_figures, *whole]):
        probe, target, name, unit, x_unit = key
        lines = _lines(of_figures.get(key, ()))
        about = "Means of the runs of each release."
        if key in whole:
            lines |= {release: (one.x, one.y) for release, one in whole[key].releases.items()}
            about = f"Means of the last {MOST_RUNS} runs of each release."
        if any(len(x) > 1 for x, _ in lines.values()):
            chart = _curve(summary, lines, f"{name} in {unit}", f"size in {x_unit}")
            plots.append(Plot(f"{name} of {probe} on {target}", about, chart))
    return plots


def _points(series: Sequence[SeriesSummary]) -> dict[Key, list[tuple[float, SeriesSummary]]]:
    """Figures that are points of a curve, in order."""
    found: dict[Key, list[tuple[float, SeriesSummary]]] = {}
    for one in series:
        point = POINT.fullmatch(one.figure)
        if point is not None:
            key = (one.probe, one.target, point["name"], one.unit, point["unit"])
            found.setdefault(key, []).append((float(point["x"]), one))
    return {key: sorted(each, key=lambda pair: pair[0]) for key, each in found.items()}


def _lines(points: Sequence[tuple[float, SeriesSummary]]) -> dict[str, Line]:
    """By fingerprint."""
    releases = dict.fromkeys(release for _, one in points for release in one.releases)
    found: dict[str, Line] = {}
    for release in releases:
        measured = [(x, one.releases[release].mean) for x, one in points if release in one.releases]
        x, y = zip(*measured, strict=True)
        found[release] = (list(x), list(y))
    return found


def _curve(summary: Summary, lines: Mapping[str, Line], y_title: str, x_title: str) -> Chart:
    chart = Chart(HEIGHT)
    sizes = [x for each, _ in lines.values() for x in each]
    chart.x(x_title, log=min(sizes) > 0 and max(sizes) > 100 * min(sizes))
    chart.y(y_title, zero=True)
    for number, release in enumerate(summary.releases):
        if release.fingerprint in lines:
            x, y = lines[release.fingerprint]
            colour = curve_colour(number, len(summary.releases))
            has_dots = len(x) <= MOST_DOTS
            chart.line(release.name, np.array(x), np.array(y), colour, points=has_dots)
    return chart


def ratios_of(series: Sequence[SeriesSummary]) -> list[Plot]:
    """For each target and each machine of reference, how many times as fast benchmarks are."""
    ratios: dict[tuple[str, str], dict[str, list[tuple[str, float]]]] = {}
    for one in series:
        found = RATIO.fullmatch(one.figure)
        if found is not None:
            runs = ratios.setdefault((one.target, found["machine"]), {})
            last = list(one.releases.values())[-1]
            runs.setdefault(found["run"] or "speed", []).append((one.probe, last.mean))
    return [
        Plot(
            f"Speed of {target} over {machine}",
            "Means under the last release. 1: as fast.",
            _ratios(runs),
        )
        for (target, machine), runs in ratios.items()
    ]


def _ratios(runs: Mapping[str, Sequence[tuple[str, float]]]) -> Chart:
    """Bars, side by side for the runs of a benchmark."""
    names = list(dict.fromkeys(name for each in runs.values() for name, _ in each))
    chart = Chart(HEIGHT)
    chart.x("benchmark", names=names)
    chart.y("times as fast", zero=True)
    width = 0.8 / len(runs)
    for number, (run, each) in enumerate(runs.items()):
        shift = (number + 0.5) * width - 0.4
        places = [names.index(name) + shift for name, _ in each]
        colour = curve_colour(number, len(runs))
        chart.columns(run, places, [value for _, value in each], colour, width=0.9 * width)
    return chart
