"""Readings and events on their way to a destination, which may be slow, away, or full.

Readings wait in a queue of bounded length, in a thread of its own that sleeps until one comes; what
finds no room is dropped, the oldest first, and counted. Blocks of events wait in their stream. What
an earlier start has left (undelivered.py) waits in the queue as well.
After a failure the next reading is the next attempt, so that nothing ticks.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice, takewhile
from typing import Any, Protocol

from sesame.errors import OutputError, SesameError
from sesame.measurement.clocks import Offset, estimate
from sesame.measurement.collector.store import Store
from sesame.measurement.connection import Connection
from sesame.measurement.daemon.stream import EventStream
from sesame.measurement.events import Block
from sesame.measurement.readings import Reading

DEFAULT_PORT = 7118  # of a collector
MOST_WAITING = 1000
SECONDS_BETWEEN_ESTIMATES = 600
# At the end, before a last request of 10 s: systemd waits for 90 s (TimeoutStopSec).
LAST_SECONDS = 60.0

Parcel = Reading | Block
Parcels = Sequence[Parcel]  # all of one kind
MOST_AT_ONCE = 64  # readings in a request


class Sink(Protocol):
    def deliver(self, parcels: Parcels) -> None:
        """Raises SesameError when it cannot deliver all of them."""

    def close(self) -> None: ...


class HttpSink:
    """A collector; knows how far its clock is from ours."""

    def __init__(self, address: str, token: str, ca: str = "") -> None:
        self._connection = Connection(address, token, DEFAULT_PORT, ca)
        self._offset: Offset | None = None
        self._estimated = 0.0

    def deliver(self, parcels: Parcels) -> None:
        now = time.monotonic()
        try:
            if self._offset is None or now - self._estimated > SECONDS_BETWEEN_ESTIMATES:
                self._offset, self._estimated = estimate(self._connection.ask_clock), now
            body = b"".join(one.encode(self._offset) for one in parcels)
            self._connection.ask("POST", parcels[0].path, body)
        except SesameError:
            self._offset = None  # the collector that comes back may have another clock
            raise

    def close(self) -> None:
        self._connection.close()


class Delivery:
    def __init__(
        self,
        sink: Sink,
        say: Callable[[str], None],
        stream: EventStream,
        *,
        room: int = MOST_WAITING,
        sent: int | None = None,
    ) -> None:
        """`say` is told when the destination fails and when it works again.

        `sent`: up to which event of the stream others have been told; all of them unless given.
        """
        self._sink, self._say, self._stream = sink, say, stream
        self.sent = self._since = stream.seen if sent is None else sent
        self._events_delivered = 0
        self._waiting: deque[Parcel] = deque()
        self._room = room
        self._changed = threading.Condition()
        self._is_wanted = False
        self._end = math.inf
        self._last: int | None = None  # when it is to end: the last event to tell of
        self.dropped = 0
        self.delivered = 0
        self.trouble = ""
        self._thread = threading.Thread(target=self._run, name="delivery", daemon=True)
        self._thread.start()
        stream.on_block = self._on_block

    def offer(self, parcels: Sequence[Parcel]) -> None:
        with self._changed:
            for parcel in parcels:
                if len(self._waiting) == self._room:
                    self._waiting.popleft()
                    self.dropped += 1
                self._waiting.append(parcel)
        self._wake()

    def _wake(self) -> None:
        with self._changed:
            self._is_wanted = True
            self._changed.notify()

    def _on_block(self) -> None:
        if not self.trouble:
            self._wake()

    def close(self) -> list[Parcel]:
        """One last attempt; gives what is still waiting, but for blocks of the stream."""
        self._stream.on_block = lambda: None
        self._end = time.monotonic() + LAST_SECONDS
        self._last = self._stream.seen
        self._wake()
        self._thread.join()
        self._sink.close()
        return list(self._waiting)

    def describe(self) -> dict[str, Any]:
        return {
            "waiting": len(self._waiting),
            "delivered": self.delivered,
            "dropped": self.dropped,
            "trouble": self.trouble,
            "events": {
                "delivered": self._events_delivered,
                "discarded": self.sent - self._since - self._events_delivered,
                "waiting": self._stream.seen - self.sent,
            },
        }

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_wanted)
                self._is_wanted = False
                last = self._last
            while time.monotonic() < self._end and self._deliver_next(last):
                pass
            if last is not None:
                return

    def _deliver_next(self, last: int | None) -> bool:
        """Whether there may be more. Readings go first, since they are small."""
        parcels = self._first()
        if parcels:
            return self._deliver(parcels) and self._remove(parcels)
        if last is not None and self.sent >= last:
            return False
        for block in self._stream.after(self.sent):
            if self._deliver([replace(block, since=self._since)]):
                self._events_delivered += len(block.events)
                self.sent = block.seen
                return True
        return False

    def _first(self) -> Parcels:
        """What goes next: a block, or readings."""
        with self._changed:
            if self._waiting and isinstance(self._waiting[0], Block):
                return [self._waiting[0]]
            first = islice(self._waiting, MOST_AT_ONCE)
            return [*takewhile(lambda one: isinstance(one, Reading), first)]

    def _remove(self, delivered: Parcels) -> bool:
        with self._changed:
            for one in delivered:
                # While it was on its way it may have been dropped to make room.
                if self._waiting and self._waiting[0] is one:
                    self._waiting.popleft()
                else:
                    self.dropped -= 1
        self.delivered += len(delivered)
        return True

    def _deliver(self, parcels: Parcels) -> bool:
        try:
            self._sink.deliver(parcels)
        except SesameError as error:
            if error.message != self.trouble:
                self._say(f"readings wait: {error}")
            self.trouble = error.message
            return False
        if self.trouble:
            self.trouble = ""
            self._say(f"readings go on; {self.dropped} were dropped")
        return True


class StoreSink:
    """A directory of this machine."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def deliver(self, parcels: Parcels) -> None:
        try:
            for parcel in parcels:
                self._store.add(parcel)
        except OSError as error:
            raise OutputError(f"cannot write: {error.strerror}") from error
        if self._store.is_segment_over():
            self._store.end_segment()
            self._store.make_segments()

    def close(self) -> None:
        self._store.close()
