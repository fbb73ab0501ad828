"""Activities of a thread over time, from the ends and durations of its events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sesame.datasets import DataSet
from sesame.reproduction.observed import Array, events_of

Times = NDArray[np.int64]
LONG_AGO = -(1 << 62)


@dataclass(frozen=True)
class Spans:
    """Disjoint time intervals in ascending order, in ns."""

    begin: Times
    end: Times

    @staticmethod
    def of_events(events: dict[str, Array]) -> Spans:
        end = events["time_ns"].astype(np.int64)
        begin = end - events["duration_ns"].astype(np.int64)
        return Spans(np.maximum(begin, np.concatenate(([LONG_AGO], end[:-1]))), end)

    def before(self, time: Any) -> Any:
        """The total length of the intervals before each time."""
        length = np.concatenate(([0], np.cumsum(self.end - self.begin)))
        started_before = np.searchsorted(self.begin, time, "right")
        last_end = np.concatenate(([LONG_AGO], self.end))[started_before]
        return length[started_before] - np.maximum(last_end - time, 0)

    def within(self, begin: Any, end: Any) -> Any:
        """The total length inside each interval from `begin` to `end`."""
        return self.before(end) - self.before(begin)

    def and_(self, other: Spans) -> Spans:
        """The intersection."""
        edges = np.unique(np.concatenate((self.begin, self.end, other.begin, other.end)))
        begin, end = edges[:-1], edges[1:]
        both = (self.within(begin, end) > 0) & (other.within(begin, end) > 0)
        return Spans(begin[both], end[both])


@dataclass(frozen=True)
class Activity:
    """When one thread ran or was ready to run; it waited in the rest of the time."""

    running: Spans
    ready: Spans  # ready to run, but another thread had the processor


def spans_of(kernel: DataSet, thread: int, subsystem: str, point: str) -> Spans:
    events = events_of(kernel, subsystem=subsystem, point=point)
    own = events["pid"] == thread
    return Spans.of_events({name: column[own] for name, column in events.items()})


def activity_of(kernel: DataSet, thread: int) -> Activity:
    """The activity of a thread. Needs traces of sched.run and sched.wait."""
    return Activity(
        spans_of(kernel, thread, "sched", "run"), spans_of(kernel, thread, "sched", "wait")
    )
