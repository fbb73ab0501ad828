"""The time that ranks wait in collective calls on files for the last rank to make the call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sesame.analysis.traced.intervals import Array, Union
from sesame.analysis.traced.load import IoRecords, TracedRun
from sesame.analysis.traced.waits import last_of, same_call
from sesame.datasets.traced import IoFlag


@dataclass(frozen=True)
class FileWaits:
    """One entry for each call in which a rank waited. Times in ns."""

    waiter: Array
    culprit: Array  # the rank that made the call last
    call: Array  # index in the names of io records
    waited: Array

    @property
    def seconds(self) -> float:
        return float(self.waited.sum()) * 1e-9


def file_waits_of(run: TracedRun) -> FileWaits:
    """A rank waits from the begin of its call to that of the last rank. Its accesses to files in
    this time are subtracted, since not every library makes all ranks wait before they begin."""
    io = run.io
    chosen = np.flatnonzero(((io.flags & IoFlag.COLLECTIVE) != 0) & (io.comm >= 0) & io.own)
    if len(chosen) == 0:
        return FileWaits(chosen, chosen, chosen, chosen)
    order, group = same_call(io, chosen)
    cause = last_of(io, order, group)[group]
    waits = _is_blocking(io)[order] & _is_whole(io, order, group) & (cause != order)
    order, cause = order[waits], cause[waits]
    begin, until = io.begin[order], np.minimum(io.begin[cause], io.end[order])
    inside = io.where(~io.own)
    busy = Union(inside.rank, inside.begin, inside.end).covered(io.rank[order], begin, until)
    waited = np.maximum(until - begin - busy, 0)
    real = waited > 0
    return FileWaits(io.rank[order][real], io.rank[cause][real], io.call[order][real], waited[real])


def _is_blocking(io: IoRecords) -> Array:
    """Excludes nonblocking calls, and `_end` of split calls: it waits for the access that `_begin`
    started, not for ranks that call it late."""
    whole = np.array([not name.endswith("_end") for name in io.names] or [True])
    return np.asarray(whole[io.call] & ((io.flags & IoFlag.ASYNCHRONOUS) == 0))


def _is_whole(io: IoRecords, order: Array, group: Array) -> Array:
    """Whether all records of a group are of the same function; if not, records were lost."""
    call = io.call[order].astype(np.int64)
    first = np.full(int(group.max()) + 1, len(io.names))
    np.minimum.at(first, group, call)
    differs = np.bincount(group, call != first[group]) > 0
    return np.asarray(~differs[group])
