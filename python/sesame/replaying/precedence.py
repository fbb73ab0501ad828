"""Links operations whose order does not follow from messages: a file is created before other
threads open it, a thread starts after earlier operations of its process, and a file is closed after
the last use by other threads."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sesame.replaying.events import AFTER, WAIT, Links
from sesame.replaying.records import Order, Trace
from sesame.traced.groups import Array

USE, CREATE, REMOVE = 0, 1, 2


@dataclass(frozen=True)
class Use:
    """An operation that needs, makes or removes something that several threads use."""

    begin: int
    end: int
    stream: int
    operation: int
    role: int


def link_uses(groups: Iterable[list[Use]], links: Links) -> None:
    """Links the uses of each group, which are those of one file or name.

    The next use by each other thread waits for a creation or removal; a removal waits for the last
    use by each other thread. A link is added only where the recorded times show that order.
    """
    waits: dict[int, list[int]] = defaultdict(list)
    for group in groups:
        change: Use | None = None
        after_change: set[int] = set()
        past: dict[int, list[Use]] = defaultdict(list)
        for use in sorted(group, key=lambda use: use.begin):
            if change is not None and use.stream not in after_change and use.begin >= change.end:
                waits[use.operation].append(change.operation)
                after_change.add(use.stream)
            if use.role == REMOVE:
                others = (uses for stream, uses in past.items() if stream != use.stream)
                waits[use.operation] += _last_before(others, use.begin)
            if use.role == REMOVE or (use.role == CREATE and _is_new(change)):
                change, after_change = use, {use.stream}
            past[use.stream].append(use)
    _add(waits, links)


def _last_before(threads: Iterable[list[Use]], begin: int) -> list[int]:
    """The last use of each thread that had ended at `begin`."""
    found = (next((u for u in reversed(uses) if u.end <= begin), None) for uses in threads)
    return [use.operation for use in found if use is not None]


def _is_new(change: Use | None) -> bool:
    return change is None or change.role == REMOVE


def _add(waits: dict[int, list[int]], links: Links) -> None:
    producers = sorted({one for needed in waits.values() for one in needed})
    event_of = dict(zip(producers, links.new_events(len(producers)).tolist(), strict=True))
    links.add(AFTER, np.array(producers), np.array([event_of[one] for one in producers]))
    pairs = [(user, event_of[one]) for user, needed in waits.items() for one in set(needed)]
    links.add(WAIT, np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs]))


def uses_of_names(
    rows: Array, order: Order, paths: list[tuple[str, int]], made: set[str]
) -> list[list[Use]]:
    """Groups of uses of the same path, if several threads use it.

    `rows`: operations on names; `paths`: (path, role) of each. `made`: directories that the run
    makes; an operation on a path in such a directory uses the directory, too.
    """
    groups: dict[str, list[Use]] = defaultdict(list)
    for row, (path, role) in zip(rows.tolist(), paths, strict=True):
        times = (int(order.begin[row]), int(order.end[row]), int(order.stream[row]), row)
        groups[path].append(Use(*times, role))
        parent = posixpath.dirname(path)
        if parent in made:
            groups[parent].append(Use(*times, USE))
    return [group for group in groups.values() if len({use.stream for use in group}) > 1]


def uses_of_handles(
    rows: Array, order: Order, handles: Array, opens: Array, closes: Array
) -> list[list[Use]]:
    """Groups of uses of the same open file, if several threads use it: its open and close, and the
    first and last use by each thread."""
    if len(rows) == 0:
        return []
    handle, stream = np.unique(handles, return_inverse=True)[1], order.stream[rows]
    pair = handle * (int(stream.max()) + 1) + stream
    shared = np.bincount(handle[np.unique(pair, return_index=True)[1]]) > 1
    by_time = np.argsort(order.begin[rows], kind="stable")
    first = np.unique(pair[by_time], return_index=True)[1]
    last = len(rows) - 1 - np.unique(pair[by_time[::-1]], return_index=True)[1]
    wanted = np.unique(
        np.concatenate([by_time[first], by_time[last], np.flatnonzero(opens | closes)])
    )
    groups: dict[int, list[Use]] = defaultdict(list)
    for at in wanted[shared[handle[wanted]]].tolist():
        role = CREATE if opens[at] else REMOVE if closes[at] else USE
        row = int(rows[at])
        times = (int(order.begin[row]), int(order.end[row]), int(stream[at]))
        groups[int(handle[at])].append(Use(*times, row, role))
    return list(groups.values())


@dataclass
class Anchors:
    """Operations without I/O at which a thread waits for another: a new thread for the one that
    started it, and that one for the last record of the new thread."""

    stream: list[int]
    begin: list[int]
    end: list[int]
    first: list[bool]  # it is the first operation of a thread


def link_threads(
    trace: Trace, order: Order, flat: Array, links: Links, number: int, active: set[int]
) -> Anchors:
    """Links the begin and end of threads and child processes with the thread that started them.

    `flat`: numbers of records, none inside another, by stream and time. `number`: the number of the
    first anchor. `active`: streams with operations in the replay.
    """
    anchors = Anchors([], [], [], [])
    of_stream = {name: index for index, name in enumerate(order.streams)}
    parent_of = {process.rank: process.parent for process in trace.processes}
    bounds = np.searchsorted(order.stream[flat], np.arange(len(order.streams) + 1))

    def records(stream: int) -> Array:
        return flat[bounds[stream] : bounds[stream + 1]]

    def add(waiting: int, begin: int, record: int, is_first: bool) -> None:
        event = links.new_events(1)
        links.add(AFTER, np.array([record]), event)
        links.add(WAIT, np.array([number + len(anchors.stream)]), event)
        anchors.stream.append(waiting)
        anchors.begin.append(begin)
        anchors.end.append(int(order.end[record]))
        anchors.first.append(is_first)

    for (rank, thread), stream in of_stream.items():
        starter = of_stream.get((rank, 0) if thread > 0 else (parent_of.get(rank, -1), 0))
        if starter is None or stream not in active or len(records(stream)) == 0:
            continue
        theirs, ours = records(starter), records(stream)
        before = int(np.searchsorted(order.end[theirs], order.begin[ours[0]], "right"))
        if before > 0:
            record = int(theirs[before - 1])
            add(stream, int(order.end[record]), record, True)
        behind = int(np.searchsorted(order.begin[theirs], order.end[ours[-1]]))
        if 0 < behind < len(theirs) and order.end[theirs[behind - 1]] <= order.end[ours[-1]]:
            add(starter, int(order.end[theirs[behind - 1]]), int(ours[-1]), False)
    return anchors
