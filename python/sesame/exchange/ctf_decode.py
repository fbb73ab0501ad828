"""Decodes values of the Common Trace Format from the bits of a packet.

`decoder(type, order)` makes a function of a type once; it is called for each value. Values are
int, float, str, `Named` for enumerations, dict for structures, list for arrays; the value of a
variant is that of its option.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from sesame.errors import InputError
from sesame.exchange.ctf_types import (
    Array,
    Enumeration,
    Float,
    Integer,
    Path,
    String,
    Structure,
    Type,
    Variant,
    align_of,
    least_bits,
)

MOST_EMPTY = 1 << 16  # elements of arrays that may have no bits, of a packet
MOST_KNOWN = 1 << 16  # values of an enumeration whose names are kept
CODES = {8: "b", 16: "h", 32: "i", 64: "q"}
SIGNS = {"little": "<", "big": ">"}
# How a path names what is outside of its own structure.
ROOTS: tuple[Path, ...] = (
    ("trace", "packet", "header"),
    ("stream", "packet", "context"),
    ("stream", "event", "header"),
    ("stream", "event", "context"),
    ("event", "context"),
    ("event", "fields"),
)


class Named(int):
    """The value of an enumeration, with its name."""

    label: str


class CutOff(InputError):
    """The packet ends inside a value."""


class Bits:
    """The bits of one packet, and what has been decoded of it."""

    __slots__ = ("clock", "data", "empty", "end", "is_ticking", "position", "scopes", "time")

    def __init__(self, data: bytes, end: int) -> None:
        self.data, self.position, self.end = data, 0, end
        self.scopes: list[dict[str, Any]] = []  # structures that are being decoded, and those above
        self.time = 0  # ticks
        self.clock, self.empty = "", 0
        self.is_ticking = False  # whether values of clocks are the time of an event

    def align(self, bits: int) -> None:
        self.position = -(-self.position // bits) * bits

    def take(self, bits: int, align: int) -> int:
        """The position of the next `bits`, which are passed. Raises CutOff."""
        begin = -(-self.position // align) * align
        self.position = begin + bits
        if self.position > self.end:
            raise CutOff("cut off inside a value")
        return begin

    def tick(self, value: int, bits: int, clock: str) -> None:
        """A value of a clock may be its low bits only."""
        self.clock = clock
        mask = (1 << bits) - 1
        time = self.time & ~mask | value
        self.time = time if bits >= 64 or time >= self.time else time + mask + 1

    def find(self, path: Path) -> Any:
        """The value that a path names. Raises InputError."""
        for length in (3, 2):
            if path[:length] in ROOTS and len(path) > length:
                path = path[length:]
                break
        for scope in reversed(self.scopes):
            if path[0] in scope:
                found: Any = scope
                for name in path:
                    found = found.get(name) if isinstance(found, dict) else None
                if found is not None:
                    return found
        raise InputError(f"{'.'.join(path)[:80]}: there is no such field before this")


Decode = Callable[[Bits], Any]


def decoder(of: Type, order: str) -> Decode:
    """`order`: of numbers that say nothing of theirs."""
    match of:
        case Integer():
            return _ticking(of, _integer(of, order)) if of.clock else _integer(of, order)
        case Float():
            return _float(of, order)
        case String():
            return _string
        case Enumeration():
            return _enumeration(of, order)
        case Structure():
            return _structure(of, order)
        case Variant():
            return _variant(of, order)
    return _text(of) if _is_text(of) else _array(of, order)


def _is_text(of: Array) -> bool:
    return isinstance(of.element, Integer) and of.element.is_text


def _integer(of: Integer, order: str) -> Decode:
    size, align, order = of.size, of.align, of.order or order
    if align % 8 == 0 and size in CODES:
        code = CODES[size] if of.is_signed else CODES[size].upper()
        unpack = struct.Struct(SIGNS[order] + code).unpack_from

        def whole(bits: Bits) -> int:
            found: int = unpack(bits.data, bits.take(size, align) >> 3)[0]
            return found

        return whole
    is_little, mask, sign = order == "little", (1 << size) - 1, 1 << (size - 1)

    def some(bits: Bits) -> int:
        begin = bits.take(size, align)
        last = (begin + size + 7) >> 3
        chunk = int.from_bytes(bits.data[begin >> 3 : last], "little" if is_little else "big")
        value = chunk >> ((begin & 7) if is_little else (last * 8 - begin - size)) & mask
        return value - (sign << 1) if of.is_signed and value & sign else value

    return some


def _ticking(of: Integer, decode: Decode) -> Decode:
    def tick(bits: Bits) -> int:
        value: int = decode(bits)
        if bits.is_ticking:
            bits.tick(value, of.size, of.clock)
        return value

    return tick


def _float(of: Float, order: str) -> Decode:
    """By way of an integer, as it may begin inside a byte."""
    whole = _integer(Integer(of.size, of.align, order=of.order), order)
    integer, real = {32: ("=I", "=f"), 64: ("=Q", "=d")}[of.size]
    pack, unpack = struct.Struct(integer).pack, struct.Struct(real).unpack

    def decode(bits: Bits) -> float:
        found: float = unpack(pack(whole(bits)))[0]
        return found

    return decode


def _string(bits: Bits) -> str:
    begin = bits.take(0, 8) >> 3
    end = bits.data.find(b"\0", begin, bits.end >> 3)
    if end < 0:
        raise CutOff("a text without its end")
    bits.position = (end + 1) << 3
    return bits.data[begin:end].decode("utf-8", "replace")


def _enumeration(of: Enumeration, order: str) -> Decode:
    decode, known = decoder(of.container, order), dict[int, Named]()

    def named(bits: Bits) -> Named:
        value = decode(bits)
        found = known.get(value)
        if found is None:
            found = Named(value)
            ranges = of.ranges
            found.label = next((one for one, low, high in ranges if low <= value <= high), "")
            if len(known) < MOST_KNOWN:
                known[value] = found
        return found

    return named


def _structure(of: Structure, order: str) -> Decode:
    fields = [(name, decoder(kind, order)) for name, kind in of.fields]
    align = align_of(of)

    def structure(bits: Bits) -> dict[str, Any]:
        bits.align(align)
        found: dict[str, Any] = {}
        bits.scopes.append(found)
        for name, decode in fields:
            found[name] = decode(bits)
        bits.scopes.pop()
        return found

    return structure


def _variant(of: Variant, order: str) -> Decode:
    options = {name: decoder(kind, order) for name, kind in of.options}

    def variant(bits: Bits) -> Any:
        tag = bits.find(of.tag)
        decode = options.get(tag.label) if isinstance(tag, Named) else None
        if decode is None:
            raise InputError(f"no option of the variant <{'.'.join(of.tag)[:60]}> for {tag}")
        return decode(bits)

    return variant


def _count(of: Array) -> Callable[[Bits], int]:
    """Finds the number of elements, which the rest of the packet must hold; else raises CutOff."""
    least, length = least_bits(of.element), of.length

    def count(bits: Bits) -> int:
        found = length if isinstance(length, int) else bits.find(length)
        most = (bits.end - bits.position) // least if least else MOST_EMPTY - bits.empty
        if not isinstance(found, int) or not 0 <= found <= most:
            raise CutOff(f"an array of {found!s:.40} elements; there are {most} at most")
        bits.empty += 0 if least else found
        return found

    return count


def _array(of: Array, order: str) -> Decode:
    decode, count = decoder(of.element, order), _count(of)

    def array(bits: Bits) -> list[Any]:
        return [decode(bits) for _ in range(count(bits))]

    return array


def _text(of: Array) -> Decode:
    align, count = max(align_of(of), 8), _count(of)

    def text(bits: Bits) -> str:
        bits.align(align)
        size = count(bits)
        begin = bits.take(8 * size, 8) >> 3
        return bits.data[begin : begin + size].partition(b"\0")[0].decode("utf-8", "replace")

    return text
