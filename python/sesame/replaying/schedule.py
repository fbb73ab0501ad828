"""Makes the schedule of a replay: when each operation is due, and for which events it waits. The
model is in docs/models/replay.md."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np

from sesame.datasets.traced import MpiFlag
from sesame.replaying import calls
from sesame.replaying.collectives import Collectives, link_collective_io, link_collectives
from sesame.replaying.events import AFTER, ARRIVE, WAIT, Links
from sesame.replaying.issued import Issued, choose_issued, roles_on_names
from sesame.replaying.messages import Matched, link_messages
from sesame.replaying.needed import what_is_needed
from sesame.replaying.precedence import link_threads, link_uses, uses_of_handles, uses_of_names
from sesame.replaying.preempted import Lost
from sesame.replaying.records import Order, Trace, order_of
from sesame.replaying.targets import Needed, Target
from sesame.traced.groups import Array

POLLS_NS = 20_000  # polls with shorter pauses between them are one wait
TYPICAL_QUANTILE = 0.1  # of the times of similar calls: the time of an undisturbed call


@dataclass(frozen=True)
class Style:
    """How a run is replayed."""

    scale_compute: float = 1.0
    only_io: bool = False
    as_fast_as_possible: bool = False


@dataclass(frozen=True)
class Operations:
    """The operations of all threads, by stream and time, in ns of the recording."""

    source: Array  # row of io that is issued; -1 for communication
    stream: Array
    begin: Array
    end: Array
    gap: Array  # computation before the operation
    transfer: Array  # its time that is neither computation, I/O nor waiting for events
    link_operation: Array  # one element for each link, by operation and kind
    link_event: Array
    link_kind: Array
    events: int


@dataclass(frozen=True)
class Schedule:
    """A run ready to be replayed, for all its processes."""

    trace: Trace
    order: Order
    issued: Issued
    operations: Operations
    slots: Slots
    needed: Needed
    messages: Matched | None
    collectives: Collectives | None
    tail_ns: Array  # computation of each stream after its last operation
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Slots:
    """Open files: each process has a table of them."""

    slot: Array  # of each row of io; -1 for none
    count: dict[int, int]  # by rank; the last one is for opens that failed
    opened: list[tuple[int, int, int, int]]  # rank, slot, file, flags


def make_schedule(trace: Trace, target: Target, style: Style) -> Schedule:
    order = order_of(trace)
    issued = choose_issued(trace, order, target)
    slots = _assign_slots(trace, issued)
    links = Links()
    messages = collectives = None
    if not style.only_io:
        messages = link_messages(trace, order, links)
        collectives = link_collectives(trace, order, links)
    extra = _link_the_rest(trace, order, issued, slots, links, style)
    operations = _assemble(trace, order, issued, links, extra, style)
    preopened = {path for one in slots.opened if (path := issued.path[one[2]]) is not None}
    needed = what_is_needed(trace, issued, preopened)
    tail = _tails(trace, order, operations, style)
    return Schedule(trace, order, issued, operations, slots, needed, messages, collectives, tail)


def _assign_slots(trace: Trace, issued: Issued) -> Slots:
    io, rows, number_of = trace.io, issued.rows, calls.call_numbers()
    slot = np.full(len(io), -1, np.int64)
    count: dict[int, int] = {}
    opened: list[tuple[int, int, int, int]] = []
    opening = np.isin(issued.call, [number_of[name] for name in sorted(calls.OPEN_CALLS)])
    writes = np.isin(issued.call, [number_of[name] for name in sorted(calls.writes())])
    copied_to = set(io["other_file"][rows[writes[rows]]].tolist())
    ranks, begins = np.unique(io["rank"][rows], return_index=True)  # rows are by rank
    for rank, ours in zip(ranks.tolist(), np.split(rows, begins[1:]), strict=False):
        with_handle = ours[io["handle"][ours] >= 0]
        handles, index = np.unique(io["handle"][with_handle], return_inverse=True)
        slot[with_handle] = index
        count[rank] = len(handles) + 1
        failed = ours[(io["handle"][ours] < 0) & opening[ours]]
        slot[failed] = len(handles)
        by_time = np.argsort(io["begin_ns"][with_handle], kind="stable")
        _, first = np.unique(index[by_time], return_index=True)
        for number, row in enumerate(with_handle[by_time[first]].tolist()):
            if opening[row]:
                continue
            used = with_handle[index == number]
            file = int(io["file"][row])
            flags = os.O_RDWR if writes[used].any() or file in copied_to else os.O_RDONLY
            opened.append((rank, number, file, flags))
    return Slots(slot, count, opened)


@dataclass(frozen=True)
class _Extra:
    """Operations without a record: gates of collective calls on files, and anchors of threads."""

    stream: Array
    begin: Array
    end: Array
    until: Array
    tie: Array  # 0: before a record of the same begin, 2: after it
    starts: Array  # 1: the first operation of a thread


def _link_the_rest(
    trace: Trace, order: Order, issued: Issued, slots: Slots, links: Links, style: Style
) -> _Extra:
    io = trace.io
    total = len(order.top)
    empty = np.zeros(0, np.int64)
    parts: list[tuple[Array, ...]] = [(empty,) * 6]
    if not style.only_io:
        gates = link_collective_io(trace, order, issued.rows, links, total)
        half = len(gates.stream) // 2
        tie = np.repeat([0, 2], half)
        parts.append((gates.stream, gates.begin, gates.end, gates.until, tie, tie * 0))
        total += 2 * half
    flat = _flat(order, issued)
    # A thread without I/O and messages is not replayed.
    linked = links.columns()[0]
    active = np.concatenate([issued.rows, linked[linked < len(order.top)]])
    streams = set(np.unique(order.stream[active]).tolist())
    anchors = link_threads(trace, order, flat, links, total, streams)
    lists = (anchors.stream, anchors.begin, anchors.end, anchors.end)
    columns = [np.array(column, np.int64) for column in lists]
    first = np.array(anchors.first, np.int64)
    parts.append((*columns, np.where(first == 1, 0, 2), first))
    rows, roles = roles_on_names(trace, issued, failed=True)
    made = {str(path) for path in what_is_needed(trace, issued, set()).made}
    link_uses(uses_of_names(rows, order, roles, made), links)
    threaded = {rank for rank, thread in order.streams if thread > 0}
    ours = issued.rows[
        np.isin(io["rank"][issued.rows], sorted(threaded)) & (slots.slot[issued.rows] >= 0)
    ]
    call = issued.call[ours]
    number_of = calls.call_numbers()
    opens = np.isin(call, [number_of[name] for name in sorted(calls.OPEN_CALLS)])
    closes = np.isin(call, [number_of[name] for name in sorted(calls.closings())])
    handles = io["rank"][ours] << 32 | slots.slot[ours]
    link_uses(uses_of_handles(ours, order, handles, opens, closes), links)
    return _Extra(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _flat(order: Order, issued: Issued) -> Array:
    """Issued records, and outermost records without issued ones inside: none is inside another."""
    chosen = order.top == np.arange(len(order.top))
    chosen[order.top[issued.rows]] = False
    chosen[issued.rows] = True
    return np.asarray(order.sorted[chosen[order.sorted]])


def _assemble(
    trace: Trace, order: Order, issued: Issued, links: Links, extra: _Extra, style: Style
) -> Operations:
    records = len(order.top)
    begin = np.concatenate([_begins(trace, order, issued), extra.begin])
    end = np.concatenate([order.end, extra.end])
    until = np.concatenate([order.end, extra.until])
    stream = np.concatenate([order.stream, extra.stream])
    tie = np.concatenate([np.ones(records, np.int64), extra.tie])
    starts = np.concatenate([np.zeros(records, np.int64), extra.starts])
    operation, event, kind = links.columns()
    happened = _event_times(links.events, operation, event, kind, begin, end)
    # Drop waits that contradict the recording.
    true = (kind != WAIT) | (happened[event] <= until[operation])
    waited = np.unique(event[true & (kind == WAIT)])
    true &= np.isin(event, waited)  # an event without waiters needs no arrivals
    operation, event, kind = operation[true], event[true], kind[true]
    is_issued = np.zeros(len(begin), bool)
    is_issued[issued.rows] = True
    kept = is_issued.copy()
    kept[operation] = True
    numbers = np.flatnonzero(kept)
    numbers = numbers[np.lexsort((end[numbers], tie[numbers], begin[numbers], stream[numbers]))]
    place = np.full(len(begin), -1, np.int64)
    place[numbers] = np.arange(len(numbers))
    by_operation = np.lexsort((kind, place[operation]))
    gap, transfer, lost = _times(
        stream[numbers],
        begin[numbers],
        end[numbers],
        _latest_wait(len(begin), operation, event, kind, happened)[numbers],
        starts[numbers] == 1,
        Lost(trace, order),
    )
    transfer = np.where(is_issued[numbers], 0, _undisturbed(trace, numbers, transfer, lost))
    source = np.where(is_issued[numbers], numbers, -1)
    transfer += np.where(source >= 0, _formatting(trace, issued)[source], 0)
    if style.as_fast_as_possible:
        gap, transfer = gap * 0, transfer * 0
    return Operations(
        source,
        stream[numbers],
        begin[numbers],
        end[numbers],
        (gap * style.scale_compute).astype(np.int64),
        transfer,
        place[operation][by_operation],
        event[by_operation],
        kind[by_operation],
        links.events,
    )


def _begins(trace: Trace, order: Order, issued: Issued) -> Array:
    """The begin of each record with the wait before it.

    A series of polls belongs to the call that ends it. If an asynchronous I/O was completed inside
    an MPI wait, the library waited from the begin of that call.
    """
    mpi, io_count = trace.mpi, len(trace.io)
    begin = order.begin.copy()
    by_time = order.sorted[order.sorted >= io_count]
    if len(by_time) == 0:
        return begin
    rows = by_time - io_count
    poll = mpi["flags"][rows] & MpiFlag.POLL != 0
    stream = order.stream[by_time]
    follows = np.zeros(len(rows), bool)
    pause = mpi["begin_ns"][rows][1:] - mpi.end[rows][:-1]
    follows[1:] = poll[:-1] & (stream[1:] == stream[:-1]) & (pause < POLLS_NS)
    first = np.maximum.accumulate(np.where(follows, 0, np.arange(len(rows))))
    begin[by_time] = order.begin[by_time[first]]
    io = issued.rows
    top, stream = order.top[io], order.stream[io]
    fetched = (issued.call[io] == calls.call_numbers()["aio_wait"]) & (top >= io_count)
    before = np.where(np.diff(stream, prepend=-1) == 0, np.roll(order.end[io], 1), 0)
    begin[io[fetched]] = np.maximum(begin[top], before)[fetched]
    return begin


def _event_times(
    count: int, operation: Array, event: Array, kind: Array, begin: Array, end: Array
) -> Array:
    """When each event happened in the recording."""
    happened = np.zeros(count, np.int64)
    for which, times in ((ARRIVE, begin), (AFTER, end)):
        at = kind == which
        np.maximum.at(happened, event[at], times[operation[at]])
    return happened


def _latest_wait(count: int, operation: Array, event: Array, kind: Array, happened: Array) -> Array:
    latest = np.full(count, -1, np.int64)
    at = kind == WAIT
    np.maximum.at(latest, operation[at], happened[event[at]])
    return latest


def _times(
    stream: Array, begin: Array, end: Array, waited_until: Array, starts: Array, lost: Lost
) -> tuple[Array, Array, Array]:
    """For each operation: the computation before it, the part of it that is not waiting, and the
    time in it for which others had the processor. docs/models/replay.md has the equations."""
    if len(stream) == 0:
        return begin, begin, begin
    far = int(end.max()) + 1
    latest = np.maximum.accumulate(end + stream * far) - stream * far
    before = np.concatenate([[0], latest[:-1]])
    before[np.flatnonzero(np.diff(stream, prepend=-1))] = 0
    entered = np.maximum(begin, before)
    gap = np.where(starts, 0, entered - before - lost.between(stream, before, entered))
    duration = np.maximum(end - entered, 0)
    wait = np.clip(waited_until - entered, 0, duration)
    return gap, duration - wait, lost.between(stream, entered, entered + duration)


def _undisturbed(trace: Trace, numbers: Array, transfer: Array, lost: Array) -> Array:
    """The times of MPI calls without the time for which others had the processor.

    Others may have had it while the call waited anyway. So at least the typical time of such calls
    is left.
    """
    mpi, first = trace.mpi, len(trace.io)
    at = np.flatnonzero((numbers >= first) & (numbers < first + len(mpi)))
    left = transfer.copy()
    if len(at) and lost[at].any():
        rows = numbers[at] - first
        typical = _typical(mpi["call"][rows], mpi["bytes"][rows], transfer[at])
        left[at] = np.maximum(transfer[at] - lost[at], np.minimum(transfer[at], typical))
    return left


def _typical(call: Array, size: Array, time: Array) -> Array:
    """For each call the lower decile of the times of calls of the same kind and size class."""
    size_class = np.log2(np.maximum(size, 1)).astype(np.int64)
    group = np.unique(call * 64 + size_class, return_inverse=True)[1]
    by_group = np.lexsort((time, group))
    starts = np.flatnonzero(np.diff(group[by_group], prepend=-1))
    sizes = np.diff(np.append(starts, len(group)))
    return np.asarray(time[by_group][starts + (sizes * TYPICAL_QUANTILE).astype(np.int64)][group])


def _formatting(trace: Trace, issued: Issued) -> Array:
    """The time of formatting in calls that print and scan. It is computation, which the replayer
    does not repeat."""
    io = trace.io
    time = np.zeros(len(io) + 1, np.int64)
    rows = issued.rows[io.is_call(calls.FORMATTED)[issued.rows]]
    if len(rows) == 0:
        return time
    time[rows] = _typical(io["call"][rows], io["bytes"][rows], io["duration_ns"][rows])
    return time


def _tails(trace: Trace, order: Order, operations: Operations, style: Style) -> Array:
    """The computation after the last operation of each thread."""
    ends = np.zeros(len(order.streams), np.int64)
    np.maximum.at(ends, operations.stream, operations.end)
    process_end = {process.rank: process.end_ns for process in trace.processes}
    tails = np.array(
        [
            max(process_end.get(rank, 0) - int(ends[stream]), 0) if thread == 0 else 0
            for stream, (rank, thread) in enumerate(order.streams)
        ],
        np.int64,
    )
    return tails * 0 if style.as_fast_as_possible else (tails * style.scale_compute).astype(int)
