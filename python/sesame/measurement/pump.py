"""Takes trace events and messages from the ring buffers to which subsystems write."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from sesame.measurement.probes import EVENT, RING_BYTES, Source

BATCH = 1 << 15
FULL_RING = -(-RING_BYTES // (BATCH * EVENT.itemsize))  # batches in a full ring buffer
MOST_SECONDS = 5.0  # `flush` waits at most


class EventPump:
    """A thread that passes on events and messages until `close`, which passes on the rest as well.

    A few trace events do not wake the thread: they stay in the ring buffer until there are more, or
    until `flush`. Messages wake it at once.
    """

    def __init__(
        self,
        sources: list[Source],
        write: Callable[[NDArray[np.void]], None] | None,
        messages: Mapping[int, Callable[[str], None]],
    ) -> None:
        """`write` gets events; it must copy them. `messages`: for QUOTA_REACHED and CLASS_ASSIGNED
        a function that gets the name of the subsystem. All are called in the thread."""
        self._sources = sources
        self._write = write
        self._messages = messages
        self._buffer = np.empty(BATCH, EVENT)
        self._asked = os.eventfd(0)
        self._flushed = threading.Event()
        self._is_ending = False
        self._poll = select.epoll()
        self._poll.register(self._asked, select.EPOLLIN)
        # Edge-triggered, so that only the kernel wakes the thread: under load the ring is never
        # empty, and a level-triggered thread would take events one by one and never sleep.
        for source in sources:
            self._poll.register(source.fileno(), select.EPOLLIN | select.EPOLLET)
        for source in sources:
            self._drain(source)
        self._thread = threading.Thread(target=self._run, name="events", daemon=True)
        self._thread.start()

    def _drain(self, source: Source) -> None:
        """Discards what an earlier measurement of this process left in the ring buffer."""
        messages, events = source.take(self._buffer)
        while messages or len(events):
            messages, events = source.take(self._buffer)

    def flush(self) -> None:
        """Returns when all that is now in the ring buffers has been passed on, at the latest after
        MOST_SECONDS."""
        self._flushed.clear()
        os.eventfd_write(self._asked, 1)
        self._flushed.wait(MOST_SECONDS)

    def close(self) -> None:
        self._is_ending = True
        self.flush()
        self._thread.join()
        self._poll.close()
        os.close(self._asked)

    def _run(self) -> None:
        is_left = is_ending = False
        while is_left or not is_ending:
            is_ending = self._is_ending  # read first: events before `close` are taken
            # Edge-triggered: the kernel does not report again what was left.
            ready = self._poll.poll(0 if is_left or is_ending else None)
            is_asked = any(descriptor == self._asked for descriptor, _ in ready)
            if is_asked:
                os.eventfd_read(self._asked)
            left = [self._take_all(source) for source in self._sources]
            is_left = any(left)
            if is_asked:
                self._flushed.set()
        self._flushed.set()

    def _take_all(self, source: Source) -> bool:
        """Takes at most what fits into the ring buffer, so that `flush` returns under steady load.
        Returns whether something may be left."""
        return all(self._take(source) for _ in range(FULL_RING))

    def _take(self, source: Source) -> bool:
        messages, events = source.take(self._buffer)
        for message, name in messages:
            self._messages[message](name)
        if self._write is not None and len(events):
            self._write(events)
        return bool(messages) or len(events) > 0
