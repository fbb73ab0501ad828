"""Links the messages of a traced run: matches sends and receives, and finds which one waited."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sesame.datasets.traced import MpiFlag
from sesame.replaying.events import ARRIVE, WAIT, Links
from sesame.replaying.records import Order, Trace
from sesame.traced.calls import is_buffered_send, is_exchange, is_probe, is_receive, is_send
from sesame.traced.groups import Array, number_in_group
from sesame.traced.messages import Ends, match

# A send has waited for its receive if this began at least so long after the send, and before the
# send ended.
WAITED_NS = 50_000


@dataclass(frozen=True)
class Matched:
    """Counts of messages, and of sends and receives without a partner."""

    messages: int
    sends_alone: int
    receives_alone: int
    rendezvous_bytes: int | None  # from this size on sends waited for their receives


def link_messages(trace: Trace, order: Order, links: Links) -> Matched:
    """Links messages: a receive waits until its send begins, a synchronous send until its receive
    begins."""
    mpi, io_count = trace.mpi, len(trace.io)
    usable = (mpi["peer"] >= 0) & (mpi["flags"] & MpiFlag.CANCELLED == 0)
    usable &= order.top[io_count:] >= io_count  # not inside a call of MPI-IO
    sends = np.flatnonzero(usable & mpi.by_name(is_send))
    receives = np.flatnonzero(usable & mpi.by_name(is_receive))
    probes = np.flatnonzero(usable & mpi.by_name(is_probe) & (mpi["flags"] & MpiFlag.POLL == 0))
    rows = np.concatenate([sends, receives])
    names = ("rank", "peer", "comm", "tag", "begin_ns")
    ends = Ends(np.arange(len(rows)) < len(sends), *(mpi[name][rows] for name in names))
    left, right = match(ends)
    matched_sends, matched_receives = rows[left], rows[right]
    events = links.new_events(len(left))
    links.add(ARRIVE, order.top[io_count + matched_sends], events)
    links.add(WAIT, _completer(trace, order, matched_receives), events)
    _link_probes(trace, order, links, probes, matched_receives, events)
    limit = _link_synchronous(trace, order, links, matched_sends, matched_receives)
    return Matched(len(left), len(sends) - len(left), len(receives) - len(left), limit)


def _completer(trace: Trace, order: Order, rows: Array) -> Array:
    """The outermost call in which the operation that a record started was complete."""
    return np.asarray(order.top[len(trace.io) + rows + trace.mpi["completion"][rows]])


def _link_probes(
    trace: Trace, order: Order, links: Links, probes: Array, receives: Array, events: Array
) -> None:
    """A probe waits for the message of the next receive on the same channel."""
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
    standard = ~mpi.by_name(is_buffered_send)[sends]
    telling = standard & ~mpi.by_name(is_exchange)[sends]
    synchronous = mpi["flags"][sends] & MpiFlag.SYNCHRONOUS != 0
    # A standard send may wait for its receive or not. The times show from which size on it does.
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
