"""Pulls on their way to a destination, which may be slow, away, or full.

They wait in a queue of bounded length, in a thread of its own that sleeps until a pull comes; what
finds no room is dropped, the oldest first, and counted. After a failure the next pull is the next
attempt, so that nothing ticks.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from sesame.errors import OutputError, SesameError
from sesame.measurement.clocks import Offset, estimate
from sesame.measurement.connection import Connection
from sesame.measurement.pulls import Pull
from sesame.measurement.reception.store import Store

DEFAULT_PORT = 7118  # of a reception
MOST_WAITING = 1000
SECONDS_BETWEEN_ESTIMATES = 600


class Sink(Protocol):
    def deliver(self, pull: Pull) -> None:
        """Raises SesameError when it cannot."""

    def close(self) -> None: ...


class HttpSink:
    """A reception; knows how far its clock is from ours."""

    def __init__(self, address: str, token: str, ca: str = "") -> None:
        self._connection = Connection(address, token, DEFAULT_PORT, ca)
        self._offset: Offset | None = None
        self._estimated = 0.0

    def deliver(self, pull: Pull) -> None:
        now = time.monotonic()
        try:
            if self._offset is None or now - self._estimated > SECONDS_BETWEEN_ESTIMATES:
                self._offset, self._estimated = estimate(self._connection.ask_clock), now
            self._connection.ask("POST", "/v1/pulls", replace(pull, offset=self._offset).to_json())
        except SesameError:
            self._offset = None  # the reception that comes back may have another clock
            raise

    def close(self) -> None:
        self._connection.close()


class Delivery:
    def __init__(self, sink: Sink, say: Callable[[str], None], room: int = MOST_WAITING) -> None:
        """`say` is told when the destination fails and when it works again."""
        self._sink, self._say = sink, say
        self._waiting: deque[Pull] = deque()
        self._room = room
        self._changed = threading.Condition()
        self._is_wanted = self._is_ending = False
        self.dropped = 0
        self.delivered = 0
        self.trouble = ""
        self._thread = threading.Thread(target=self._run, name="delivery", daemon=True)
        self._thread.start()

    def offer(self, pull: Pull) -> None:
        with self._changed:
            if len(self._waiting) == self._room:
                self._waiting.popleft()
                self.dropped += 1
            self._waiting.append(pull)
            self._is_wanted = True
            self._changed.notify()

    def close(self) -> list[Pull]:
        """One last attempt; gives what is still waiting."""
        with self._changed:
            self._is_wanted = self._is_ending = True
            self._changed.notify()
        self._thread.join()
        self._sink.close()
        return list(self._waiting)

    def describe(self) -> dict[str, Any]:
        return {
            "waiting": len(self._waiting),
            "delivered": self.delivered,
            "dropped": self.dropped,
            "trouble": self.trouble,
        }

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_wanted)
                self._is_wanted = False
                is_last = self._is_ending
            while self._waiting and self._deliver_first():
                pass
            if is_last:
                return

    def _deliver_first(self) -> bool:
        with self._changed:
            first = self._waiting[0]
        try:
            self._sink.deliver(first)
        except SesameError as error:
            if error.message != self.trouble:
                self._say(f"pulls wait: {error}")
            self.trouble = error.message
            return False
        with self._changed:
            # While it was on its way it may have been dropped to make room.
            if self._waiting and self._waiting[0] is first:
                self._waiting.popleft()
            else:
                self.dropped -= 1
        self.delivered += 1
        if self.trouble:
            self.trouble = ""
            self._say(f"pulls go on; {self.dropped} were dropped")
        return True


class StoreSink:
    """A directory of this machine."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def deliver(self, pull: Pull) -> None:
        try:
            self._store.add(pull)
        except OSError as error:
            raise OutputError(f"cannot write: {error.strerror}") from error
        if self._store.is_segment_over():
            self._store.end_segment()
            self._store.make_segments()

    def close(self) -> None:
        self._store.close()
