"""Requests to block devices from what was seen of them: their issue and their completion.

Events come in the order of time, a bounded number at once. An issue waits for its completion for
as long as the batch after its own; what is not done then has an unknown latency.
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
LEAST_EVENTS = 1 << 17  # of a batch: a request may take as long as that many others come and go


class Depth:
    """How many requests each device has when one begins, that one among them."""

    def __init__(self) -> None:
        self._ends: dict[int, Ints] = {}  # of requests that had not ended when the last one began

    def add(self, device: Ints, begin: Ints, end: Ints) -> Ints:
        """Begins do not fall, also from one call to the next. No end: before its begin."""
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
    """For each event the time until its completion; and how many completions have no issue.

    Only an issue that the next event of the same device and sector completes has one.
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
    """Makes requests of events: `requests` yields columns in the order of issue."""

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
        """What is held has the batch's completions, then goes; the batch's issues are held."""
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
    """As batches of at least LEAST_EVENTS, but the last."""
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

    `late` gets the number of those that were later; they are emitted as soon as possible.
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
