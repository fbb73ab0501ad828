"""Events of traces on their way from a daemon to whoever stores them: blocks, each with an account.

A daemon counts the events that were to be traced since it began, and a block says up to which of
them it goes. Whoever receives blocks subtracts, so that each event is written or counted as
discarded, however many blocks were lost on the way, and whoever began again.

A block is a line, the word `events` and a JSON object, and after it the records as the kernel wrote
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
OWN_WEIGHT = 64  # what a block without events takes, in events


@dataclass(frozen=True, eq=False)
class Block:
    """Times are of the node's monotonic clock, counts of events since its daemon began."""

    node: str
    start: str
    before: int  # events that were seen before this block
    seen: int  # and with it
    begin_ns: int
    end_ns: int
    names: list[Named]
    events: NDArray[np.void] = field(repr=False)
    offset: Offset
    since: int = 0  # where the account of whoever receives it begins, if it has none
    discarded: int = 0  # says who receives it: events since the block before that it has not got

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
        """As it is stored by one who has a block that goes up to `known`."""
        return replace(self, discarded=self.seen - max(known, self.since) - len(self.events))

    def encode(self, offset: Offset | None = None) -> bytes:
        """`offset`: of another clock than its own offset is to."""
        head = {name: value for name, value in vars(self).items() if name != "events"}
        head |= {
            "offset": vars(offset or self.offset),
            "record": RECORD,
            "bytes": self.events.nbytes,
        }
        return WORD + json.dumps(head).encode() + b"\n" + self.events.tobytes()

    @staticmethod
    def decode(line: bytes, records: bytes) -> Block:
        """Raises ValueError when this is no block."""
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
