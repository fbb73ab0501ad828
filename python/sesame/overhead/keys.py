"""The keys of a node model: kinds of values, and how they are read, checked and written.

A key is a field of a dataclass of model.py, made by `key()`. Reading, writing, `with_settings` and
the reference of keys use this one description.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from sesame.errors import InputError
from sesame.overhead.distributions import (
    MOST_SECONDS,
    Distribution,
    constant,
    format_seconds,
    parse_distribution,
    parse_seconds,
)

MOST_COUNT = 10_000_000


@dataclass(frozen=True)
class Kind:
    """What a key accepts: `name` is time, count, number, distribution, choice, flag or text."""

    name: str
    least: float = 0
    most: float = math.inf
    choices: tuple[str, ...] = ()
    optional: bool = False
    meaning: str = ""

    def read(self, value: object) -> Any:
        """The value in the dataclass (times in s) for one of TOML or of the command line. Raises
        InputError: "expected …, got …"."""
        if self.optional and value in (None, "none"):
            return None
        if self.name == "distribution":
            return value if isinstance(value, Distribution) else _distribution(value)
        if self.name == "time":
            return self._bounded(_time(value), "a time")
        if self.name in ("count", "number"):
            return self._number(value)
        if self.name == "flag":
            return _flag(value)
        if self.name == "choice" and value not in self.choices:
            raise InputError(f"expected {_either(self.choices)}, got {value!r}")
        if not isinstance(value, str):
            raise InputError(f"expected a text, got {value!r}")
        return value

    def write(self, value: Any) -> str:
        """The value as TOML."""
        if self.name == "distribution":
            return f'"{value}"'
        if self.name == "time":
            return f'"{format_seconds(value)}"'
        if self.name == "flag":
            return "true" if value else "false"
        if self.name in ("count", "number"):
            return f"{value:.12g}" if isinstance(value, float) else str(value)
        return quoted(str(value))

    def _number(self, value: object) -> float:
        wanted = "a whole number" if self.name == "count" else "a number"
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise InputError(f"expected {wanted}, got {value!r}")
        try:
            number = int(value) if self.name == "count" else float(value)
        except (ValueError, OverflowError) as error:
            raise InputError(f"expected {wanted}, got {value!r}") from error
        if isinstance(value, float) and number != value:
            raise InputError(f"expected {wanted}, got {value!r}")
        return self._bounded(number, wanted)

    def _bounded(self, number: float, wanted: str) -> float:
        if not self.least <= number <= self.most:
            bounds = f"of at least {self.least:g}"
            if self.most < math.inf:
                bounds = f"from {self.least:g} to {self.most:g}"
            unit = " s" if self.name == "time" else ""
            raise InputError(f"expected {wanted} {bounds}{unit}, got {number:g}{unit}")
        return number


def key(kind: str, default: Any = dataclasses.MISSING, meaning: str = "", **limits: Any) -> Any:
    """A field of a dataclass that is a key of node.toml."""
    if kind == "time":
        limits.setdefault("most", MOST_SECONDS)
    if kind == "count":
        limits = {"least": 1, "most": MOST_COUNT, **limits}
    limits["optional"] = default is None
    return dataclasses.field(
        default=default, metadata={"kind": Kind(kind, meaning=meaning, **limits)}
    )


def keys_of(table: type) -> dict[str, Kind]:
    """The keys of a dataclass."""
    return {
        field.name: field.metadata["kind"]
        for field in dataclasses.fields(table)
        if "kind" in field.metadata
    }


Table = TypeVar("Table")


def read_table(table: type[Table], values: Mapping[str, object], name: str) -> Table:
    """The dataclass of a TOML table called `name`. Raises KeyedError for the first wrong key."""
    kinds = keys_of(table)
    for unknown in values.keys() - kinds.keys():
        raise KeyedError(unknown, f"unknown key in {name}, expected one of {', '.join(kinds)}")
    read = {}
    for given, value in values.items():
        try:
            read[given] = kinds[given].read(value)
        except InputError as error:
            raise KeyedError(given, f"{given}: {error.message}") from error
    for field in dataclasses.fields(table):  # type: ignore[arg-type]
        if field.name in kinds and field.default is dataclasses.MISSING and field.name not in read:
            raise KeyedError("", f"{name}: the key {field.name} is missing")
    try:
        return table(**read)
    except InputError as error:
        raise KeyedError("", f"{name}: {error.message}") from error


class KeyedError(InputError):
    """An error in a TOML table that names its key; "" for the table itself."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


def written(table: Any) -> list[str]:
    """The keys of a dataclass that do not have their defaults, as lines of TOML."""
    fields = {field.name: field for field in dataclasses.fields(table)}
    return [
        f"{name} = {kind.write(getattr(table, name))}"
        for name, kind in keys_of(type(table)).items()
        if getattr(table, name) != fields[name].default
    ]


def quoted(text: str) -> str:
    """A TOML basic string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'


def _distribution(value: object) -> Distribution:
    if isinstance(value, str):
        return parse_distribution(value)
    if value == 0 and not isinstance(value, bool):
        return constant(0.0)
    raise InputError(f'expected a distribution such as "exponential(223us)", got {value!r}')


def _time(value: object) -> float:
    if isinstance(value, str):
        return parse_seconds(value)
    raise InputError(f'expected a time such as "10ms", got {value!r}')


def _flag(value: object) -> bool:
    known = {"true": True, "false": False, "yes": True, "no": False}
    if isinstance(value, bool):
        return value
    if str(value) in known:
        return known[str(value)]
    raise InputError(f"expected true or false, got {value!r}")


def _either(choices: tuple[str, ...]) -> str:
    return " or ".join(f'"{choice}"' for choice in choices)
