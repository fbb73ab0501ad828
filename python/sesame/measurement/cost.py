"""What a probe adds to an event, measured by loads that do one thing, in pairs with it off and on.

A pair is two short runs next to each other on one CPU, in turns off first and on first, so that a
slow phase of the machine is in both. What counts is processor time, of all who take part. Given are
the median of the pairs' differences and the interval that holds it with 95 % probability, whatever
the distribution (order statistics of the sign test).
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from itertools import accumulate
from pathlib import Path

import numpy as np

from sesame.measurement.detail import Detail
from sesame.measurement.probes import LoadedProbes, library, loaded, subsystems


@dataclass(frozen=True)
class Load:
    """What is run, and how many events of which points one time of it makes."""

    name: str
    count: int
    subsystem: str
    events: dict[str, float] = field(hash=False)


# Some 5 ms each.
LOADS = (
    Load("read", 8_000, "fs", {"read": 1}),
    Load("touch", 4_096, "vm", {"zero-fill": 1}),
    Load("process", 200, "task", {"create": 1, "exit": 1}),
    Load("packet", 1_500, "ipc", {"send": 1, "receive": 1, "transmit": 1}),
    Load("turn", 2_500, "sched", {"run": 1, "wait": 1}),
)
ROUNDS = 5
ANOTHER_CALL = "(another call)"
ASK = Load("ask", 30_000, "fs", {})


@dataclass(frozen=True)
class Cost:
    """Of one event, in nanoseconds of processor time."""

    subsystem: str
    points: str
    detail: str
    ns: float
    least_ns: float  # the interval
    most_ns: float
    base_ns: float  # what the load takes without
    runs: float = 1.0  # of programs, for an event

    @property
    def is_certain(self) -> bool:
        """Not when the machine was so busy that the cost could be half or twice as much."""
        return 0.5 * self.ns < self.least_ns and self.most_ns < 2 * self.ns


def median_and_interval(
    values: list[float], confidence: float = 0.95
) -> tuple[float, float, float]:
    """The median, and between which of the values it lies with at least that confidence."""
    ordered = sorted(values)
    n = len(ordered)
    middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    cut = binomial_quantile((1 - confidence) / 2, n)
    return middle, ordered[max(cut - 1, 0)], ordered[min(n - cut, n - 1)]


def binomial_quantile(share: float, n: int) -> int:
    """The least number of heads that n throws of a coin stay within with probability `share`."""
    within = accumulate(math.comb(n, heads) for heads in range(n + 1))
    return next(heads for heads, ways in enumerate(within) if ways >= share * 2**n)


def run_load(load: Load) -> float:
    """Nanoseconds for one time of what it does."""
    run = library().sesame_probes_run_load
    run.restype, run.argtypes = ctypes.c_int64, [ctypes.c_char_p, ctypes.c_long]
    return float(run(load.name.encode(), load.count)) / load.count


def loads_cpu() -> int:
    """The one of this process's CPUs that loads run on."""
    return max(os.sched_getaffinity(0))


@contextmanager
def on_one_cpu() -> Iterator[int]:
    """This thread and those that it begins."""
    before, cpu = os.sched_getaffinity(0), loads_cpu()
    os.sched_setaffinity(0, {cpu})
    try:
        yield cpu
    finally:
        os.sched_setaffinity(0, before)


@dataclass(frozen=True)
class Pairs:
    """Differences and what the load takes without, in ns for one time of it; runs of programs."""

    differences: list[float]
    without: list[float]
    runs: float


def measure_pairs(
    load: Load, switch: Callable[[bool], None], runs_on: Callable[[int], int], pairs: int
) -> Pairs:
    """With what `switch` switches; `runs_on`: of programs, on a processor until now."""
    differences: list[float] = []
    without: list[float] = []
    runs: list[int] = []
    with on_one_cpu() as cpu:
        for pair in range(pairs):
            times: dict[bool, float] = {}
            for is_on in (False, True) if pair % 2 else (True, False):
                switch(is_on)
                before = runs_on(cpu)
                times[is_on] = run_load(load)
                if is_on:
                    runs.append(runs_on(cpu) - before)
            differences.append(times[True] - times[False])
            without.append(times[False])
        switch(False)
    # What others do there can only add to the runs.
    return Pairs(differences, without, min(runs) / load.count)


def _switch(probes: LoadedProbes, detail: Detail) -> Callable[[bool], None]:
    """All points that the kernel has, as they are mostly used: a fault counts in the total, too."""
    numbers = [i for i in range(len(probes.subsystem.points)) if probes.missing(i) is None]

    def switch(is_on: bool) -> None:
        for number in numbers:
            finest = probes.subsystem.points[number].finest
            probes.set(number, min(detail, finest) if is_on else Detail.OFF)

    return switch


def _measure(load: Load, detail: Detail, probes: LoadedProbes, pairs: int) -> Pairs:
    def runs_on(cpu: int) -> int:
        return int(probes.accounts["runs"][cpu])

    return measure_pairs(load, _switch(probes, detail), runs_on, pairs)


def _cost(load: Load, detail: Detail, measured: Pairs) -> Cost:
    events = sum(load.events.values()) or 1.0
    middle, least, most = median_and_interval([one / events for one in measured.differences])
    return Cost(
        load.subsystem,
        ",".join(load.events) or ANOTHER_CALL,
        detail.name.lower(),
        middle,
        least,
        most,
        float(np.median(measured.without)),
        measured.runs / events,
    )


def _merged(parts: list[Pairs]) -> Pairs:
    return Pairs(
        [one for part in parts for one in part.differences],
        [one for part in parts for one in part.without],
        min(part.runs for part in parts),
    )


def measure_costs(pairs: int = 101, progress: Callable[[str], None] | None = None) -> list[Cost]:
    """Costs of all points that a load here reaches, at each level of detail.

    In rounds, each with probes loaded anew: where they lie in memory, and how fast the machine is
    at the time, makes a difference of some ten percent.
    """
    rounds = min(ROUNDS, pairs)
    parts: dict[tuple[Load, Detail], list[Pairs]] = {}
    for number in range(rounds):
        for load in (ASK, *LOADS):
            if progress is not None:
                progress(f"{load.name}, round {number + 1} of {rounds}")
            with loaded([load.subsystem]) as probes:
                one = probes[load.subsystem]
                for detail in _details(load):
                    some = _measure(load, detail, one, -(-pairs // rounds))
                    parts.setdefault((load, detail), []).append(some)
    return [_cost(load, detail, _merged(some)) for (load, detail), some in parts.items()]


def calibrate(probes: LoadedProbes, pairs: int) -> list[Cost]:
    """Costs of the points that a load here reaches, at full detail, with these loaded probes."""
    loads = [load for load in (ASK, *LOADS) if load.subsystem == probes.subsystem.name]
    details = [_details(load)[-1] for load in loads]
    return [
        _cost(load, detail, _measure(load, detail, probes, pairs))
        for load, detail in zip(loads, details, strict=True)
    ]


def _details(load: Load) -> list[Detail]:
    names = load.events or {"read"}
    points = [one for one in subsystems()[load.subsystem].points if one.name in names]
    return [detail for detail in Detail if Detail.OFF < detail <= max(p.finest for p in points)]


def _place() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "sesame" / f"run-costs-{platform.release()}.json"


def keep_costs(costs: list[Cost]) -> None:
    with suppress(OSError):
        _place().parent.mkdir(parents=True, exist_ok=True)
        _place().write_text(json.dumps([asdict(cost) for cost in costs]))


def kept_costs() -> list[Cost] | None:
    try:
        return [Cost(**cost) for cost in json.loads(_place().read_text())]
    except (OSError, ValueError, TypeError):
        return None
