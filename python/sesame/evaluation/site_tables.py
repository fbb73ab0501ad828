"""Typed access to the tables of a site file. Every mistake is an InputError with its line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sesame.errors import InputError
from sesame.evaluation.toml_lines import Lines

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}

Keys = tuple[str, ...]  # the path of a value in the file, to find its line
Table = Mapping[str, Any]


class Tables:
    """Values of tables, checked. A default of None means that the key is required."""

    def __init__(self, path: Path, lines: Lines) -> None:
        self._path = path
        self._lines = lines

    def named(self, table: Table, kind: str) -> list[tuple[str, dict[str, Any]]]:
        """The tables [kind.NAME]."""
        found = table.get(kind, {})
        if not isinstance(found, dict):
            raise self.wrong((kind,), f"expected tables [{kind}.NAME]")
        for name, one in found.items():
            if not isinstance(one, dict):
                raise self.wrong((kind, name), f"expected a table [{kind}.{name}]")
            if not NAME.fullmatch(name):
                raise self.wrong((kind, name), f"{name!r}: a name is letters, digits, _ . and -")
        return list(found.items())

    def check_keys(self, table: Any, keys: Keys, known: Sequence[str]) -> None:
        if not isinstance(table, dict):
            raise self.wrong(keys, "expected a table")
        for key in table:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
                raise self.wrong((*keys, key), f"unknown key {key!r}", hint)

    def text(self, table: Table, keys: Keys, key: str, default: str | None = None) -> str:
        value = table.get(key, default)
        if value is None:
            raise self.wrong((*keys, key), f"`{key}` is missing")
        if not isinstance(value, str) or "\0" in value:
            raise self.wrong((*keys, key), f"expected a text, got {value!r}")
        return value

    def one_of(self, table: Table, keys: Keys, key: str, known: Sequence[str]) -> str:
        """The default is the first."""
        value = self.text(table, keys, key, known[0])
        if value not in known:
            near = difflib.get_close_matches(value, known, n=1)
            hint = f"did you mean {near[0]}?" if near else None
            raise self.wrong((*keys, key), f"expected one of {', '.join(known)}, got {value}", hint)
        return value

    def words(
        self, table: Table, keys: Keys, key: str, default: Sequence[str] | None = None
    ) -> tuple[str, ...]:
        """A list of words. It may be empty only where there is a default."""
        value = table.get(key, default)
        if value is None:
            raise self.wrong((*keys, key), f"`{key}` is missing")
        is_list = isinstance(value, list | tuple) and (len(value) > 0 or default is not None)
        if not is_list or not all(isinstance(one, str) and "\0" not in one for one in value):
            hint = 'for instance ["cc", "-o", "hello", "hello.c"]'
            raise self.wrong((*keys, key), "expected a list of words", hint)
        return tuple(value)

    def whole(self, table: Table, keys: Keys, key: str, default: int, least: int) -> int:
        value = table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong((*keys, key), f"expected a whole number, got {value!r}")
        if value < least:
            raise self.wrong((*keys, key), f"expected {least} or more, got {value}")
        return value

    def yes_or_no(self, table: Table, keys: Keys, key: str) -> bool:
        value = table.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong((*keys, key), f"expected true or false, got {value!r}")
        return value

    def duration(self, table: Table, keys: Keys, key: str, default: str | None = None) -> float:
        text = self.text(table, keys, key, default)
        seconds = _seconds(text)
        if seconds <= 0:
            raise self.wrong((*keys, key), _no_duration(text), "for instance 15min")
        return seconds

    def pattern(
        self, table: Table, keys: Keys, key: str, default: str | None = None, *, group: bool = False
    ) -> re.Pattern[str]:
        text = self.text(table, keys, key, default)
        try:
            pattern = re.compile(text, re.MULTILINE)
        except re.error as error:
            said = f"{text!r} is no regular expression: {error}"
            raise self.wrong((*keys, key), said) from error
        if group and pattern.groups < 1:
            raise self.wrong((*keys, key), f"the pattern {text!r} needs a group: (...)")
        return pattern

    def wrong(self, keys: Keys, message: str, hint: str | None = None) -> InputError:
        shown = ".".join(key for key in keys if not key.isdigit())
        text = f"{shown}: {message}" if shown else message
        return InputError(text, path=str(self._path), line=self._lines.of(keys), hint=hint)


def duration_s(text: str, option: str) -> float:
    """Of an option of the command line. Raises InputError."""
    seconds = _seconds(text)
    if seconds <= 0:
        raise InputError(f"{option}: {_no_duration(text)}", hint="for instance 15min")
    return seconds


def _seconds(text: str) -> float:
    """0 if the text is no time."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) ?([a-z]+)", text)
    return float(found[1]) * SECONDS.get(found[2], 0.0) if found else 0.0


def _no_duration(text: str) -> str:
    return f"expected a time with one of the units {', '.join(SECONDS)}, got {text!r}"
