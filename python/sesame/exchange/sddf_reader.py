"""Reads SDDF files, text and binary, packet by packet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sesame.errors import InputError
from sesame.exchange.sddf_binary import read_binary
from sesame.exchange.sddf_format import BINARY_MAGIC, TEXT_MAGIC
from sesame.exchange.sddf_packets import Attributes, Data, Packet
from sesame.exchange.sddf_text import read_text

__all__ = ["Attributes", "Data", "Packet", "read_packets"]


def read_packets(path: Path) -> Iterator[Packet]:
    with path.open("rb") as file:
        magic = file.read(5)
        if magic == TEXT_MAGIC:
            yield from read_text(path, file)
        elif magic == BINARY_MAGIC:
            yield from read_binary(path, file)
        else:
            raise InputError("not an SDDF file, expected SDDFA or SDDFB first", path=str(path))
