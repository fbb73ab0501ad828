"""Time in which a thread was ready to run while others had the processor. A replay must not include
it."""

from __future__ import annotations

import numpy as np

from sesame.replaying.records import Order, Trace
from sesame.traced.groups import Array


class Lost:
    """The lost time of threads.

    The trace records the lost time of long intervals; it is taken to be spread evenly over each.
    """

    def __init__(self, trace: Trace, order: Order) -> None:
        table = trace.preempted
        known = np.array([rank << 16 | thread for rank, thread in order.streams], np.int64)
        key = table["rank"] << 16 | table["thread"]
        mine = np.isin(key, known)
        stream = np.searchsorted(known, key[mine])
        begin, lost = table["begin_ns"][mine], table["lost_ns"][mine]
        self._far = int(max(table.end.max(initial=0), order.end.max(initial=0))) + 1
        begin, end = (stream * self._far + times for times in (begin, table.end[mine]))
        by_time = np.argsort(end, kind="stable")
        sums = np.cumsum(lost[by_time])
        at = np.column_stack([begin[by_time], end[by_time]]).ravel()
        self._at = np.maximum.accumulate(at)
        self._sums = np.column_stack([sums - lost[by_time], sums]).ravel()

    def between(self, stream: Array, begin: Array, end: Array) -> Array:
        """The lost time in ns from `begin` to `end` of each stream."""
        if len(self._at) == 0:
            return np.zeros(len(stream), np.int64)
        base = stream * self._far
        before, after = (np.interp(base + t, self._at, self._sums) for t in (begin, end))
        return np.asarray(np.round(after - before), np.int64)
