"""Measures how much processor time measuring adds to a load, in pairs of runs.

A pair runs the same work twice on one CPU, with measuring and without; which run comes first
alternates. The processor times of the load and of the measuring process are compared. The result
also has the governor's estimate of the same cost, so that you can compare the two.
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

# Each with the subsystem that costs most under this load.
LOADS = {
    "processes are made": Load("process", 200, "sched", {}),
    "pages are touched": Load("touch", 4_096, "vm", {}),
    "files are read in 4 KiB": Load("read", 20_000, "fs", {}),
}
IDLE = "idle"
# Without a budget, intervals do not matter: pairs are shorter (in seconds) and ten times as many.
SHORT_S, MORE = 0.05, 10
# Pairs for the calibration: on a shared machine this gives intervals of 2 to 4 % to either side.
CALIBRATING = 201


@dataclass(frozen=True)
class Perturbation:
    """Costs in percent of the load's processor time without measuring; if idle, of a processor's
    time.

    Values are medians. From `least_…` to `most_…` is the interval that holds the median with 95 %
    probability. With a budget, `estimated_percent` and `own_percent` are totals of all pairs.
    """

    load: str
    percent: float
    least_percent: float
    most_percent: float
    estimated_percent: float
    least_estimated_percent: float
    most_estimated_percent: float
    own_percent: float  # the part of the process that measures


def everything() -> set[tuple[str, int]]:
    return {(name, i) for name, one in subsystems().items() for i in range(len(one.points))}


def _spent_ns(probes: dict[str, LoadedProbes], cpu: int) -> int:
    """The cost that probes have charged to this processor until now."""
    return sum(int(one.accounts["charged_ns"][cpu]) for one in probes.values())


def _last_costs(session: Session) -> dict[str, int]:
    """The costs of the last interval by subsystem, in ns of the processor charged most."""
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


def _lasting(load: Load, seconds: float, worker: Worker) -> Load:
    """The load, with as many repetitions as take this time."""
    took_s = 1e-9 * min(worker.run(load) for _ in range(3))
    return replace(load, count=max(round(load.count * seconds / took_s), load.count))


@dataclass(frozen=True)
class Pair:
    """Processor times of a pair in ns."""

    without: float  # the load without measuring
    with_: float  # the load with measuring
    probes: int  # charged by the probes
    own: int  # of this process

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
        load = _lasting(load, wanted.interval_s, worker)
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
    return summary if wanted.budget is None else _with_totals(summary, done)


def _with_totals(summary: Perturbation, done: list[Pair]) -> Perturbation:
    """Replaces the estimates by totals of all pairs: with a budget, an interval pays the debt of
    the one before, or saves for the next one."""
    percent = 100 / sum(pair.without for pair in done)
    own = sum(pair.own for pair in done)
    probes = sum(pair.probes for pair in done)
    return replace(summary, estimated_percent=percent * (probes + own), own_percent=percent * own)


def measure_perturbation(
    wanted: Wanted, pairs: int, progress: Callable[[str], None] = lambda _: None
) -> list[Perturbation]:
    """The perturbation of each load and, with a budget, of an idle system.

    On an idle system only the processor time of this process is measured. Without a budget the
    results have the cost of the probes alone.
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
