"""A series of runs over values of the machine's parameters and numbers of ranks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sesame.datasets.describe import count_of
from sesame.errors import InputError
from sesame.settings import setting
from sesame.simulation.run import RunResult

Job = TypeVar("Job")
MACHINE = "machine"  # what varies in a series over machines; no key of a machine has this name


@dataclass(frozen=True)
class Sweep:
    """One key of the machine and its values, such as `network.latency=1us,2us,5us`."""

    key: str
    values: tuple[str, ...]

    @staticmethod
    def parse(text: str) -> Sweep:
        """Parses KEY=VALUE,VALUE,…. Raises InputError."""
        key, equals, values = text.partition("=")
        parts = _split(values)
        if not key or not equals or not all(parts):
            raise InputError(
                f"{setting('sweep', text)}: expected KEY=VALUE,VALUE,…",
                hint="for instance network.latency=1us,2us,5us",
            )
        return Sweep(key.strip(), tuple(parts))


def _split(values: str) -> list[str]:
    """Splits at commas outside brackets: topology.dims=[4,4],[8,2]."""
    parts, depth = [""], 0
    for character in values:
        depth += {"[": 1, "]": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


@dataclass(frozen=True)
class Point:
    """One run of a series: the number of ranks, and the values of what else varies: swept keys, and
    first the machine, by its name in the series, if there are several."""

    ranks: int
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def machine(self) -> str:
        """Empty in a series on one machine."""
        return dict(self.settings).get(MACHINE, "")

    @property
    def overrides(self) -> tuple[str, ...]:
        """The values of the swept keys, as KEY=VALUE."""
        return tuple(f"{key}={value}" for key, value in self.settings if key != MACHINE)

    def __str__(self) -> str:
        machine = (self.machine,) if self.machine else ()
        return ", ".join((count_of(self.ranks, "rank"), *machine, *self.overrides))


def points_of(
    ranks: Sequence[int], sweeps: Sequence[Sweep], machines: Sequence[str] = ()
) -> list[Point]:
    """Every combination of machines (none: it does not vary), rank counts and values; machines vary
    slowest, the last sweep fastest.

    Raises InputError where two sweeps have the same key.
    """
    repeated = [s.key for i, s in enumerate(sweeps) if s.key in [t.key for t in sweeps[:i]]]
    if repeated:
        raise InputError(
            f"{setting('sweep', repeated[0])}: given twice", hint="give all values at once"
        )
    keys = [sweep.key for sweep in sweeps]
    named: list[tuple[tuple[str, str], ...]] = [((MACHINE, name),) for name in machines] or [()]
    return [
        Point(n, (*machine, *zip(keys, values, strict=True)))
        for machine in named
        for n in ranks
        for values in itertools.product(*(sweep.values for sweep in sweeps))
    ]


def run_sweep(
    points: Sequence[Job],
    run: Callable[[Job], RunResult],
    *,
    at_once: int = 1,
    stop: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Job, RunResult]]:
    """Runs every point, `at_once` of them at a time; yields the results in the order of points.

    The first error ends the series; `stop` is then called to end the runs in progress.
    """
    if at_once == 1:
        for point in points:
            yield point, run(point)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(at_once) as pool:
        futures = [pool.submit(run, point) for point in points]
        try:
            for point, future in zip(points, futures, strict=True):
                yield point, future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            stop()
            raise
