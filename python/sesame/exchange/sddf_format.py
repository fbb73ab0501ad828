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
# Attribute of the stream that this writer adds: other writers do not encode their text.
ENCODED = ("text", "percent-encoded, as in RFC 3986")
SIZES = {"char": 1, "short": 2, "int": 4, "long": 8, "float": 4, "double": 8, "long double": 16}
UNCHANGED = "".join(c for c in string.printable if c.isprintable() and c not in '%"')

# int or float; str for a char and a char array; a list for other arrays, nested for each dimension
Value = Any


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
        parts = ", ".join(
            _text_of_array(value, each) if isinstance(value, list) else _text_of(value)
            for value, each in zip(values, described.fields, strict=True)
        )
        return f'"{encoded(described.name)}" {{ {parts} }};;\n'.encode()


def _text_of(value: Value) -> str:
    if isinstance(value, str):
        text = encoded(value)
        return f'[{len(text) + 1}] {{ "{text}" }}'  # one more for the end of a C string
    if isinstance(value, float):
        return np.format_float_positional(value, trim="0")
    return str(value)


def _text_of_array(value: list[Value], field: SddfField) -> str:
    shape, cells = shape_of(value, field)
    if field.type == "char":
        written = [f'"{encoded(text)}"' for text in cells]
        # A capacity: without the quotation marks, with the end of a C string.
        shape.append(max(map(len, written), default=2) - 1)
    else:
        written = [_text_of(cell) for cell in cells]
    return f"{''.join(f'[{size}]' for size in shape)} {{ {', '.join(written)} }}"


def shape_of(value: list[Value], field: SddfField) -> tuple[list[int], list[Value]]:
    """The cells of an array in order, row by row, and its size in each dimension.

    Text is one cell, so an array of it has a dimension less. Raises ValueError for rows of
    different sizes.
    """
    shape: list[int] = []
    cells = [value]
    for _ in range(field.dimension - (field.type == "char")):
        sizes = {len(row) for row in cells}
        if len(sizes) > 1:
            raise ValueError(f"field {field.name} has rows of different sizes")
        shape.append(sizes.pop() if sizes else 0)
        cells = [cell for row in cells for cell in row]
    return shape, cells


class BinaryForm:
    """Packets as binary data; `order` is that of struct: "<" the little end first, ">" the big."""

    def __init__(self, order: str = "<") -> None:
        self._order = order
        self._codes = {kind: order + code for kind, code in CODES.items()}

    def head(self) -> bytes:
        # Byte order; then two's complement, IEEE three times, ASCII.
        representation = bytes([HEADER_BYTES, self._order == "<", 0, 0, 0, 0, 0])
        return BINARY_MAGIC + representation + bytes(SIZES.values())

    def attributes(self, pairs: dict[str, str]) -> bytes:
        return self._packet(ATTRIBUTE, 0, self._pairs(pairs))

    def descriptor(self, described: Descriptor) -> bytes:
        parts = [self._text(described.name), self._pairs(described.attributes)]
        parts.append(self._ints(len(described.fields)))
        for each in described.fields:
            kind = self._ints(TYPES.index(each.type), each.dimension)
            parts += [self._text(each.name), self._pairs(each.attributes), kind]
        return self._packet(DESCRIPTOR, described.tag, b"".join(parts))

    def data(self, described: Descriptor, values: Sequence[Value]) -> bytes:
        parts = [
            self._value(value, each) for value, each in zip(values, described.fields, strict=True)
        ]
        return self._packet(DATA, described.tag, b"".join(parts))

    def _value(self, value: Value, field: SddfField) -> bytes:
        if isinstance(value, str):
            return self._text(value)
        if not isinstance(value, list):
            return struct.pack(self._codes[field.type], value)
        shape, cells = shape_of(value, field)
        if field.type == "char":
            texts = [encoded(text).encode() for text in cells]
            size = max(map(len, texts), default=0)
            return self._ints(*shape, size) + b"".join(text.ljust(size, b"\0") for text in texts)
        code = self._codes[field.type]
        return self._ints(*shape) + struct.pack(f"{code[0]}{len(cells)}{code[1]}", *cells)

    def _packet(self, kind: int, tag: int, content: bytes) -> bytes:
        return self._ints(12 + len(content), kind, tag) + content

    def _ints(self, *numbers: int) -> bytes:
        return struct.pack(f"{self._order}{len(numbers)}i", *numbers)

    def _text(self, text: str) -> bytes:
        data = encoded(text).encode()
        return self._ints(len(data)) + data

    def _pairs(self, pairs: dict[str, str]) -> bytes:
        parts = [self._text(part) for pair in pairs.items() for part in pair]
        return self._ints(len(pairs)) + b"".join(parts)


CODES = {"int": "i", "float": "f", "double": "d"}
