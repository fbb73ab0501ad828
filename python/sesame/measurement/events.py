"""Blocks of trace events, as a daemon sends them to the process that stores them.

Accounting of losses: a daemon numbers the events to be traced since its start. Each block has the
number of events before it (`before`) and up to its end (`seen`). The receiver keeps `seen` of the
last block it stored. The difference to `seen` of the next block, less the events in that block, is
the number of events that were discarded in between. So each event is either written or counted as
discarded, whichever blocks were lost and whichever process was restarted.

The format of a block: a line (the word `events` and a JSON object), then the records as the kernel
wrote them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import orjson
from numpy.typing import NDArray

from sesame.measurement.bounds import ForeignError, UnfitError, check_block
from sesame.measurement.clocks import Offset
from sesame.measurement.probes import EVENT
from sesame.measurement.trace import Named, Names

WORD = b"events "
RECORD = [list(one) for one in EVENT.descr]
OWN_WEIGHT = 64  # the memory of a block without events, in units of an event's memory


@dataclass(frozen=True, eq=False)
class Block:
    """A block of events. Times are of the node's monotonic clock in ns; counts begin with the start
    of its daemon."""

    node: str
    start: str
    before: int  # number of events to be traced before this block
    seen: int  # number of events to be traced up to the end of this block
    begin_ns: int
    end_ns: int
    names: list[Named]
    events: NDArray[np.void] = field(repr=False)
    offset: Offset
    since: int = 0  # the event from which a receiver without earlier blocks counts discarded ones
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
        """The block as a receiver stores it if its last block ended at event `known`: with
        `discarded` set."""
        missing = self.seen - max(known, self.since) - len(self.events)
        return replace(self, discarded=max(missing, 0))

    def encode(self, offset: Offset | None = None) -> bytes:
        """The bytes to send or store; `offset` replaces the block's own."""
        head = {name: value for name, value in vars(self).items() if name != "events"}
        head |= {
            "offset": vars(offset or self.offset),
            "record": RECORD,
            "bytes": self.events.nbytes,
        }
        return WORD + json.dumps(head).encode() + b"\n" + self.events.tobytes()

    @staticmethod
    def decode(line: bytes, records: bytes) -> Block:
        """Raises ValueError (see bounds.py) unless this is a valid block of this version."""
        head = orjson.loads(line.removeprefix(WORD))
        if type(head) is not dict or head.pop("record", None) != RECORD:
            raise ForeignError("expected events of this version of sesame")
        if head.pop("bytes", None) != len(records) or len(records) % EVENT.itemsize:
            raise UnfitError("bytes: expected the size of the records")
        events = np.frombuffer(records, EVENT)
        check_block(head, events)
        if not Names(head["names"]).hold(events):
            raise UnfitError("names: expected one for each point and class of the events")
        return Block(**head | {"offset": Offset(**head["offset"])}, events=events)

    def columns(self, begin_ns: int) -> dict[str, Any]:
        """Records of the type kernel_event; `begin_ns` is the begin of the data set."""
        begin = begin_ns - self.offset.offset_ns
        return Names(self.names).columns(self.events, self.node, begin)

    def record(self, begin_ns: int) -> dict[str, Any]:
        """A record of the type kernel_trace; `begin_ns` is the begin of the data set."""
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
