"""Runs what is due, one probe after the other, and stores what they found."""

from __future__ import annotations

import fcntl
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from sesame.errors import InputError, OutputError, SesameError
from sesame.evaluation.probing import Result, run_probe
from sesame.evaluation.release import boot, release_facts
from sesame.evaluation.site import Probe, Site
from sesame.evaluation.store import Store, Unavailable, Waiting

LONGEST_SLEEP_S = 60.0  # so that a clock that is set is noticed


class Busy(SesameError):
    """Another run holds the lock."""

    exit_status = 3


@dataclass(frozen=True)
class Latest:
    """When each probe ran last, by (probe, target)."""

    times: dict[tuple[str, str], float]

    def is_due(self, probe: Probe, now: float) -> bool:
        """A probe is due once in each interval of the clock. One that ran in the future, before
        the clock was set back, is due."""
        last = self.times.get((probe.name, probe.target.name))
        if last is None or last > now + 1:
            return True
        return math.floor(now / probe.interval) > math.floor(last / probe.interval)


@contextmanager
def locked(site: Site) -> Iterator[None]:
    """Raises Busy if another run of this site has the lock."""
    path = site.path.with_name(f"{site.path.name}.lock")
    try:
        file = path.open("a")
    except OSError as error:
        raise OutputError(f"{path}: cannot write there: {error.strerror}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(
                f"{site.path}: another run has the lock, nothing was done",
                hint="wait until it ends; `sesame evaluate run --watch` does not end by itself",
            ) from None
        yield


def run_due(site: Site, report: Callable[[Result], None], once: str | None = None) -> list[Result]:
    """Runs the probes that are due, or the one named `once`. Each result is stored and reported as
    soon as it is there. The caller holds the lock."""
    if once is not None and once not in site.probes:
        raise InputError(f"there is no probe {once}, there are: {', '.join(site.probes)}")
    latest = _latest(site)
    facts = release_facts(site.path.absolute().parent)
    found = []
    for probe in site.probes.values():
        if probe.name == once or (once is None and latest.is_due(probe, time.time())):
            result = run_probe(probe, facts)
            keep(site, [result])
            report(result)
            found.append(result)
    return found


def _latest(site: Site) -> Latest:
    times: dict[tuple[str, str], float] = {}
    waiting = Waiting(site.path).results()
    with suppress(Unavailable), Store(site.database) as store:
        store.add_boot(*boot())
        if waiting:
            store.add(waiting)
            Waiting(site.path).clear()
        for probe in site.probes.values():
            if (last := store.last(probe.name, probe.target.name)) is not None:
                times[probe.name, probe.target.name] = last.began
    for result in waiting:
        pair = (result.probe, result.target)
        times[pair] = max(times.get(pair, -math.inf), result.began)
    return Latest(times)


def keep(site: Site, results: Sequence[Result]) -> None:
    """Stores results, with those that wait. They wait in a file if the database is unavailable, or
    if it cannot be used at all: then the error is raised afterwards."""
    waiting = Waiting(site.path)
    try:
        with Store(site.database) as store:
            earlier = waiting.results()
            store.add([*earlier, *results])
    except Unavailable:
        waiting.add(results)
        return
    except InputError:
        waiting.add(results)
        raise
    if earlier:
        waiting.clear()


def watch(site: Site, report: Callable[[Result], None]) -> None:
    """Runs what is due until it is interrupted."""
    while True:
        run_due(site, report)
        now = time.time()
        next_due = min(
            (math.floor(now / probe.interval) + 1) * probe.interval
            for probe in site.probes.values()
        )
        time.sleep(min(max(next_due - time.time(), 0.01), LONGEST_SLEEP_S))
