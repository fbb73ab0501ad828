"""How much slower loads run while everything is measured within a budget, in pairs with and without.

Beside what is measured stands what the governor believes to have spent, so that one can be held
against the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from sesame.measurement.cost import Load, median_and_interval, run_load
from sesame.measurement.probes import loaded, subsystems
from sesame.measurement.session import Session, Wanted

LOADS = {
    "processes are made": Load("process", 200, "task", {}),
    "pages are touched": Load("touch", 20_480, "vm", {}),
    "files are read in 4 KiB": Load("read", 50_000, "fs", {}),
}
IDLE = "idle"


@dataclass(frozen=True)
class Perturbation:
    """In percent of a processor's time."""

    load: str
    percent: float
    least_percent: float  # the interval that holds the median with 95 % probability
    most_percent: float
    estimated_percent: float


def everything() -> set[tuple[str, int]]:
    return {(name, i) for name, one in subsystems().items() for i in range(len(one.points))}


def _time_of_one(load: Load, seconds: float) -> float:
    """Mean over so many seconds, in ns."""
    end = time.monotonic() + seconds
    times = []
    while time.monotonic() < end:
        times.append(run_load(load))
    return sum(times) / len(times)


def _estimated(session: Session) -> float:
    """What the last interval cost the processor that paid most, as a share."""
    rows = session.rows["measurement_cost"]
    last = [row for row in rows if row["end_ns"] == rows[-1]["end_ns"]]
    return float(sum(row["estimated_ns"] for row in last)) / float(
        last[0]["end_ns"] - last[0]["begin_ns"]
    )


def _pair(wanted: Wanted, run: Callable[[], float]) -> tuple[float, float, float]:
    """Without, with, and the estimate; the governor learns the rates in an interval before."""
    without = run()
    names = list(subsystems())
    with loaded(names) as probes, Session(probes, wanted) as session:
        run()
        session.pull()
        with_it = run()
        session.pull(is_last=True)
        return without, with_it, _estimated(session)


def measure_perturbation(
    wanted: Wanted, pairs: int, progress: Callable[[str], None] | None = None
) -> list[Perturbation]:
    """Of each load, and of an idle system, where it is the processor time of this process."""
    results = []
    for name, load in LOADS.items():
        differences, estimates = [], []
        for number in range(pairs):
            if progress is not None:
                progress(f"{name}, pair {number + 1} of {pairs}")
            without, with_it, estimate = _pair(
                wanted, partial(_time_of_one, load, wanted.interval_s)
            )
            differences.append(100 * (with_it / without - 1))
            estimates.append(100 * estimate)
        middle, least, most = median_and_interval(differences)
        estimated = median_and_interval(estimates)[0]
        results.append(Perturbation(name, middle, least, most, estimated))
    results.append(_idle(wanted, pairs, progress))
    return results


def _idle(wanted: Wanted, pairs: int, progress: Callable[[str], None] | None) -> Perturbation:
    shares, estimates = [], []
    with loaded(list(subsystems())) as probes, Session(probes, wanted) as session:
        for number in range(pairs):
            if progress is not None:
                progress(f"{IDLE}, interval {number + 1} of {pairs}")
            before = time.process_time_ns()
            time.sleep(wanted.interval_s)
            session.pull()
            spent = time.process_time_ns() - before
            shares.append(1e-7 * spent / wanted.interval_s)
            estimates.append(100 * _estimated(session))
    middle, least, most = median_and_interval(shares)
    return Perturbation(IDLE, middle, least, most, median_and_interval(estimates)[0])
