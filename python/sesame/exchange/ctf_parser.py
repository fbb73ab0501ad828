"""A parser of the Trace Stream Description Language of CTF 1.8: C-like declarations of types, and
blocks of values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

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
)

TOKEN = re.compile(
    r"""(?P<space>\s+|/\*.*?\*/|//[^\n]*)
    |(?P<text>"(?:[^"\\]|\\.)*")
    |(?P<number>0[xX][0-9a-fA-F]+[uUlL]*|\d+[uUlL]*)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>:=|\.\.\.|[-+{}\[\]()<>;:,.=*])""",
    re.S | re.X,
)
BLOCKS = ("trace", "env", "clock", "stream", "event", "callsite")
TYPE_WORDS = ("integer", "floating_point", "string", "struct", "variant", "enum")
TRUE = ("true", "TRUE", "1")
ORDERS = {"le": "little", "be": "big", "network": "big"}
LARGEST_INTEGER = 64  # bits
MOST_ALIGNED = 1 << 16  # bits
MOST_FIELDS = 10_000  # of a type, also those inside: types that double are a few lines
Wanted = TypeVar("Wanted", Integer, Enumeration, Structure, Variant)


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


@dataclass
class Block:
    """A block such as `event { … };` with its values and types by name."""

    kind: str
    line: int
    values: dict[str, Any]


class _Scope:
    """The types that are known in a block, and in those around it."""

    def __init__(self, outer: _Scope | None = None) -> None:
        self._types: dict[str, Type] = {}
        self._outer = outer

    def find(self, name: str) -> Type | None:
        found = self._types.get(name)
        return found if found or self._outer is None else self._outer.find(name)

    def add(self, name: str, of: Type) -> None:
        self._types[name] = of


class Parser:
    """Raises InputError with the line."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0

    def file(self) -> list[Block]:
        scope, found = _Scope(), []
        while self._peek().kind != "end":
            word = self._peek()
            if word.text in BLOCKS:
                self._next()
                found.append(Block(word.text, word.line, self._block(_Scope(scope))))
                self._expect(";")
            else:
                self._definition(scope)
        return found

    # ---- Tokens ----

    def _peek(self, ahead: int = 0) -> _Token:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def _next(self) -> _Token:
        token = self._peek()
        self._at += 1
        return token

    def _take(self, text: str) -> bool:
        token = self._peek()
        is_it = token.kind in ("sign", "name") and token.text == text
        self._at += is_it
        return is_it

    def _expect(self, text: str) -> None:
        token = self._peek()
        if not self._take(text):
            raise _wrong(token, f"{text!r}")

    def _name(self) -> str:
        token = self._next()
        if token.kind != "name":
            raise _wrong(token, "a name")
        return token.text

    def _number(self) -> int:
        sign = -1 if self._take("-") else 1
        self._take("+")
        token = self._next()
        if token.kind != "number":
            raise _wrong(token, "a number")
        return sign * _whole(token.text)

    # ---- Blocks ----

    def _block(self, scope: _Scope) -> dict[str, Any]:
        """`{ name = value; path := type; … }`"""
        self._expect("{")
        values: dict[str, Any] = {}
        while not self._take("}"):
            if self._is_definition():
                self._definition(scope)
                continue
            name = ".".join(self._path())
            if self._take(":="):
                values[name] = self._type(scope)
            else:
                self._expect("=")
                values[name] = self._value()
            self._expect(";")
        return values

    def _is_definition(self) -> bool:
        """Whether a statement begins with a definition of types."""
        return self._peek().text in ("typealias", "typedef", *TYPE_WORDS)

    def _value(self) -> str | int:
        token = self._peek()
        if token.kind == "text":
            return _unquoted(self._next().text)
        if token.kind == "name":
            return ".".join(self._path())
        return self._number()

    def _path(self) -> Path:
        parts = [self._name()]
        while self._take("."):
            parts.append(self._name())
        return tuple(parts)

    # ---- Types ----

    def _definition(self, scope: _Scope) -> None:
        """`typealias TYPE := NAME;`, `typedef TYPE NAME;`, or a type with a name of its own."""
        if self._take("typealias"):
            of = self._type(scope)
            self._expect(":=")
            scope.add(self._words(), of)
        elif self._take("typedef"):
            name, of = self._declared(scope)
            scope.add(name, of)
        else:
            if self._peek().text not in TYPE_WORDS:
                raise _wrong(self._peek(), "a definition")
            self._type(scope)
        self._expect(";")

    def _words(self) -> str:
        """The name of a type: one or several words, such as `unsigned long`."""
        words = [self._name()]
        while self._peek().kind == "name":
            words.append(self._name())
        return " ".join(words)

    def _type(self, scope: _Scope) -> Type:
        if self._peek().text in TYPE_WORDS:
            return self._made(scope)
        return self._known(scope, self._peek(), self._words())

    def _known(self, scope: _Scope, token: _Token, name: str) -> Type:
        found = scope.find(name)
        if found is None:
            raise InputError(f"the type {name[:60]} is not defined", line=token.line)
        return found

    def _made(self, scope: _Scope) -> Type:
        word = self._next().text
        if word == "integer":
            return self._integer(scope)
        if word == "floating_point":
            return self._float(scope)
        if word == "string":
            if self._peek().text == "{":
                self._block(_Scope(scope))
            return String()
        if word == "enum":
            return self._enumeration(scope)
        return self._structure(scope) if word == "struct" else self._variant(scope)

    def _integer(self, scope: _Scope) -> Integer:
        token, given = self._peek(), self._block(_Scope(scope))
        size = _size(given, "size", token, LARGEST_INTEGER)
        align = _size(given, "align", token, MOST_ALIGNED, 8 if size % 8 == 0 else 1)
        clock = str(given.get("map", ""))
        return Integer(
            size,
            align,
            str(given.get("signed", "")) in TRUE,
            ORDERS.get(str(given.get("byte_order", ""))),
            size == 8 and str(given.get("encoding", "none")).lower() in ("utf8", "ascii"),
            clock.removeprefix("clock.").removesuffix(".value") if clock else "",
        )

    def _float(self, scope: _Scope) -> Float:
        token, given = self._peek(), self._block(_Scope(scope))
        size = _size(given, "exp_dig", token, 64) + _size(given, "mant_dig", token, 64)
        if size not in (32, 64):
            raise InputError(f"a floating point number of {size} bits", line=token.line)
        order = ORDERS.get(str(given.get("byte_order", "")))
        return Float(size, _size(given, "align", token, MOST_ALIGNED, 8), order)

    def _enumeration(self, scope: _Scope) -> Enumeration:
        name = self._name() if self._peek().kind == "name" else ""
        token = self._peek()
        if not self._take(":") and token.text != "{":  # defined before
            return _as(Enumeration, self._known(scope, token, f"enum {name}"), token)
        container: Type | None = scope.find("int")
        if token.text == ":":
            container = self._type(scope)
        ranges, following = [], 0
        self._expect("{")
        while not self._take("}"):
            word = self._next()
            label = _unquoted(word.text) if word.kind == "text" else word.text
            if word.kind not in ("text", "name"):
                raise _wrong(word, "a name")
            first = last = self._number() if self._take("=") else following
            if self._take("..."):
                last = self._number()
            ranges.append((label, first, last))
            following = last + 1
            if not self._take(","):
                self._expect("}")
                break
        made = Enumeration(_as(Integer, container, token), tuple(ranges))
        if name:
            scope.add(f"enum {name}", made)
        return made

    def _structure(self, scope: _Scope) -> Structure:
        name = self._name() if self._peek().kind == "name" else ""
        token = self._peek()
        if token.text != "{":
            return _as(Structure, self._known(scope, token, f"struct {name}"), token)
        fields, align = self._fields(_Scope(scope)), 1
        if self._take("align"):
            self._expect("(")
            align = _checked(self._number(), "align", token, MOST_ALIGNED)
            self._expect(")")
        made = Structure(fields, align, _fields_in(fields, token))
        if name:
            scope.add(f"struct {name}", made)
        return made

    def _variant(self, scope: _Scope) -> Variant:
        name = self._name() if self._peek().kind == "name" else ""
        tag: Path = ()
        if self._take("<"):
            tag = self._path()
            self._expect(">")
        token = self._peek()
        if token.text != "{":
            known = _as(Variant, self._known(scope, token, f"variant {name}"), token)
            return Variant(tag, known.options, known.size)
        options = self._fields(_Scope(scope))
        made = Variant(tag, options, _fields_in(options, token))
        if name:
            scope.add(f"variant {name}", made)
        return made

    def _fields(self, scope: _Scope) -> tuple[tuple[str, Type], ...]:
        self._expect("{")
        found: list[tuple[str, Type]] = []
        while not self._take("}"):
            if self._peek().text in ("typealias", "typedef"):
                self._definition(scope)
                continue
            made = self._declared_or_defined(scope)
            if made is not None:
                found.append(made)
            self._expect(";")
        return tuple(found)

    def _declared_or_defined(self, scope: _Scope) -> tuple[str, Type] | None:
        """A field, or None for a type that is only defined: `struct name { … };`"""
        if self._peek().text not in TYPE_WORDS:
            return self._declared(scope)
        of = self._made(scope)
        if self._peek().text == ";":
            return None
        return self._declarator(of)

    def _declared(self, scope: _Scope) -> tuple[str, Type]:
        """`TYPE NAME[…]`"""
        token = self._peek()
        if token.text in TYPE_WORDS:
            return self._declarator(self._made(scope))
        words = []
        while self._peek().kind == "name" and self._peek(1).kind == "name":
            words.append(self._name())
        if not words:
            raise _wrong(token, "a type and a name")
        return self._declarator(self._known(scope, token, " ".join(words)))

    def _declarator(self, of: Type) -> tuple[str, Type]:
        name, lengths = self._name(), list[int | Path]()
        while self._take("["):
            is_number = self._peek().kind == "number"
            lengths.append(self._number() if is_number else self._path())
            self._expect("]")
        for length in reversed(lengths):
            of = Array(of, length)
        return name, of


def _tokens(text: str) -> list[_Token]:
    found, at, line = [], 0, 1
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise InputError(f"{text[at : at + 20]!r} is not understood", line=line)
        if match.lastgroup != "space":
            found.append(_Token(str(match.lastgroup), match[0], line))
        line += match[0].count("\n")
        at = match.end()
    found.append(_Token("end", "", line))
    return found


def _wrong(token: _Token, expected: str) -> InputError:
    got = repr(token.text[:40]) if token.text else "the end"
    return InputError(f"expected {expected}, got {got}", line=token.line)


def _as(kind: type[Wanted], found: object, token: _Token) -> Wanted:
    if not isinstance(found, kind):
        raise InputError(f"expected a type {kind.__name__.lower()}", line=token.line)
    return found


def _fields_in(fields: tuple[tuple[str, Type], ...], token: _Token) -> int:
    found = 0
    for _, of in fields:
        while isinstance(of, Array):
            of = of.element
        found += 1 + (of.size if isinstance(of, Structure | Variant) else 0)
    if found > MOST_FIELDS:
        raise InputError(f"a type of more than {MOST_FIELDS} fields", line=token.line)
    return found


def _whole(text: str) -> int:
    digits = text.rstrip("uUlL")
    if len(digits) > 40:
        raise InputError(f"the number {digits[:20]}… is too large")
    if re.fullmatch(r"0[0-7]+", digits):
        return int(digits, 8)
    try:
        return int(digits, 0)
    except ValueError:
        raise InputError(f"{digits} is no number") from None


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.S)


def _size(
    given: Mapping[str, Any], name: str, token: _Token, most: int, default: int | None = None
) -> int:
    return _checked(given.get(name, default), name, token, most)


def _checked(value: Any, name: str, token: _Token, most: int) -> int:
    if not isinstance(value, int) or not 1 <= value <= most:
        raise InputError(f"{name}: expected 1 to {most}, got {value}", line=token.line)
    return value
