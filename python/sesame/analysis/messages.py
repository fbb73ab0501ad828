"""Matches the sends and receives of a traced run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sesame.analysis.traced.load import MpiRecords
from sesame.datasets.traced import MpiFlag
from sesame.traced.calls import is_receive, is_send
from sesame.traced.groups import Array
from sesame.traced.messages import Ends, match


@dataclass(frozen=True)
class Messages:
    """Matched messages, as indices of records: send[n] and receive[n] are one message."""

    send: Array
    receive: Array
    unmatched_sends: int
    unmatched_receives: int


def match_messages(records: MpiRecords) -> Messages:
    """The messages whose send and receive were both recorded."""
    real = (records.peer >= 0) & ((records.flags & MpiFlag.CANCELLED) == 0)
    sends = np.flatnonzero(_calls(records, is_send) & real)
    receives = np.flatnonzero(_calls(records, is_receive) & real)
    rows = np.concatenate([sends, receives])
    ends = Ends(
        is_send=np.arange(len(rows)) < len(sends),
        rank=records.rank[rows],
        peer=records.peer[rows],
        comm=records.comm[rows],
        tag=records.tag[rows],
        begin_ns=records.begin[rows],
    )
    first, second = match(ends)
    alone = len(sends) - len(first), len(receives) - len(first)
    return Messages(rows[first], rows[second], *alone)


def _calls(records: MpiRecords, is_wanted: Callable[[str], bool]) -> Array:
    wanted = np.array([is_wanted(name) for name in records.names] or [False])
    return np.asarray(wanted[records.call])
