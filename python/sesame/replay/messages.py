"""Messages of a traced run: which send a receive waited for, and which send its receive."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sesame.datasets.traced import MpiFlag
from sesame.replay.events import ARRIVE, WAIT, Links, number_in_group
from sesame.replay.records import Array, Order, Trace

SENDS = {"MPI_Send", "MPI_Bsend", "MPI_Ssend", "MPI_Rsend", "MPI_Isend", "MPI_Ibsend"}
SENDS |= {"MPI_Issend", "MPI_Irsend", "MPI_Sendrecv", "MPI_Sendrecv_replace", "MPI_Isendrecv"}
BUFFERED = {"MPI_Bsend", "MPI_Ibsend"}
BOTH = {"MPI_Sendrecv", "MPI_Sendrecv_replace", "MPI_Isendrecv"}
RECEIVES = {"MPI_Recv", "MPI_Irecv", "MPI_Mrecv", "MPI_Imrecv"}
PROBES = {"MPI_Probe", "MPI_Mprobe", "MPI_Iprobe", "MPI_Improbe"}
# A send that ended this much after its begin, and after its receive began, has waited for it.
WAITED_NS = 50_000


@dataclass(frozen=True)
class Matched:
    messages: int
    sends_alone: int
    receives_alone: int
    rendezvous_bytes: int | None  # from this size on sends waited for their receives


def link_messages(trace: Trace, order: Order, links: Links) -> Matched:
    """A receive waits until its send began; a synchronous send until its receive did."""
    mpi, io_count = trace.mpi, len(trace.io)
    usable = (mpi["peer"] >= 0) & (mpi["flags"] & MpiFlag.CANCELLED == 0)
    usable &= order.top[io_count:] >= io_count  # not inside a call of MPI-IO
    sends = np.flatnonzero(usable & mpi.is_call(SENDS))
    receives = np.flatnonzero(usable & mpi.is_call(RECEIVES))
    probes = np.flatnonzero(usable & mpi.is_call(PROBES) & (mpi["flags"] & MpiFlag.POLL == 0))
    rank, peer = mpi["rank"], mpi["peer"]
    rows = np.concatenate([sends, receives])
    is_send = np.arange(len(rows)) < len(sends)
    source = np.where(is_send, rank[rows], peer[rows])
    destination = np.where(is_send, peer[rows], rank[rows])
    channel, _ = number_in_group(
        mpi["comm"][rows], source, destination, mpi["tag"][rows], order=rows
    )
    _, place = number_in_group(channel, is_send.astype(np.int64), order=mpi["begin_ns"][rows])
    most = int(place.max(initial=0)) + 1
    name = channel * most + place
    _, left, right = np.intersect1d(
        name[is_send], name[~is_send], assume_unique=True, return_indices=True
    )
    matched_sends, matched_receives = sends[left], receives[right]
    events = links.new_events(len(left))
    links.add(ARRIVE, order.top[io_count + matched_sends], events)
    links.add(WAIT, _completer(trace, order, matched_receives), events)
    _link_probes(trace, order, links, probes, matched_receives, events)
    limit = _link_synchronous(trace, order, links, matched_sends, matched_receives)
    return Matched(len(left), len(sends) - len(left), len(receives) - len(left), limit)


def _completer(trace: Trace, order: Order, rows: Array) -> Array:
    """The outermost call in which what a record began was complete."""
    return np.asarray(order.top[len(trace.io) + rows + trace.mpi["completion"][rows]])


def _link_probes(
    trace: Trace, order: Order, links: Links, probes: Array, receives: Array, events: Array
) -> None:
    """A probe waits for the message that the next receive of this channel takes."""
    if len(probes) == 0 or len(receives) == 0:
        return
    mpi = trace.mpi
    rows = np.concatenate([probes, receives])
    channel, _ = number_in_group(
        mpi["rank"][rows], mpi["comm"][rows], mpi["peer"][rows], mpi["tag"][rows], order=rows
    )
    by_time = np.lexsort((rows, channel))
    is_receive = by_time >= len(probes)
    numbers = np.where(is_receive, np.arange(len(rows)), len(rows))
    following = np.minimum.accumulate(numbers[::-1])[::-1]
    at = np.flatnonzero(~is_receive & (following < len(rows)))
    same = channel[by_time[following[at]]] == channel[by_time[at]]
    at = at[same]
    waited_for = events[by_time[following[at]] - len(probes)]
    links.add(WAIT, order.top[len(trace.io) + rows[by_time[at]]], waited_for)


def _link_synchronous(
    trace: Trace, order: Order, links: Links, sends: Array, receives: Array
) -> int | None:
    mpi, io_count = trace.mpi, len(trace.io)
    done = _completer(trace, order, sends)
    posted = order.begin[order.top[io_count + receives]]
    size = mpi["bytes"][sends]
    standard = ~mpi.is_call(BUFFERED)[sends]
    telling = standard & ~mpi.is_call(BOTH)[sends]
    synchronous = mpi["flags"][sends] & MpiFlag.SYNCHRONOUS != 0
    # A standard send may wait or not; the size from which this MPI waits shows in the times.
    left_early = telling & ~synchronous & (order.end[done] < posted)
    eager = int(size[left_early].max(initial=-1))
    waited = telling & ~synchronous & (order.end[done] >= posted) & (size > eager)
    waited &= order.begin[done] + WAITED_NS < posted
    limit = int(size[waited].min()) if waited.any() else None
    if limit is not None:
        synchronous |= standard & (size >= limit)
    which = np.flatnonzero(synchronous)
    events = links.new_events(len(which))
    links.add(ARRIVE, order.top[io_count + receives[which]], events)
    links.add(WAIT, done[which], events)
    return limit
