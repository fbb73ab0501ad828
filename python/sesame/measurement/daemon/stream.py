"""The events of a daemon's traces, gathered in blocks and kept until they are delivered.

A block is made when its buffer is full, and at each reading. The newest blocks stay in memory up to
a fixed capacity, delivered or not. The receiver finds from the counts in the blocks how many events
were discarded to keep within it.
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
    """`write` is called by the thread that takes events, the rest by others."""

    def __init__(
        self,
        node: str,
        start: str,
        offset: Offset,
        lost: Callable[[], int],
        names: Callable[[], list[Named]],
        *,
        buffer: int = BUFFER,
        room: int = MOST_KEPT,
    ) -> None:
        """`lost` says how many events the kernel had no room for, since the beginning; `names` what
        numbers in events until now mean."""
        self._node, self._start, self._offset = node, start, offset
        self._lost, self._names = lost, names
        self._changed = threading.Lock()
        self._buffer = np.empty(buffer, EVENT)
        self._gathered = 0  # events in it
        self._taken = 0  # from the kernel, since the beginning
        self._kept: deque[Block] = deque()
        self._weight, self._room = 0, room
        self.seen = 0  # taken or lost, up to the last block
        self.on_block: Callable[[], None] = lambda: None

    def write(self, events: NDArray[np.void]) -> None:
        """Copies them."""
        with self._changed:
            while len(events):
                part = events[: len(self._buffer) - self._gathered]
                events = events[len(part) :]
                self._buffer[self._gathered : self._gathered + len(part)] = part
                self._gathered += len(part)
                self._taken += len(part)
                if self._gathered == len(self._buffer):
                    self._make_block()

    def flush(self) -> None:
        """What has been gathered, or lost, becomes a block now."""
        with self._changed:
            if self._taken + self._lost() > self.seen:
                self._make_block()

    def account(self, before: int) -> Block:
        """Of the events from there up to the last block, without them."""
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
        while self._weight > self._room:
            self._weight -= self._kept.popleft().weight
        self.on_block()

    def after(self, seen: int, weight: int = 0) -> list[Block]:
        """The first of those that go further: one, or as many as come to that weight."""
        found: list[Block] = []
        with self._changed:
            for block in self._kept:
                if block.seen > seen:
                    found.append(block)
                    weight -= block.weight
                    if weight <= 0:
                        break
        return found
