"""Readings and blocks of events one after the other, in a journal or in an answer.

A reading is a line; of a block, which is a line that begins with a word, records come after it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import BinaryIO

from sesame.measurement.events import WORD, Block
from sesame.measurement.readings import Reading


def frames(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Each line, and how many bytes come after it; what is torn at the end is left out."""
    end = file.seek(0, os.SEEK_END)
    place = file.seek(0)
    while (line := file.readline()).endswith(b"\n"):
        size = json.loads(line[len(WORD) :])["bytes"] if line.startswith(WORD) else 0
        place += len(line)
        if place + size > end:
            return
        yield line, size
        place = file.seek(place + size)


def decode_readings(file: BinaryIO) -> Iterator[Reading]:
    for line, _ in frames(file):
        if not line.startswith(WORD):
            yield Reading.from_json(line)


def decode_blocks(file: BinaryIO) -> Iterator[Block]:
    for line, size in frames(file):
        if line.startswith(WORD):
            yield Block.decode(line, file.read(size))


def whole_bytes(file: BinaryIO) -> int:
    """How much of it is not torn."""
    whole = 0
    for line, size in frames(file):
        whole += len(line) + size
    return whole
