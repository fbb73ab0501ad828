"""The events and attributes of file calls in an OTF2 archive."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from sesame.datasets.traced import IoFlag
from sesame.exchange.otf2_definitions import Definitions
from sesame.exchange.otf2_library import opening_words
from sesame.traced.io_calls import CLOSE, MPI_IO, OPEN, READ, SEEK, SYNC, WRITE, io_kind, io_layer

Event = Any  # of the library
# Plain numbers: the flags' own arithmetic is slow.
ASYNCHRONOUS, COLLECTIVE = int(IoFlag.ASYNCHRONOUS), int(IoFlag.COLLECTIVE)


class FileEvents:
    def __init__(self, otf2: Any, definitions: Definitions, io: dict[str, list[Any]]) -> None:
        self._otf2, self._e, self._enums = otf2, otf2.events, otf2.enums
        self._definitions = definitions
        self._io = io
        self._ended: dict[int, list[int]] = defaultdict(list)  # by the row that completed them
        for row, records in enumerate(io.get("completion", ())):
            if records > 0:
                self._ended[row + records].append(row)
        modes = self._enums.IoOperationMode
        self._modes = {READ: modes.READ, WRITE: modes.WRITE, SYNC: modes.FLUSH}

    def begin(self, rank: int, row: int, time: int) -> Iterable[Event]:
        mode = self._modes.get(io_kind(self._io["call"][row]))
        if mode is None or self._io["file"][row] < 0:
            return
        offset = self._io["offset"][row]
        yield self._e.IoOperationBegin(
            time,
            self._handle(rank, row),
            mode,
            self._operation_flags(row),
            max(self._io["size"][row], 0),
            row + 1,
            attributes={self._definitions.offset: offset} if offset >= 0 else None,
        )

    def end(self, rank: int, row: int, time: int) -> Iterable[Event]:
        for other in self._ended.get(row, ()):
            if self._io["flags"][other] & ASYNCHRONOUS:
                yield self._complete(rank, other, time)
        io = self._io
        if io["file"][row] < 0:
            return
        kind, failed = io_kind(io["call"][row]), io["error"][row] != 0
        if kind in self._modes:
            if io["flags"][row] & ASYNCHRONOUS and io["completion"][row] > 0:
                yield self._e.IoOperationIssued(time, self._handle(rank, row), row + 1)
            else:
                yield self._complete(rank, row, time)
        elif kind == OPEN and io["handle"][row] >= 0 and not failed:
            yield self._create(rank, row, time)
        elif kind == CLOSE and io["handle"][row] >= 0:
            yield self._e.IoDestroyHandle(time, self._handle(rank, row))
        elif kind == SEEK and io["offset"][row] >= 0:
            position = io["offset"][row]
            start = self._enums.IoSeekOption.FROM_START
            yield self._e.IoSeek(time, self._handle(rank, row), position, start, position)

    def _handle(self, rank: int, row: int) -> Any:
        io = self._io
        layer = io_layer(io["call"][row])
        return self._definitions.handle(rank, io["handle"][row], io["file"][row], layer)

    def _complete(self, rank: int, row: int, time: int) -> Event:
        moved = max(self._io["bytes"][row], 0)
        return self._e.IoOperationComplete(time, self._handle(rank, row), moved, row + 1)

    def _create(self, rank: int, row: int, time: int) -> Event:
        """The IoCreateHandle event. Flags of MPI-IO are left out."""
        is_mpi = io_layer(self._io["call"][row]) == MPI_IO
        words = opening_words(self._otf2, os.O_RDWR if is_mpi else self._io["size"][row])
        return self._e.IoCreateHandle(time, self._handle(rank, row), *words)

    def attributes(self, row: int) -> dict[Any, Any] | None:
        """The attributes of the event that ends a file call."""
        error, file = self._io["error"][row], self._io["file"][row]
        kind, known = io_kind(self._io["call"][row]), self._io["handle"][row] >= 0
        is_recorded = (
            kind in self._modes
            or (kind in (OPEN, CLOSE) and known and not error)
            or (kind == SEEK and self._io["offset"][row] >= 0)
        )
        found = {}
        if error:
            found[self._definitions.error] = error
        if file >= 0 and not is_recorded:
            found[self._definitions.file_attribute] = self._definitions.file(file)
        return found or None

    def _operation_flags(self, row: int) -> Any:
        known, flags = self._enums.IoOperationFlag, self._io["flags"][row]
        if flags & COLLECTIVE:
            return known.COLLECTIVE
        return known.NON_BLOCKING if flags & ASYNCHRONOUS else known.NONE
