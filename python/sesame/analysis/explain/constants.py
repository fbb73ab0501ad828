"""The constants of a machine file with where they come from: the comment beside each."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

TABLE = re.compile(r"^\s*\[\[?\s*([\w.\-]+)\s*\]?\]")
ASSIGNMENT = re.compile(r"^\s*([\w.\-]+)\s*=\s*(.*)$")
NO_SOURCE = "no source given"
ASSUMED = "assumed"


@dataclass(frozen=True)
class Constant:
    key: str
    value: str
    source: str

    def as_json(self) -> dict[str, str]:
        return dict(vars(self))


def constants_of(text: str, overrides: list[str]) -> dict[str, Constant]:
    """The constants by key, in the order of the file `text`. Overrides replace them."""
    found: dict[str, Constant] = {}
    about: dict[str, str] = {}  # the comment above each table
    lists: Counter[str] = Counter()
    table, above = "", ""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            above = f"{above} {stripped.lstrip('# ')}".strip()
        elif match := TABLE.match(line):
            table = match[1]
            about.setdefault(table, above)
            if stripped.startswith("[["):
                table = f"{table}.{lists[table]}"
                lists[match[1]] += 1
            table, above = table + ".", ""
        elif match := ASSIGNMENT.match(line):
            value, comment = _split_comment(match[2])
            key = table + match[1]
            found[key] = Constant(key, value.strip('"'), comment or above or _about(key, about))
        elif not stripped:
            above = ""
    assumed = tomllib.loads(text).get("assumed", [])
    for key, constant in found.items():
        if _is_below(key, assumed) and not constant.source.startswith(ASSUMED):
            found[key] = replace(constant, source=f"{ASSUMED}: {constant.source}")
    for override in overrides:
        key, _, value = override.partition("=")
        found[key] = Constant(key, value, "given on the command line")
    return found


def _about(key: str, about: dict[str, str]) -> str:
    """The comment above the innermost table that contains `key` and has one."""
    table = key
    while "." in table:
        table = table.rpartition(".")[0]
        if about.get(table):
            return about[table]
    return NO_SOURCE


def _is_below(key: str, tables: Iterable[str]) -> bool:
    """Whether the key is one of `tables` or in one of them."""
    return any(key == table or key.startswith(f"{table}.") for table in tables)


def _split_comment(rest: str) -> tuple[str, str]:
    """Value and comment of a line, split at the first # that is not in quotes."""
    quote = ""
    for i, character in enumerate(rest):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character == "#":
            return rest[:i].strip(), rest[i:].lstrip("# ").strip()
    return rest.strip(), ""
