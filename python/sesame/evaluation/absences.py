"""When the prober did not run at all: a time without a result of any probe."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from sesame.evaluation.site import Probe, Site
from sesame.evaluation.store import Store
from sesame.evaluation.stretches import GAP_INTERVALS, NO_PROBER, Unseen

Window = tuple[float, float]


def prober_off(site: Site, store: Store, begin: float, end: float) -> list[Unseen]:
    """The times of [begin, end) since the first result in which no probe of any target had a
    result. The probe with the shortest interval shows where to look: results are read there only.
    A run that took long is no such time, nor one that may still end within its time limits."""
    found: list[Unseen] = []
    for probe in sorted(site.probes.values(), key=lambda one: one.interval):
        last = store.last(probe.name, probe.target.name, begin)
        days = store.ran_on(probe.name, probe.target.name, last.began if last else begin, end)
        if not days:
            continue
        longest = GAP_INTERVALS * probe.interval
        windows = list(_gaps(store, probe, days, longest))
        if end > days[-1][1]:
            windows.append((days[-1][1], end))
        for low, high in windows:
            may_run = max(longest, _time_limit(site, probe)) if high == end else longest
            for off, on in _without_runs(store, low, high, longest):
                is_off = on - off > (may_run if on == high else longest)
                if is_off and on > begin and off < end:
                    found.append(Unseen(max(off, begin), min(on, end), NO_PROBER))
        break
    return found


def _gaps(
    store: Store, probe: Probe, days: list[tuple[float, float, float]], longest: float
) -> Iterator[Window]:
    """Between two results of the probe, in order."""
    before = days[0][0]
    for first, last, gap in days:
        if first - before > longest:
            yield before, first
        if gap > longest:
            times = store.times(probe.name, probe.target.name, first, last + 1e-6)
            yield from (pair for pair in pairwise(times) if pair[1] - pair[0] > longest)
        before = last


def _without_runs(store: Store, low: float, high: float, longest: float) -> Iterator[Window]:
    """The longer parts of a window in which no run of any probe began or had not ended."""
    until = low
    for at, took in [*store.runs_between(low, high), (high, 0.0)]:
        if at - until > longest:
            yield until, at
        until = max(until, at + took)


def _time_limit(site: Site, probe: Probe) -> float:
    """That a probe of the same target may hold up this one."""
    queue = probe.target.queue
    waits = queue.limit if queue else 0.0
    return max(
        sum(step.timeout + (waits if step.launch else 0.0) for step in one.steps)
        for one in site.probes.values()
        if one.target.name == probe.target.name
    )
