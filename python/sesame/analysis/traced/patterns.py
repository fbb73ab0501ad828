"""The order and sizes of requests: how each one relates to the request before it."""

from __future__ import annotations

import numpy as np

from sesame.analysis.traced.intervals import Array, Union
from sesame.analysis.traced.load import IoRecords
from sesame.analysis.traced.views import FileViews
from sesame.traced.io_calls import READ, SYNC, WRITE

# The pattern of a request, compared with the one before of the same process, file, layer and
# direction. Random requests go back; sequential ones leave a gap; strided ones repeat a distance.
FIRST, CONSECUTIVE, STRIDED, SEQUENTIAL, RANDOM = range(5)
PATTERN_NAMES = ("first", "consecutive", "strided", "sequential", "random")

# Lower bounds of the classes of sizes, as in Darshan's counters POSIX_SIZE_*.
SIZE_BOUNDS = (0, 101, 1025, 10241, 102401, 1048577, 4194305, 10485761, 104857601, 1073741825)
SIZE_NAMES = (
    "0 to 100 B",
    "to 1 KiB",
    "to 10 KiB",
    "to 100 KiB",
    "to 1 MiB",
    "to 4 MiB",
    "to 10 MiB",
    "to 100 MiB",
    "to 1 GiB",
    "over 1 GiB",
)
SMALL_CLASSES = 5  # below 1 MiB


def time_order(records: IoRecords, key: Array) -> Array:
    """Indices that sort the records by key, and those of one key by time."""
    if records.thread.any():
        return np.lexsort((records.begin, key))
    if np.all(key[1:] >= key[:-1]):
        return np.arange(len(key))
    return np.argsort(key, kind="stable")


def classify(records: IoRecords, group: Array) -> Array:
    """The pattern of each record within its group and direction. All records must move data."""
    key = group * 2 + (records.kind == WRITE)
    order = time_order(records, key)
    key, offset = key[order], np.where(records.known, records.offset, -1)[order]
    end = records.reach[order]
    pattern = np.full(len(key), FIRST, np.int8)
    if len(key) < 2:
        return pattern
    known = (key[1:] == key[:-1]) & (offset[1:] >= 0) & (offset[:-1] >= 0)
    step = offset[1:] - offset[:-1]
    gap = offset[1:] - end[:-1]
    repeated = np.append(False, (step[1:] == step[:-1]) & (key[2:] == key[:-2]) & (step[1:] != 0))
    found = np.where(gap > 0, SEQUENTIAL, RANDOM)
    found = np.where(repeated, STRIDED, found)
    found = np.where(gap == 0, CONSECUTIVE, found)
    pattern[1:] = np.where(known, found, FIRST)
    back = np.empty_like(pattern)
    back[order] = pattern
    return back


def size_class(size: Array) -> Array:
    """The index of each size (B) in SIZE_NAMES."""
    return np.searchsorted(np.array(SIZE_BOUNDS[1:]), size, side="right")


def repeated_bytes(
    group: Array, records: IoRecords, kind: int, groups: int, views: FileViews
) -> Array:
    """By group, the bytes that were read again (`kind` READ) or written over (WRITE)."""
    chosen = (records.kind == kind) & records.known
    moved_by, of = records.where(chosen), group[chosen]
    fragments = views.fragments(moved_by.view, moved_by.offset, moved_by.bytes)
    of, offset, size = of[fragments.access], fragments.offset, fragments.bytes
    moved = np.bincount(of, size, groups)
    return moved - Union(of, offset, offset + size).lengths(groups)


def syncs_after_writes(records: IoRecords, group: Array) -> Array:
    """Indices of syncs that come right after a write of their group."""
    chosen = np.flatnonzero(np.isin(records.kind, (READ, WRITE, SYNC)))
    order = chosen[time_order(records.where(chosen), group[chosen])]
    key, kind = group[order], records.kind[order]
    follows = (key[1:] == key[:-1]) & (kind[1:] == SYNC) & (kind[:-1] == WRITE)
    return np.asarray(order[1:][follows])
