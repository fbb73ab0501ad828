"""A journal: received items are appended to a file, so that they survive the end of the process."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from sesame.measurement.events import Block
from sesame.measurement.frames import decode_blocks, decode_readings, whole_bytes
from sesame.measurement.readings import Reading


class Journal:
    """A new file at `path`, which must not exist. Items are readings and blocks of events."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("xb", buffering=0)
        self._whole = 0  # bytes of complete items; the rest was written in part

    def append(self, item: Reading | Block) -> None:
        """Appends an item completely or not at all; raises OSError."""
        self._remove_partial()
        left = memoryview(item.encode())
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            with contextlib.suppress(OSError):  # if this fails, the next append tries again
                self._remove_partial()
            raise
        self._whole = self._file.tell()

    def close(self) -> None:
        self._file.close()

    def _remove_partial(self) -> None:
        """Removes an item that was written in part: it would make the next one unreadable."""
        if self._file.tell() != self._whole:
            self._file.truncate(self._whole)
            self._file.seek(self._whole)


def cut_torn(path: Path) -> None:
    """Removes an item that was being written when the process ended; its node sends it again."""
    with path.open("rb") as file:
        whole = whole_bytes(file)
    os.truncate(path, whole)


def stored_readings(path: Path) -> Iterator[Reading]:
    with path.open("rb") as file:
        yield from decode_readings(file)


def stored_blocks(path: Path) -> Iterator[Block]:
    with path.open("rb") as file:
        yield from decode_blocks(file)
