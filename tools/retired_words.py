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

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tools/retired_words.toml"
# What changed in older versions is described in their words, and the list itself names them.
NOT_READ = ("CHANGELOG.md", "tools/retired_words.toml", "tests/tidy/test_words.py")
BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")


@dataclass(frozen=True)
class Retired:
    """One entry of the list; `pattern` is compared with `spaced` text unless it is raw."""

    pattern: re.Pattern[str]
    is_raw: bool
    instead: str
    except_in: frozenset[str]


def retired_words() -> list[Retired]:
    entries = tomllib.loads(LIST.read_text())["retired"]
    return [
        Retired(
            re.compile(entry["raw"])
            if "raw" in entry
            else re.compile(rf"\b(?:{entry['words']})\b", re.IGNORECASE),
            "raw" in entry,
            entry["instead"],
            frozenset(entry.get("except_in", ())),
        )
        for entry in entries
    ]


def spaced(line: str) -> str:
    """The words of a line, those inside identifiers too: `fileSize_of` is "file Size of"."""
    return BORDER.sub(" ", line)


def uses(path: str, text: str, words: list[Retired]) -> Iterator[str]:
    """A sentence for each use of a retired word in a file's text."""
    mine = [word for word in words if path not in word.except_in]
    for number, line in enumerate(text.splitlines(), 1):
        plain = spaced(line)
        for word in mine:
            found = word.pattern.search(line if word.is_raw else plain)
            if found:
                yield f"{path}:{number}: '{found[0]}'; write: {word.instead}"


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
