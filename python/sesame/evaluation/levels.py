"""The figures of probes by month, by week, by shorter parts and by release; their changes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sesame.evaluation.cases import all_probes
from sesame.evaluation.changes import (
    CONFIRMED,
    FEW_RUNS,
    MOST_COMPARED,
    Change,
    changes_of_each,
    separation,
)
from sesame.evaluation.periods import DAY, WEEK, is_of_whole_days, months, part_of, parts, weeks
from sesame.evaluation.site import Site
from sesame.evaluation.store import Series, SeriesDays, Store
from sesame.trust import Doubt, Reason

# Of all series together, that are searched for changes one by one; in a longer period the means
# of days are searched.
MOST_RUNS = 600_000
BUSIER = "the machine was busier"
LOAD_RATIO, LOAD_MORE = 1.5, 0.5  # of the load average: by half, and half a processor's work
AROUND_DAYS = 10  # whose runs are searched again where the means of days changed


@dataclass(frozen=True)
class Level:
    """The figures of a month, a week, a part or a release."""

    runs: int
    mean: float
    least: float
    most: float


@dataclass(frozen=True)
class SeriesChange:
    """A change of a figure, and what changed in the release between the runs around it."""

    at: float  # when the first run after it began
    change: Change
    release_changes: dict[str, tuple[str, str]]
    load: tuple[float, float] | None = None  # medians of the load averages before and after


@dataclass(frozen=True)
class SeriesSummary:
    """The figures of one name of a probe. Months, weeks and parts without a figure are missing.
    `parts` are those that suit the period, each a `part` (periods.PARTS, or a week)."""

    number: int  # in the store
    probe: str
    target: str
    figure: str
    unit: str
    months: dict[str, Level]
    weeks: dict[str, Level]
    part: str
    parts: dict[str, Level]
    releases: dict[str, Level]  # by fingerprint
    whole: Level
    changes: list[SeriesChange]


def series_summaries(site: Site, store: Store, begin: float, end: float) -> list[SeriesSummary]:
    """Of all figures of the site's probes with a run in [begin, end). Sums are of whole days, but
    those of shorter parts."""
    bounds = (int(begin // DAY), math.ceil(end / DAY))
    intervals = {(one.name, one.target.name): one.interval for one in all_probes(site, store)}
    every = [one for one in store.series() if (one.probe, one.target) in intervals]
    each_days = store.series_days([one.number for one in every], *bounds)
    days = dict(zip(every, each_days, strict=True))
    runs = sum(sum(each.runs) for each in days.values())
    part = {one: part_of(begin, end, intervals[one.probe, one.target]) for one in every}
    columns = {one: _Days(each) for one, each in days.items() if each.day}
    find = _found_by_run if runs <= MOST_RUNS else _found_by_day
    found = find(store, columns, (begin, end))
    changed = _changes(store, found, (begin, end))
    by_month, every_week = months(begin, end), weeks(begin, end)
    by_week = {one: each.by_period(every_week) for one, each in columns.items()}
    by_part = by_week | _by_part(store, columns, part, (begin, end))
    return [
        SeriesSummary(
            *one,
            each.by_period(by_month),
            by_week[one],
            part[one],
            by_part[one],
            each.by_release(),
            each.whole(),
            changed[one],
        )
        for one, each in columns.items()
    ]


def _by_part(
    store: Store,
    every: Mapping[Series, _Days],
    part: Mapping[Series, str],
    period: tuple[float, float],
) -> dict[Series, dict[str, Level]]:
    """Of those whose part is not a week: from runs, if it is shorter than a day."""
    periods = {name: parts(*period, name) for name in {*part.values()} - {WEEK}}
    short = [one for one in every if not is_of_whole_days(part[one])]
    figures = dict(zip(short, store.figures([one.number for one in short], *period), strict=True))
    return {
        one: _levels_of(*figures[one], periods[part[one]])
        if one in figures
        else days.by_period(periods[part[one]])
        for one, days in every.items()
        if part[one] != WEEK
    }


def _levels_of(
    times: Sequence[float], values: Sequence[float], periods: Sequence[tuple[str, float, float]]
) -> dict[str, Level]:
    places = np.searchsorted([low for _, low, _ in periods], times, "right") - 1
    every = np.array(values)
    found = {}
    for place in np.unique(places).tolist():
        each = every[places == place]
        level = Level(len(each), float(each.mean()), float(each.min()), float(each.max()))
        found[periods[place][0]] = level
    return found


class _Days:
    """The columns of the days of a series, in order."""

    def __init__(self, days: SeriesDays) -> None:
        columns = (days.day, days.runs, days.total, days.least, days.most)
        self.day, self.runs, self.total, self.least, self.most = map(np.array, columns)
        self.releases = days.release

    def levels(self, groups: np.ndarray[Any, Any]) -> dict[int, Level]:
        """By the numbers of the groups that the days belong to."""
        order = np.argsort(groups, kind="stable")
        numbers = groups[order]
        first = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))
        runs = np.add.reduceat(self.runs[order], first).tolist()
        total = np.add.reduceat(self.total[order], first).tolist()
        least = np.minimum.reduceat(self.least[order], first).tolist()
        most = np.maximum.reduceat(self.most[order], first).tolist()
        each = zip(numbers[first].tolist(), runs, total, least, most, strict=True)
        return {number: Level(n, t / n, low, high) for number, n, t, low, high in each}

    def whole(self) -> Level:
        return self.levels(np.zeros(len(self.day), int))[0]

    def by_period(self, periods: Sequence[tuple[str, float, float]]) -> dict[str, Level]:
        begins = np.array([int(low // DAY) for _, low, _ in periods])
        places = np.maximum(np.searchsorted(begins, self.day, "right") - 1, 0)
        return {periods[place][0]: level for place, level in self.levels(places).items()}

    def by_release(self) -> dict[str, Level]:
        names = list(dict.fromkeys(self.releases))
        numbers = {name: number for number, name in enumerate(names)}
        groups = np.array([numbers[name] for name in self.releases])
        return {names[number]: level for number, level in self.levels(groups).items()}

    def means(self) -> tuple[list[int], np.ndarray[Any, Any]]:
        """The days, and the mean of each."""
        days, first = np.unique(self.day, return_index=True)
        means = np.add.reduceat(self.total, first) / np.add.reduceat(self.runs, first)
        return days.tolist(), means


FASTER, SLOWER = "faster", "slower"


def direction(unit: str, size: float) -> str:
    """Times are faster or slower, rates too; others higher or lower."""
    if unit in ("s", "ms", "us", "ns"):
        return SLOWER if size > 0 else FASTER
    if unit.endswith("/s"):
        return FASTER if size > 0 else SLOWER
    return "higher" if size > 0 else "lower"


Found = tuple[float, float, Change]  # when the runs before and after a change began


def _found_by_run(
    store: Store, every: Mapping[Series, _Days], period: tuple[float, float]
) -> dict[Series, list[Found]]:
    figures = store.figures([one.number for one in every], *period)
    changed = changes_of_each([values for _, values in figures])
    return {
        one: [(times[each.first_after - 1], times[each.first_after], each) for each in found]
        for one, (times, _), found in zip(every, figures, changed, strict=True)
    }


def _found_by_day(
    store: Store, every: Mapping[Series, _Days], _: tuple[float, float]
) -> dict[Series, list[Found]]:
    days, means = zip(*(each.means() for each in every.values()), strict=True)
    return {
        one: [
            (*_runs_around(store, one, *ordered[each.first_after - 1 :][:2]), each)
            for each in found
        ]
        for one, ordered, found in zip(every, days, changes_of_each(means), strict=True)
    }


def _changes(
    store: Store, found: Mapping[Series, Sequence[Found]], whole: tuple[float, float]
) -> dict[Series, list[SeriesChange]]:
    """With what changed in the release, looked up for all at once."""
    facts = store.releases()
    every = [(one.number, *each) for one, changes in found.items() for each in changes]
    names = store.releases_at([(number, at) for number, *times, _ in every for at in times])
    releases = iter([facts[name] for name in names])
    return {
        one: [
            _with_load(
                store,
                one,
                SeriesChange(after, change, _differences(next(releases), next(releases))),
                period,
            )
            for (_, after, change), period in zip(changes, _periods(changes, whole), strict=True)
        ]
        for one, changes in found.items()
    }


def _periods(found: Sequence[Found], whole: tuple[float, float]) -> list[tuple[float, float]]:
    """From the change before each to the change after it, within the whole period."""
    times = [whole[0], *(after for _, after, _ in found), whole[1]]
    return list(zip(times[:-2], times[2:], strict=True))


def _with_load(
    store: Store, series: Series, found: SeriesChange, period: tuple[float, float]
) -> SeriesChange:
    """Looks up the loads of the runs on both sides of a confirmed change, in a period without
    another."""
    if not found.change.is_confirmed:
        return found
    old = store.load_averages(series.number, period[0], found.at, MOST_COMPARED, last=True)
    new = store.load_averages(series.number, found.at, period[1], MOST_COMPARED)
    if min(len(old), len(new)) < FEW_RUNS:
        return found
    before, after = float(np.median(old)), float(np.median(new))
    change = found.change
    is_more = after > max(LOAD_RATIO * before, before + LOAD_MORE)
    is_better = direction(series.unit, change.size.value) == FASTER  # in spite of a busier machine
    if is_more and not is_better and separation(np.array(old), np.array(new)) > CONFIRMED:
        text = f"{BUSIER}: load average {after:.1f} then, {before:.1f} before"
        doubt = Doubt(Reason.BUSY_HOST, text, "report again after runs on an idle machine")
        size = replace(change.size, doubts=(*change.size.doubts, doubt))
        change = replace(change, size=size)
    return replace(found, change=change, load=(before, after))


def _runs_around(store: Store, one: Series, before: int, after: int) -> tuple[float, float]:
    """The runs before and after the largest change near these days, the last before and the first
    after a change of means: that which parts them best."""
    begin, end = min(before, after - AROUND_DAYS), after + AROUND_DAYS
    [(times, figures)] = store.figures([one.number], begin * DAY, end * DAY)
    values = np.array(figures)
    counts = np.arange(1, len(values))
    sums = np.cumsum(values)[:-1]
    contrast = np.abs(sums / counts - (values.sum() - sums) / counts[::-1])
    first = int(np.argmax(contrast * np.sqrt(counts * counts[::-1]))) + 1
    return times[first - 1], times[first]


def _differences(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    names = sorted({*old, *new})
    pairs = {name: (old.get(name, "none"), new.get(name, "none")) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
