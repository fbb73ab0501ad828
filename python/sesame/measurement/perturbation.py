"""How much processor time everything takes that is measured while a load runs, in pairs.

A pair is the same work twice, on one CPU, next to each other: with measuring and without, in turns
one and the other first. What counts is processor time, the load's and that of the process that
measures. Beside what is measured stands what the governor believes to have spent, in the same
terms, so that one can be held against the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace

from sesame.measurement.cost import Load, calibrate, kept_costs, median_and_interval
from sesame.measurement.governor import OWN
from sesame.measurement.probes import LoadedProbes, loaded, subsystems
from sesame.measurement.session import Session, Wanted
from sesame.measurement.worker import Worker

# Each with the subsystem whose programs cost most there.
LOADS = {
    "processes are made": Load("process", 200, "sched", {}),
    "pages are touched": Load("touch", 4_096, "vm", {}),
    "files are read in 4 KiB": Load("read", 20_000, "fs", {}),
}
IDLE = "idle"
# Without a budget nothing goes by intervals: more and shorter pairs say more.
SHORT_S, MORE = 0.05, 10
# To calibrate before: so many leave 2 to 4 % to either side on a machine that others use, too.
CALIBRATING = 201


@dataclass(frozen=True)
class Perturbation:
    """In percent of what the load takes without; idle: of a processor's time.

    Each interval holds the median with 95 % probability; within a budget the estimate is of all
    pairs together.
    """

    load: str
    percent: float
    least_percent: float
    most_percent: float
    estimated_percent: float
    least_estimated_percent: float
    most_estimated_percent: float
    own_percent: float  # of it, the process that measures


def everything() -> set[tuple[str, int]]:
    return {(name, i) for name, one in subsystems().items() for i in range(len(one.points))}


def _spent_ns(probes: dict[str, LoadedProbes], cpu: int) -> int:
    """What the governor believes that probes have cost this processor until now."""
    return sum(int(one.accounts["charged_ns"][cpu]) for one in probes.values())


def _last_costs(session: Session) -> dict[str, int]:
    """Of the last interval by subsystem, in ns of the processor that paid most."""
    rows = session.rows["measurement_cost"]
    last = [row for row in rows if row["end_ns"] == rows[-1]["end_ns"]]
    return {row["subsystem"]: row["estimated_ns"] for row in last}


def _summary(
    load: str, measured: list[float], estimated: list[float], own: list[float]
) -> Perturbation:
    return Perturbation(
        load,
        *median_and_interval(measured),
        *median_and_interval(estimated),
        median_and_interval(own)[0],
    )


def _for_so_long(load: Load, seconds: float, worker: Worker) -> Load:
    took_s = 1e-9 * min(worker.run(load) for _ in range(3))
    return replace(load, count=max(round(load.count * seconds / took_s), load.count))


@dataclass(frozen=True)
class Pair:
    """Processor time in ns: of the load, and of what the governor has accounted for."""

    without: float
    with_: float
    probes: int
    own: int

    @property
    def measured(self) -> float:
        return 100 * ((self.with_ + self.own) / self.without - 1)

    @property
    def estimated(self) -> float:
        return 100 * (self.probes + self.own) / self.without


def _run_pair(
    load: Load,
    worker: Worker,
    session: Session,
    probes: dict[str, LoadedProbes],
    *,
    is_on_first: bool,
) -> Pair:
    without = 0.0 if is_on_first else worker.run(load)
    session.resume()
    before = _spent_ns(probes, worker.cpu)
    with_ = worker.run(load)
    spent = _spent_ns(probes, worker.cpu) - before
    session.read(is_last=True)
    return Pair(without or worker.run(load), with_, spent, _last_costs(session)[OWN])


def _measure(
    name: str, load: Load, wanted: Wanted, pairs: int, progress: Callable[[str], None]
) -> Perturbation:
    done: list[Pair] = []
    with closing(Worker()) as worker, loaded(list(subsystems())) as probes:
        costs = kept_costs() or []
        if wanted.budget is None:
            progress(f"{name}, calibrating")
            costs += calibrate(probes[load.subsystem], CALIBRATING)
        load = _for_so_long(load, wanted.interval_s, worker)
        with Session(probes, wanted, costs=costs).running() as session:
            worker.run(load)  # the governor learns the rates
            session.read(is_last=True)
            for number in range(pairs):
                progress(f"{name}, pair {number + 1} of {pairs}")
                pair = _run_pair(load, worker, session, probes, is_on_first=number % 2 == 0)
                done.append(pair if wanted.budget is not None else replace(pair, own=0))
    summary = _summary(
        name,
        [pair.measured for pair in done],
        [pair.estimated for pair in done],
        [100 * pair.own / pair.without for pair in done],
    )
    return summary if wanted.budget is None else _together(summary, done)


def _together(summary: Perturbation, done: list[Pair]) -> Perturbation:
    """Within a budget an interval pays for what the one before took too much, or saves for the next
    one, so the account is that of all of them."""
    percent = 100 / sum(pair.without for pair in done)
    own = sum(pair.own for pair in done)
    probes = sum(pair.probes for pair in done)
    return replace(summary, estimated_percent=percent * (probes + own), own_percent=percent * own)


def measure_perturbation(
    wanted: Wanted, pairs: int, progress: Callable[[str], None] = lambda _: None
) -> list[Perturbation]:
    """Of each load, and of an idle system, where it is the processor time of this process.

    Without a budget, of the probes alone.
    """
    if wanted.budget is None:
        wanted, pairs = replace(wanted, interval_s=SHORT_S), MORE * pairs
    results = [_measure(name, load, wanted, pairs, progress) for name, load in LOADS.items()]
    if wanted.budget is not None:
        results.append(_idle(wanted, pairs, progress))
    return results


def _idle(wanted: Wanted, pairs: int, progress: Callable[[str], None]) -> Perturbation:
    own: list[float] = []
    estimated: list[float] = []
    with loaded(list(subsystems())) as probes, Session(probes, wanted).running() as session:
        for number in range(pairs):
            progress(f"{IDLE}, interval {number + 1} of {pairs}")
            time.sleep(wanted.interval_s)
            session.read()
            costs = _last_costs(session)
            own.append(1e-7 * costs[OWN] / wanted.interval_s)
            estimated.append(1e-7 * sum(costs.values()) / wanted.interval_s)
    return _summary(IDLE, own, estimated, own)
