"""A file of records that an import finds one by one; together they may be larger than memory.

A record has a 64-bit integer for each field. The most recent records stay in memory, because most
changes are to them. At the end an external merge sort sorts all.
"""

from __future__ import annotations

import os
import struct
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
import numpy.typing as npt

from sesame.exchange.traced import Columns, call_order

HEAD = ("rank", "thread", "begin_ns", "duration_ns")  # the sort keys
RECENT_RECORDS = 1 << 16  # at least this many of the last records are in memory
SORTED_RECORDS = 1 << 16  # sorted at once, in memory
BLOCK_RECORDS = 1 << 10  # of a sorted part, read at once when parts are merged
CELL = struct.Struct("=q")

Cells = npt.NDArray[np.int64]
Key = tuple[int, ...]


class Scratch:
    """Provides unnamed temporary files in a directory: `with Scratch(directory) as scratch:`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files = ExitStack()

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def new_file(self) -> BinaryIO:
        return self._files.enter_context(tempfile.TemporaryFile(dir=self._directory))


class Source(Protocol):
    """Where unsorted records come from."""

    @property
    def fields(self) -> Sequence[str]:
        """The names of the fields; those of HEAD come first."""

    def parts(self) -> Iterator[tuple[int, Cells]]:
        """All records, a bounded number at a time: the number of the first, and their cells."""


class RecordFile:
    """Append records, then read and change single fields: `records[number, field]`.

    `fields` are added to those of HEAD. Not for use by several threads.
    """

    def __init__(self, scratch: Scratch, fields: Sequence[str]) -> None:
        self.fields = (*HEAD, *fields)
        self._scratch = scratch
        self._file = scratch.new_file()
        self._width = len(self.fields)
        self._place = {name: place for place, name in enumerate(self.fields)}
        self._recent = array("q")
        self._first_recent = 0  # the number of the record that `_recent` begins with
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, record: Sequence[int]) -> int:
        """Appends a record, a value for each field; returns its number."""
        self._recent.extend(record)
        self._count += 1
        if self._count - self._first_recent >= 2 * RECENT_RECORDS:
            cells = RECENT_RECORDS * self._width
            self._file.seek(0, os.SEEK_END)
            self._file.write(self._recent[:cells])
            self._file.flush()
            del self._recent[:cells]
            self._first_recent += RECENT_RECORDS
        return self._count - 1

    def __getitem__(self, place: tuple[int, str]) -> int:
        """`records[number, field]`"""
        number, field = place
        cell = (number - self._first_recent) * self._width + self._place[field]
        if cell >= 0:
            return self._recent[cell]
        value: int = CELL.unpack(os.pread(self._file.fileno(), CELL.size, self._byte(place)))[0]
        return value

    def __setitem__(self, place: tuple[int, str], value: int) -> None:
        number, field = place
        cell = (number - self._first_recent) * self._width + self._place[field]
        if cell >= 0:
            self._recent[cell] = value
        else:
            os.pwrite(self._file.fileno(), CELL.pack(value), self._byte(place))

    def _byte(self, place: tuple[int, str]) -> int:
        return (place[0] * self._width + self._place[place[1]]) * CELL.size

    def sorted(self) -> SortedRecords:
        """A copy of all records in the order of a data set; later changes do not alter it."""
        return SortedRecords(self, self._scratch)

    def parts(self) -> Iterator[tuple[int, Cells]]:
        """All records, a bounded number at a time: the number of the first, and their cells."""
        for first in range(0, self._first_recent, SORTED_RECORDS):
            count = min(SORTED_RECORDS, self._first_recent - first)
            yield first, _read(self._file, first, count, self._width)
        yield self._first_recent, np.array(self._recent, np.int64).reshape(-1, self._width)


@dataclass(frozen=True)
class _Block:
    first: Key
    place: int  # index of its first record in the file
    records: int


class SortedRecords:
    """A sorted copy of the records of a source. Its last field, `number`, is the number that the
    record had in the source."""

    def __init__(self, source: Source, scratch: Scratch) -> None:
        self._fields = (*source.fields, "number")
        self._file = scratch.new_file()
        self._blocks: list[_Block] = []
        place = 0
        for first, cells in source.parts():
            numbers = np.arange(first, first + len(cells))
            part = _in_order(np.column_stack((cells, numbers)))
            self._file.write(part.tobytes())
            for at in range(0, len(part), BLOCK_RECORDS):
                records = min(BLOCK_RECORDS, len(part) - at)
                self._blocks.append(_Block(_key(part[at]), place + at, records))
            place += len(part)
        self._file.flush()
        self._blocks.sort(key=lambda block: block.first)

    def batches(self) -> Iterator[Columns]:
        """All records in order, a bounded number at a time, as columns by field name."""
        waiting: list[Cells] = [np.empty((0, len(self._fields)), np.int64)]
        fresh = 0
        for block, following in zip_longest(self._blocks, self._blocks[1:]):
            waiting.append(_read(self._file, block.place, block.records, len(self._fields)))
            fresh += block.records
            if following is not None and fresh < SORTED_RECORDS:
                continue
            cells = _in_order(np.concatenate(waiting))
            # All later blocks begin at or after `following.first`: records before it are final.
            ready = len(cells) if following is None else _lower(cells, following.first)
            yield {name: cells[:ready, at] for at, name in enumerate(self._fields)}
            waiting, fresh = [cells[ready:]], 0


def _read(file: BinaryIO, first: int, records: int, width: int) -> Cells:
    bytes_each = width * CELL.size
    data = os.pread(file.fileno(), records * bytes_each, first * bytes_each)
    return np.frombuffer(data, np.int64).reshape(records, width)


def _in_order(cells: Cells) -> Cells:
    """Sorts cells. Of two calls with equal times the one found first is the outer one."""
    if _is_in_order(cells):
        return cells
    head = {name: cells[:, at] for at, name in enumerate(HEAD)}
    return cells[call_order(head, layer=cells[:, -1])]


def _is_in_order(cells: Cells) -> bool:
    """As most records are: of a thread whose calls are not inside each other."""
    is_tie = np.ones(max(len(cells) - 1, 0), bool)  # with the record before, in the keys so far
    rank, thread, begin, duration = range(len(HEAD))
    for at, sign in ((rank, 1), (thread, 1), (begin, 1), (duration, -1), (-1, 1)):
        step = sign * np.diff(cells[:, at])
        if (is_tie & (step < 0)).any():
            return False
        is_tie &= step == 0
        if not is_tie.any():
            return True
    return True


def _key(record: Cells) -> Key:
    rank, thread, begin, duration = record[: len(HEAD)].tolist()
    return rank, thread, begin, -duration, int(record[-1])


def _lower(cells: Cells, key: Key) -> int:
    """How many of the sorted records are before a key."""
    return bisect_left(range(len(cells)), key, key=lambda at: _key(cells[at]))
