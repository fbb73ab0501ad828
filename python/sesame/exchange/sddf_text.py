"""Reads SDDF as text, packet by packet."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import BinaryIO

from sesame.exchange.sddf_format import ENCODED, Descriptor, SddfField, Value
from sesame.exchange.sddf_packets import (
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

CHUNK = 1 << 20  # bytes read at once
MARGIN = 1 << 10  # a number, word or mark is shorter
MOST_TEXT = 1 << 24  # characters of one text; without a bound a lost quotation mark costs memory
MOST_DIGITS = 300
# `long` is of later writers (HDF5's tracer), which have 64-bit integers.
TYPES = ("char", "int", "float", "double", "long")
_TOKEN = re.compile(
    r'\s*(?:(?P<text>"[^"\n]*")|(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|'
    r"(?P<mark>/\*|\*/|//|;;|[#%:;{}\[\],*])|(?P<word>[A-Za-z]+)|(?P<end>\Z)|(?P<bad>.))",
    re.S,
)


class _Tokens:
    """The tokens of a text, of which a bounded part is in memory."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text, self._at, self._whole = "", 0, False
        self._lines_before = 1  # of the first character of `_text`
        self._start = 0
        self.kind, self.value = "", ""
        self.is_encoded = False
        self.advance()

    def advance(self) -> None:
        if not self._whole and self._at > len(self._text) - MARGIN:
            self._read_more()
        while True:
            match = _TOKEN.match(self._text, self._at)
            assert match is not None and match.lastgroup is not None
            kind = match.lastgroup
            if self._whole or kind not in ("end", "bad"):
                break
            if kind == "end":  # white space only
                self._at = match.end()
            elif len(self._text) - self._at > MOST_TEXT:
                raise Damage(f"a text of more than {MOST_TEXT} characters")
            self._read_more()
        self.kind, self.value = kind, match.group(kind)
        self._start, self._at = match.start(kind), match.end()

    def _read_more(self) -> None:
        self._lines_before += self._text.count("\n", 0, self._at)
        rest = self._text[self._at :]
        data = self._file.read(max(CHUNK, len(rest)))
        more = self._decoder.decode(data, final=not data)
        self._whole = not data
        self._text, self._start, self._at = rest + more, 0, 0

    @property
    def line(self) -> int:
        return self._lines_before + self._text.count("\n", 0, self._start)

    def take(self, value: str) -> None:
        if self.value != value or self.kind == "text":
            raise Damage(f"expected {value}, got {self.found}")
        self.advance()

    def has(self, value: str) -> bool:
        return self.value == value and self.kind != "text"

    @property
    def found(self) -> str:
        return self.value[:80] or "the end"

    def raw_text(self) -> str:
        if self.kind != "text":
            raise Damage(f"expected a text, got {self.found}")
        value = self.value[1:-1]
        self.advance()
        return value

    def text(self) -> str:
        return decoded(self.raw_text(), self.is_encoded)

    def whole(self) -> int:
        number = self.number()
        if not isinstance(number, int) or number < 0:
            raise Damage(f"expected a whole number, got {number}")
        return number

    def number(self) -> int | float:
        if self.kind != "number":
            raise Damage(f"expected a number, got {self.found}")
        text = self.value
        self.advance()
        is_whole = text.lstrip("+-").isdecimal() and len(text) <= MOST_DIGITS
        return int(text) if is_whole else float(text)


def read_text(path: Path, file: BinaryIO) -> Iterator[Packet]:
    tokens = None
    described: dict[str, Descriptor] = {}
    try:
        tokens = _Tokens(file)
        while tokens.kind != "end":
            if tokens.has("/*"):
                yield Attributes(_stream_attributes(tokens))
            elif tokens.has("#"):
                found = _descriptor(tokens)
                described[found.name] = found
                yield found
            elif tokens.has("%"):
                _command(tokens)
            elif tokens.has(";;"):
                tokens.advance()  # an empty packet
            else:
                yield _data(tokens, described)
    except Damage as damage:
        raise damage.at(path, line=tokens.line if tokens is not None else 1) from None


def _stream_attributes(tokens: _Tokens) -> dict[str, str]:
    """Attributes, or a comment in free form, which gives none."""
    pairs = {}
    tokens.take("/*")
    while tokens.has("*"):
        tokens.advance()
        if tokens.kind != "text":
            break
        key = tokens.raw_text()
        if tokens.kind != "text":
            break
        pairs[key] = tokens.raw_text()
        if len(pairs) > MOST_FIELDS:
            raise Damage(f"more than {MOST_FIELDS} attributes")
    while not tokens.has("*/"):
        if tokens.kind == "end":
            raise Damage("expected */, got the end")
        tokens.advance()
    tokens.take("*/")
    if tokens.has(";;"):
        tokens.advance()
    tokens.is_encoded = tokens.is_encoded or pairs.get(ENCODED[0]) == ENCODED[1]
    return {
        decoded(key, tokens.is_encoded): decoded(value, tokens.is_encoded)
        for key, value in pairs.items()
    }


def _notes(tokens: _Tokens) -> dict[str, str]:
    pairs: dict[str, str] = {}
    while tokens.has("//"):
        tokens.advance()
        key = tokens.text()
        pairs[key] = tokens.text()
        if len(pairs) > MOST_FIELDS:
            raise Damage(f"more than {MOST_FIELDS} attributes")
    return pairs


def _descriptor(tokens: _Tokens) -> Descriptor:
    tokens.take("#")
    tag = tokens.whole()
    tokens.take(":")
    attributes = _notes(tokens)
    name = tokens.text()
    tokens.take("{")
    fields: list[SddfField] = []
    while not tokens.has("}"):
        fields.append(_field(tokens))
        if len(fields) > MOST_FIELDS:
            raise Damage(f"record {name} has more than {MOST_FIELDS} fields")
    tokens.take("}")
    tokens.take(";;")
    return Descriptor(tag, name, tuple(fields), attributes)


def _field(tokens: _Tokens) -> SddfField:
    notes, kind = _notes(tokens), tokens.value
    if tokens.kind != "word" or kind not in TYPES:
        raise Damage(f"expected one of {', '.join(TYPES)}, got {tokens.found}")
    tokens.advance()
    name, dimension = tokens.text(), 0
    while tokens.has("["):
        tokens.advance()
        tokens.take("]")
        dimension += 1
    if dimension > MOST_DIMENSIONS:
        raise Damage(f"field {name} has {dimension} dimensions, at most {MOST_DIMENSIONS} are read")
    tokens.take(";")
    return SddfField(name, "int" if kind == "long" else kind, dimension, notes)


def _command(tokens: _Tokens) -> None:
    """The form of a command is not known for certain: everything up to ;; is skipped."""
    while not tokens.has(";;"):
        if tokens.kind == "end":
            raise Damage("expected ;;, got the end")
        tokens.advance()
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
        values.append(_value(tokens, each) if each.dimension else _scalar(tokens, each))
    tokens.take("}")
    tokens.take(";;")
    return Data(described[name], values)


def _scalar(tokens: _Tokens, each: SddfField) -> Value:
    if each.type != "char":
        return tokens.number()
    if tokens.kind == "text":
        return tokens.text()
    code = tokens.number()
    if code not in range(-128, 256):
        raise Damage(f"expected a character, got {code}")
    return bytes([int(code) % 256]).decode("latin-1").rstrip("\0")


def _value(tokens: _Tokens, each: SddfField) -> Value:
    if each.type == "char" and tokens.kind == "text":  # some writers leave out the length
        return tokens.text()
    shape = []
    for _ in range(each.dimension):
        tokens.take("[")
        shape.append(tokens.whole())
        tokens.take("]")
    is_text = each.type == "char"
    cells: list[Value] = []
    tokens.take("{")
    while not tokens.has("}"):
        if cells:
            tokens.take(",")
        cells.append(tokens.text() if is_text else tokens.number())
        if len(cells) > MOST_CELLS:
            raise Damage(f"field {each.name}: more than {MOST_CELLS} values")
    if is_text:
        del shape[-1]  # the last size is a capacity, not the length of the text
        if not shape:
            tokens.take("}")
            return cells[0] if cells else ""
        if len(shape) == 1:  # so may be the number of texts
            shape = [len(cells)]
    if prod(shape) != len(cells):
        expected = " x ".join(map(str, shape))
        raise Damage(f"field {each.name}: expected {expected} values, got {len(cells)}")
    tokens.take("}")
    return in_rows(cells, shape)
