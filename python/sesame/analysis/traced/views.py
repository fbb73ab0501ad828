"""Accesses through file views of MPI-IO: finds the fragments of the file that each one accesses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sesame.analysis.traced.intervals import Array

# Limit for the fragments of all accesses together, 24 bytes of memory each; our choice. Beyond it,
# accesses with the most fragments are left out, and their bytes count as not known.
MOST_FRAGMENTS = 1 << 22
RUN = re.compile(r"(-?\d+)\+(\d+)(?:x(\d+)/(-?\d+))?")
NONE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Filetype:
    """The blocks of a filetype in the order of their data; no blocks if they are unknown. Sizes and
    offsets are bytes."""

    data_bytes: int  # of all blocks
    extent: int  # distance from one filetype to the next in the file
    offset: Array  # of each block
    bytes: Array  # of each block

    @cached_property
    def before(self) -> Array:
        """The bytes of data before each block."""
        return np.cumsum(self.bytes) - self.bytes

    @cached_property
    def is_known(self) -> bool:
        """Whether an offset in the file belongs to one block: blocks are known, ascend, and do not
        overlap those of the next filetype."""
        if not len(self.offset) or int(self.bytes.sum()) != self.data_bytes:
            return False
        end = self.offset + self.bytes
        return bool(end[-1] - self.offset[0] <= self.extent and np.all(self.offset[1:] >= end[:-1]))

    def blocks(self, place: Array, size: Array) -> tuple[Array, Array]:
        """The first and last block of accesses to `size` bytes of data from the file offset `place`
        on, relative to the first filetype. Blocks are numbered through all filetypes."""
        first_tile, inside = np.divmod(place - self.offset[0], self.extent)
        inside += self.offset[0]
        block = np.searchsorted(self.offset, inside, side="right") - 1
        data = self.before[block] + inside - self.offset[block]
        end_tile, rest = np.divmod(first_tile * self.data_bytes + data + size - 1, self.data_bytes)
        last = np.searchsorted(self.before, rest, side="right") - 1
        return first_tile * len(self.offset) + block, end_tile * len(self.offset) + last

    def places(self, block: Array) -> tuple[Array, Array]:
        """The offsets and sizes of blocks, numbered as by `blocks`."""
        tile, number = np.divmod(block, len(self.offset))
        return tile * self.extent + self.offset[number], self.bytes[number]


def read_filetype(data_bytes: int, extent: int, runs: str) -> Filetype:
    """Reads a filetype from the fields of a record of type file_view. Its blocks are unknown if
    there are more than MOST_FRAGMENTS."""
    found = [tuple(int(n or 0) for n in match) for match in RUN.findall(runs)]
    blocks = [(offset, size, max(count, 1), stride) for offset, size, count, stride in found]
    if not blocks or sum(block[2] for block in blocks) > MOST_FRAGMENTS:
        return Filetype(data_bytes, extent, NONE, NONE)
    offset, size, count, stride = np.array(blocks, np.int64).T
    number = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return Filetype(
        data_bytes,
        extent,
        np.repeat(offset, count) + number * np.repeat(stride, count),
        np.repeat(size, count),
    )


@dataclass(frozen=True)
class Fragments:
    """The contiguous ranges of a file that accesses consist of."""

    access: Array  # the index of the access
    offset: Array
    bytes: Array


class FileViews:
    """The views of a run. `rows` are the columns of record type file_view."""

    def __init__(self, rows: dict[str, Any]) -> None:
        keys = list(zip(rows["data_bytes"], rows["extent"], rows["runs"], strict=True))
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        self._filetypes = [read_filetype(int(d), int(e), runs) for d, e, runs in numbers]
        self._filetype = np.array([numbers[key] for key in keys], np.int64)
        self._displacement = np.asarray(rows["displacement"], np.int64)
        self._rank = np.asarray(rows["rank"], np.int64)
        self._handle = np.asarray(rows["handle"], np.int64)
        self._begin = np.asarray(rows["begin_ns"], np.int64)

    def find(self, rank: Array, handle: Array, begin: Array) -> Array:
        """The view of each access: the last one set on its file handle before it; -1 for none."""
        here = len(self._begin)
        opened = [np.concatenate(pair) for pair in ((self._rank, rank), (self._handle, handle))]
        time = np.concatenate([self._begin, begin])
        order = np.lexsort((np.arange(len(time)) >= here, time, *opened))
        place = np.where(order < here, np.arange(len(order)), -1)
        last = np.maximum.accumulate(place) if len(place) else place
        view = np.where(last >= 0, order[last], -1)
        same = [column[view] == column[order] for column in opened]
        found = np.empty(len(order), np.int64)
        found[order] = np.where((view >= 0) & same[0] & same[1], view, -1)
        return found[here:]

    def count(self, view: Array, offset: Array, size: Array) -> Array:
        """The number of fragments of each access; 0 if they are not known."""
        fragments = np.zeros(len(view), np.int64)
        for chosen, filetype in self._by_filetype(view, offset, size):
            place = offset[chosen] - self._displacement[view[chosen]]
            first, last = filetype.blocks(place, size[chosen])
            fragments[chosen] = last - first + 1
        return fragments

    def fragments(self, view: Array, offset: Array, size: Array) -> Fragments:
        """The fragments of accesses; an access without a view (-1) is one fragment."""
        alone = np.flatnonzero(view < 0)
        found = [Fragments(alone, offset[alone], size[alone])]
        for chosen, filetype in self._by_filetype(view, offset, size):
            base = self._displacement[view[chosen]]
            found.append(_cut(chosen, filetype, base, offset[chosen], size[chosen]))
        return Fragments(
            *(
                np.concatenate([getattr(part, name) for part in found])
                for name in ("access", "offset", "bytes")
            )
        )

    def _by_filetype(self, view: Array, offset: Array, size: Array) -> list[tuple[Array, Filetype]]:
        """The accesses whose fragments are known, for each filetype."""
        has_view = (view >= 0) & (offset >= 0) & (size > 0)
        if not has_view.any():
            return []
        number = np.where(has_view, self._filetype[np.maximum(view, 0)], -1)
        return [
            (np.flatnonzero(number == one), self._filetypes[one])
            for one in np.unique(number[has_view])
            if self._filetypes[one].is_known
        ]


def _cut(access: Array, filetype: Filetype, base: Array, offset: Array, size: Array) -> Fragments:
    first, last = filetype.blocks(offset - base, size)
    count = last - first + 1
    start = np.cumsum(count) - count  # the first fragment of each access
    owner = np.repeat(np.arange(len(access)), count)
    block = np.arange(count.sum()) - np.repeat(start - first, count)
    begin, length = filetype.places(block)
    begin = begin + base[owner]
    end = begin + length
    begin[start] = offset
    inner = np.add.reduceat(end - begin, start) - size
    end[start + count - 1] -= inner  # the last block may extend beyond the access
    return Fragments(access[owner], begin, end - begin)


NO_VIEWS = FileViews(
    {
        name: []
        for name in ("rank", "handle", "begin_ns", "displacement", "data_bytes", "extent", "runs")
    }
)
