"""Checks before a run that it cannot hang: every message has a receive, and every collective has
all its ranks."""

from __future__ import annotations

import numpy as np

from sesame.errors import InputError
from sesame.simulation.trace.calls import Role
from sesame.simulation.trace.communicators import Communicator
from sesame.simulation.trace.events import Array, Events
from sesame.traced.messages import Ends, match

HINT = "was the traced run cut off, or a rank not traced?"
SENDS = (Role.SEND, Role.SEND_START, Role.SEND_RECEIVE, Role.SEND_RECEIVE_START)
RECEIVES = (Role.RECEIVE, Role.RECEIVE_START)


def groups_of(columns: list[Array]) -> tuple[Array, Array]:
    """An order in which equal rows are adjacent, and the index in it where each group begins."""
    order = np.lexsort(columns[::-1])
    changes = np.zeros(len(order), bool)
    for column in columns:
        ordered = column[order]
        changes[1:] |= ordered[1:] != ordered[:-1]
    if len(order):
        changes[0] = True
    return order, np.flatnonzero(changes)


def match_messages(events: Events) -> None:
    """Checks that there are as many sends as receives for each (communicator, sender, receiver,
    tag); sets the bytes of every receive to those of its message."""
    sends = np.isin(events.role, SENDS) & (events.peer >= 0)
    receives = np.isin(events.role, RECEIVES) & (events.peer >= 0)
    chosen = np.flatnonzero(sends | receives)
    ends = Ends(
        is_send=sends[chosen],
        rank=events.rank[chosen],
        peer=events.peer[chosen],
        comm=events.comm[chosen],
        tag=events.tag[chosen],
        begin_ns=chosen,  # events of a rank are in the order of time
    )
    channel = ends.channels()
    balance = np.bincount(channel, np.where(ends.is_send, 1, -1))
    wrong = np.flatnonzero(balance)
    if not len(wrong):
        send, receive = match(ends, channel)
        events.bytes[chosen[receive]] = events.bytes[chosen[send]]
        return
    group = np.flatnonzero(channel == wrong[0])
    left_over = ends.is_send[group] == (balance[wrong[0]] > 0)
    event = int(chosen[group[left_over]].max())
    others = f" ({len(wrong) - 1} more such pairs)" if len(wrong) > 1 else ""
    peer_word, missing = ("to", "receive") if balance[wrong[0]] > 0 else ("from", "send")
    raise InputError(
        f"{events.describe(event)} {peer_word} rank {events.peer[event]} with tag "
        f"{events.tag[event]}: the {missing} that belongs to it is not in the trace{others}",
        hint=HINT,
    )


def check_collectives(
    events: Events, chosen: Array, instance: Array, communicators: list[Communicator]
) -> tuple[Array, Array]:
    """Checks that all members make each collective, with the same call. Returns the collectives as
    groups, in the form of `groups_of`."""
    comm = events.comm[chosen]
    order, starts = groups_of([comm, instance])
    if not len(order):
        return order, starts
    sizes = np.array([c.size for c in communicators])
    counts = np.diff([*starts, len(order)])
    first = order[starts]
    call = events.played[chosen]
    blocking = events.role[chosen] == Role.COLLECTIVE
    _check_complete(events, chosen, comm, first, counts, sizes, communicators)
    differs = (call[order] != np.repeat(call[first], counts)) & (
        blocking[order] == np.repeat(blocking[first], counts)
    )
    if differs.any():
        at = int(np.argmax(differs))
        one = chosen[order[at]]
        other = chosen[first[np.searchsorted(starts, at, "right") - 1]]
        raise InputError(
            f"{events.describe(one)} and {events.describe(other)} are the same collective of "
            f"communicator {events.comm[one]}, and not the same call",
            hint=HINT,
        )
    return order, starts


def _check_complete(
    events: Events,
    chosen: Array,
    comm: Array,
    first: Array,
    counts: Array,
    sizes: Array,
    communicators: list[Communicator],
) -> None:
    short = np.flatnonzero(counts != sizes[comm[first]])
    if not len(short):
        return
    one = chosen[first[short[0]]]
    which = int(events.comm[one])
    mine = chosen[comm == which]
    calls = np.bincount(events.rank[mine], minlength=int(events.rank.max()) + 1)
    members = communicators[which].everyone
    late = min(members, key=lambda rank: calls[rank])
    raise InputError(
        f"{events.describe(one)}: rank {late} takes no part in this collective of communicator "
        f"{which}; it has {calls[late]} of them, and rank {events.rank[one]} has "
        f"{calls[events.rank[one]]}",
        hint=HINT,
    )
