"""Links the collective calls of a traced run: which process waits for which."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sesame.datasets.traced import IoFlag, MpiFlag
from sesame.replaying.events import AFTER, ARRIVE, WAIT, Links
from sesame.replaying.records import Order, Trace
from sesame.traced.calls import Pattern, pattern_of
from sesame.traced.groups import Array, number_in_group


@dataclass(frozen=True)
class Collectives:
    calls: int  # collective calls, each counted once for all its processes
    incomplete: int  # of these, calls without a record of some process


def link_collectives(trace: Trace, order: Order, links: Links) -> Collectives:
    mpi, io_count = trace.mpi, len(trace.io)
    pattern = mpi.by_name(pattern_of)
    comm = np.where(mpi.is_call({"MPI_Finalize"}), 0, mpi["comm"])
    # A call inside another call belongs to that call, unless it is the record of a persistent
    # request that MPI_Start started.
    own = (mpi["flags"] & MpiFlag.NESTED == 0) | (mpi["flags"] & MpiFlag.PERSISTENT != 0)
    rows = np.flatnonzero(
        (pattern != Pattern.NONE) & (comm >= 0) & own & (order.top[io_count:] >= io_count)
    )
    if len(rows) == 0:
        return Collectives(0, 0)
    pattern, comm, rank = pattern[rows], comm[rows], mpi["rank"][rows]
    _, place = number_in_group(comm, rank, order=mpi["begin_ns"][rows])
    instance, _ = number_in_group(comm, place, order=rows)
    begins = order.top[io_count + rows]
    ends = order.top[io_count + rows + mpi["completion"][rows]]
    is_root = mpi["peer"][rows] == rank
    events = links.new_events(int(instance.max()) + 1)
    all_wait = pattern == Pattern.ALL_TO_ALL
    from_root, to_root = pattern == Pattern.ONE_TO_ALL, pattern == Pattern.ALL_TO_ONE
    arriving = all_wait | (from_root & is_root) | (to_root & ~is_root)
    waiting = all_wait | (from_root & ~is_root) | (to_root & is_root)
    links.add(ARRIVE, begins[arriving], events[instance[arriving]])
    links.add(WAIT, ends[waiting], events[instance[waiting]])
    _link_scans(trace, links, pattern == Pattern.SCAN, instance, comm, rank, begins, ends)
    return Collectives(len(events), _incomplete(trace, instance, comm))


def _incomplete(trace: Trace, instance: Array, comm: Array) -> int:
    first = np.unique(instance, return_index=True)[1]
    size = {index: len(members) for index, members in trace.communicators.items()}
    expected = np.array([size.get(int(one), 0) for one in comm[first]])
    return int((np.bincount(instance) < expected).sum())


def _link_scans(
    trace: Trace,
    links: Links,
    which: Array,
    instance: Array,
    comm: Array,
    rank: Array,
    begins: Array,
    ends: Array,
) -> None:
    """A scan waits for all lower ranks. To keep events few, an event stands for a block of 1, 2, 4,
    … ranks, and each rank waits for the blocks that make up the lower ranks."""
    rows = np.flatnonzero(which)
    if len(rows) == 0:
        return
    place_of = {
        (index, int(member)): place
        for index, members in trace.communicators.items()
        for place, member in enumerate(members)
    }
    members = zip(comm[rows].tolist(), rank[rows].tolist(), strict=True)
    places = np.array([place_of.get(pair, pair[1]) for pair in members])
    for level in range(int(places.max()).bit_length()):
        block = places >> level
        # A rank in the second half of a larger block waits for the first half.
        waits = block & 1 == 1
        needed = np.unique(np.stack([instance[rows][waits], block[waits] - 1], 1), axis=0)
        events = links.new_events(len(needed))
        number = {tuple(pair): event for pair, event in zip(needed.tolist(), events, strict=True)}
        for row, one_block, place_waits in zip(rows, block.tolist(), waits, strict=True):
            own = number.get((int(instance[row]), one_block))
            if own is not None:
                links.add(ARRIVE, begins[row : row + 1], np.array([own]))
            if place_waits:
                event = number[(int(instance[row]), one_block - 1)]
                links.add(WAIT, ends[row : row + 1], np.array([event]))


@dataclass(frozen=True)
class Gates:
    """Operations without I/O at which a collective call on a file waits, one before and one after
    the I/O inside the call."""

    stream: Array
    begin: Array
    end: Array
    until: Array  # when the recording shows that the process had ceased to wait


def link_collective_io(
    trace: Trace, order: Order, issued: Array, links: Links, first_number: int
) -> Gates:
    """Links collective calls on files.

    Each process arrives when it enters such a call. If its I/O inside the call began after the last
    process had entered, the I/O waits for all entries. If the process left the call after the last
    I/O, it waits for that. So the replay enforces only an order that the recording shows.

    `issued`: numbers of the I/O records that are issued, by stream and time. `first_number`: the
    number of the first gate.
    """
    io = trace.io
    collective = (io["flags"] & (IoFlag.COLLECTIVE | IoFlag.NESTED)) == IoFlag.COLLECTIVE
    rows = np.flatnonzero(collective & (io["comm"] >= 0))
    if len(rows) == 0:
        nothing = np.zeros(0, np.int64)
        return Gates(nothing, nothing, nothing, nothing)
    key = (io["comm"][rows], io["file"][rows])
    _, place = number_in_group(*key, io["rank"][rows], order=io["begin_ns"][rows])
    instance, _ = number_in_group(*key, place, order=rows)
    begin, end = order.begin[rows], order.end[rows]
    first, last = _inside(order, issued, rows)
    has = first >= 0
    first_begin = np.where(has, order.begin[first], begin)
    last_end = np.where(has, order.end[last], begin)
    count = int(instance.max()) + 1
    all_entered = np.zeros(count, np.int64)
    np.maximum.at(all_entered, instance, begin)
    all_written = np.full(count, -1, np.int64)
    np.maximum.at(all_written, instance[has], last_end[has])
    entry = first_number + np.arange(len(rows))
    leave = entry + len(rows)
    entered, written = links.new_events(count), links.new_events(count)
    links.add(ARRIVE, entry, entered[instance])
    own = has & (first == rows)  # nothing inside: the call itself is issued
    waits_first = has & (all_entered[instance] <= np.where(own, end, first_begin))
    links.add(WAIT, entry[waits_first], entered[instance[waits_first]])
    waits_last = ~has & (all_entered[instance] <= end)
    links.add(WAIT, leave[waits_last], entered[instance[waits_last]])
    links.add(AFTER, last[has], written[instance[has]])
    waits_all = (all_written[instance] >= 0) & (all_written[instance] <= end) & ~own
    links.add(WAIT, leave[waits_all], written[instance[waits_all]])
    return Gates(
        np.concatenate([order.stream[rows], order.stream[rows]]),
        np.concatenate([begin, last_end]),
        np.concatenate([np.where(own, begin, first_begin), np.where(own, last_end, end)]),
        np.concatenate([np.where(own, end, first_begin), end]),
    )


def _inside(order: Order, issued: Array, rows: Array) -> tuple[Array, Array]:
    """For each row the first and the last issued record inside it; -1 for none."""
    first = np.full(len(order.top), -1, np.int64)
    last = np.full(len(order.top), -1, np.int64)
    tops = order.top[issued]
    first[tops[::-1]] = issued[::-1]
    last[tops] = issued
    return first[rows], last[rows]
