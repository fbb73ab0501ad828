"""The line of each key of a TOML text, which tomllib does not keep."""

from __future__ import annotations

import re

HEAD = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
WORD = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")
QUOTES = ('"""', "'''")


class Lines:
    """Lines of keys, counted from 1. Keys of inline tables have the line of their table."""

    def __init__(self, text: str) -> None:
        self._lines: dict[tuple[str, ...], int] = {(): 1}
        head: tuple[str, ...] = ()
        counts: dict[tuple[str, ...], int] = {}
        quote = ""
        for number, line in enumerate(text.splitlines(), 1):
            if quote:
                quote = "" if quote in line else quote
            elif found := HEAD.match(line):
                head = _words(found[2])
                if found[1] == "[[":
                    counts[head] = counts.get(head, -1) + 1
                    head = (*head, str(counts[head]))
                self._lines.setdefault(head, number)
            elif key := KEY.match(line):
                self._lines.setdefault((*head, *_words(key[1])), number)
                quote = next((one for one in QUOTES if line.count(one) % 2), "")

    def of(self, keys: tuple[str, ...]) -> int:
        """The line of a key; that of the table that it would be in if it is not there."""
        while keys not in self._lines:
            keys = keys[:-1]
        return self._lines[keys]


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip("\"'") for word in WORD.findall(text))
