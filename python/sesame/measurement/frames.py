"""Decodes a sequence of readings and blocks of events, as in a journal or a reply.

A reading is one line of JSON. A block is a line that starts with the word `events`, and its
records.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import BinaryIO

from sesame.measurement.events import WORD, Block
from sesame.measurement.readings import Reading


def frames(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Each line, and the number of bytes of records after it; the file is positioned at these. An
    incomplete item at the end is left out."""
    end = file.seek(0, os.SEEK_END)
    position = file.seek(0)
    while (line := file.readline()).endswith(b"\n"):
        size = json.loads(line[len(WORD) :])["bytes"] if line.startswith(WORD) else 0
        position += len(line)
        if position + size > end:
            return
        yield line, size
        position = file.seek(position + size)


def decode_readings(file: BinaryIO) -> Iterator[Reading]:
    for line, _ in frames(file):
        if not line.startswith(WORD):
            yield Reading.from_json(line)


def decode_blocks(file: BinaryIO) -> Iterator[Block]:
    for line, size in frames(file):
        if line.startswith(WORD):
            yield Block.decode(line, file.read(size))


def whole_bytes(file: BinaryIO) -> int:
    """The number of bytes, from the beginning, that are complete items."""
    whole = 0
    for line, size in frames(file):
        whole += len(line) + size
    return whole
