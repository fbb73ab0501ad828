"""Takes what subsystems send: events of traces, and messages."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from sesame.measurement.probes import EVENT, RING_BYTES, Source

BATCH = 1 << 15
FULL_RING = -(-RING_BYTES // (BATCH * EVENT.itemsize))  # batches
MOST_SECONDS = 5.0  # that somebody waits for a flush


class EventPump:
    """A thread that hands on what comes, until `close`; what is in the ring then, too.

    Few events of traces do not wake it: they wait in the ring for more of them, or for `flush`.
    """

    def __init__(
        self,
        sources: list[Source],
        write: Callable[[NDArray[np.void]], None] | None,
        messages: Mapping[int, Callable[[str], None]],
    ) -> None:
        """Who listens to a message, QUOTA_REACHED or CLASS_ASSIGNED, is told the subsystem."""
        self._sources = sources
        self._write = write
        self._messages = messages
        self._room = np.empty(BATCH, EVENT)
        self._asked = os.eventfd(0)
        self._flushed = threading.Event()
        self._is_ending = False
        self._poll = select.epoll()
        self._poll.register(self._asked, select.EPOLLIN)
        # Only when the kernel wakes us: under load something is always in the ring, and who takes
        # events one by one never sleeps.
        for source in sources:
            self._poll.register(source.fileno(), select.EPOLLIN | select.EPOLLET)
        for source in sources:
            self._drain(source)
        self._thread = threading.Thread(target=self._run, name="events", daemon=True)
        self._thread.start()

    def _drain(self, source: Source) -> None:
        """What an earlier measurement of this process has left in the ring is none of this one."""
        messages, events = source.take(self._room)
        while messages or len(events):
            messages, events = source.take(self._room)

    def flush(self) -> None:
        """Returns when what is in the ring now has been handed on."""
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
            is_ending = self._is_ending  # before: what is in the ring by then is taken
            # The kernel does not tell again of what was left.
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
        """Whether something may be left: who asks is not to wait for a load that never ends."""
        return all(self._take(source) for _ in range(FULL_RING))

    def _take(self, source: Source) -> bool:
        messages, events = source.take(self._room)
        for message, name in messages:
            self._messages[message](name)
        if self._write is not None and len(events):
            self._write(events)
        return bool(messages) or len(events) > 0
