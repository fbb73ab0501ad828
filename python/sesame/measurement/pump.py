"""Takes what the programs in the kernel send: events of traces, and that an allowance is spent."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from sesame.measurement.probes import EVENT, SPENT, events_descriptor, subsystems, take_events

BATCH = 1 << 16
# Few events do not wake anyone; they are taken so often when there is a trace to write.
TRACE_WAIT_S = 0.5


class EventPump:
    """A thread that hands on what comes, until it is left; what is in the ring then, too."""

    def __init__(
        self,
        write: Callable[[NDArray[np.void]], None] | None,
        on_spent: Callable[[str], None] | None = None,
    ) -> None:
        """Probes must be loaded. `on_spent` is told the subsystem."""
        self._write = write
        self._on_spent = on_spent
        self._names = list(subsystems())
        self._room = np.empty(BATCH if write is not None else 1024, EVENT)
        self._poll = select.poll()
        self._poll.register(events_descriptor(), select.POLLIN)
        self._woken, self._waker = os.pipe()
        self._poll.register(self._woken, select.POLLIN)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> EventPump:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.write(self._waker, b"x")
        self._thread.join()
        os.close(self._waker)
        os.close(self._woken)

    def _run(self) -> None:
        timeout = None if self._write is None else 1000 * TRACE_WAIT_S
        is_last = False
        while not is_last:
            ready = self._poll.poll(timeout)
            is_last = any(descriptor == self._woken for descriptor, _ in ready)
            while len(events := take_events(self._room)):
                self._hand_on(events)

    def _hand_on(self, events: NDArray[np.void]) -> None:
        spent = events["point"] == SPENT
        if spent.any():
            for number in np.unique(events["subsystem"][spent]):
                if self._on_spent is not None:
                    self._on_spent(self._names[number])
            events = events[~spent]
        if self._write is not None and len(events):
            self._write(events)
