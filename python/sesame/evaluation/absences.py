"""When the prober did not run at all: a time without a result of any probe."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from sesame.evaluation.periods import DAY
from sesame.evaluation.site import Probe, Site
from sesame.evaluation.store import Store
from sesame.evaluation.stretches import GAP_INTERVALS, NO_PROBER, Unseen, time_limit

Window = tuple[float, float]


def prober_off(site: Site, store: Store, begin: float, end: float) -> list[Unseen]:
    """The times of [begin, end) since the first result in which no run of any probe began or was in
    progress. The probe with the shortest interval shows where to look: results are read there only.
    Before its first result, and where others ran without it, the next shows it."""
    found: list[Window] = []
    windows: list[Window] = [(-math.inf, math.inf)]
    most = max([time_limit(site, probe) for probe in site.probes.values()], default=0.0)
    runs = _Runs(store, most)
    for probe in sorted(site.probes.values(), key=lambda one: one.interval):
        gaps = list(_gaps(store, probe, windows, (begin, end)))
        runs.read([gap for gap, is_shown in gaps if is_shown])
        windows = []
        for gap, is_shown in gaps:
            ran = runs.of(gap) if is_shown else []
            if is_shown and not _others_run_in(ran, probe, gap):
                found += _off(site, ran, probe, gap, end)
            else:
                windows.append(gap)
    return [
        Unseen(max(off, begin), min(on, end), NO_PROBER)
        for off, on in sorted(found)
        if on > begin and off < end
    ]


class _Runs:
    """The runs of all probes, read once where they are asked for."""

    def __init__(self, store: Store, most: float) -> None:
        self._store = store
        self._most = most  # that a run takes
        self._read: list[Window] = []  # in order
        self._runs: list[Window] = []  # when each began, in order, and how long it took

    def read(self, gaps: Sequence[Window]) -> None:
        """Those that began in the gaps, or may have been in progress. Gaps that are less than a day
        apart are read together."""
        wanted = _united((gap for gap in gaps if not self._has(gap)), self._most + DAY)
        if wanted:
            new = self._store.runs_in([(low - self._most, high) for low, high in wanted])
            self._runs = sorted({*self._runs, *new})
            self._read = _united(sorted([*self._read, *wanted]))

    def _has(self, gap: Window) -> bool:
        last = bisect_right(self._read, (gap[0], math.inf)) - 1
        return last >= 0 and gap[1] <= self._read[last][1]

    def of(self, gap: Window) -> list[Window]:
        first = bisect_left(self._runs, (gap[0] - self._most, -math.inf))
        return self._runs[first : bisect_left(self._runs, (gap[1], -math.inf))]


def _united(windows: Iterable[Window], apart: float = 0.0) -> list[Window]:
    """Windows in order; those that are less than `apart` from each other are one."""
    found: list[Window] = []
    for low, high in windows:
        if found and low - found[-1][1] <= apart:
            begin, end = found.pop()
            low, high = begin, max(high, end)
        found.append((low, high))
    return found


def _gaps(
    store: Store, probe: Probe, windows: Sequence[Window], period: Window
) -> Iterator[tuple[Window, bool]]:
    """What is of windows between two results of the probe, and since its last; with False, what is
    before its first. Windows and gaps are in order."""
    begin, end = period
    longest = GAP_INTERVALS * probe.interval
    wide = [(low, high) for low, high in windows if high - low > longest]
    if not wide:
        return
    last = store.last(probe.name, probe.target.name, begin)
    since = last.began if last else begin
    days = store.ran_on(probe.name, probe.target.name, since, end)
    gaps = list(_between(store, probe, wide, days, end))
    for low, high in wide:
        if last is None:
            first = min(days[0][0], high) if days else high
            if first > low:
                yield (low, first), False
        for before, after in _touching(gaps, low, high):
            gap = max(before, low), min(after, high)
            if gap[1] - gap[0] > longest:
                yield gap, True


def _touching(windows: Sequence[Window], low: float, high: float) -> Iterator[Window]:
    """Those that overlap [low, high). They are in order, and do not overlap each other."""
    place = bisect_right(windows, low, key=lambda one: one[1])
    while place < len(windows) and windows[place][0] < high:
        yield windows[place]
        place += 1


def _between(
    store: Store,
    probe: Probe,
    windows: Sequence[Window],
    days: list[tuple[float, float, float]],
    end: float,
) -> Iterator[Window]:
    """From each result of the probe to the next, and from the last to the end, if that is long and
    touches a window."""
    longest = GAP_INTERVALS * probe.interval
    before = days[0][0] if days else end
    for first, last, gap in days:
        if first - before > longest:
            yield before, first
        if gap > longest and next(_touching(windows, first, last), None):
            times = store.times(probe.name, probe.target.name, first, last + 1e-6)
            yield from (pair for pair in pairwise(times) if pair[1] - pair[0] > longest)
        before = last
    if end - before > longest:
        yield before, end


def _others_run_in(runs: Sequence[Window], probe: Probe, gap: Window) -> bool:
    """Other probes ran where this one, which was due, did not: it was not in the site, or another
    of its target held it up."""
    longest = GAP_INTERVALS * probe.interval
    return any(at - gap[0] > longest and gap[1] - at - took > longest for at, took in runs)


def _off(
    site: Site, runs: Sequence[Window], probe: Probe, gap: Window, end: float
) -> Iterator[Window]:
    """The longer parts of a gap in which no run of any probe began or had not ended. At the end of
    all one may be in progress that has no result yet."""
    low, high = gap
    longest = GAP_INTERVALS * probe.interval
    may_run = max(longest, probe.interval + time_limit(site, probe)) if high == end else longest
    until = low
    for at, took in [*(one for one in runs if sum(one) > low), (high, 0.0)]:
        if at - until > (may_run if at == high else longest):
            yield until, at
        until = max(until, at + took)
