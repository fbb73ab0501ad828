"""Decodes a sequence of readings and blocks of events, as in a journal, a request or a reply.

A reading is one line of JSON. A block is a line that starts with the word `events`, and its
records. One that is wrong does not affect the others: `decode` says of each what it is. After a
damaged line decoding continues at the next line that may be an item.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any, BinaryIO

import orjson

from sesame.measurement.bounds import ForeignError, check_events, check_interval
from sesame.measurement.defaults import BEYOND_NS
from sesame.measurement.events import WORD, Block
from sesame.measurement.readings import Reading

READING_BEGIN = b'{"'
ITEM_BEGIN = re.compile(rb"\n(?:%b|%b)" % (re.escape(READING_BEGIN), re.escape(WORD)))
SEARCHED_BYTES = 1 << 14  # at a time


@dataclass(frozen=True)
class Frame:
    """One item as it was encoded, and the item; or why it cannot be stored."""

    text: bytes
    item: Reading | Block | None
    refusal: str = ""
    is_foreign: bool = False  # not of this version of Sesame
    node: str = ""  # as a refused item claims

    @staticmethod
    def decoded(line: bytes, records: bytes) -> Frame:
        try:
            is_block = line.startswith(WORD)
            item = Block.decode(line, records) if is_block else Reading.from_json(line)
        except (ForeignError, orjson.JSONDecodeError) as error:
            return Frame(line + records, None, str(error), is_foreign=True)
        except (ValueError, TypeError, KeyError) as error:
            return Frame(line + records, None, str(error), node=_node_of(line))
        return Frame(line + records, item)


def decode(file: BinaryIO, most_bytes: float = inf) -> Iterator[Frame]:
    """All items, in order. An incomplete one at the end is left out (see `whole_bytes`).

    `most_bytes`: of an item; a longer one is not parsed.
    """
    for line, size, is_sound in frames(file):
        length = len(line) + size
        if not is_sound:
            yield Frame(line, None, "expected a reading or a block", is_foreign=True)
        elif length > most_bytes:
            refusal = f"expected at most {most_bytes} bytes, got {length}"
            yield Frame(line + file.read(size), None, refusal)
        else:
            yield Frame.decoded(line, file.read(size))


def check_times(item: Reading | Block) -> None:
    """Raises UnfitError unless times are valid with the item's offset, which may be new."""
    offset_ns = item.offset.offset_ns
    check_interval(item.begin_ns, item.end_ns, offset_ns)
    if isinstance(item, Reading):
        for phase in item.phases:
            check_interval(phase.begin_ns, phase.end_ns, offset_ns)
    else:
        check_events(item.events, offset_ns)


def frames(file: BinaryIO) -> Iterator[tuple[bytes, int, bool]]:
    """Each line, and the number of bytes of records after it; the file is positioned at these. The
    last value is whether it has the form of an item; otherwise these are lines up to the next one
    that may be an item. An incomplete item at the end is left out."""
    end = file.seek(0, os.SEEK_END)  # what is appended meanwhile is for the next call
    position = file.seek(0)
    while (line := file.readline()).endswith(b"\n") and position + len(line) <= end:
        size = _records_of(line)
        after = position + len(line)
        if size is not None and after + size <= end:
            yield line, size, True
            position = file.seek(after + size)
            continue
        if size is not None and not _has_item(file):
            break  # a block that was being written
        # All lines up to the next one that may be an item are one damage: they may be millions.
        after = _next_begin(file, after, end)
        file.seek(position)
        yield file.read(after - position), 0, False
        position = file.seek(after)


def _next_begin(file: BinaryIO, position: int, end: int) -> int:
    """Where the next line that may be an item begins, or the last complete line ends. `position`:
    of the first line to look at."""
    start = position - 1  # of the end of the line before
    while True:
        file.seek(start)
        text = file.read(min(SEARCHED_BYTES, end - start))
        if found := ITEM_BEGIN.search(text):
            return start + found.start() + 1
        if (last := text.rfind(b"\n")) >= 0:
            position = start + last + 1
        if len(text) < SEARCHED_BYTES:
            return position
        start += len(text) - len(WORD)  # what is searched for may be in two parts


def _records_of(line: bytes) -> int | None:
    """The number of bytes of records that follow a line; None if it is not the line of an item."""
    if not line.startswith(WORD):
        return 0 if line.startswith(READING_BEGIN) else None
    try:
        size = orjson.loads(line[len(WORD) :])["bytes"]
    except (ValueError, TypeError, KeyError):
        return None
    return size if type(size) is int and 0 <= size < BEYOND_NS else None


def _has_item(file: BinaryIO) -> bool:
    """Whether a complete item begins at one of the following lines."""
    for line in file:
        if line.startswith((READING_BEGIN, WORD)) and line.endswith(b"\n"):
            try:
                orjson.loads(line.removeprefix(WORD))
            except ValueError:
                continue
            return True
    return False


def _node_of(line: bytes) -> str:
    """The node that a wrong item names."""
    try:
        node: Any = orjson.loads(line.removeprefix(WORD))["node"]
    except (ValueError, TypeError, KeyError):
        return ""
    return node if isinstance(node, str) else ""


def decode_readings(file: BinaryIO) -> Iterator[Reading]:
    """Raises ValueError at a wrong item."""
    return (item for item in _items(file) if isinstance(item, Reading))


def decode_blocks(file: BinaryIO) -> Iterator[Block]:
    """Raises ValueError at a wrong item."""
    return (item for item in _items(file) if isinstance(item, Block))


def _items(file: BinaryIO) -> Iterator[Reading | Block]:
    for frame in decode(file):
        if frame.item is None:
            raise ValueError(frame.refusal)
        yield frame.item


def whole_bytes(file: BinaryIO) -> int:
    """The number of bytes, from the beginning, up to an incomplete item at the end."""
    return sum(len(line) + size for line, size, _ in frames(file))
