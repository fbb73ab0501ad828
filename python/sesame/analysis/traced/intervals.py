"""Unions of intervals for many groups at once, such as busy times by rank, byte ranges by file."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

LARGEST = 1 << 62


class Union:
    """The union of the intervals [begin, end) of each group; tells how much of a range it covers.

    Arguments are integers; groups are numbered from 0. All groups are on one axis, each shifted by
    the span of all intervals, so one sort and one search serve them all. If the axis would be too
    long for 64 bits, for instance with a hole of exabytes in one of many files, lengths are rounded
    to a coarser unit.
    """

    def __init__(self, group: Array, begin: Array, end: Array) -> None:
        valid = end > begin
        group, begin, end = (np.asarray(a)[valid].astype(np.int64) for a in (group, begin, end))
        self._low = int(begin.min()) if len(begin) else 0
        reach = int(end.max()) - self._low if len(begin) else 0
        groups = int(group.max()) + 1 if len(group) else 0
        self._unit = 1 << max((reach + 2) * (groups + 1) // LARGEST, 0).bit_length()
        self._span = reach // self._unit + 2
        self._build(group, (begin - self._low) // self._unit, -((self._low - end) // self._unit))

    def _build(self, group: Array, begin: Array, end: Array) -> None:
        first, last = group * self._span + begin, group * self._span + end
        if np.any(first[1:] < first[:-1]):
            order = np.argsort(first)
            first, last = first[order], last[order]
        reach = np.maximum.accumulate(last)
        starts = np.flatnonzero(np.append(True, first[1:] > reach[:-1])) if len(first) else first
        self._first = first[starts]
        self._last = reach[np.append(starts[1:], len(reach)) - 1] if len(first) else last
        self._sum = np.concatenate([[0], np.cumsum(self._last - self._first)])

    @property
    def groups(self) -> Array:
        """The group of each of the disjoint intervals."""
        return np.asarray(self._first // self._span)

    @property
    def intervals(self) -> tuple[Array, Array]:
        """Begin and end of the disjoint intervals, in the order of their groups."""
        shift = self.groups * self._span
        return tuple((end - shift) * self._unit + self._low for end in (self._first, self._last))

    def lengths(self, groups: int) -> Array:
        """The length covered in each group."""
        return np.asarray(np.bincount(self.groups, self._last - self._first, groups) * self._unit)

    def covered(self, group: Array, begin: Array, end: Array) -> Array:
        """How much of each range [begin, end) the union of its group covers."""
        shift = np.asarray(group, np.int64) * self._span
        low, high = (
            self._below(shift + np.clip((edge - self._low) // self._unit, 0, self._span - 1))
            for edge in (np.asarray(begin, np.int64), np.asarray(end, np.int64))
        )
        return np.asarray(np.maximum(high - low, 0) * self._unit)

    def _below(self, position: Array) -> Array:
        """The length covered below a position of the axis."""
        if len(self._first) == 0:
            return np.zeros(len(position), np.int64)
        number = np.searchsorted(self._first, position, side="right")
        inside = np.maximum(self._last[number - 1] - position, 0) * (number > 0)
        return np.asarray(self._sum[number] - inside)
