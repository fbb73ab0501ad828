"""The arguments of collective calls, as the player needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sesame.simulation.trace.calls import ROOTED, Role, plain
from sesame.simulation.trace.communicators import Communicator, RankTable
from sesame.simulation.trace.events import Array, Events
from sesame.simulation.trace.matching import check_collectives
from sesame.traced.groups import number_in_group

if TYPE_CHECKING:
    from sesame.simulation.trace.plan import Lists

# How the recorded bytes of all ranks are converted to the arguments of the player's call.
DIVIDED = ("Scatter", "Alltoall", "Reduce_scatter_block")  # divided equally among ranks
SPREAD = ("Alltoallv", "Scatterv", "Reduce_scatter")  # divided evenly: the trace has only the sum
LISTED = ("Gatherv", "Allgatherv", "Alltoallv")  # every rank needs the counts of the others
ROLES = (Role.COLLECTIVE, Role.COLLECTIVE_START)


@dataclass(frozen=True)
class Collectives:
    """The arguments of collective calls, one element for each call of a rank."""

    events: Array  # numbers of the events
    peer: Array  # root; for calls without root the own rank in the communicator
    bytes: Array
    list: Array  # index in Lists of the counts of all ranks; 0 if the call has none
    buffer_bytes: Array


def base_name(name: str) -> str:
    """The blocking call's name without MPI_: `Allgatherv` for MPI_Iallgatherv."""
    short = plain(name)
    return short[1:].capitalize() if short.startswith("I") else short


def plan_collectives(
    events: Events,
    communicators: list[Communicator],
    table: RankTable,
    lists: Lists,
    notes: list[str],
) -> Collectives:
    _time_between_groups(events, communicators, notes)
    chosen = np.flatnonzero(np.isin(events.role, ROLES))
    comm = events.comm[chosen]
    _, instance = number_in_group(events.rank[chosen], comm, order=chosen)
    order, starts = check_collectives(events, chosen, instance, communicators)
    sizes = np.array([max(c.size, 1) for c in communicators])
    size = sizes[comm] if len(comm) else comm
    counts = np.diff([*starts, len(order)]) if len(order) else np.empty(0, np.int64)

    def most(values: Array) -> Array:
        """For each call the largest value in the same collective."""
        result = np.empty(len(values), np.int64)
        if len(order):
            result[order] = np.repeat(np.maximum.reduceat(values[order], starts), counts)
        return result

    given = events.bytes[chosen]
    largest = most(given)
    call = np.array([base_name(name) for name in events.names])[events.played[chosen]]
    place = table.find(comm, events.rank[chosen])
    amount = np.where(np.isin(call, DIVIDED), largest // np.maximum(size, 1), largest)
    amount = np.where(np.isin(call, LISTED), given, amount)
    amount = np.where(call == "Barrier", 0, amount)
    spread = call == "Scatterv"
    amount[spread] = (largest // size + (place < largest % size))[spread]
    root = table.find(comm, most(events.peer[chosen]))
    peer = np.where(np.isin(call, ROOTED), np.maximum(root, 0), place)
    begin = _lists(lists, call, amount, given, place, size, order, starts, counts)
    if np.isin(call, SPREAD).any():
        notes.append(
            "MPI_Alltoallv, MPI_Scatterv and MPI_Reduce_scatter divide their data evenly: a trace "
            "has the sum of each rank only"
        )
    whole = np.where(np.isin(call, SPREAD), largest, amount * size)
    return Collectives(chosen, peer, amount, begin, np.maximum(whole, largest))


def _lists(
    lists: Lists,
    call: Array,
    amount: Array,
    given: Array,
    place: Array,
    size: Array,
    order: Array,
    starts: Array,
    counts: Array,
) -> Array:
    """Adds a list for each collective that needs counts: the number of ranks, then their values.
    Returns the index of each call's list."""
    begin = np.zeros(len(call), np.int64)
    listed = np.isin(call, LISTED) | (call == "Scatterv")
    values = np.where(call == "Scatterv", amount, given)
    chosen = listed[order[starts]] if len(order) else np.empty(0, bool)
    groups, lengths = starts[chosen], counts[chosen]
    head = np.cumsum(lengths + 1) - (lengths + 1)
    block = np.zeros(int((lengths + 1).sum()), np.int64)
    block[head] = lengths
    within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows = order[np.repeat(groups, lengths) + within]
    block[np.repeat(head, lengths) + 1 + place[rows]] = values[rows]
    begin[rows] = lists.add(block) + np.repeat(head, lengths)
    for ranks in np.unique(size[call == "Reduce_scatter"]).tolist():
        begin[(call == "Reduce_scatter") & (size == ranks)] = lists.add(np.array([ranks]))
    return begin


def _time_between_groups(
    events: Events, communicators: list[Communicator], notes: list[str]
) -> None:
    """Gives collectives of intercommunicators their recorded time, except barriers: their meaning
    depends on the group of the rank, which the player does not support."""
    between = np.array([bool(c.remote) for c in communicators])
    barrier = np.array([base_name(name) == "Barrier" for name in events.names])
    chosen = np.isin(events.role, ROLES) & between[events.comm] & ~barrier[events.played]
    chosen &= events.comm >= 0
    if chosen.any():
        notes.append(
            f"{np.count_nonzero(chosen):,} collectives of intercommunicators take the time they "
            "took when traced"
        )
        _make_timed(events, chosen)


def _make_timed(events: Events, chosen: Array) -> None:
    if "timed" not in events.names:
        events.names.append("timed")
    events.role[chosen] = Role.TIMED
    events.played[chosen] = events.names.index("timed")
    events.completed_by[chosen] = -1
