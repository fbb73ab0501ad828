"""Requests of non-blocking calls: the player's calls that start them and wait for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sesame.datasets.traced import MpiFlag
from sesame.errors import InputError
from sesame.simulation.trace.calls import STARTS, Role, plain
from sesame.simulation.trace.events import Array, Events
from sesame.simulation.trace.files import DATA
from sesame.traced.groups import number_in_group


def drop_cancelled(events: Events, notes: list[str]) -> None:
    """Drops receives that never completed and cancelled calls: they have no message to play."""
    cancelled = (events.flags & int(MpiFlag.CANCELLED)) != 0
    starts = np.isin(events.role, (Role.SEND_START, Role.RECEIVE_START))
    endless = (events.role == Role.RECEIVE_START) & (events.completed_by < 0)
    dropped = (starts & cancelled & ~events.is_io) | endless
    if dropped.any():
        notes.append(
            f"{np.count_nonzero(dropped):,} messages are left out: they were cancelled, or their "
            "receive never completed"
        )
        events.role[dropped] = Role.LOCAL
        events.completed_by[dropped] = -1


def tie_accesses(events: Events) -> None:
    """Sets the roles of asynchronous file accesses and of the calls that completed them. If a call
    completed several, only the first is treated so."""
    start = np.flatnonzero(events.is_io & (events.completed_by >= 0) & (events.parent < 0))
    start = start[np.unique(events.completed_by[start], return_index=True)[1]]
    modelled = events.role[start] == Role.FILE
    names = np.array(events.names)[events.played[start]]
    wait = events.completed_by[start]
    for role, chosen, played in (
        (Role.IO_START, start[~modelled], "io_start"),
        (Role.IO_WAIT, wait[~modelled], "io_wait"),
        (Role.FILE_START, start[modelled & (names == "file_read")], "file_start_read"),
        (Role.FILE_START, start[modelled & (names == "file_write")], "file_start_write"),
        (Role.FILE_WAIT, wait[modelled & np.isin(names, DATA)], "file_wait"),
    ):
        if played not in events.names:
            events.names.append(played)
        events.role[chosen] = role
        events.played[chosen] = events.names.index(played)


@dataclass(frozen=True)
class Requests:
    number: Array  # of the request that an event starts, or the first that it waits for; -1: none
    waits_for: Array  # number of requests that an event waits for
    of_rank: Array  # number of requests of each rank


def number_requests(events: Events, ranks: int) -> Requests:
    """Numbers the requests of each rank. Requests for which the same call waits have consecutive
    numbers."""
    started = np.flatnonzero(np.isin(events.role, STARTS))
    never = len(events)
    freed = np.array([plain(name) == "Request_free" for name in events.names], bool)
    end = events.completed_by[started]
    end = np.where((end < 0) | freed[events.call[end]], never, end)
    order = np.lexsort((started, end, events.rank[started]))
    started, end = started[order], end[order]
    _check_ends(events, started, end)
    number = np.full(len(events), -1, np.int64)
    _, number[started] = number_in_group(events.rank[started], order=np.arange(len(started)))
    waits_for = np.bincount(end, minlength=never + 1)[:never]
    waited = end < never
    first_of_call = np.full(never, never, np.int64)
    np.minimum.at(first_of_call, end[waited], number[started[waited]])
    number = np.where((number < 0) & (waits_for > 0), first_of_call, number)
    return Requests(number, waits_for, np.bincount(events.rank[started], minlength=ranks))


def _check_ends(events: Events, started: Array, end: Array) -> None:
    known = end < len(events)
    started, end = started[known], end[known]
    wrong = (end < started) | ~np.isin(events.role[end], (Role.COMPLETION, Role.LOCAL))
    if wrong.any():
        first = int(np.argmax(wrong))
        raise InputError(
            f"{events.describe(started[first])}: it cannot have been completed by "
            f"{events.describe(end[first])}"
        )


def number_accesses(events: Events, requests: Requests) -> tuple[Array, Array, Array]:
    """For each asynchronous file access: the event that starts it, the event that waits for it, and
    its number, which follows those of messages."""
    start = np.flatnonzero(np.isin(events.role, (Role.IO_START, Role.FILE_START)))
    rank = events.rank[start]
    _, place = number_in_group(rank, order=start)
    number = requests.of_rank[rank] + place
    requests.of_rank[:] += np.bincount(rank, minlength=len(requests.of_rank))
    return start, events.completed_by[start], number
