"""The time that a process waits in MPI for another, and how much of it the other is in calls on
files."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sesame.analysis.calls import COLLECTIVE
from sesame.analysis.messages import Messages, match_messages
from sesame.analysis.traced.intervals import Array, Union
from sesame.analysis.traced.load import IoRecords, MpiRecords, TracedRun
from sesame.datasets.traced import MpiFlag
from sesame.traced.calls import Pattern, pattern_of


@dataclass(frozen=True)
class Waits:
    """One entry for each call in which a rank waited for another. Times in ns."""

    waiter: Array
    culprit: Array  # the rank that was late
    begin: Array  # of the wait
    until: Array  # when the late rank made its call
    io: Array  # ns of the wait that the late rank was in calls on files
    record: Array  # the waiter's call, an index in the MPI records
    cause: Array  # the late rank's call, likewise
    unmatched_sends: int = 0
    unmatched_receives: int = 0

    @property
    def seconds(self) -> float:
        return float((self.until - self.begin).sum()) * 1e-9

    @property
    def behind_io(self) -> float:
        """Seconds of all waits in which the late rank was busy with files."""
        return float(self.io.sum()) * 1e-9

    def longest(self, most: int) -> Array:
        """Indices of the longest waits, the longest first."""
        length = self.until - self.begin
        few = min(most, len(length))
        top = np.argpartition(-length, few - 1)[:few] if few else np.zeros(0, np.int64)
        return top[np.argsort(-length[top], kind="stable")]


def waits_of(run: TracedRun, io_times: Union) -> Waits:
    """All waits of a run. `io_times`: the times of each rank in calls on files."""
    messages = match_messages(run.mpi)
    parts = [_of_messages(run.mpi, messages), *_of_collectives(run.mpi)]
    waiter, culprit, begin, until, record, cause = (
        np.concatenate([part[i] for part in parts]) for i in range(6)
    )
    real = until > begin
    waiter, culprit, begin, until = (a[real] for a in (waiter, culprit, begin, until))
    return Waits(
        waiter=waiter,
        culprit=culprit,
        begin=begin,
        until=until,
        io=io_times.covered(culprit, begin, until),
        record=record[real],
        cause=cause[real],
        unmatched_sends=messages.unmatched_sends,
        unmatched_receives=messages.unmatched_receives,
    )


def _of_messages(mpi: MpiRecords, messages: Messages) -> tuple[Array, ...]:
    """A receive waits, in the call that completes it, until its send begins. A call that completes
    several receives waits for the last of the sends."""
    send, receive = messages.send, messages.receive
    done = np.minimum(receive + np.maximum(mpi.completion[receive], 0), len(mpi) - 1)
    done = np.where(mpi.rank[done] == mpi.rank[receive], done, receive)
    order = np.lexsort((mpi.begin[send], done))
    last = order[np.append(done[order][1:] != done[order][:-1], True)] if len(order) else order
    done, send = done[last], send[last]
    until = np.minimum(mpi.begin[send], mpi.end[done])
    return mpi.rank[done], mpi.rank[send], mpi.begin[done], until, done, send


def _of_collectives(mpi: MpiRecords) -> list[tuple[Array, ...]]:
    """In a collective call all ranks wait for the last, all wait for the root, or the root waits
    for the last."""
    patterns = np.array([pattern_of(name) for name in mpi.names] or [Pattern.NONE])
    blocking = (mpi.flags & MpiFlag.NONBLOCKING) == 0
    chosen = np.flatnonzero((mpi.kind == COLLECTIVE) & (mpi.comm >= 0))
    if len(chosen) == 0:
        return []
    order, group = same_call(mpi, chosen)
    last = last_of(mpi, order, group)
    root = np.where(mpi.rank[order] == mpi.peer[order], order, -1)
    roots = np.full(int(group.max()) + 1, -1)
    np.maximum.at(roots, group, root)

    pattern = patterns[mpi.call[order]]
    cause = np.where(pattern == Pattern.ONE_TO_ALL, roots[group], last[group])
    unknown = (pattern == Pattern.NONE) | (pattern == Pattern.SCAN)
    waits = blocking[order] & ~unknown & (cause >= 0) & (cause != order)
    waits &= (pattern != Pattern.ALL_TO_ONE) | (root >= 0)
    order, cause = order[waits], cause[waits]
    until = np.minimum(mpi.begin[cause], mpi.end[order])
    return [(mpi.rank[order], mpi.rank[cause], mpi.begin[order], until, order, cause)]


def same_call(calls: MpiRecords | IoRecords, chosen: Array) -> tuple[Array, Array]:
    """The `chosen` records of collective calls, and for each a number that all records of the same
    call share. Ranks make the collective calls on a communicator in the same order."""
    ranks = int(calls.rank.max()) + 1
    key = calls.comm[chosen].astype(np.int64) * ranks + calls.rank[chosen]
    by_rank = (
        np.lexsort((calls.begin[chosen], key))
        if calls.thread.any()
        else np.argsort(key, kind="stable")
    )
    order, key = chosen[by_rank], key[by_rank]
    starts = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    turn = np.arange(len(key)) - np.repeat(starts, np.diff(np.append(starts, len(key))))
    number = calls.comm[order].astype(np.int64) * (int(turn.max()) + 1) + turn
    return order, np.unique(number, return_inverse=True)[1]


def last_of(calls: MpiRecords | IoRecords, order: Array, group: Array) -> Array:
    """The record of each group that began last."""
    by_time = np.lexsort((calls.begin[order], group))
    last = np.append(group[by_time][1:] != group[by_time][:-1], True)
    return np.asarray(order[by_time[last]])
