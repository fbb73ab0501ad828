"""A side of a comparison: one run, or several of the same."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sesame.analysis.traced.intervals import Array
from sesame.comparison.run import COMPUTATION, Run, read_run
from sesame.datasets import DataSet, Kind, is_data_set
from sesame.errors import InputError
from sesame.trust import Estimate, median_of

OTHER = "other"
LEAST_OTHER_S = 1e-12  # less is rounding
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True)
class Part:
    """What one side spent in one call, or computing: the mean over ranks of each run, in seconds;
    calls and bytes are those of the first run."""

    mean_s: tuple[float, ...]
    count: float = 0.0
    bytes: float = 0.0
    rank_s: Array | None = None  # of the first run


@dataclass(frozen=True)
class Side:
    """`label` is A, B, …; `runs` are runs of one program on one machine."""

    label: str
    runs: tuple[Run, ...]

    @property
    def run(self) -> Run:
        """The first; what is not a time is taken from it."""
        return self.runs[0]

    @property
    def samples_s(self) -> tuple[float, ...]:
        """Times of all runs and of their repeats."""
        return tuple(sample for run in self.runs for sample in run.samples_s)

    @property
    def exact(self) -> bool:
        """Whether running it again gives the same."""
        return all(run.exact for run in self.runs)

    @property
    def time(self) -> Estimate:
        """The median of the samples, and their interval."""
        return median_of(self.samples_s)

    @property
    def recording(self) -> str:
        """Which recorded computation its runs repeat; "" where none, or not the same."""
        recordings = {run.recording for run in self.runs}
        return recordings.pop() if len(recordings) == 1 else ""

    def parts(self) -> dict[str, Part]:
        """Computation and calls by name; together the mean time of a rank."""
        of_runs = [_parts(run) for run in self.runs]
        names = dict.fromkeys(name for parts in of_runs for name in parts)
        return {name: _joined([parts.get(name) for parts in of_runs]) for name in names}


def read_sides(sides: Sequence[Paths]) -> list[Side]:
    """Each of `sides` is a data set, a directory of data sets, or a list of them. Runs of real and
    simulated sides are read without what starts them (see `read_run`)."""
    if len(sides) < 2:
        raise InputError("expected two data sets or more to compare")
    opened = [[DataSet(path) for path in _paths(side)] for side in sides]
    kinds = {data_set.kind for side in opened for data_set in side}
    if Kind.BENCH in kinds and len(kinds) > 1:
        raise InputError(
            f"a run of a workload cannot be compared with a {min(kinds - {Kind.BENCH})} run",
            hint="`sesame machine check --against` predicts a measured workload",
        )
    with_mpi = all(_has_calls_of_mpi(data_set) for side in opened for data_set in side)
    without_start = (
        len(kinds) > 1 and Kind.SIMULATED in kinds and Kind.REPLAYED not in kinds and with_mpi
    )
    return [
        Side(_label(i), tuple(read_run(d, without_start=without_start) for d in side))
        for i, side in enumerate(opened)
    ]


def _label(number: int) -> str:
    return chr(ord("A") + number) if number < 26 else f"side {number + 1}"


def _has_calls_of_mpi(data_set: DataSet) -> bool:
    return data_set.kind == Kind.SIMULATED or data_set.has("mpi")


def _paths(side: Paths) -> list[Path]:
    if not isinstance(side, str | os.PathLike):
        return [path for one in side for path in _paths(one)]
    path = Path(side)
    if path.is_dir() and not is_data_set(path):
        inside = sorted(p for p in path.iterdir() if is_data_set(p))
        if not inside:
            raise InputError("neither a data set nor a directory of data sets", path=str(path))
        return inside
    return [path]


def _parts(run: Run) -> dict[str, Part]:
    ranks, calls = max(run.ranks, 1), run.calls
    parts = {}
    if run.computation_s is not None:
        mean = float(run.computation_s.sum()) / ranks
        parts[COMPUTATION] = Part((mean,), rank_s=run.computation_s)
    for i, name in enumerate(calls.names):
        parts[name] = Part(
            (float(calls.sum_s[i]) / ranks,),
            float(calls.count[i]),
            float(calls.bytes[i]),
            None if calls.seconds is None else calls.seconds[i],
        )
    left = float(run.rank_s.sum()) / ranks - sum(part.mean_s[0] for part in parts.values())
    if parts and left > LEAST_OTHER_S:
        parts[OTHER] = Part((left,))
    return parts


def _joined(parts: Sequence[Part | None]) -> Part:
    known = next(part for part in parts if part is not None)
    means = tuple(0.0 if part is None else part.mean_s[0] for part in parts)
    return Part(means, known.count, known.bytes, known.rank_s)


def mean_of(part: Part | None) -> float:
    """The median over runs of the mean over ranks, in seconds; 0 for what was not called."""
    return 0.0 if part is None else float(np.median(part.mean_s))
