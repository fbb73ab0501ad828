"""Delivers readings and events to a destination, which may be slow, unreachable, or full.

Accounting of losses: readings wait in a queue of bounded length. When it is full, the oldest one is
dropped and counted; the count is in the next reading. Blocks of events wait in their stream, and
the receiver counts the missing ones (events.py). Readings of an earlier start (undelivered.py) wait
in the queue as well. A thread delivers and sleeps in between. After a failure the next attempt is
made at the next reading, so there is no retry timer.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, Protocol

from sesame.errors import OutputError, SesameError
from sesame.measurement.clocks import Offset, estimate
from sesame.measurement.connection import Connection, TooLargeError
from sesame.measurement.daemon.stream import EventStream
from sesame.measurement.events import Block
from sesame.measurement.readings import Reading

if TYPE_CHECKING:
    from sesame.measurement.collector.store import Store

DEFAULT_PORT = 7118  # of a collector
MOST_WAITING = 1000
SECONDS_BETWEEN_ESTIMATES = 600
# Time for deliveries at the end. A last request may take 10 s more; systemd kills the daemon after
# 90 s (TimeoutStopSec).
LAST_SECONDS = 60.0

Item = Reading | Block
Items = Sequence[Item]  # all of one kind
MOST_AT_ONCE = 64  # readings in a request


class Sink(Protocol):
    def deliver(self, items: Items) -> None:
        """Delivers all items; raises SesameError if it cannot."""

    def close(self) -> None: ...


class HttpSink:
    """Sends to a collector, with the estimated offset between the clocks."""

    def __init__(
        self, address: str, token: str, ca: str = "", certificate: str = "", key: str = ""
    ) -> None:
        self._connection = Connection(address, token, DEFAULT_PORT, ca, certificate, key)
        self._offset: Offset | None = None
        self._estimated = 0.0

    def deliver(self, items: Items) -> None:
        now = time.monotonic()
        try:
            if self._offset is None or now - self._estimated > SECONDS_BETWEEN_ESTIMATES:
                self._offset, self._estimated = estimate(self._connection.ask_clock), now
            body = b"".join(one.encode(self._offset) for one in items)
            self._connection.ask("POST", items[0].path, body)
        except SesameError:
            self._offset = None  # a restarted collector may have another clock
            raise

    def close(self) -> None:
        self._connection.close()


class Delivery:
    """Delivers offered items, and the blocks of a stream, in a thread of its own until `close`."""

    def __init__(
        self,
        sink: Sink,
        say: Callable[[str], None],
        stream: EventStream,
        *,
        capacity: int = MOST_WAITING,
        sent: int | None = None,
    ) -> None:
        """`say`: reports when the destination fails and when it works again. `capacity`: of the
        queue.

        `sent`: the last event of the stream that was sent elsewhere; by default all of them.
        """
        self._sink, self._say, self._stream = sink, say, stream
        self.sent = self._since = stream.seen if sent is None else sent
        self._events_delivered = 0
        self._waiting: deque[Item] = deque()
        self._capacity = capacity
        self._at_once = MOST_AT_ONCE  # fewer while requests are too large
        self._changed = threading.Condition()
        self._has_work = False
        self._end = math.inf
        self._last: int | None = None  # set by `close`: the last event to send
        self.dropped = 0
        self.delivered = 0
        self.trouble = ""
        self._thread = threading.Thread(target=self._run, name="delivery", daemon=True)
        self._thread.start()
        stream.on_block = self._on_block

    def offer(self, items: Sequence[Item]) -> None:
        """Puts items into the queue; returns at once. Any thread may call it."""
        with self._changed:
            for item in items:
                if len(self._waiting) == self._capacity:
                    self._waiting.popleft()
                    self.dropped += 1
                self._waiting.append(item)
        self._wake()

    def _wake(self) -> None:
        with self._changed:
            self._has_work = True
            self._changed.notify()

    def _on_block(self) -> None:
        if not self.trouble:
            self._wake()

    def close(self) -> list[Item]:
        """Makes a last attempt and closes the sink; returns the items still in the queue, without
        blocks of the stream. May take LAST_SECONDS and a request."""
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
                self._changed.wait_for(lambda: self._has_work)
                self._has_work = False
                last = self._last
            while time.monotonic() < self._end and self._deliver_next(last):
                pass
            if last is not None:
                return

    def _deliver_next(self, last: int | None) -> bool:
        """Delivers a batch of readings, or else a block of events. Returns whether it succeeded,
        so that there may be more to deliver."""
        items = self._first()
        if items:
            try:
                return self._deliver(items) and self._remove(items)
            except TooLargeError as error:
                self._send_fewer(items, error)
                return True
        if last is not None and self.sent >= last:
            return False
        for block in self._stream.after(self.sent):
            if self._deliver([replace(block, since=self._since)]):
                self._events_delivered += len(block.events)
                self.sent = block.seen
                return True
        return False

    def _first(self) -> Items:
        """The next items of the queue: readings, or one block."""
        with self._changed:
            if self._waiting and isinstance(self._waiting[0], Block):
                return [self._waiting[0]]
            first = islice(self._waiting, self._at_once)
            return [*takewhile(lambda one: isinstance(one, Reading), first)]

    def _remove(self, delivered: Items) -> bool:
        with self._changed:
            for one in delivered:
                # It may have been dropped from the queue while it was being sent.
                if self._waiting and self._waiting[0] is one:
                    self._waiting.popleft()
                else:
                    self.dropped -= 1
        self.delivered += len(delivered)
        self._at_once = min(2 * self._at_once, MOST_AT_ONCE)
        return True

    def _send_fewer(self, items: Items, error: TooLargeError) -> None:
        """Has the next request contain half as many readings; one that is too large alone is
        dropped, so that it does not keep back the others."""
        if len(items) > 1:
            self._at_once = len(items) // 2
            return
        self._remove(items)
        self.delivered -= 1
        self.dropped += 1
        self._say(f"a reading is dropped: {error.message}")

    def _deliver(self, items: Items) -> bool:
        """Raises TooLargeError if it is that of readings."""
        try:
            self._sink.deliver(items)
        except SesameError as error:
            if isinstance(error, TooLargeError) and isinstance(items[0], Reading):
                raise
            return self._failed(error.message, str(error))
        except Exception as error:  # a defect must not end this thread, and with it the delivery
            return self._failed(repr(error), f"this is a defect: {error!r}")
        if self.trouble:
            self.trouble = ""
            self._say(f"delivery works again; {self.dropped} readings were dropped")
        return True

    def _failed(self, trouble: str, said: str) -> bool:
        if trouble != self.trouble:
            self._say(f"readings wait: {said}")
        self.trouble = trouble
        return False


class StoreSink:
    """Writes data sets to a directory of this machine."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def deliver(self, items: Items) -> None:
        try:
            for item in items:
                self._store.add(item)
        except OSError as error:
            raise OutputError(f"cannot write: {error.strerror}") from error
        if self._store.is_segment_over():
            self._store.end_segment()
            self._store.make_segments()

    def close(self) -> None:
        self._store.close()
