"""Makes requests to block devices from trace events, by matching issues and completions.

Events are given in the order of time, a bounded number at once. The completion of an issue must be
in the same or the next batch; otherwise the latency is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Events = dict[str, Ints]  # columns of equal length

ISSUE, COMPLETE = 0, 1
KEY = ("device", "sector")
UNKNOWN_NS = -1
LEAST_EVENTS = 1 << 17  # in a batch: this many events may be between an issue and its completion


class Depth:
    """The queue depth: how many requests a device has when one begins, including that one."""

    def __init__(self) -> None:
        self._ends: dict[int, Ints] = {}  # of requests that had not ended when the last one began

    def add(self, device: Ints, begin: Ints, end: Ints) -> Ints:
        """The depth at each begin. Begins must not decrease, also from one call to the next. An end
        before its begin means that the end is unknown."""
        depth = np.ones(len(begin), np.int64)
        for number in np.unique(device).tolist():
            here = device == number
            known = (end >= begin) & here
            before = self._ends.get(number, np.empty(0, np.int64))
            ends = np.sort(np.concatenate((before, end[known])))
            started = len(before) + np.cumsum(known) - known
            depth[here] += started[here] - np.searchsorted(ends, begin[here], "left")
            self._ends[number] = ends[ends >= begin[here][-1]]
        return depth


def latencies(events: Events) -> tuple[Ints, int]:
    """For each issue the time until its completion, else UNKNOWN_NS; and the number of completions
    without an issue.

    An issue is matched only if the next event of the same device and sector is a completion.
    """
    order = np.lexsort((events["sector"], events["device"]))
    kind, time = events["kind"][order], events["time_ns"][order]
    same = np.ones(max(len(order) - 1, 0), bool)
    for name in KEY:
        same &= np.diff(events[name][order]) == 0
    done = np.flatnonzero(same & (kind[:-1] == ISSUE) & (kind[1:] == COMPLETE))
    found = np.full(len(order), UNKNOWN_NS)
    found[order[done]] = time[done + 1] - time[done]
    return found, int((kind == COMPLETE).sum()) - len(done)


class Pairing:
    """Makes requests from events: `requests` yields columns in the order of issue."""

    def __init__(self) -> None:
        self._depth = Depth()
        self.without_issue = 0  # completions of requests that were issued before the trace
        self.without_end = 0

    def requests(self, batches: Iterable[Events]) -> Iterator[Events]:
        held: Events | None = None
        for batch in gathered(batches):
            ready, held = self._step(held, batch)
            if ready is not None:
                yield self._finished(ready)
        if held is not None:
            yield self._finished(held)

    def _step(self, held: Events | None, batch: Events) -> tuple[Events | None, Events]:
        """Matches the held issues and the batch; returns the held issues with their latencies, and
        the batch's issues, which are held next."""
        new = batch | {"latency_ns": np.full(len(batch["time_ns"]), UNKNOWN_NS)}
        waiting = np.empty(0, np.int64)
        if held is not None:
            waiting = np.flatnonzero(held["latency_ns"] == UNKNOWN_NS)
        events = {
            name: np.concatenate((held[name][waiting], new[name])) if held is not None else values
            for name, values in new.items()
        }
        found, orphans = latencies(events)
        self.without_issue += orphans
        if held is not None:
            held["latency_ns"][waiting] = found[: len(waiting)]
        issued = new["kind"] == ISSUE
        new["latency_ns"] = found[len(waiting) :]
        return held, {name: values[issued] for name, values in new.items()}

    def _finished(self, ready: Events) -> Events:
        begin, latency = ready["time_ns"], ready["latency_ns"]
        self.without_end += int((latency == UNKNOWN_NS).sum())
        ready["depth"] = self._depth.add(ready["device"], begin, begin + latency)
        return ready


def gathered(batches: Iterable[Events]) -> Iterator[Events]:
    """Joins batches to ones of at least LEAST_EVENTS events; the last may be smaller."""
    parts: list[Events] = []
    count = 0
    for batch in batches:
        parts.append(batch)
        count += len(batch["time_ns"])
        if count >= LEAST_EVENTS:
            yield joined(parts)
            parts, count = [], 0
    if count:
        yield joined(parts)


def joined(parts: list[Events]) -> Events:
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def in_time_order(batches: Iterable[Events], late: list[int]) -> Iterator[Events]:
    """Batches sorted by time. An event may be late by less than half a batch.

    To `late` are appended the numbers of events that were later; they are emitted as soon as
    possible.
    """
    kept: Events | None = None
    done = np.iinfo(np.int64).min
    for batch in batches:
        if kept is not None:
            batch = joined([kept, batch])
        order = np.argsort(batch["time_ns"], kind="stable")
        half = len(order) // 2
        sorted_ = {name: values[order] for name, values in batch.items()}
        late.append(int((sorted_["time_ns"][:half] < done).sum()))
        first = {name: values[:half] for name, values in sorted_.items()}
        kept = {name: values[half:] for name, values in sorted_.items()}
        if half:
            done = int(first["time_ns"][-1])
            yield first
    if kept is not None:
        yield kept
