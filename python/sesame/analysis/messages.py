"""Which receive of a traced run belongs to which send.

The messages from one process to another on one communicator with one tag are received in the order
in which they were sent (MPI 5.0, 3.5), and every receive's record has the source and tag that
came; so the n-th send and the n-th receive of one (communicator, source, destination, tag) belong
together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sesame.analysis.traced.load import MpiRecords
from sesame.datasets.traced import MpiFlag

Array = np.ndarray[Any, Any]

_SENDS = ("send", "bsend", "ssend", "rsend", "isend", "ibsend", "issend", "irsend")
_RECEIVES = ("recv", "irecv", "mrecv", "imrecv")


@dataclass(frozen=True)
class Messages:
    """Indices of records; the n-th of both belong together."""

    send: Array
    receive: Array
    unmatched_sends: int
    unmatched_receives: int


def is_send(name: str) -> bool:
    word = name.removeprefix("P").removeprefix("MPI_").lower()
    return word in _SENDS or word.startswith(("sendrecv", "isendrecv"))


def is_receive(name: str) -> bool:
    return name.removeprefix("P").removeprefix("MPI_").lower() in _RECEIVES


def match_messages(records: MpiRecords) -> Messages:
    """All messages of which both ends were recorded."""
    real = (records.peer >= 0) & ((records.flags & MpiFlag.CANCELLED) == 0)
    send = _chosen(records, is_send, real)
    receive = _chosen(records, is_receive, real)
    source = np.concatenate([records.rank[send], records.peer[receive]])
    destination = np.concatenate([records.peer[send], records.rank[receive]])
    both = np.concatenate([send, receive])
    envelope = _numbered(source, destination, records.tag[both], records.comm[both])
    sent, got = envelope[: len(send)], envelope[len(send) :]
    send, sent, place = _in_turn(send, sent, records)
    receive, got, turn = _in_turn(receive, got, records)
    most = int(max(place.max(initial=0), turn.max(initial=0))) + 1
    _, first, second = np.intersect1d(
        sent * most + place, got * most + turn, assume_unique=True, return_indices=True
    )
    pairs = len(first)
    return Messages(send[first], receive[second], len(send) - pairs, len(receive) - pairs)


def _chosen(records: MpiRecords, is_wanted: Any, real: Array) -> Array:
    wanted = np.array([is_wanted(name) for name in records.names] or [False])
    return np.flatnonzero(wanted[records.call] & real)


def _numbered(*columns: Array) -> Array:
    """A number for each distinct row, small enough to be multiplied."""
    number = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        values, place = np.unique(column, return_inverse=True)
        if int(number.max(initial=0) + 1) * max(len(values), 1) >= 1 << 62:
            number = np.unique(number, return_inverse=True)[1]
        number = number * max(len(values), 1) + place
    return np.asarray(np.unique(number, return_inverse=True)[1])


def _in_turn(index: Array, envelope: Array, records: MpiRecords) -> tuple[Array, Array, Array]:
    """Sorted by envelope and time, with each one's place among those of its envelope."""
    if records.thread.any():
        order = np.lexsort((records.begin[index], envelope))
    else:  # the records of a rank are in the order of time
        order = np.argsort(envelope, kind="stable")
    index, envelope = index[order], envelope[order]
    starts = np.flatnonzero(np.append(True, envelope[1:] != envelope[:-1]))[: len(envelope)]
    lengths = np.diff(np.append(starts, len(envelope)))
    return index, envelope, np.arange(len(envelope)) - np.repeat(starts, lengths)
