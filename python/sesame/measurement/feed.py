"""Fetches readings and blocks of events from a daemon, each once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import BytesIO
from typing import TypeVar

from sesame.errors import SesameError
from sesame.measurement.bounds import MOST_ITEM_BYTES, UnfitError
from sesame.measurement.clocks import Offset, estimate
from sesame.measurement.connection import Connection
from sesame.measurement.events import Block
from sesame.measurement.frames import Frame, check_times, decode
from sesame.measurement.readings import Reading

CLOCK_EVERY = 60  # calls of `new` between two estimates of the offset
# Replies with blocks per call of `new`, enough for all that a daemon keeps. Under load there are
# always more, so the number must be bounded.
MOST_ANSWERS = 16
MOST_IN_ANSWER = 4096  # items; a daemon sends up to 360 readings or 2,048 blocks
Item = TypeVar("Item", Reading, Block)


class Feed:
    """Yields each reading and block once, with the offset to this machine's time of day.

    Call `begin` to leave out what was measured before. `new` yields what is new since the last
    call; an item that the caller failed to store (it raised an exception) is yielded again.
    """

    def __init__(
        self, connection: Connection, refuse: Callable[[Frame], None] | None = None
    ) -> None:
        """`refuse`: is given wrong items; by default they are an error."""
        self._connection = connection
        self._refuse = refuse or self._fail
        self.start = ""
        self._sequence = self._seen = self._since = -1
        self._times = 0
        self._offset: Offset | None = None

    def begin(self) -> None:
        """Ends the node's current interval, and starts the feed after it."""
        answer = self._connection.ask_json("POST", "/v1/read")
        self.start, self._sequence = answer["start"], answer["sequence"]
        self._seen = self._since = answer["events"]

    def new(self) -> Iterator[Reading | Block]:
        try:
            yield from self._new()
        except SesameError:
            self._offset = None
            raise

    def _new(self) -> Iterator[Reading | Block]:
        if self._offset is None or self._times % CLOCK_EVERY == 0:
            self._offset = offset_of(self._connection)
        self._times += 1
        for reading in self._ask("raw-readings", self._sequence, Reading):
            self._follow(reading.start)
            yield from self._checked(replace(reading, offset=self._offset))
            self._sequence = reading.sequence
        for _ in range(MOST_ANSWERS):
            before = self._seen
            for block in self._ask("raw-events", self._seen, Block):
                self._follow(block.start)
                if self._since < 0:
                    self._since = block.before
                yield from self._checked(replace(block, offset=self._offset, since=self._since))
                self._seen = block.seen
            if self._seen == before:
                return

    def _follow(self, start: str) -> None:
        """Begins at 0 again if the daemon was restarted."""
        if start != self.start:
            self.start = start
            self._sequence = self._seen = self._since = -1

    def _ask(self, what: str, after: int, kind: type[Item]) -> Iterator[Item]:
        """The valid items of a reply, one at a time: decoded, they need several times the memory of
        the reply."""
        path = f"/v1/{what}?start={self.start}&after={after}"
        answer = BytesIO(self._connection.ask("GET", path))
        for number, frame in enumerate(decode(answer, MOST_ITEM_BYTES)):
            if number == MOST_IN_ANSWER:
                address = self._connection.address
                raise SesameError(
                    f"{address}: expected at most {MOST_IN_ANSWER} readings or blocks"
                )
            if isinstance(frame.item, kind):
                yield frame.item
            else:
                self._refuse(frame if frame.item is None else replace(frame, item=None))

    def _checked(self, item: Item) -> Iterator[Item]:
        """The item, if its times are valid with the offset that was estimated."""
        try:
            check_times(item)
        except UnfitError as error:
            self._refuse(Frame(b"", None, str(error), node=item.node))
        else:
            yield item

    def _fail(self, frame: Frame) -> None:
        address = self._connection.address
        if frame.is_foreign:
            raise SesameError(f"{address}: its readings are of another version of sesame")
        raise SesameError(f"{address}: a wrong reading: {frame.refusal}")


def offset_of(node: Connection) -> Offset:
    """The offset from the node's monotonic clock to this machine's time of day."""
    ours_to_theirs = estimate(node.ask_clock)
    ours = time.time_ns() - time.monotonic_ns()
    return Offset(ours - ours_to_theirs.offset_ns, ours_to_theirs.uncertainty_ns)
