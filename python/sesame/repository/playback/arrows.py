"""Messages between units, added up by time bin, for arrows where there are few."""

from __future__ import annotations

from typing import Any

import numpy as np

from sesame.repository.playback.frames import Clock

Array = np.ndarray[Any, Any]
MOST_ARROWS = 128  # pairs of units in one bin; a bin with more has none
MOST_MESSAGES = 4096  # messages in flight in one bin, of one batch; a bin with more has no arrows


class Arrows:
    """Sums of messages by bin, source and destination; a message is in every bin from its begin to
    its end. Memory is bounded: a bin that has had more than MOST_ARROWS pairs keeps none."""

    def __init__(self, units: int, clock: Clock) -> None:
        self._units, self._clock = units, clock
        self._keys: Array = np.zeros(0, np.int64)
        self._count: Array = np.zeros(0)
        self._bytes: Array = np.zeros(0)
        self._full: Array = np.zeros(clock.bins, bool)

    def add(self, source: Array, to: Array, begin_s: Array, end_s: Array, size: Array) -> None:
        """Adds messages; those inside one unit, or of unknown units, are left out."""
        between = (source != to) & (source >= 0) & (to >= 0)
        pair = source[between].astype(np.int64) * self._units + to[between]
        first, end = self._clock.at(begin_s[between]), self._clock.at(end_s[between]) + 1
        bins = self._clock.bins
        steps = np.bincount(first, minlength=bins + 1) - np.bincount(end, minlength=bins + 1)
        self._full |= np.cumsum(steps)[:bins] > MOST_MESSAGES
        # Of each message the bins that are not full, as numbers among those.
        before = np.concatenate([[0], np.cumsum(~self._full)])
        length = before[end] - before[first]
        ends = np.cumsum(length)
        turn = np.arange(length.sum()) - np.repeat(ends - length, length)
        at = np.flatnonzero(~self._full)[np.repeat(before[first], length) + turn]
        amounts = np.repeat(size[between].astype(float), length)
        self._join(at * self._units**2 + np.repeat(pair, length), amounts)
        self._drop_full()

    def _join(self, keys: Array, size: Array) -> None:
        every = np.concatenate([self._keys, keys])
        self._keys, at = np.unique(every, return_inverse=True)
        count = np.concatenate([self._count, np.ones(len(keys))])
        self._count = np.bincount(at, count, len(self._keys))
        self._bytes = np.bincount(at, np.concatenate([self._bytes, size]), len(self._keys))

    def _drop_full(self) -> None:
        bins = self._keys // self._units**2
        self._full |= np.bincount(bins, minlength=self._clock.bins) > MOST_ARROWS
        kept = ~self._full[bins]
        self._keys, self._count = self._keys[kept], self._count[kept]
        self._bytes = self._bytes[kept]

    @property
    def number(self) -> int:
        return len(self._keys)

    @property
    def full_bins(self) -> int:
        """Bins with too many pairs for arrows."""
        return int(self._full.sum())

    def encoded(self) -> bytes:
        """Little-endian: for each bin and the end the number of its first arrow (uint32), bytes
        (float32) and messages (uint32) of each arrow, its source and destination (uint16)."""
        bins, pair = np.divmod(self._keys, self._units**2)
        first = np.searchsorted(bins, np.arange(self._clock.bins + 1))
        source, to = np.divmod(pair, self._units)
        columns = (
            (first, "<u4"),
            (self._bytes, "<f4"),
            (self._count, "<u4"),
            (source, "<u2"),
            (to, "<u2"),
        )
        return b"".join(column.astype(kind).tobytes() for column, kind in columns)

    def described(self) -> dict[str, int]:
        return {"number": self.number, "full_bins": self.full_bins, "most": MOST_ARROWS}
