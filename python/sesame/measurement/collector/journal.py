"""A journal: received items are appended to a file, so that they survive the end of the process."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sesame.measurement.events import Block
from sesame.measurement.frames import Frame, decode, decode_blocks, decode_readings
from sesame.measurement.readings import Reading

DAMAGED = "damaged"  # the name of a file with what could not be read begins with it


@dataclass
class Contents:
    """What a journal has."""

    begin_ns: int | None = None  # of the first interval, in the time of this machine
    nodes: set[str] = field(default_factory=set)
    last: dict[str, int] = field(default_factory=dict)  # number of the last item of each key

    def add(self, item: Reading | Block) -> None:
        begin_ns = item.begin_ns + item.offset.offset_ns
        self.begin_ns = begin_ns if self.begin_ns is None else min(self.begin_ns, begin_ns)
        self.nodes.add(item.node)
        self.last[item.key] = max(self.last.get(item.key, -1), item.number)


class Journal:
    """A new file at `path`, which must not exist. Items are readings and blocks of events."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.contents = Contents()
        self._file = path.open("xb", buffering=0)
        self.bytes = 0  # of complete items; the rest was written in part

    def append(self, item: Reading | Block) -> None:
        """Appends an item completely or not at all; raises OSError."""
        self.append_encoded([item], item.encode())

    def append_encoded(self, items: list[Reading | Block], text: bytes) -> None:
        """Appends items, of which `text` has the bytes: all or none; raises OSError."""
        self._remove_partial()
        left = memoryview(text)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            with contextlib.suppress(OSError):  # if this fails, the next append tries again
                self._remove_partial()
            raise
        self.bytes = self._file.tell()
        for item in items:
            self.contents.add(item)

    def close(self) -> None:
        self._file.close()

    def _remove_partial(self) -> None:
        """Removes an item that was written in part: it would make the next one unreadable."""
        if self._file.tell() != self.bytes:
            self._file.truncate(self.bytes)
            self._file.seek(self.bytes)


def stored(path: Path) -> Iterator[Frame]:
    with path.open("rb") as file:
        yield from decode(file)


def recover(path: Path) -> tuple[Contents, Path | None]:
    """Reads the journal of a process that was killed. An item that was being written is removed;
    its node sends it again. What else cannot be read is moved to a file, which is returned.

    Raises OSError; then the journal is unchanged.
    """
    contents, is_damaged, whole = Contents(), False, 0
    for frame in stored(path):
        whole += len(frame.text)
        if frame.item is None:
            is_damaged = True
        else:
            contents.add(frame.item)
    if not is_damaged:
        os.truncate(path, whole)
        return contents, None
    aside = path.with_name(f"{DAMAGED}-{path.name.lstrip('.')}")
    sound = path.with_name(f".new{path.name}")
    with sound.open("wb") as good, aside.open("wb") as bad:
        for frame in stored(path):
            (bad if frame.item is None else good).write(frame.text)
    sound.replace(path)
    return contents, aside


def stored_readings(path: Path) -> Iterator[Reading]:
    with path.open("rb") as file:
        yield from decode_readings(file)


def stored_blocks(path: Path) -> Iterator[Block]:
    with path.open("rb") as file:
        yield from decode_blocks(file)
