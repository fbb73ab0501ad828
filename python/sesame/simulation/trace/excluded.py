"""Excludes time between two played calls that is not computation of the traced program: time in MPI
calls that are not played, and time in which other processes had the processor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sesame.datasets import DataSet
from sesame.simulation.trace.events import Array, Events, LeftOut, Span


@dataclass(frozen=True)
class Preempted:
    """Records of type preempted of the threads that are played: long intervals with the time that
    the rank lost in each. The lost time is taken to be spread evenly over the interval."""

    rank: Array
    begin: Array  # ns
    end: Array
    lost: Array

    def lost_of(self, rank: int) -> int:
        return int(self.lost[self.rank == rank].sum())


def read_preempted(data_set: DataSet, events: Events) -> Preempted:
    """Reads the records of the threads that are played; other threads run beside them."""
    empty = np.empty(0, np.int64)
    if not data_set.has("preempted"):
        return Preempted(empty, empty, empty, empty)
    names = ["rank", "thread", "begin_ns", "duration_ns", "lost_ns"]
    table = data_set.table("preempted", names)
    rank, thread, begin, duration, lost = (
        table.column(name).to_numpy().astype(np.int64) for name in names
    )
    played = np.unique(events.rank << 16 | events.thread)
    mine = np.isin(rank << 16 | thread, played)
    begin = begin[mine]
    return Preempted(rank[mine], begin, begin + duration[mine], lost[mine])


class Amounts:
    """Sums an amount between two times of a rank. Given are intervals of ranks, each with an amount
    that is spread evenly over it."""

    def __init__(self, rank: Array, begin: Array, end: Array, amount: Array, stride: int) -> None:
        order = np.lexsort((begin, rank))
        offset = rank[order] * stride
        # Remove overlaps: an interval that begins inside another begins at that one's end.
        self._stride = stride
        finish = np.maximum.accumulate(end[order] + offset)
        start = begin[order] + offset
        start[1:] = np.maximum(start[1:], finish[:-1])
        self._at = np.column_stack([start, np.maximum(finish, start)]).ravel()
        sums = np.cumsum(amount[order])
        self._sums = np.column_stack([sums - amount[order], sums]).ravel()

    def between(self, rank: Array, begin: Array, end: Array) -> Array:
        if not len(self._at):
            return np.zeros(len(rank), np.int64)
        offset = rank * self._stride
        before, after = (np.interp(offset + t, self._at, self._sums) for t in (begin, end))
        return np.asarray(np.round(after - before), np.int64)


def keep_computation(
    events: Events, left_out: LeftOut, preempted: Preempted, span: Span, after: Array
) -> Array:
    """Subtracts from the gaps of the events the time that is not computation.

    Returns the same for `after`, the time of each rank after its last event.
    """
    ends = (events.end, preempted.end, left_out.end, span.end)
    stride = 1 + max(int(times.max(initial=0)) for times in ends)
    lost = Amounts(preempted.rank, preempted.begin, preempted.end, preempted.lost, stride)

    def own(rank: Array, time: Array) -> Array:
        """The time that the rank itself had up to this one: a call whose first half was lost has
        all of its own time in its second half."""
        return np.asarray(time - lost.between(rank, np.zeros_like(time), time))

    begin, end = own(left_out.rank, left_out.begin), own(left_out.rank, left_out.end)
    in_calls = Amounts(left_out.rank, begin, end, end - begin, stride)
    since, until = own(events.rank, events.begin - events.gap), own(events.rank, events.begin)
    computation = until - since - in_calls.between(events.rank, since, until)
    events.gap = np.maximum(computation, 0)
    ranks = np.arange(span.ranks)
    left: Array = np.maximum(after - lost.between(ranks, span.end - after, span.end), 0)
    return left
