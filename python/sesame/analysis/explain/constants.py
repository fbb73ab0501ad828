"""The constants of a machine file with where they come from: the comment beside each."""

from __future__ import annotations

import re
from dataclasses import dataclass

TABLE = re.compile(r"^\s*\[\[?\s*([\w.\-]+)\s*\]?\]")
ASSIGNMENT = re.compile(r"^\s*([\w.\-]+)\s*=\s*(.*)$")
NO_SOURCE = "no source given"


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
    table, above = "", ""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            above = f"{above} {stripped.lstrip('# ')}".strip()
        elif match := TABLE.match(line):
            table, above = match[1] + ".", ""
        elif match := ASSIGNMENT.match(line):
            value, comment = _split_comment(match[2])
            key = table + match[1]
            found[key] = Constant(key, value.strip('"'), comment or above or NO_SOURCE)
        elif not stripped:
            above = ""
    for override in overrides:
        key, _, value = override.partition("=")
        found[key] = Constant(key, value, "given on the command line")
    return found


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
