"""A side of a comparison: one run, or several of the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
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
class CallTime:
    """The time of one side in one call, or in computation: for each run the mean over its ranks, in
    seconds. Counts and bytes are those of the first run."""

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
        """The first run, from which everything but times is taken."""
        return self.runs[0]

    @property
    def name(self) -> str:
        """What the first run is, and the name of its data set."""
        title = self.run.title or self.run.program
        return f"{title} ({self.run.path.name})"

    @property
    def samples_s(self) -> tuple[float, ...]:
        """Times of all runs and of their repeats."""
        return tuple(sample for run in self.runs for sample in run.samples_s)

    @property
    def exact(self) -> bool:
        """Whether running it again gives the same time."""
        return all(run.exact for run in self.runs)

    @property
    def time(self) -> Estimate:
        """The median of the samples, and their interval."""
        return median_of(self.samples_s)

    @property
    def recording(self) -> str:
        """Which computation its runs have; "" where that is not known, or not the same."""
        recordings = {run.recording for run in self.runs}
        return recordings.pop() if len(recordings) == 1 else ""

    def call_times(self) -> dict[str, CallTime]:
        """Computation and calls by name; together the mean time of a rank."""
        of_runs = [_call_times(run) for run in self.runs]
        names = dict.fromkeys(name for times in of_runs for name in times)
        return {name: _joined([times.get(name) for times in of_runs]) for name in names}


def read_sides(
    sides: Sequence[Paths], opened_by: Callable[[Path], DataSet] = DataSet
) -> list[Side]:
    """Each of `sides` is a data set, a directory of data sets, or a list of them, opened by
    `opened_by`. If real and simulated runs are compared, all are read without their start (see
    `read_run`). Raises InputError."""
    if len(sides) < 2:
        raise InputError("expected two data sets or more to compare")
    opened = [[opened_by(path) for path in _paths(side)] for side in sides]
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


def _call_times(run: Run) -> dict[str, CallTime]:
    ranks, calls = max(run.ranks, 1), run.calls
    times = {}
    if run.computation_s is not None:
        mean = float(run.computation_s.sum()) / ranks
        times[COMPUTATION] = CallTime((mean,), rank_s=run.computation_s)
    for i, name in enumerate(calls.names):
        times[name] = CallTime(
            (float(calls.sum_s[i]) / ranks,),
            float(calls.count[i]),
            float(calls.bytes[i]),
            None if calls.seconds is None else calls.seconds[i],
        )
    left = float(run.rank_s.sum()) / ranks - sum(time.mean_s[0] for time in times.values())
    if times and left > LEAST_OTHER_S:
        times[OTHER] = CallTime((left,))
    return times


def _joined(times: Sequence[CallTime | None]) -> CallTime:
    known = next(time for time in times if time is not None)
    means = tuple(0.0 if time is None else time.mean_s[0] for time in times)
    return CallTime(means, known.count, known.bytes, known.rank_s)


def mean_of(time: CallTime | None) -> float:
    """The median over runs of the mean over ranks, in seconds; 0 for what was not called."""
    return 0.0 if time is None else float(np.median(time.mean_s))
