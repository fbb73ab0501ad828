"""Reads SDDF as binary data, packet by packet."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sesame.exchange.sddf_format import (
    ATTRIBUTE,
    COMMAND,
    DATA,
    DESCRIPTOR,
    ENCODED,
    HEADER_BYTES,
    TYPES,
    Descriptor,
    SddfField,
    Value,
)
from sesame.exchange.sddf_packets import (
    MOST_BYTES,
    MOST_CELLS,
    MOST_DIMENSIONS,
    MOST_FIELDS,
    Attributes,
    Damage,
    Data,
    Packet,
    decoded,
    in_rows,
)

CODES = {
    "int": {2: "h", 4: "i", 8: "q"},
    "float": {4: "f", 8: "d"},
    "double": {4: "f", 8: "d"},
}
ORDERS = (">", "<")
REPRESENTATIONS = {
    "integers": ("two's complement",),
    "floats": ("IEEE", "VAX", "IBM", "Cray"),
    "doubles": ("IEEE", "VAX", "IBM", "Cray"),
    "long doubles": ("IEEE", "VAX", "IBM", "Cray"),
    "characters": ("ASCII", "EBCDIC"),
}


class _Form:
    """The header: byte order and sizes of numbers; and whether text is encoded."""

    def __init__(self, head: bytes) -> None:
        if len(head) < HEADER_BYTES - 5 or head[0] < HEADER_BYTES:
            raise Damage(f"the header is too short, expected {HEADER_BYTES} bytes")
        if head[1] >= len(ORDERS):
            raise Damage(f"byte order {head[1]}, expected 0 (big) or 1 (little)")
        for (what, names), code in zip(REPRESENTATIONS.items(), head[2:7], strict=True):
            # No number is a long double, so their form does not matter.
            if code and what != "long doubles":
                name = names[code] if code < len(names) else f"form {code}"
                raise Damage(f"{what} of {name} are not read, expected {names[0]}")
        self.sizes = {"int": head[9], "float": head[11], "double": head[12]}
        order = ORDERS[head[1]]
        try:
            codes = {kind: order + CODES[kind][size] for kind, size in self.sizes.items()}
        except KeyError as error:
            raise Damage(f"numbers of {error} bytes") from None
        self.numbers = {kind: struct.Struct(code) for kind, code in codes.items()}
        self.arrays = {kind: np.dtype(code) for kind, code in codes.items()}
        self.more_bytes = head[0] - HEADER_BYTES  # of the header of a later version
        self.is_encoded = False


class _Bytes:
    """The rest of a packet."""

    def __init__(self, data: bytes, form: _Form) -> None:
        self._data, self._form, self._at = data, form, 0

    def take(self, count: int) -> bytes:
        if count < 0 or self._at + count > len(self._data):
            raise Damage("a packet ends before its last field")
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, kind: str = "int") -> Any:
        layout = self._form.numbers[kind]
        return layout.unpack(self.take(layout.size))[0]

    def count(self, most: int | None = None) -> int:
        count = int(self.number())
        if not 0 <= count <= len(self._data):
            raise Damage(f"{count} elements in a packet of {len(self._data)} bytes")
        if most is not None and count > most:
            raise Damage(f"{count} fields or attributes, at most {most} are read")
        return count

    def raw_text(self) -> str:
        return _text(self.take(self.count()))

    def text(self) -> str:
        return decoded(self.raw_text(), self._form.is_encoded)

    def raw_pairs(self) -> dict[str, str]:
        pairs = {}
        for _ in range(self.count(MOST_FIELDS)):
            key = self.raw_text()
            pairs[key] = self.raw_text()
        return pairs

    def pairs(self) -> dict[str, str]:
        is_encoded = self._form.is_encoded
        return {
            decoded(key, is_encoded): decoded(value, is_encoded)
            for key, value in self.raw_pairs().items()
        }

    def array(self, each: SddfField) -> Value:
        shape = [self.count() for _ in range(each.dimension)]
        cells = prod(shape)
        if cells > MOST_CELLS * (1 if each.type != "char" else max(1, shape[-1])):
            raise Damage(f"an array of {cells} cells, at most {MOST_CELLS} are read")
        if not cells:
            return []
        if each.type != "char":
            dtype = self._form.arrays[each.type]
            return np.frombuffer(self.take(cells * dtype.itemsize), dtype).reshape(shape).tolist()
        data, size = self.take(cells), shape[-1]
        texts = [
            decoded(_text(data[at : at + size]), self._form.is_encoded)
            for at in range(0, cells, size)
        ]
        return in_rows(texts, shape[:-1])


def _text(data: bytes) -> str:
    return data.partition(b"\0")[0].decode(errors="replace")


def read_binary(path: Path, file: BinaryIO) -> Iterator[Packet]:
    described: dict[int, Descriptor] = {}
    number = 0
    try:
        form = _Form(file.read(HEADER_BYTES - 5))
        file.read(form.more_bytes)
        head_bytes = 3 * form.sizes["int"]
        while head := file.read(head_bytes):
            number += 1
            start = _Bytes(head, form)
            length, kind, tag = start.number(), start.number(), start.number()
            if not head_bytes <= length <= MOST_BYTES:
                raise Damage(f"a packet of {length} bytes")
            content = file.read(length - head_bytes)
            if len(content) < length - head_bytes:
                raise Damage("the file is cut off")
            packet = _packet(kind, tag, _Bytes(content, form), described, form)
            if packet is not None:
                yield packet
    except Damage as damage:
        where = f"packet {number}" if number else "the header"
        raise Damage(f"{where}: {damage}").at(path) from None


def _packet(
    kind: int, tag: int, content: _Bytes, described: dict[int, Descriptor], form: _Form
) -> Packet | None:
    if kind == ATTRIBUTE:
        return _stream_attributes(content, form)
    if kind == DESCRIPTOR:
        name, attributes = content.text(), content.pairs()
        fields = tuple(_field(content) for _ in range(content.count(MOST_FIELDS)))
        described[tag] = Descriptor(tag, name, fields, attributes)
        return described[tag]
    if kind == DATA:
        if tag not in described:
            raise Damage(f"a record with tag {tag} without a descriptor before it")
        return Data(described[tag], [_value(content, each) for each in described[tag].fields])
    if kind == COMMAND:
        return None
    raise Damage(f"a packet of unknown kind {kind}")


def _stream_attributes(content: _Bytes, form: _Form) -> Attributes:
    pairs = content.raw_pairs()
    form.is_encoded = form.is_encoded or pairs.get(ENCODED[0]) == ENCODED[1]
    return Attributes(
        {
            decoded(key, form.is_encoded): decoded(value, form.is_encoded)
            for key, value in pairs.items()
        }
    )


def _field(content: _Bytes) -> SddfField:
    name, attributes = content.text(), content.pairs()
    code, dimension = content.number(), content.number()
    if not 0 <= code < len(TYPES) or not 0 <= dimension <= MOST_DIMENSIONS:
        raise Damage(f"field {name} has type {code} and {dimension} dimensions")
    return SddfField(name, TYPES[code], dimension, attributes)


def _value(content: _Bytes, each: SddfField) -> Value:
    if each.type == "char":
        if each.dimension == 0:
            return content.take(1).decode("latin-1").rstrip("\0")
        return content.text() if each.dimension == 1 else content.array(each)
    return content.array(each) if each.dimension else content.number(each.type)
