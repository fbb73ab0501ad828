"""Encodes packets of SDDF, the Pablo Self-Defining Data Format (Aydt, Univ. of Illinois, 1994).

A file describes a record type before its first record. Text begins with SDDFA, binary data with
SDDFB.
The writer uses only what every reader of the format accepts: numbers without exponents, text of
printable ASCII without quotation marks (others are %22 and the like), `int` of 32 bits.
"""

from __future__ import annotations

import string
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import numpy as np

TEXT_MAGIC, BINARY_MAGIC = b"SDDFA", b"SDDFB"
HEADER_BYTES = 19
ATTRIBUTE, DESCRIPTOR, DATA, COMMAND = 1, 2, 3, 4
TYPES = ("char", "int", "float", "double")  # the position of a type is its code
SIZES = {"char": 1, "short": 2, "int": 4, "long": 8, "float": 4, "double": 8, "long double": 16}
UNCHANGED = "".join(c for c in string.printable if c.isprintable() and c not in '%"')

Value = Any  # int or float; str for a char array; list for other arrays


@dataclass(frozen=True)
class SddfField:
    name: str
    type: str  # of TYPES
    dimension: int = 0  # 0: one value
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Descriptor:
    tag: int
    name: str
    fields: tuple[SddfField, ...]
    attributes: dict[str, str] = field(default_factory=dict)


def encoded(text: str) -> str:
    return quote(text, safe=UNCHANGED)


class TextForm:
    """Packets as text."""

    def head(self) -> bytes:
        return TEXT_MAGIC + b"\n"

    def attributes(self, pairs: dict[str, str]) -> bytes:
        lines = [f' * "{encoded(key)}" "{encoded(value)}"' for key, value in pairs.items()]
        return "\n".join(["/*", *lines, " */ ;;", ""]).encode()

    def descriptor(self, described: Descriptor) -> bytes:
        lines = [f"#{described.tag}:", *self._notes(described.attributes)]
        lines.append(f'"{encoded(described.name)}" {{')
        for each in described.fields:
            lines += self._notes(each.attributes)
            lines.append(f'\t{each.type}\t"{encoded(each.name)}"{"[]" * each.dimension};')
        return "\n".join([*lines, "};;", ""]).encode()

    def _notes(self, attributes: dict[str, str]) -> list[str]:
        return [f'// "{encoded(key)}" "{encoded(value)}"' for key, value in attributes.items()]

    def data(self, described: Descriptor, values: Sequence[Value]) -> bytes:
        parts = ", ".join(_text_of(value) for value in values)
        return f'"{encoded(described.name)}" {{ {parts} }};;\n'.encode()


def _text_of(value: Value) -> str:
    if isinstance(value, str):
        text = encoded(value)
        return f'[{len(text) + 1}] {{ "{text}" }}'  # one more for the end of a C string
    if isinstance(value, list):
        return f"[{len(value)}] {{ {', '.join(_text_of(each) for each in value)} }}"
    if isinstance(value, float):
        return np.format_float_positional(value, trim="0")
    return str(value)


class BinaryForm:
    """Packets as binary data, little endian."""

    def head(self) -> bytes:
        # Byte order 1: little; then two's complement, IEEE three times, ASCII.
        representation = bytes([HEADER_BYTES, 1, 0, 0, 0, 0, 0])
        return BINARY_MAGIC + representation + bytes(SIZES.values())

    def attributes(self, pairs: dict[str, str]) -> bytes:
        return _packet(ATTRIBUTE, 0, _pairs(pairs))

    def descriptor(self, described: Descriptor) -> bytes:
        parts = [_text(described.name), _pairs(described.attributes)]
        parts.append(struct.pack("<i", len(described.fields)))
        for each in described.fields:
            kind = struct.pack("<ii", TYPES.index(each.type), each.dimension)
            parts += [_text(each.name), _pairs(each.attributes), kind]
        return _packet(DESCRIPTOR, described.tag, b"".join(parts))

    def data(self, described: Descriptor, values: Sequence[Value]) -> bytes:
        parts = [
            _bytes_of(value, each.type)
            for value, each in zip(values, described.fields, strict=True)
        ]
        return _packet(DATA, described.tag, b"".join(parts))


CODES = {"int": "<i", "float": "<f", "double": "<d"}


def _bytes_of(value: Value, kind: str) -> bytes:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        cells = b"".join(_bytes_of(each, kind) for each in value)
        return struct.pack("<i", len(value)) + cells
    return struct.pack(CODES[kind], value)


def _packet(kind: int, tag: int, content: bytes) -> bytes:
    return struct.pack("<iii", 12 + len(content), kind, tag) + content


def _text(text: str) -> bytes:
    data = encoded(text).encode()
    return struct.pack("<i", len(data)) + data


def _pairs(pairs: dict[str, str]) -> bytes:
    parts = [_text(part) for pair in pairs.items() for part in pair]
    return struct.pack("<i", len(pairs)) + b"".join(parts)
