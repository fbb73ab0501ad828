"""Where the time of each process went: files, messages, the rest."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sesame.analysis.traced.intervals import Array, Union
from sesame.analysis.traced.load import IoRecords, TracedRun
from sesame.analysis.traced.totals import Totals
from sesame.traced.io_calls import PROCESS


@dataclass(frozen=True)
class Activity:
    """Seconds by process: index an array with the number of a process.

    A moment counts as I/O if any thread is in a call on files, else as MPI if any thread is in an
    MPI call. Sums and shares are over the processes `ranks`.
    """

    ranks: Array  # numbers of processes
    span: Array  # from begin to end
    io: Array
    mpi: Array
    io_times: Union  # the intervals of `io` in ns; groups are processes
    even: bool = False  # part of `io` is known only for all ranks together, and divided evenly

    @property
    def rest(self) -> Array:
        return np.asarray(np.maximum(self.span - self.io - self.mpi, 0))

    @property
    def whole(self) -> float:
        """The time of all ranks together, s."""
        return float(self.span[self.ranks].sum())

    def sum(self, seconds: Array) -> float:
        return float(seconds[self.ranks].sum())

    def share(self, seconds: float) -> float:
        return seconds / self.whole if self.whole > 0 else 0.0


def outermost(run: TracedRun) -> IoRecords:
    """The calls on files that are inside no other recorded call.

    Pipes, sockets and terminals do not count as files: a process that reads from one waits for
    another program.
    """
    stored = np.append(run.files.stored, True)  # file -1: a call on no single file, such as sync
    return run.io.where(run.io.own & (run.io.kind != PROCESS) & stored[run.io.file])


def activity_of(run: TracedRun, totals: Totals) -> Activity:
    """The times of a run: from its records, and from totals if another tool counted calls that it
    did not record."""
    recorded = _recorded(run)
    if not run.data_set.has("file_total"):
        return recorded
    joint = totals.own.joint.sum("io_s")
    counted = totals.own.by_rank("io_s") + joint / max(len(run.processes.ranks), 1)
    io = np.minimum(np.maximum(counted, recorded.io), recorded.span)
    return replace(recorded, io=io, even=joint > 0)


def _recorded(run: TracedRun) -> Activity:
    ranks = run.ranks
    io, mpi = outermost(run), run.mpi.where(run.mpi.own)
    io_times = Union(io.rank, io.begin, io.end)
    every = Union(
        np.concatenate([io.rank, mpi.rank]),
        np.concatenate([io.begin, mpi.begin]),
        np.concatenate([io.end, mpi.end]),
    )
    span = np.zeros(ranks)
    span[run.processes.rank] = (run.processes.end - run.processes.begin) * 1e-9
    in_io = io_times.lengths(ranks) * 1e-9
    return Activity(run.processes.ranks, span, in_io, every.lengths(ranks) * 1e-9 - in_io, io_times)
