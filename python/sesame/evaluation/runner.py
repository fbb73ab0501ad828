"""Runs what is due and stores what it found. Targets do not wait for each other: probes of one
target run one after the other, those of several at once, each in a fork of its own."""

from __future__ import annotations

import fcntl
import math
import os
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from sesame.errors import InputError, OutputError, SesameError
from sesame.evaluation.probing import (
    MAINTENANCE,
    Observed,
    Outcome,
    Result,
    not_observed,
    run_probe,
)
from sesame.evaluation.processes import run_command
from sesame.evaluation.release import boots_here, release_facts
from sesame.evaluation.site import Probe, Site, Target
from sesame.evaluation.store import Store, Unavailable
from sesame.evaluation.waiting import SetAside, Waiting, keep
from sesame.evaluation.workers import Workers

LONGEST_SLEEP_S = 60.0  # so that a clock that is set is noticed
STALE_INTERVALS = 1.5  # after which the answer of a probe says nothing for those that need it
MOST_UNKEPT = 1000  # runs of probes that are kept in memory while all disks are full
LOOK_UP_S = 30.0  # that looking up maintenance may take

Report = Callable[[Result], None]


class Busy(SesameError):
    """Another run holds the lock."""

    exit_status = 3


@dataclass(frozen=True)
class Last:
    """The last result of a probe."""

    began: float
    outcome: Outcome


@dataclass
class Latest:
    """The last result of each probe, by its name."""

    of: dict[str, Last] = field(default_factory=dict)

    def is_due(self, probe: Probe, now: float) -> bool:
        """A probe is due once in each of its intervals (UTC: summer time changes nothing).
        One that ran in the future, before the clock was set back, is due."""
        last = self.of.get(probe.name)
        if last is None or last.began > now + 1:
            return True
        return probe.turn(now) > probe.turn(last.began)

    def missing(self, probe: Probe, site: Site, now: float) -> str:
        """Why a probe's answer would mean nothing now, or ""."""
        for name in probe.needs:
            last, interval = self.of.get(name), site.probes[name].interval
            if last is None or not abs(now - last.began) <= STALE_INTERVALS * interval:
                return f"it needs {name}, which was not observed"
            if last.outcome is not Outcome.PASS:
                kind = "failed" if last.outcome is Outcome.FAIL else "was not observed"
                return f"it needs {name}, which {kind}"
        return ""


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


def run_due(site: Site, report: Report, once: str | None = None) -> list[Result]:
    """Runs the probes that are due, or the one named `once`. Each result is stored and reported as
    soon as it is there; returns those of probes, without those of cases. The caller holds the
    lock."""
    if once is not None and once not in site.probes:
        raise InputError(f"there is no probe {once}, there are: {', '.join(site.probes)}")
    round_ = Round(site, report)
    if once is not None:
        return round_.run([site.probes[once]], force=True)
    return round_.run(round_.due())


def watch(site: Site, report: Report, warn: Callable[[str], None]) -> None:
    """Runs what is due until it is interrupted. What can be written nowhere now, as all disks are
    full, is kept in memory meanwhile."""
    round_ = Round(site, report)
    said = waits = ""
    while True:
        round_.start(round_.due())
        round_.collect(round_.until_due())
        if bool(waits) != bool(round_.waits):
            warn(round_.waits or "the database is there again and has the results that waited")
        waits = round_.waits
        problem = str(round_.problem or "")
        if problem and problem != said:
            in_memory = isinstance(round_.problem, OutputError)
            meanwhile = ": results are kept in memory until it can be written" if in_memory else ""
            warn(f"{problem}{meanwhile}")
        said = problem


class Round:
    """Starts probes and takes in what they found. `now` is the clock."""

    def __init__(self, site: Site, report: Report, now: Callable[[], float] = time.time) -> None:
        self.now = now
        self._site = site
        self._report = report
        self._workers: Workers[str] = Workers()  # by target
        self._running: dict[str, Probe] = {}  # by target
        self._waiting: dict[str, Probe] = {}  # by name
        self._lookups: dict[str, tuple[float, str]] = {}  # maintenance by target
        self._found: list[Result] = []
        self._unkept: list[Observed] = []
        self.problem: SesameError | None = None  # why the last results could not be kept
        self.waits = ""  # why the last results wait, and where
        self._force = False
        self._latest = self._look_back()

    def _look_back(self) -> Latest:
        """With results that wait, which come into the database now."""
        found: dict[str, Last] = {}
        now = self.now()
        waiting = Waiting(self._site.path)
        waited = waiting.results()
        with suppress(Unavailable), Store(self._site.database) as store:
            _add_boots(store)
            try:
                waiting.move_into(store)
            except SetAside as error:
                self.problem = error
            for probe in self._site.probes.values():
                if (last := store.last(probe.name, probe.target.name, now + 1)) is not None:
                    found[probe.name] = Last(last.began, last.outcome)
        for result in waited:
            last_known = found.get(result.probe)
            if last_known is None or last_known.began < result.began <= now + 1:
                found[result.probe] = Last(result.began, result.outcome)
        return Latest(found)

    def due(self) -> list[Probe]:
        """Those that are due and neither wait nor run."""
        busy = {*self._waiting, *(probe.name for probe in self._running.values())}
        now = self.now()
        return [
            probe
            for probe in self._site.probes.values()
            if probe.name not in busy and self._latest.is_due(probe, now)
        ]

    def until_due(self) -> float:
        """Seconds to sleep at most: until the next interval of a probe begins."""
        now = self.now()
        next_due = min(probe.next_turn(now) for probe in self._site.probes.values())
        return min(max(next_due - now, 0.01), LONGEST_SLEEP_S)

    def run(self, probes: Sequence[Probe], *, force: bool = False) -> list[Result]:
        """Runs probes until all have ended; with `force` whatever they need. Without it, what
        becomes due on other targets meanwhile runs too: a long queue must not keep it waiting.
        Raises at the end what kept results from being stored."""
        self._force = force
        self.start(probes)
        while self._waiting or self._running:
            self.collect(LONGEST_SLEEP_S if force else self.until_due())
            if self._running and not force:
                self.start(self.due())
        if self.problem is not None:
            raise self.problem
        return self._found

    def start(self, probes: Sequence[Probe]) -> None:
        """Starts those that can start now; the others wait."""
        self._waiting |= {probe.name: probe for probe in probes}
        several = len({probe.target.name for probe in self._waiting.values()}) > 1
        facts: dict[str, str] = {}
        while startable := self._startable():
            probe = self._waiting.pop(startable[0])
            reason = self._why_not(probe)
            facts = facts or self._facts()
            if reason:
                self._take_in(Observed([not_observed(probe, reason, facts)]))
            elif several or self._running:
                self._running[probe.target.name] = probe
                self._workers.start(probe.target.name, partial(_run_in_fork, probe, facts))
            else:
                self._take_in(run_probe(probe, facts))

    def _facts(self) -> dict[str, str]:
        own = {probe.target.directory for probe in self._site.probes.values()}
        return release_facts(
            self._site.path.absolute().parent, *sorted(path for path in own if path is not None)
        )

    def _startable(self) -> list[str]:
        """Waiting probes whose target is free, and which need none that still comes."""
        coming = {*self._waiting, *(probe.name for probe in self._running.values())}
        return [
            name
            for name, probe in self._waiting.items()
            if probe.target.name not in self._running and not coming & set(probe.needs)
        ]

    def _why_not(self, probe: Probe) -> str:
        if self._force:
            return ""
        now = self.now()
        said = self._maintenance(probe.target, now)
        return f"{MAINTENANCE}{said}" if said else self._latest.missing(probe, self._site, now)

    def _maintenance(self, target: Target, now: float) -> str:
        """What the target's own system says of maintenance; asked once in a round."""
        if target.maintenance is None:
            return ""
        at, said = self._lookups.get(target.name, (-math.inf, ""))
        if not 0 <= now - at < LOOK_UP_S:
            said = _look_up(target)
            self._lookups[target.name] = now, said
        return said

    def collect(self, wait: float) -> None:
        """Takes in what probes found, waiting for the first at most `wait` seconds, and starts
        what waited for it."""
        if self._running:
            for target, found in self._workers.collect(wait):
                probe = self._running.pop(target)
                ended = "the process that ran it was ended"
                self._take_in(found or Observed([not_observed(probe, ended, {})]))
        elif not self._waiting:
            time.sleep(wait)
        self.start([])

    def _take_in(self, found: Observed) -> None:
        own = found.results[0]
        self._latest.of[own.probe] = Last(own.began, own.outcome)
        self._keep(found)
        self._found.append(own)
        for result in found.results:
            self._report(result)

    def _keep(self, found: Observed) -> None:
        """With what could not be kept before. The oldest goes if that becomes too much."""
        self._unkept = [*self._unkept, found][-MOST_UNKEPT:]
        results = [one for each in self._unkept for one in each.results]
        boots = [one for each in self._unkept for one in each.boots]
        try:
            self.waits = keep(self._site, results, boots)
        except OutputError as error:
            self.problem = error
            return
        except (InputError, SetAside) as error:
            self.problem = error
        else:
            if not isinstance(self.problem, SetAside):
                self.problem = None
        self._unkept = []


def _run_in_fork(probe: Probe, facts: Mapping[str, str]) -> Observed:
    """Says what a fork failed of: a defect, or an update of Sesame below a prober that stays."""
    try:
        return run_probe(probe, facts)
    except Exception as error:
        traceback.print_exc()
        reason = f"the prober failed: {type(error).__name__}: {error}"
        return Observed([not_observed(probe, reason, facts)])


def _look_up(target: Target) -> str:
    assert target.maintenance is not None
    command = target.filled(target.maintenance.command)
    environment = {**os.environ, "LC_ALL": "C"}
    ended = run_command(command, target.directory or Path("/"), LOOK_UP_S, environment)
    if ended.problem or ended.exit_status != 0:
        return ""
    found = target.maintenance.pattern.search(ended.output)
    return "" if found is None else (found[0].strip() or ended.output.strip() or "yes")[:300]


def _add_boots(store: Store) -> None:
    for boot, booted in boots_here():
        store.add_boot(boot, booted)
