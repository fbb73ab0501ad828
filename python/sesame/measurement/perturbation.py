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

from sesame.measurement.cost import Load, median_and_interval
from sesame.measurement.governor import OWN
from sesame.measurement.probes import loaded, subsystems
from sesame.measurement.session import Session, Wanted
from sesame.measurement.worker import Worker

LOADS = {
    "processes are made": Load("process", 200, "task", {}),
    "pages are touched": Load("touch", 4_096, "vm", {}),
    "files are read in 4 KiB": Load("read", 20_000, "fs", {}),
}
IDLE = "idle"
# Without a budget nothing goes by intervals: more and shorter pairs say more.
SHORT_S, MORE = 0.05, 10


@dataclass(frozen=True)
class Perturbation:
    """In percent of what the load takes without; idle: of a processor's time.

    Each interval holds the median with 95 % probability.
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


def _last_costs(session: Session) -> tuple[float, float]:
    """Of the last interval, in ns: what probes cost the processor that paid most; this process."""
    rows = session.rows["measurement_cost"]
    last = [row for row in rows if row["end_ns"] == rows[-1]["end_ns"]]
    own = sum(row["estimated_ns"] for row in last if row["subsystem"] == OWN)
    return float(sum(row["estimated_ns"] for row in last) - own), float(own)


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


def _measure(
    name: str, load: Load, wanted: Wanted, pairs: int, progress: Callable[[str], None]
) -> Perturbation:
    measured: list[float] = []
    estimated: list[float] = []
    own: list[float] = []
    with closing(Worker()) as worker, loaded(list(subsystems())) as probes:
        load = _for_so_long(load, wanted.interval_s, worker)
        with Session(probes, wanted).running() as session:
            worker.run(load)  # the governor learns the rates
            session.pull(is_last=True)
            for pair in range(pairs):
                progress(f"{name}, pair {pair + 1} of {pairs}")
                times: dict[bool, float] = {}
                for is_on in (False, True) if pair % 2 else (True, False):
                    if is_on:
                        session.resume()
                    times[is_on] = worker.run(load)
                    if is_on:
                        session.pull(is_last=True)
                probes_ns, own_ns = _last_costs(session)
                own_ns *= wanted.budget is not None
                without = times[False]
                measured.append(100 * ((times[True] + own_ns) / without - 1))
                estimated.append(100 * (probes_ns + own_ns) / (times[True] - probes_ns))
                own.append(100 * own_ns / without)
    return _summary(name, measured, estimated, own)


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
            session.pull()
            probes_ns, own_ns = _last_costs(session)
            own.append(1e-7 * own_ns / wanted.interval_s)
            estimated.append(1e-7 * (probes_ns + own_ns) / wanted.interval_s)
    return _summary(IDLE, own, estimated, own)
