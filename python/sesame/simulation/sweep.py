"""A series of runs over values of the machine's parameters and numbers of ranks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from sesame.datasets.describe import count_of
from sesame.errors import InputError
from sesame.simulation.run import RunResult

Job = TypeVar("Job")


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
                f"--sweep {text}: expected KEY=VALUE,VALUE,…",
                hint="for instance --sweep network.latency=1us,2us,5us",
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
    """One run of a series: the number of ranks and the values of the swept keys."""

    ranks: int
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def overrides(self) -> tuple[str, ...]:
        return tuple(f"{key}={value}" for key, value in self.settings)

    def __str__(self) -> str:
        return ", ".join((count_of(self.ranks, "rank"), *self.overrides))


def points_of(ranks: Sequence[int], sweeps: Sequence[Sweep]) -> list[Point]:
    """Every combination of rank counts and values; the last sweep varies fastest.

    Raises InputError where two sweeps have the same key.
    """
    repeated = [s.key for i, s in enumerate(sweeps) if s.key in [t.key for t in sweeps[:i]]]
    if repeated:
        raise InputError(f"--sweep {repeated[0]}: given twice", hint="give all values at once")
    keys = [sweep.key for sweep in sweeps]
    return [
        Point(n, tuple(zip(keys, values, strict=True)))
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
    with ThreadPoolExecutor(at_once) as pool:
        futures = [pool.submit(run, point) for point in points]
        try:
            for point, future in zip(points, futures, strict=True):
                yield point, future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            stop()
            raise
