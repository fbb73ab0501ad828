"""What arrives, appended to a file: it is then safe from the end of this process."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from sesame.measurement.events import Block
from sesame.measurement.frames import read_blocks, read_pulls, whole_bytes
from sesame.measurement.pulls import Pull


class Journal:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("xb")

    def append(self, parcel: Pull | Block) -> None:
        """Whole or not at all; raises OSError."""
        place = self._file.tell()
        try:
            self._file.write(parcel.encode())
            self._file.flush()
        except OSError:
            self._take_back(place)
            raise

    def close(self) -> None:
        self._file.close()

    def _take_back(self, place: int) -> None:
        """What was written in part would spoil the next one."""
        with contextlib.suppress(OSError):  # what is left in the buffer finds no room either
            self._file.close()
        os.truncate(self.path, place)
        self._file = self.path.open("ab")


def cut_torn(path: Path) -> None:
    """What was being written when the process ended; its node will send it again."""
    with path.open("rb") as file:
        whole = whole_bytes(file)
    os.truncate(path, whole)


def pulls(path: Path) -> Iterator[Pull]:
    with path.open("rb") as file:
        yield from read_pulls(file)


def blocks(path: Path) -> Iterator[Block]:
    with path.open("rb") as file:
        yield from read_blocks(file)
