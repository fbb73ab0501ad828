"""Limits how often something is done that others can cause."""

from __future__ import annotations

import time


class TokenBucket:
    """A token bucket: it holds at most `most`, is full at first, is refilled by `rate` in each ns,
    and emptied by `charge`. Not thread-safe."""

    def __init__(self, rate: float, most: float) -> None:
        self._rate, self._most = rate, most
        self._left, self._counted_ns = most, time.monotonic_ns()

    def is_left(self) -> bool:
        now_ns = time.monotonic_ns()
        self._left = min(self._left + self._rate * (now_ns - self._counted_ns), self._most)
        self._counted_ns = now_ns
        return self._left > 0

    def charge(self, amount: float) -> None:
        """It may use up more than is left."""
        self._left -= amount
