"""Lists uses of retired words: `python tools/retired_words.py [PATH ...]`; exit status 1 if any.

The list and what to write instead are in `retired_words.toml`.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tools/retired_words.toml"
# What changed in older versions is described in their words, and the list itself names them.
NOT_READ = ("CHANGELOG.md", "tools/retired_words.toml", "tests/tidy/test_words.py")
BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")


@dataclass(frozen=True)
class Retired:
    """One entry of the list; `pattern` is compared with `spaced` text unless it is raw.

    `filter` finds at least every line that `pattern` finds, in lower case unless it is raw. It
    does not begin with a border of words, which makes a search ten times as fast.
    """

    pattern: re.Pattern[str]
    filter: re.Pattern[str]
    is_raw: bool
    instead: str
    except_in: frozenset[str]


def retired_words() -> list[Retired]:
    entries = tomllib.loads(LIST.read_text())["retired"]
    return [_retired(entry) for entry in entries]


def _retired(entry: dict[str, Any]) -> Retired:
    instead, except_in = entry["instead"], frozenset(entry.get("except_in", ()))
    if "raw" in entry:
        pattern = re.compile(entry["raw"])
        return Retired(pattern, pattern, True, instead, except_in)
    words = rf"(?:{entry['words']})\b"
    pattern = re.compile(rf"\b{words}", re.IGNORECASE)
    return Retired(pattern, re.compile(words), False, instead, except_in)


def spaced(text: str) -> str:
    """The words of a text, those inside identifiers too: `fileSize_of` is "file Size of"."""
    return BORDER.sub(" ", text)


def uses(path: str, text: str, words: list[Retired]) -> Iterator[str]:
    """A sentence for each use of a retired word in a file's text."""
    plain = spaced(text)
    lines, plain_lines, lower = text.split("\n"), plain.split("\n"), plain.lower()
    found = []
    for word in words:
        if path in word.except_in:
            continue
        searched, compared = (text, lines) if word.is_raw else (lower, plain_lines)
        for number in {_line_at(searched, one.start()) for one in word.filter.finditer(searched)}:
            if use := word.pattern.search(compared[number]):
                found.append((number, f"'{use[0]}'; write: {word.instead}"))
    for number, sentence in sorted(found):
        yield f"{path}:{number + 1}: {sentence}"


def _line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position)


def tracked_files(below: list[str]) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *below],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    return [path for path in listed.stdout.split("\0") if path and path not in NOT_READ]


def all_uses(below: list[str]) -> Iterator[str]:
    words = retired_words()
    for path in tracked_files(below):
        file = ROOT / path
        if file.is_symlink() or not file.is_file():
            continue
        try:
            text = file.read_text()
        except UnicodeDecodeError:
            continue
        yield from uses(path, text, words)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", metavar="PATH")
    found = list(all_uses([str(Path(path)) for path in parser.parse_args().paths]))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
