"""The events of a daemon's traces, gathered in blocks and kept until they are delivered.

A block is made when the buffer is full, and at each reading. The newest blocks stay in memory up to
a fixed capacity, delivered or not; older ones are discarded. From the counts in the blocks the
receiver finds how many events were discarded.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sesame.measurement.clocks import Offset
from sesame.measurement.events import Block
from sesame.measurement.probes import EVENT
from sesame.measurement.trace import Named

BUFFER = 1 << 15  # events of a block, at most: 2.3 MB
MOST_KEPT = 1 << 20  # events: 75 MB


class EventStream:
    """Thread-safe: one thread calls `write`, others the rest."""

    def __init__(
        self,
        node: str,
        start: str,
        offset: Offset,
        lost: Callable[[], int],
        names: Callable[[], list[Named]],
        *,
        buffer: int = BUFFER,
        capacity: int = MOST_KEPT,
    ) -> None:
        """`lost`: returns the number of events that the kernel lost since the start. `names`:
        returns the names for the numbers in events until now. `capacity`: of the kept blocks, in
        events."""
        self._node, self._start, self._offset = node, start, offset
        self._lost, self._names = lost, names
        self._changed = threading.Lock()
        self._buffer = np.empty(buffer, EVENT)
        self._gathered = 0  # events in the buffer
        self._taken = 0  # events from the kernel since the start
        self._kept: deque[Block] = deque()
        self._weight, self._capacity = 0, capacity
        self.seen = 0  # events taken or lost, up to the last block
        self.on_block: Callable[[], None] = lambda: None

    def write(self, events: NDArray[np.void]) -> None:
        """Copies events into the buffer, and makes blocks of it when it is full."""
        with self._changed:
            while len(events):
                chunk = events[: len(self._buffer) - self._gathered]
                events = events[len(chunk) :]
                self._buffer[self._gathered : self._gathered + len(chunk)] = chunk
                self._gathered += len(chunk)
                self._taken += len(chunk)
                if self._gathered == len(self._buffer):
                    self._make_block()

    def flush(self) -> None:
        """Makes a block of the events gathered or lost since the last block, if any."""
        with self._changed:
            if self._taken + self._lost() > self.seen:
                self._make_block()

    def account(self, before: int) -> Block:
        """A block that accounts for the events after `before`, without the events."""
        with self._changed:
            return replace(self._block(before, self._buffer[:0].copy()), since=before)

    def _block(self, before: int, events: NDArray[np.void]) -> Block:
        now = time.monotonic_ns()
        return Block(
            node=self._node,
            start=self._start,
            before=before,
            seen=self.seen,
            begin_ns=int(events["time_ns"].min()) if len(events) else now,
            end_ns=now,
            names=self._names(),
            events=events,
            offset=self._offset,
        )

    def _make_block(self) -> None:
        before, self.seen = self.seen, self._taken + self._lost()
        block = self._block(before, self._buffer[: self._gathered].copy())
        self._gathered = 0
        self._kept.append(block)
        self._weight += block.weight
        while self._weight > self._capacity:
            self._weight -= self._kept.popleft().weight
        self.on_block()

    def after(self, seen: int, weight: int = 0) -> list[Block]:
        """The first blocks that end after event `seen`: one, or as many as reach `weight`."""
        found: list[Block] = []
        with self._changed:
            for block in self._kept:
                if block.seen > seen:
                    found.append(block)
                    weight -= block.weight
                    if weight <= 0:
                        break
        return found
