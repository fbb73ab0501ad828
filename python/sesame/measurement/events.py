"""Blocks of trace events, as a daemon sends them to the process that stores them.

Accounting of losses: a daemon numbers the events to be traced since its start. Each block says how
many of them there were before it (`before`) and with it (`seen`). The receiver keeps `seen` of the
last block it stored; the difference to the next block, less the events in that block, is the number
of events that were discarded in between. So each event is either written or counted as discarded,
whichever blocks were lost and whichever process was restarted.

A block is a line (the word `events` and a JSON object) followed by the records as the kernel wrote
them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sesame.measurement.clocks import Offset
from sesame.measurement.probes import EVENT
from sesame.measurement.trace import Named, Names

WORD = b"events "
RECORD = [list(one) for one in EVENT.descr]
OWN_WEIGHT = 64  # memory of a block without events, in events


@dataclass(frozen=True, eq=False)
class Block:
    """Times are of the node's monotonic clock, counts of events since its daemon began."""

    node: str
    start: str
    before: int  # events to be traced before this block
    seen: int  # and up to its end
    begin_ns: int
    end_ns: int
    names: list[Named]
    events: NDArray[np.void] = field(repr=False)
    offset: Offset
    since: int = 0  # from which event on a receiver counts that has stored no block yet
    discarded: int = 0  # set by the receiver: events missing since the block before

    path: ClassVar[str] = "/v1/events"

    @property
    def key(self) -> str:
        return f"{self.node} {self.start} events"

    @property
    def number(self) -> int:
        return self.seen

    @property
    def weight(self) -> int:
        return len(self.events) + OWN_WEIGHT

    def after(self, known: int) -> Block:
        """As a receiver stores it whose last block ended at event `known`."""
        return replace(self, discarded=self.seen - max(known, self.since) - len(self.events))

    def encode(self, offset: Offset | None = None) -> bytes:
        """`offset`: to another clock, in place of its own."""
        head = {name: value for name, value in vars(self).items() if name != "events"}
        head |= {
            "offset": vars(offset or self.offset),
            "record": RECORD,
            "bytes": self.events.nbytes,
        }
        return WORD + json.dumps(head).encode() + b"\n" + self.events.tobytes()

    @staticmethod
    def decode(line: bytes, records: bytes) -> Block:
        """Raises ValueError unless this is a block of this version."""
        try:
            head = json.loads(line.removeprefix(WORD))
            if head.pop("record") != RECORD or head.pop("bytes") != len(records):
                raise ValueError("events of another version")
            offset = Offset(**head.pop("offset"))
            block = Block(**head, offset=offset, events=np.frombuffer(records, EVENT))
            block._check()
        except (TypeError, KeyError, AttributeError, IndexError) as error:
            raise ValueError("this is no block of events") from error
        return block

    def columns(self, begin_ns: int) -> dict[str, Any]:
        """Records of the type kernel_event; `begin_ns` is the begin of the data set."""
        begin = begin_ns - self.offset.offset_ns
        return Names(self.names).columns(self.events, self.node, begin)

    def record(self, begin_ns: int) -> dict[str, Any]:
        """Of the type kernel_trace."""
        shift = self.offset.offset_ns - begin_ns
        return {
            "begin_ns": self.begin_ns + shift,
            "end_ns": self.end_ns + shift,
            "node": self.node,
            "start": self.start,
            "seen": self.seen,
            "written": len(self.events),
            "discarded": self.discarded,
            "offset_ns": self.offset.offset_ns,
            "uncertainty_ns": self.offset.uncertainty_ns,
        }

    def _check(self) -> None:
        """Whether it can become records of their types; raises ValueError."""
        counts = (self.before, self.seen, self.since, self.offset.uncertainty_ns)
        times = (self.begin_ns, self.end_ns, self.offset.offset_ns)
        if not all(type(one) is int and 0 <= one < 2**63 for one in counts):
            raise ValueError("a count that is none")
        if not all(type(one) is int and abs(one) < 2**63 for one in times):
            raise ValueError("a time that is none")
        if self.seen - self.before < len(self.events):
            raise ValueError("more events than were seen")
        if not isinstance(self.node, str) or not isinstance(self.start, str):
            raise ValueError("a name that is none")
        if not Names(self.names).hold(self.events):
            raise ValueError("events without a name")
