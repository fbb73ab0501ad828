"""The figures of probes by month, by week and by release, and their changes."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sesame.evaluation.cases import all_probes
from sesame.evaluation.changes import Change, changes
from sesame.evaluation.periods import DAY, months, weeks
from sesame.evaluation.site import Site
from sesame.evaluation.store import Series, SeriesDay, Store

# Of all series together, that are searched for changes one by one; in a longer period the means
# of days are searched.
MOST_RUNS = 600_000
AROUND_DAYS = 10  # whose runs are searched again where the means of days changed


@dataclass(frozen=True)
class Level:
    """The figures of a month, a week or a release."""

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


@dataclass(frozen=True)
class SeriesSummary:
    """The figures of one name of a probe. Months and weeks without a figure are missing."""

    number: int  # in the store
    probe: str
    target: str
    figure: str
    unit: str
    months: dict[str, Level]
    weeks: dict[str, Level]
    releases: dict[str, Level]  # by fingerprint
    whole: Level
    changes: list[SeriesChange]


def series_summaries(site: Site, store: Store, begin: float, end: float) -> list[SeriesSummary]:
    """Of all figures of the site's probes with a run in [begin, end). Sums are of whole days."""
    bounds = (int(begin // DAY), math.ceil(end / DAY))
    known = {(probe.name, probe.target.name) for probe in all_probes(site, store)}
    days = {
        one: store.series_days(one.number, *bounds)
        for one in store.series()
        if (one.probe, one.target) in known
    }
    runs = sum(day.runs for each in days.values() for day in each)
    releases = store.releases()
    by_month, by_week = months(begin, end), weeks(begin, end)
    return [
        SeriesSummary(
            *one,
            _by_period(each, by_month),
            _by_period(each, by_week),
            _by_release(each),
            _level(each),
            _changes(store, one, each, (begin, end), releases, runs <= MOST_RUNS),
        )
        for one, each in days.items()
        if each
    ]


def _level(days: Sequence[SeriesDay]) -> Level:
    runs = sum(day.runs for day in days)
    total = math.fsum(day.total for day in days)
    least, most = min(day.least for day in days), max(day.most for day in days)
    return Level(runs, total / runs, least, most)


def _by_period(
    days: Sequence[SeriesDay], periods: Sequence[tuple[str, float, float]]
) -> dict[str, Level]:
    begins = [int(low // DAY) for _, low, _ in periods]
    parts: dict[str, list[SeriesDay]] = {}
    for day in days:
        name = periods[max(bisect_right(begins, day.day) - 1, 0)][0]
        parts.setdefault(name, []).append(day)
    return {name: _level(part) for name, part in parts.items()}


def _by_release(days: Sequence[SeriesDay]) -> dict[str, Level]:
    parts: dict[str, list[SeriesDay]] = {}
    for day in days:
        parts.setdefault(day.release, []).append(day)
    return {name: _level(part) for name, part in parts.items()}


def _changes(
    store: Store,
    one: Series,
    days: Sequence[SeriesDay],
    period: tuple[float, float],
    releases: Mapping[str, dict[str, str]],
    by_run: bool,
) -> list[SeriesChange]:
    found = []
    if by_run:
        runs = store.figures(one.number, *period)
        for change in changes(np.array([value for _, value in runs])):
            first = change.first_after
            found.append((runs[first - 1][0], runs[first][0], change))
    else:
        sums: dict[int, list[float]] = {}
        for day in days:
            total = sums.setdefault(day.day, [0.0, 0.0])
            total[0] += day.total
            total[1] += day.runs
        ordered = list(sums)
        for change in changes(np.array([total / count for total, count in sums.values()])):
            around = _runs_around(store, one, ordered[change.first_after] * DAY)
            found.append((*around, change))
    return [
        SeriesChange(
            after,
            change,
            _differences(
                releases[store.release_at(one.number, before)],
                releases[store.release_at(one.number, after)],
            ),
        )
        for before, after, change in found
    ]


def _runs_around(store: Store, one: Series, day: float) -> tuple[float, float]:
    """The runs before and after the largest change near a day: that which parts them best."""
    reach = AROUND_DAYS * DAY
    runs = store.figures(one.number, day - reach, day + reach)
    values = np.array([value for _, value in runs])
    counts = np.arange(1, len(values))
    sums = np.cumsum(values)[:-1]
    contrast = np.abs(sums / counts - (values.sum() - sums) / counts[::-1])
    first = int(np.argmax(contrast * np.sqrt(counts * counts[::-1]))) + 1
    return runs[first - 1][0], runs[first][0]


def _differences(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    names = sorted({*old, *new})
    pairs = {name: (old.get(name, "none"), new.get(name, "none")) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
