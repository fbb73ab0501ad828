"""A study: a figure of the sides of a comparison over a setting in which they differ."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sesame.analysis.quantities import format_quantity
from sesame.comparison import Difference, Run, Side
from sesame.comparison.side import mean_of
from sesame.trust import Estimate, median_of
from sesame.web.chart import Chart, curve_colour
from sesame.web.page import Section
from sesame.web.table import Column, table_html

TIME = "time"
NO_SETTING = "data set"
MOST_NAMED = 4  # settings in a sentence
LOG_FROM = 20  # an axis whose largest value is this many times the least is logarithmic
_NUMBER = re.compile(r"([-+]?[\d.,]+(?:[eE][-+]?\d+)?)\s*(\S*)")


@dataclass(frozen=True)
class Figure:
    """A number of every side: its median over runs and their repeats, with an interval."""

    name: str
    unit: str
    values: tuple[Estimate | None, ...]


@dataclass(frozen=True)
class Setting:
    """A setting in which sides differ. `numbers` are its values in `unit`, None if they are no
    numbers in one unit."""

    name: str
    texts: tuple[str, ...]
    unit: str = ""
    numbers: tuple[float, ...] | None = None


def figures_of(difference: Difference) -> dict[str, Figure]:
    """The time, the figures of workloads, and the time in each call; by name."""
    sides = difference.sides
    found = [Figure(TIME, "s", tuple(side.time for side in sides))]
    units = {n: unit for side in sides for n, (_, unit) in side.run.figures.items()}
    found += [
        Figure(name, unit, tuple(_of_workload(side, name) for side in sides))
        for name, unit in units.items()
    ]
    for change in difference.changes:
        if change.largest_s > 0 or any(change.mean_s):
            values = tuple(_of_call(side, change.name) for side in sides)
            found.append(Figure(f"time in {change.name}", "s", values))
    return {figure.name: figure for figure in found}


def _of_workload(side: Side, name: str) -> Estimate | None:
    samples = [run.figures[name][0] for run in side.runs if name in run.figures]
    return median_of(samples) if samples else None


def _of_call(side: Side, name: str) -> Estimate | None:
    time = side.call_times().get(name)
    if time is None:
        return None
    return median_of(time.mean_s) if time.mean_s else Estimate(mean_of(time), 0, 0, 1)


def settings_of(difference: Difference) -> dict[str, Setting]:
    """The settings in which the sides differ, by name; also each argument of its own."""
    rows: dict[str, Sequence[str | None]] = dict(difference.settings)
    rows.update(_arguments([side.run for side in difference.sides]))
    rows.update(difference.machine_values)
    found = {name: _setting(name, [text or "" for text in texts]) for name, texts in rows.items()}
    titles = [
        side.run.title if len(side.runs) == 1 else f"{side.run.title} ({len(side.runs)} runs)"
        for side in difference.sides
    ]
    named = [f"{side.label} {title}" for side, title in zip(difference.sides, titles, strict=True)]
    return {**found, NO_SETTING: Setting(NO_SETTING, tuple(named))}


def usual_setting(settings: Mapping[str, Setting]) -> Setting:
    """What a study is over unless the reader says: the number of ranks, else the only number in
    which the sides differ, else the data sets."""
    numeric = [one for one in settings.values() if one.numbers is not None]
    ranks = [one for one in numeric if one.name == "ranks"]
    return (ranks or (numeric if len(numeric) == 1 else [settings[NO_SETTING]]))[0]


def _differ_only_in(over: Setting, settings: Mapping[str, Setting]) -> bool:
    """Whether points over this setting are one curve: nothing else differs. Arguments are also
    settings of their own."""
    return set(settings) <= {over.name, NO_SETTING, "arguments"}


def _arguments(runs: Sequence[Run]) -> Mapping[str, Sequence[str]]:
    """Arguments that differ, by the option before them or their place, if all runs have as many."""
    lists = [run.arguments for run in runs]
    if len({len(words) for words in lists}) != 1:
        return {}
    found = {}
    for place, words in enumerate(zip(*lists, strict=True)):
        if len(set(words)) > 1:
            before = lists[0][place - 1] if place else ""
            name = before if before.startswith("-") else f"argument {place + 1}"
            found[name] = words
    return found


def _setting(name: str, texts: Sequence[str]) -> Setting:
    matches = [_NUMBER.fullmatch(text.strip()) for text in texts]
    units = {match[2] for match in matches if match}
    if not all(matches) or len(units) != 1:
        return Setting(name, tuple(texts))
    try:
        numbers = tuple(float(match[1].replace(",", "")) for match in matches if match)
    except ValueError:
        return Setting(name, tuple(texts))
    return Setting(name, tuple(texts), units.pop(), numbers)


def chart_of(figure: Figure, over: Setting, *, is_curve: bool) -> Chart:
    """Points with intervals over a number, or bars over names. `is_curve`: the sides differ in
    nothing else, so that a line joins the points."""
    chart = Chart(320)
    known = [i for i, value in enumerate(figure.values) if value is not None]
    numbers = over.numbers
    order = known if numbers is None else sorted(known, key=numbers.__getitem__)
    values = [figure.values[i] for i in order]
    y = [value.value for value in values if value]
    ends = {
        "low": [value.low for value in values if value],
        "high": [value.high for value in values if value],
    }
    title = f"{figure.name} ({figure.unit})" if figure.unit else figure.name
    if numbers is not None:
        x = [numbers[i] for i in order]
        if is_curve:
            chart.line("", x, y, "blue", **ends, errors=True, points=True)
        else:
            chart.points("", x, y, "blue", texts=[over.texts[i] for i in order])
        unit = f" ({over.unit})" if over.unit else ""
        chart.x(f"{over.name}{unit}", log=_is_wide(x))
        chart.y(title, zero=not _is_wide(y), log=_is_wide(y))
        return chart
    chart.columns("", list(range(len(order))), y, curve_colour(0, 1), width=0.7, **ends)
    chart.x(over.name, names=[over.texts[i] for i in order])
    chart.y(title, zero=True)
    return chart


def _is_wide(numbers: Sequence[float]) -> bool:
    return bool(numbers) and min(numbers) > 0 and max(numbers) / min(numbers) >= LOG_FROM


def section_of(
    difference: Difference, figure: Figure, over: Setting, settings: Mapping[str, Setting]
) -> Section:
    """The chart of a study and its table. `settings`: all in which the sides differ."""
    several = any(value is not None and value.samples > 1 for value in figure.values)
    about = f"{figure.name} over {over.name}."
    if len(settings) > 2 and not _differ_only_in(over, settings):
        others = sorted(set(settings) - {over.name, NO_SETTING})
        about += f" The sides also differ in {', '.join(others[:MOST_NAMED])}"
        about += ", …." if len(others) > MOST_NAMED else "."
    if several:
        about += " Bars are intervals of 95 % of the median; with fewer than 6 runs, their range."
    known = [i for i, value in enumerate(figure.values) if value is not None]
    chosen = [figure.values[i] for i in known]
    shown = [value for value in chosen if value is not None]

    def quantity(value: float) -> str:
        return format_quantity(value, figure.unit)

    columns = [
        Column("side", [difference.sides[i].label for i in known]),
        Column(over.name, [over.texts[i] for i in known]),
        Column(figure.name, [value.value for value in shown], quantity),
    ]
    if several:
        columns += [
            Column("from", [value.low for value in shown], quantity),
            Column("to", [value.high for value in shown], quantity),
            Column("runs", [value.samples for value in shown], str),
        ]
    chart = chart_of(figure, over, is_curve=_differ_only_in(over, settings))
    html = chart.html(f"{figure.name} over {over.name}")
    return Section("Study", about, html + table_html("study", columns))
