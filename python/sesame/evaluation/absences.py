"""When the prober did not run at all: a time without a result of any probe."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

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
    for probe in sorted(site.probes.values(), key=lambda one: one.interval):
        left: list[Window] = []
        for window in windows:
            for gap, is_shown in _gaps(store, probe, window, (begin, end)):
                runs = store.runs_between(gap[0] - most, gap[1]) if is_shown else []
                if is_shown and not _others_run_in(runs, probe, gap):
                    found += _off(site, runs, probe, gap, end)
                else:
                    left.append(gap)
        windows = left
    return [
        Unseen(max(off, begin), min(on, end), NO_PROBER)
        for off, on in sorted(found)
        if on > begin and off < end
    ]


def _gaps(
    store: Store, probe: Probe, window: Window, period: Window
) -> Iterator[tuple[Window, bool]]:
    """The parts of a window between two results of the probe, and that since its last; with False,
    that before its first."""
    (low, high), (begin, end) = window, period
    longest = GAP_INTERVALS * probe.interval
    if high - low <= longest:
        return
    last = store.last(probe.name, probe.target.name, begin)
    since = last.began if last else begin
    days = store.ran_on(probe.name, probe.target.name, since, end)
    if last is None:
        first = min(days[0][0], high) if days else high
        if first > low:
            yield (low, first), False
    for before, after in _between(store, probe, days, end):
        gap = max(before, low), min(after, high)
        if gap[1] - gap[0] > longest:
            yield gap, True


def _between(
    store: Store, probe: Probe, days: list[tuple[float, float, float]], end: float
) -> Iterator[Window]:
    """From each result of the probe to the next, and from the last to the end, if that is long."""
    longest = GAP_INTERVALS * probe.interval
    before = days[0][0] if days else end
    for first, last, gap in days:
        if first - before > longest:
            yield before, first
        if gap > longest:
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
