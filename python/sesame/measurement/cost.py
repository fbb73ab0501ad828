"""Measures the cost that a probe adds to an event.

A load repeats one operation. It runs in pairs, with the probe off and with it on. The two runs of a
pair are short and next to each other on one CPU, so that a slow phase of the machine affects both.
Pairs begin with off and on alternately. The processor times of all the load's threads are compared.
The result is the median of the pairs' differences, and an interval that holds the median with 95 %
probability for any distribution (order statistics of the sign test).
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
    """A load that the library runs: an operation and its number of repetitions."""

    name: str
    count: int  # repetitions
    subsystem: str
    events: dict[str, float] = field(hash=False)  # of one repetition, by point; empty: ANOTHER_CALL


# A system call at which programs of fs run, and which they do not count.
ASK = Load("ask", 30_000, "fs", {})
# Each runs for some 5 ms.
LOADS = (
    ASK,
    Load("read", 8_000, "fs", {"read": 1}),
    Load("touch", 4_096, "vm", {"zero-fill": 1}),
    Load("process", 200, "task", {"create": 1, "exit": 1}),
    Load("packet", 1_500, "ipc", {"send": 1, "receive": 1, "transmit": 1}),
    Load("turn", 2_500, "sched", {"run": 1, "wait": 1}),
)
ROUNDS = 5
ANOTHER_CALL = "(another call)"


@dataclass(frozen=True)
class Cost:
    """The cost of one event, in nanoseconds of processor time."""

    subsystem: str
    points: str  # separated by commas, or ANOTHER_CALL
    detail: str
    ns: float
    least_ns: float  # the 95 % interval of `ns`
    most_ns: float
    base_ns: float  # one repetition of the load without the probe
    runs: float = 1.0  # runs of eBPF programs for each event

    @property
    def is_certain(self) -> bool:
        """False if the machine was so busy that the cost could be half or twice as much, or if it
        cannot be: less than nothing."""
        return 0.5 * self.ns < self.least_ns and self.most_ns < 2 * self.ns


def median_and_interval(
    values: list[float], confidence: float = 0.95
) -> tuple[float, float, float]:
    """The median, and two of the values between which it lies with at least that confidence."""
    ordered = sorted(values)
    n = len(ordered)
    middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    cut = binomial_quantile((1 - confidence) / 2, n)
    return middle, ordered[max(cut - 1, 0)], ordered[min(n - cut, n - 1)]


def binomial_quantile(share: float, n: int) -> int:
    """The quantile of the binomial distribution with p = 1/2: the smallest number of heads such
    that n throws give at most that many with probability `share` or more."""
    within = accumulate(math.comb(n, heads) for heads in range(n + 1))
    return next(heads for heads, ways in enumerate(within) if ways >= share * 2**n)


def run_load(load: Load) -> float:
    """Runs a load; returns the processor time of one repetition in ns."""
    run = library().sesame_probes_run_load
    run.restype, run.argtypes = ctypes.c_int64, [ctypes.c_char_p, ctypes.c_long]
    return float(run(load.name.encode(), load.count)) / load.count


def loads_cpu() -> int:
    """The CPU on which loads run: one of those that this process may use."""
    return max(os.sched_getaffinity(0))


@contextmanager
def on_one_cpu() -> Iterator[int]:
    """Binds this thread, and threads that it starts, to one CPU; yields its number."""
    before, cpu = os.sched_getaffinity(0), loads_cpu()
    os.sched_setaffinity(0, {cpu})
    try:
        yield cpu
    finally:
        os.sched_setaffinity(0, before)


@dataclass(frozen=True)
class Pairs:
    """The result of `measure_pairs`; times are in ns for one repetition of the load."""

    differences: list[float]  # on less off
    without: list[float]  # off
    runs: float  # runs of eBPF programs for one repetition


def measure_pairs(
    load: Load, switch: Callable[[bool], None], runs_on: Callable[[int], int], pairs: int
) -> Pairs:
    """Runs a load in pairs, off and on.

    `switch` switches the probes. `runs_on` gives the number of runs of eBPF programs on a CPU until
    now.
    """
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
    # Other processes on that CPU can only add runs, so the smallest number is the load's.
    return Pairs(differences, without, min(runs) / load.count)


def _switch(probes: LoadedProbes, detail: Detail) -> Callable[[bool], None]:
    """Switches all points that the kernel supports, as users mostly do: then an event of a point
    that is also counted by a sum costs both."""
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
    """The costs of all points for which there is a load, at each level of detail.

    `progress` is called with the name of each step. Each round loads the probes again, since their
    place in memory, and the speed of the machine at the time, change the cost by some ten percent.
    """
    rounds = min(ROUNDS, pairs)
    parts: dict[tuple[Load, Detail], list[Pairs]] = {}
    for number in range(rounds):
        for load in LOADS:
            if progress is not None:
                progress(f"{load.name}, round {number + 1} of {rounds}")
            with loaded([load.subsystem]) as probes:
                one = probes[load.subsystem]
                for detail in _details(load):
                    some = _measure(load, detail, one, -(-pairs // rounds))
                    parts.setdefault((load, detail), []).append(some)
    return [_cost(load, detail, _merged(some)) for (load, detail), some in parts.items()]


def calibrate(probes: LoadedProbes, pairs: int) -> list[Cost]:
    """The costs of points for which there is a load, at full detail, with these loaded probes."""
    loads = [load for load in LOADS if load.subsystem == probes.subsystem.name]
    details = [_details(load)[-1] for load in loads]
    return [
        _cost(load, detail, _measure(load, detail, probes, pairs))
        for load, detail in zip(loads, details, strict=True)
    ]


def _details(load: Load) -> list[Detail]:
    points = subsystems()[load.subsystem].points
    finest = max(one.finest for one in points if not load.events or one.name in load.events)
    return [detail for detail in Detail if Detail.OFF < detail <= finest]


SYSTEM_CACHE = Path("/var/cache")  # of root, for all users


def _costs_files() -> list[Path]:
    """Where costs may be stored; they are written to the first. Root's are for the whole machine,
    since its daemon is another user's."""
    given = os.environ.get("XDG_CACHE_HOME")
    if given:
        caches = [Path(given)]
    elif os.geteuid() == 0:
        caches = [SYSTEM_CACHE]
    else:
        caches = [Path.home() / ".cache", SYSTEM_CACHE]
    return [cache / "sesame" / f"run-costs-{platform.release()}.json" for cache in caches]


def keep_costs(costs: list[Cost]) -> list[Cost]:
    """Stores costs for this user, or if it is root for all users, and for this release of the
    kernel. Ignores errors.

    Costs that are not certain are not stored but returned; those stored earlier in their place
    stay.
    """
    measured = {(one.subsystem, one.points, one.detail): one for one in costs}
    earlier = {(one.subsystem, one.points, one.detail): one for one in kept_costs() or []}
    certain = {key: one for key, one in measured.items() if one.is_certain}
    stored = {key: one for key, one in (earlier | certain).items() if one.is_certain}
    with suppress(OSError):
        file = _costs_files()[0]
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_name(f"{file.name}.{os.getpid()}")
        new.write_text(json.dumps([asdict(one) for one in stored.values()]))
        new.replace(file)
    return [one for one in costs if not one.is_certain]


def kept_costs() -> list[Cost] | None:
    """The costs that `keep_costs` stored for this kernel; None if there are none."""
    for file in _costs_files():
        with suppress(OSError, ValueError, TypeError):
            return [Cost(**cost) for cost in json.loads(file.read_text())]
    return None
