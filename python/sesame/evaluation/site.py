"""The site file: what is probed, where, how often, and what a probe's answer has to be (TOML).

docs/formats/site.md describes it. Every mistake is an InputError with the file's line.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sesame.errors import InputError
from sesame.evaluation.database import is_url
from sesame.evaluation.toml_lines import Lines

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
UNITS = frozenset(
    ["1", "%", "ns", "us", "ms", "s", "B", "kB", "MB", "GB", "KiB", "MiB", "GiB"]
    + [f"{unit}/s" for unit in ("1", "B", "kB", "MB", "GB", "KiB", "MiB", "GiB", "flop")]
    + ["Mflop/s", "Gflop/s"]
)
ASPECTS = ("availability", "utilisation", "functionality", "performance")
LAUNCHERS = ("local", "mpiexec", "template")
MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Target:
    """Where commands run: a prefix of the command, in which {ranks} is filled in."""

    name: str
    launcher: tuple[str, ...]
    ranks: int

    def command(self, words: Sequence[str]) -> list[str]:
        return [word.replace("{ranks}", str(self.ranks)) for word in (*self.launcher, *words)]


@dataclass(frozen=True)
class Number:
    """A figure of a step's output: group 1 of `pattern`; a group named `unit` must be `unit`."""

    name: str
    pattern: re.Pattern[str]
    unit: str


@dataclass(frozen=True)
class Step:
    """A command and what it has to answer."""

    name: str
    command: tuple[str, ...]
    timeout: float
    launch: bool  # with the target's launcher
    exit_status: int
    pattern: re.Pattern[str] | None
    numbers: tuple[Number, ...]


@dataclass(frozen=True)
class Probe:
    """Steps that run in order, in a new directory that first holds `files`."""

    name: str
    target: Target
    interval: float
    availability: bool  # its failures mean that the target is down
    aspect: str  # one of ASPECTS: where the report has it
    user: str | None
    files: Mapping[str, str]
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Site:
    """A site file. `database` is a file, beside it unless it names another directory, or a URL."""

    path: Path
    name: str
    database: Path | str
    maintenance_is_available: bool
    probes: Mapping[str, Probe] = field(default_factory=dict)


def read_site(path: Path) -> Site:
    """Raises InputError."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        text = data.decode()
    except OSError as error:
        raise InputError(
            f"cannot read: {error.strerror}",
            path=str(path),
            hint="`sesame evaluate init FILE` writes one",
        ) from error
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError("this is no UTF-8 text", path=str(path), line=line) from error
    if len(data) > MOST_BYTES:
        raise InputError(f"longer than {MOST_BYTES:,} bytes", path=str(path))
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+)", str(error))
        line_number = int(found[1]) if found else text.count("\n") + 1
        raise InputError(str(error), path=str(path), line=line_number) from error
    return _Reader(path, Lines(text)).site(table)


class _Reader:
    """Turns tables into values. `keys` is the path of a value in the file, to find its line."""

    def __init__(self, path: Path, lines: Lines) -> None:
        self._path = path
        self._lines = lines

    def site(self, table: dict[str, Any]) -> Site:
        known = ("name", "database", "maintenance", "target", "probe")
        self._check_keys(table, (), known)
        kinds = ("available", "unavailable")
        maintenance = self._text(table, (), "maintenance", kinds[0])
        if maintenance not in kinds:
            raise self._wrong(("maintenance",), f"expected {' or '.join(kinds)}, got {maintenance}")
        targets = {name: self._target(name, one) for name, one in self._tables(table, "target")}
        probes = {
            name: self._probe(name, one, targets) for name, one in self._tables(table, "probe")
        }
        if not probes:
            raise self._wrong((), "there is no [probe.NAME]")
        name = self._text(table, (), "name", self._path.stem)
        database = self._text(table, (), "database", f"{self._path.stem}.db")
        return Site(
            self._path,
            name,
            self._database(database),
            maintenance == kinds[0],
            probes,
        )

    def _database(self, text: str) -> Path | str:
        if "://" not in text:
            return self._path.absolute().parent / text
        if not is_url(text):
            hint = "for instance postgresql://sesame@db.example.org/evaluation"
            said = f"expected a file or a URL of PostgreSQL, got {text!r}"
            raise self._wrong(("database",), said, hint)
        return text

    def _target(self, name: str, table: dict[str, Any]) -> Target:
        keys = ("target", name)
        self._check_keys(table, keys, ("launcher", "ranks", "command"))
        kind = self._text(table, keys, "launcher", "local")
        if kind not in LAUNCHERS:
            expected = ", ".join(LAUNCHERS)
            raise self._wrong((*keys, "launcher"), f"expected one of {expected}, got {kind}")
        ranks = self._whole(table, keys, "ranks", 1)
        if ranks < 1:
            raise self._wrong((*keys, "ranks"), f"expected 1 or more, got {ranks}")
        if (kind == "template") != ("command" in table):
            raise self._wrong(keys, "a template, and no other launcher, has a `command`")
        if kind == "template":
            return Target(name, self._words(table, keys, "command"), ranks)
        return Target(name, ("mpiexec", "-n", "{ranks}") if kind == "mpiexec" else (), ranks)

    def _probe(self, name: str, table: dict[str, Any], targets: Mapping[str, Target]) -> Probe:
        keys = ("probe", name)
        known = ("target", "interval", "availability", "aspect", "user", "files", "step")
        self._check_keys(table, keys, known)
        target = self._text(table, keys, "target", None)
        if target not in targets:
            raise self._wrong((*keys, "target"), f"there is no [target.{target}]")
        files = table.get("files", {})
        if not isinstance(files, dict) or not all(isinstance(one, str) for one in files.values()):
            raise self._wrong((*keys, "files"), "expected names with the texts of files")
        for one in files:
            if "/" in one or one in ("", ".", ".."):
                raise self._wrong((*keys, "files"), f"{one!r} is no name of a file")
        steps = table.get("step")
        if not isinstance(steps, list) or not steps:
            raise self._wrong(keys, f"there is no [[probe.{name}.step]]")
        read = tuple(self._step((*keys, "step", str(i)), one) for i, one in enumerate(steps))
        is_availability = self._yes_or_no(table, keys, "availability")
        return Probe(
            name,
            targets[target],
            self._duration(table, keys, "interval"),
            is_availability,
            self._aspect(table, keys, is_availability, read),
            self._text(table, keys, "user", "") or None,
            files,
            read,
        )

    def _aspect(
        self,
        table: dict[str, Any],
        keys: tuple[str, ...],
        is_availability: bool,
        steps: Sequence[Step],
    ) -> str:
        kind = "performance" if any(step.numbers for step in steps) else "functionality"
        aspect = self._text(table, keys, "aspect", "availability" if is_availability else kind)
        if aspect not in ASPECTS:
            expected = ", ".join(ASPECTS)
            raise self._wrong((*keys, "aspect"), f"expected one of {expected}, got {aspect}")
        return aspect

    def _step(self, keys: tuple[str, ...], table: Any) -> Step:
        if not isinstance(table, dict):
            raise self._wrong(keys, "expected a table")
        known = ("name", "command", "shell", "timeout", "launch", "exit_status", "pattern")
        self._check_keys(table, keys, (*known, "numbers"))
        if ("shell" in table) == ("command" in table):
            raise self._wrong(keys, "a step has either a `command` (a list) or `shell` (a text)")
        if "shell" in table:
            command: tuple[str, ...] = ("/bin/sh", "-c", self._text(table, keys, "shell", None))
        else:
            command = self._words(table, keys, "command")
        pattern = self._text(table, keys, "pattern", "")
        numbers = table.get("numbers", [])
        if not isinstance(numbers, list):
            raise self._wrong((*keys, "numbers"), "expected a list of tables")
        return Step(
            self._text(table, keys, "name", command[0]),
            command,
            self._duration(table, keys, "timeout"),
            self._yes_or_no(table, keys, "launch"),
            self._whole(table, keys, "exit_status", 0),
            self._pattern((*keys, "pattern"), pattern) if pattern else None,
            tuple(self._number((*keys, "numbers"), one) for one in numbers),
        )

    def _number(self, keys: tuple[str, ...], table: Any) -> Number:
        if not isinstance(table, dict):
            raise self._wrong(keys, "expected tables with name, pattern, unit")
        self._check_keys(table, keys, ("name", "pattern", "unit"))
        unit = self._text(table, keys, "unit", None)
        if unit not in UNITS:
            expected = ", ".join(sorted(UNITS))
            raise self._wrong(keys, f"unknown unit {unit!r}, expected one of {expected}")
        pattern = self._pattern(keys, self._text(table, keys, "pattern", None))
        if pattern.groups < 1:
            raise self._wrong(keys, "the pattern of a number needs a group: (...)")
        return Number(self._text(table, keys, "name", None), pattern, unit)

    def _pattern(self, keys: tuple[str, ...], text: str) -> re.Pattern[str]:
        try:
            return re.compile(text, re.MULTILINE)
        except re.error as error:
            raise self._wrong(keys, f"{text!r} is no regular expression: {error}") from error

    def _tables(self, table: dict[str, Any], kind: str) -> list[tuple[str, dict[str, Any]]]:
        found = table.get(kind, {})
        if not isinstance(found, dict):
            raise self._wrong((kind,), f"expected tables [{kind}.NAME]")
        for name, one in found.items():
            if not isinstance(one, dict):
                raise self._wrong((kind, name), f"expected a table [{kind}.{name}]")
            if not NAME.fullmatch(name):
                raise self._wrong((kind, name), f"{name!r}: a name is letters, digits, _ . and -")
        return list(found.items())

    def _check_keys(
        self, table: Mapping[str, Any], keys: tuple[str, ...], known: Sequence[str]
    ) -> None:
        for key in table:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
                raise self._wrong((*keys, key), f"unknown key {key!r}", hint)

    def _text(
        self, table: Mapping[str, Any], keys: tuple[str, ...], key: str, default: str | None
    ) -> str:
        value = table.get(key, default)
        if not isinstance(value, str) or "\0" in value:
            said = "is missing" if value is None else f"expected a text, got {value!r}"
            raise self._wrong((*keys, key), said if value is not None else f"`{key}` {said}")
        return value

    def _words(self, table: Mapping[str, Any], keys: tuple[str, ...], key: str) -> tuple[str, ...]:
        value = table[key]
        is_list = isinstance(value, list) and len(value) > 0
        if not is_list or not all(isinstance(one, str) and "\0" not in one for one in value):
            hint = 'for instance ["cc", "-o", "hello", "hello.c"]'
            raise self._wrong((*keys, key), "expected a list of words", hint)
        return tuple(value)

    def _whole(
        self, table: Mapping[str, Any], keys: tuple[str, ...], key: str, default: int
    ) -> int:
        value = table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong((*keys, key), f"expected a whole number, got {value!r}")
        return value

    def _yes_or_no(self, table: Mapping[str, Any], keys: tuple[str, ...], key: str) -> bool:
        value = table.get(key, False)
        if not isinstance(value, bool):
            raise self._wrong((*keys, key), f"expected true or false, got {value!r}")
        return value

    def _duration(self, table: Mapping[str, Any], keys: tuple[str, ...], key: str) -> float:
        text = self._text(table, keys, key, None)
        found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) ?([a-z]+)", text)
        seconds = float(found[1]) * SECONDS.get(found[2], 0.0) if found else 0.0
        if seconds <= 0:
            said = f"expected a time with one of the units {', '.join(SECONDS)}, got {text!r}"
            raise self._wrong((*keys, key), said, "for instance 15min")
        return seconds

    def _wrong(self, keys: tuple[str, ...], message: str, hint: str | None = None) -> InputError:
        shown = ".".join(key for key in keys if not key.isdigit())
        text = f"{shown}: {message}" if shown else message
        return InputError(text, path=str(self._path), line=self._lines.of(keys), hint=hint)
