"""Matches the sends and receives of a traced run.

Messages with the same source, destination, communicator and tag are received in the order in which
they were sent (MPI 5.0, 3.5), and the record of a receive has the actual source and tag. So the
n-th send and the n-th receive with the same (communicator, source, destination, tag) match.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sesame.traced.groups import Array, number_in_group


@dataclass(frozen=True)
class Ends:
    """Columns of sends and receives, one element for each."""

    is_send: Array
    rank: Array  # the process that made the call
    peer: Array
    comm: Array
    tag: Array
    begin_ns: Array

    def channels(self) -> Array:
        """A number for each (communicator, source, destination, tag)."""
        source = np.where(self.is_send, self.rank, self.peer)
        destination = np.where(self.is_send, self.peer, self.rank)
        key = (self.comm, source, destination, self.tag)
        return number_in_group(*key, order=np.arange(len(source)))[0]


def match(ends: Ends, channels: Array | None = None) -> tuple[Array, Array]:
    """Matches sends and receives: returns the indices of sends, and those of their receives."""
    channel = ends.channels() if channels is None else channels
    _, turn = number_in_group(channel, ends.is_send, order=ends.begin_ns)
    name = channel * (int(turn.max(initial=0)) + 1) + turn
    send, receive = np.flatnonzero(ends.is_send), np.flatnonzero(~ends.is_send)
    _, first, second = np.intersect1d(
        name[send], name[receive], assume_unique=True, return_indices=True
    )
    return send[first], receive[second]
