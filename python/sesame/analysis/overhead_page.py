"""Pages about what an instrumentation system costs: fitted distributions, sweeps, experiments."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sesame.analysis.plots import bar_list
from sesame.overhead.prediction import FIGURES
from sesame.web.chart import SERIES, Chart, curve_colour, time_unit
from sesame.web.page import Section, sentence, write_page
from sesame.web.table import Column, table_html

if TYPE_CHECKING:
    from sesame.overhead.characterize import Characterised, FittedQuantity
    from sesame.overhead.experiments import Analysis
    from sesame.overhead.model import NodeModel
    from sesame.overhead.prediction import Prediction
    from sesame.overhead.studies import FactorStudy, Point
    from sesame.trust import Doubt

BINS = 60
MOST_IN_QQ = 1000
HISTOGRAM_QUANTILE = 0.99  # a longer tail would hide the rest; the Q-Q plot shows it
# Figures of a sweep, each with its title, and the unit and factor of its axis.
SWEPT = {
    "daemon_cpu": ("Processor time of the daemons", "s", 1.0),
    "throughput": ("Samples forwarded", "1/s", 1.0),
    "latency_mean": ("Mean monitoring latency", "ms", 1e3),
    "slowdown": ("Slowdown of the application", "%", 100.0),
    "main_cpu": ("Processor time of the main process", "s", 1.0),
    "application_cpu": ("Processor time of the application", "s", 1.0),
}


def write_characterisation(found: Characterised, source: str, path: Path) -> None:
    """A histogram and a Q-Q plot for each fitted quantity. Raises OutputError."""
    write_page(
        path,
        title=f"Occupancy: {source}",
        subtitle=f"sesame overhead characterize {source}",
        doubts=[
            {**doubt.as_json(), "text": f"{what}: {doubt.text}" if what else doubt.text}
            for what, doubt in found.all_doubts()
        ],
        sections=[_processor_section(found), *(_part_section(part) for part in found.parts)],
        facts=[
            ("measured", f"{found.source.seconds:.4g} s"),
            ("processors", str(found.source.processors)),
        ],
    )


def _processor_section(found: Characterised) -> Section:
    commands = dict(list(found.source.commands.items())[:20])
    about = "Processor time of the threads by their name, the largest first."
    if not commands:
        return Section("Processor time", "The measurement has lengths only.", "")
    chart = bar_list(list(commands), list(commands.values()), "processor time (s)", "threads")
    return Section("Processor time", about, chart.html("processor time by name"))


def _part_section(part: FittedQuantity) -> Section:
    fitted = part.fitted
    factor, unit = time_unit(float(np.quantile(fitted.lengths, HISTOGRAM_QUANTILE)))
    names = [one.distribution.rounded() for one in fitted.fits]
    table = (
        table_html(
            f"fits of {part.name}",
            [
                Column("distribution", names),
                Column("AIC", [one.aic for one in fitted.fits], lambda v: f"{v:,.1f}"),
                Column("BIC", [one.bic for one in fitted.fits], lambda v: f"{v:,.1f}"),
            ],
        )
        if names
        else ""
    )
    html = _histogram(part, factor, unit).html(f"histogram of {part.name}")
    if fitted.fits:
        html += _quantiles(part, factor, unit).html(f"Q-Q plot of {part.name}")
    about = (
        f"{len(fitted.lengths):,} lengths, mean {fitted.mean * factor:.4g} {unit}, standard "
        f"deviation {fitted.standard_deviation * factor:.4g} {unit}. {_judgement(part)}"
    )
    return Section(sentence(part.name), about, html + table)


def _judgement(part: FittedQuantity) -> str:
    goodness = part.fitted.goodness
    if goodness is None:
        return "All are equal."
    verdict = "refused" if goodness.is_refused else "not refused"
    return (
        f"The fit is {verdict}: Kolmogorov-Smirnov distance {goodness.ks:.3f} (p = "
        f"{goodness.ks_probability:.2f}), Anderson-Darling {goodness.ad:.2f} (p = "
        f"{goodness.ad_probability:.2f}), {goodness.samples:,} lengths."
    )


def _histogram(part: FittedQuantity, factor: float, unit: str) -> Chart:
    from sesame.overhead.densities import log_density

    lengths = part.fitted.lengths
    end = float(np.quantile(lengths, HISTOGRAM_QUANTILE)) or float(lengths.max())
    counts, edges = np.histogram(lengths, BINS, (0, end * 1.0001))
    density = counts / (len(lengths) * np.diff(edges) * factor)
    chart = Chart(300)
    width = float(edges[1] - edges[0]) * factor
    chart.columns("measured", edges[:-1] * factor + width / 2, density, "pale", width=width)
    x = (edges[:-1] + edges[1:]) / 2
    for number, fit in enumerate(part.fitted.fits[:3]):
        chart.line(
            fit.family,
            x * factor,
            np.exp(log_density(fit.distribution, x)) / factor,
            SERIES[number],
        )
    chart.x(f"length ({unit})")
    chart.y(f"density (1/{unit})", zero=True)
    return chart


def _quantiles(part: FittedQuantity, factor: float, unit: str) -> Chart:
    from sesame.overhead.densities import quantile

    lengths = np.sort(part.fitted.lengths)
    places = (np.arange(len(lengths)) + 0.5) / len(lengths)
    if len(lengths) > MOST_IN_QQ:
        chosen = np.linspace(0, len(lengths) - 1, MOST_IN_QQ).astype(int)
        lengths, places = lengths[chosen], places[chosen]
    first = part.fitted.fits[0]
    theory = quantile(first.distribution, places)
    chart = Chart(300)
    most = [0.0, float(max(theory.max(), lengths.max())) * factor]
    chart.line("equal", most, most, "ink", dashed=True)
    chart.points(first.family, theory * factor, lengths * factor, "blue", size=3)
    chart.x(f"quantile of the fit ({unit})")
    chart.y(f"measured quantile ({unit})")
    return chart


def write_sweep(
    curves: Mapping[str, Sequence[Point]], varied: str, by: str, model: NodeModel, path: Path
) -> None:
    """A chart for each figure with a curve for each group. Raises OutputError."""
    sections = []
    for figure, (title, unit, factor) in SWEPT.items():
        chart = _sweep_chart(curves, varied, figure, unit, factor)
        if chart is not None:
            has_band = any("low" in mark for mark in chart.marks)
            about = sentence(FIGURES[figure][1]) + (
                "; the band is the 95 % interval." if has_band else "."
            )
            sections.append(Section(title, about, chart.html(title)))
    doubts = [
        doubt for points in curves.values() for one in points for doubt in one.prediction.doubts
    ]
    write_page(
        path,
        title=f"Cost of measuring on {model.name}, by {varied}",
        subtitle=" ".join(
            ("sesame overhead sweep", model.name, varied, *(("--by", by) if by else ()))
        ),
        doubts=_once(doubts),
        sections=sections,
        facts=_facts(next(iter(curves.values()))[0].prediction),
    )


def _sweep_chart(
    curves: Mapping[str, Sequence[Point]], varied: str, figure: str, unit: str, factor: float
) -> Chart | None:
    """None if the figure exists nowhere. Curves have a band where all of their points have an
    interval."""
    chart = Chart(320)
    for number, (name, points) in enumerate(curves.items()):
        estimates = [one.prediction.estimate(figure) for one in points]
        values = np.array([[one.value, one.low, one.high] for one in estimates]) * factor
        places = np.flatnonzero(np.isfinite(values[:, 0]))
        if not len(places):
            continue
        colour = curve_colour(number, len(curves))
        value, low, high = values[places].T
        has_interval = np.isfinite(low).all() and np.isfinite(high).all()
        band = {"low": low, "high": high} if has_interval else {}
        chart.line(name or varied, places, value, colour, points=True, **band)
    names = [one.settings[varied] for one in next(iter(curves.values()))]
    chart.x(varied, names=names)
    chart.y(unit, zero=True)
    return chart if chart.marks else None


def write_factors(study: FactorStudy, model: NodeModel, path: Path) -> None:
    """The effects on each figure: bars of the variation they explain, and a table. Raises
    OutputError."""
    words = " ".join(f"{one.name}={one.low},{one.high}" for one in study.design.factors)
    doubts = [doubt for one in study.analyses.values() for doubt in one.doubts]
    write_page(
        path,
        title=f"Which factors change the cost of measuring on {model.name}",
        subtitle=f"sesame overhead factors {model.name} {words}",
        doubts=_once(doubts),
        sections=[
            _analysis_section(name, one, study.is_logarithmic)
            for name, one in study.analyses.items()
        ],
        facts=_facts(study.points[0].prediction),
    )


def _analysis_section(figure: str, found: Analysis, is_logarithmic: bool) -> Section:
    effects = [one for one in found.effects if one.share >= 0.001][:16]
    names = [f"{one.word}: {one.name}" for one in effects]
    chart = bar_list(names, [100 * one.share for one in effects], "variation (%)", "effect")
    table = table_html(
        f"effects on {figure}",
        [
            Column("effect of", names),
            Column("effect", [one.effect.value for one in effects], lambda v: f"{v:.4g}"),
            Column("low", [one.effect.low for one in effects], lambda v: f"{v:.4g}"),
            Column("high", [one.effect.high for one in effects], lambda v: f"{v:.4g}"),
            Column("variation (%)", [100 * one.share for one in effects], lambda v: f"{v:.1f}"),
        ],
    )
    unit, meaning = FIGURES[figure]
    mean = f"Mean {found.mean.value:.4g} {unit}".rstrip()
    if is_logarithmic:
        typical = f"{math.exp(found.mean.value):.4g} {unit}".rstrip()
        mean = f"Mean logarithm {found.mean.value:.4g}, that of {typical}"
    about = (
        f"{mean}; {100 * found.error_share:.1f} % of the variation is "
        f"by chance. An effect is by how much the high level raises the mean, and the low level "
        f"lowers it; low and high are the limits of its interval."
    )
    shown = f"log {figure}" if is_logarithmic else figure
    return Section(
        f"{sentence(meaning)} ({shown})", about, chart.html(f"variation of {figure}") + table
    )


def _once(doubts: Sequence[Doubt]) -> list[dict[str, str]]:
    return [doubt.as_json() for doubt in dict.fromkeys(doubts)]


def _facts(prediction: Prediction) -> list[tuple[str, Any]]:
    return [
        ("simulated time", f"{prediction.seconds:g} s"),
        ("replications", str(prediction.replications)),
        ("seed", str(prediction.seed)),
    ]
