"""Reads SDDF files, text and binary, packet by packet."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote

from sesame.errors import InputError
from sesame.exchange.sddf_format import (
    ATTRIBUTE,
    BINARY_MAGIC,
    COMMAND,
    DATA,
    DESCRIPTOR,
    HEADER_BYTES,
    TEXT_MAGIC,
    TYPES,
    Descriptor,
    SddfField,
    Value,
)

CODES = {
    "int": {2: "h", 4: "i", 8: "q"},
    "float": {4: "f", 8: "d"},
    "double": {4: "f", 8: "d"},
}
MOST_BYTES = 1 << 28  # of a packet; a larger length is damage
MOST_DIMENSIONS = 16


@dataclass(frozen=True)
class Attributes:
    pairs: dict[str, str]


@dataclass(frozen=True)
class Data:
    described: Descriptor
    values: list[Value]


Packet = Attributes | Descriptor | Data


class Damage(Exception):
    """A message on what is wrong; the caller adds file and line."""


def read_packets(path: Path) -> Iterator[Packet]:
    with path.open("rb") as file:
        magic = file.read(5)
        if magic == TEXT_MAGIC:
            yield from _read_text(path, file)
        elif magic == BINARY_MAGIC:
            yield from _read_binary(path, file)
        else:
            raise InputError("not an SDDF file, expected SDDFA or SDDFB first", path=str(path))


# Text

_TOKEN = re.compile(
    r'\s*(?:(?P<text>"[^"\n]*")|(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|'
    r"(?P<mark>/\*|\*/|//|;;|[#%:;{}\[\],*])|(?P<word>[A-Za-z]+)|(?P<end>\Z)|(?P<bad>.))",
    re.S,
)


class _Tokens:
    def __init__(self, text: str) -> None:
        self._found = _TOKEN.finditer(text)
        self._text = text
        self._next: re.Match[str] | None = None
        self.kind, self.value = "", ""
        self.advance()

    def advance(self) -> None:
        match = next(self._found, None)
        if match is None or match.lastgroup is None:
            self.kind, self.value = "end", ""
            return
        self._next = match
        self.kind, self.value = match.lastgroup, match.group(match.lastgroup)

    @property
    def line(self) -> int:
        at = self._next.start(self.kind) if self._next is not None and self.kind != "end" else None
        return self._text.count("\n", 0, at) + 1

    def take(self, value: str) -> None:
        if self.value != value or self.kind == "text":
            raise Damage(f"expected {value}, got {self.value or 'the end'}")
        self.advance()

    def has(self, value: str) -> bool:
        return self.value == value and self.kind != "text"

    def text(self) -> str:
        if self.kind != "text":
            raise Damage(f"expected a text, got {self.value or 'the end'}")
        value = unquote(self.value[1:-1])
        self.advance()
        return value

    def whole(self) -> int:
        number = self.number()
        if not isinstance(number, int) or number < 0:
            raise Damage(f"expected a whole number, got {number}")
        return number

    def number(self) -> int | float:
        if self.kind != "number":
            raise Damage(f"expected a number, got {self.value or 'the end'}")
        text = self.value
        self.advance()
        return int(text) if re.fullmatch(r"[-+]?\d{1,300}", text) else float(text)


def _read_text(path: Path, file: BinaryIO) -> Iterator[Packet]:
    tokens = _Tokens(file.read().decode(errors="replace"))
    described: dict[str, Descriptor] = {}
    try:
        while tokens.kind != "end":
            if tokens.has("/*"):
                yield Attributes(_stream_attributes(tokens))
            elif tokens.has("#"):
                found = _descriptor(tokens)
                described[found.name] = found
                yield found
            elif tokens.has("%"):
                _command(tokens)
            else:
                yield _data(tokens, described)
    except Damage as damage:
        raise InputError(str(damage), path=str(path), line=tokens.line) from None


def _stream_attributes(tokens: _Tokens) -> dict[str, str]:
    pairs = {}
    tokens.take("/*")
    while tokens.has("*"):
        tokens.advance()
        key = tokens.text()
        pairs[key] = tokens.text()
    tokens.take("*/")
    tokens.take(";;")
    return pairs


def _notes(tokens: _Tokens) -> dict[str, str]:
    pairs = {}
    while tokens.has("//"):
        tokens.advance()
        key = tokens.text()
        pairs[key] = tokens.text()
    return pairs


def _descriptor(tokens: _Tokens) -> Descriptor:
    tokens.take("#")
    tag = tokens.whole()
    tokens.take(":")
    attributes = _notes(tokens)
    name = tokens.text()
    tokens.take("{")
    fields = []
    while not tokens.has("}"):
        notes, kind = _notes(tokens), tokens.value
        if tokens.kind != "word" or kind not in TYPES:
            raise Damage(f"expected one of {', '.join(TYPES)}, got {kind or 'the end'}")
        tokens.advance()
        field_name, dimension = tokens.text(), 0
        while tokens.has("["):
            tokens.advance()
            tokens.take("]")
            dimension += 1
        tokens.take(";")
        fields.append(SddfField(field_name, kind, dimension, notes))
    tokens.take("}")
    tokens.take(";;")
    return Descriptor(tag, name, tuple(fields), attributes)


def _command(tokens: _Tokens) -> None:
    tokens.take("%")
    tokens.whole()
    tokens.take(":")
    tokens.take(";;")


def _data(tokens: _Tokens, described: dict[str, Descriptor]) -> Data:
    name = tokens.text()
    if name not in described:
        raise Damage(f"a record {name} without a descriptor before it")
    tokens.take("{")
    values = []
    for number, each in enumerate(described[name].fields):
        if number:
            tokens.take(",")
        values.append(_value(tokens, each))
    tokens.take("}")
    tokens.take(";;")
    return Data(described[name], values)


def _value(tokens: _Tokens, each: SddfField) -> Value:
    if each.dimension == 0:
        return tokens.number()
    if each.type == "char" and tokens.kind == "text":  # some writers leave out the length
        return tokens.text()
    for _ in range(each.dimension):
        tokens.take("[")
        tokens.whole()  # ignored: for text it is a capacity, not a length
        tokens.take("]")
    tokens.take("{")
    cells: list[Value] = []
    while not tokens.has("}"):
        if cells:
            tokens.take(",")
        cells.append(tokens.text() if each.type == "char" else tokens.number())
    tokens.take("}")
    if each.type == "char" and each.dimension == 1:
        return cells[0] if cells else ""
    return cells


# Binary


class _Bytes:
    """The rest of a packet, decoded with the sizes and the byte order of the file's header."""

    def __init__(self, data: bytes, order: str, codes: dict[str, str]) -> None:
        self._data, self._order, self._codes, self._at = data, order, codes, 0

    def take(self, count: int) -> bytes:
        if count < 0 or self._at + count > len(self._data):
            raise Damage("a packet ends before its last field")
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, kind: str = "int") -> Any:
        layout = self._order + self._codes[kind]
        return struct.unpack(layout, self.take(struct.calcsize(layout)))[0]

    def count(self) -> int:
        count = int(self.number())
        if not 0 <= count <= len(self._data):
            raise Damage(f"{count} elements in a packet of {len(self._data)} bytes")
        return count

    def text(self) -> str:
        raw = self.take(self.count()).rstrip(b"\0")
        return unquote(raw.decode(errors="replace"))

    def pairs(self) -> dict[str, str]:
        pairs = {}
        for _ in range(self.count()):
            key = self.text()
            pairs[key] = self.text()
        return pairs


def _read_binary(path: Path, file: BinaryIO) -> Iterator[Packet]:
    described: dict[int, Descriptor] = {}
    number = 0
    try:
        order, codes, int_bytes = _header(file.read(HEADER_BYTES - 5))
        head_bytes = 3 * int_bytes
        while head := file.read(head_bytes):
            number += 1
            start = _Bytes(head, order, codes)
            length, kind, tag = start.number(), start.number(), start.number()
            if not head_bytes <= length <= MOST_BYTES:
                raise Damage(f"a packet of {length} bytes")
            content = file.read(length - head_bytes)
            if len(content) < length - head_bytes:
                raise Damage("the file is cut off")
            packet = _packet(kind, tag, _Bytes(content, order, codes), described)
            if packet is not None:
                yield packet
    except Damage as damage:
        raise InputError(f"packet {number}: {damage}", path=str(path)) from None


def _header(head: bytes) -> tuple[str, dict[str, str], int]:
    """Byte order, codes of the types, bytes of an int."""
    if len(head) < HEADER_BYTES - 5 or head[0] != HEADER_BYTES:
        raise Damage(f"the header has another length, expected {HEADER_BYTES} bytes")
    if head[1] > 1 or any(head[2:7]):
        raise Damage("numbers or characters of a machine that is not two's complement and IEEE")
    sizes = {"int": head[9], "float": head[11], "double": head[12]}
    try:
        codes = {kind: CODES[kind][size] for kind, size in sizes.items()}
    except KeyError as error:
        raise Damage(f"numbers of {error} bytes") from None
    return "><"[head[1]], codes, sizes["int"]


def _packet(kind: int, tag: int, content: _Bytes, described: dict[int, Descriptor]) -> Any:
    if kind == ATTRIBUTE:
        return Attributes(content.pairs())
    if kind == DESCRIPTOR:
        name, attributes = content.text(), content.pairs()
        fields = tuple(_field(content) for _ in range(content.count()))
        described[tag] = Descriptor(tag, name, fields, attributes)
        return described[tag]
    if kind == DATA:
        if tag not in described:
            raise Damage(f"a record with tag {tag} without a descriptor before it")
        return Data(described[tag], [_cells(content, each) for each in described[tag].fields])
    if kind == COMMAND:
        return None
    raise Damage(f"a packet of unknown kind {kind}")


def _field(content: _Bytes) -> SddfField:
    name, attributes = content.text(), content.pairs()
    code, dimension = content.number(), content.number()
    if not 0 <= code < len(TYPES) or not 0 <= dimension <= MOST_DIMENSIONS:
        raise Damage(f"field {name} has type {code} and {dimension} dimensions")
    return SddfField(name, TYPES[code], dimension, attributes)


def _cells(content: _Bytes, each: SddfField) -> Value:
    if each.dimension == 0:
        return content.take(1)[0] if each.type == "char" else content.number(each.type)
    if each.type == "char" and each.dimension == 1:
        return content.text()
    cells = 1
    for _ in range(each.dimension):
        cells *= content.count()
    if each.type == "char":
        return list(content.take(cells))
    if cells > MOST_BYTES:
        raise Damage(f"an array of {cells} cells")
    return [content.number(each.type) for _ in range(cells)]
