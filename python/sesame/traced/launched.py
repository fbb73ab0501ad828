"""The program that a recorded command ran, which a launcher may have started."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path


def program_of(command: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The program of a command and its arguments, without the launcher (mpiexec, srun) in front
    and its options."""
    words = list(command)
    if not words:
        return "", ()
    if re.fullmatch(r"mpiexec\S*|mpirun\S*|srun|aprun|jsrun", Path(words[0]).name):
        words = _after_launcher(words[1:])
    return (words[0], tuple(words[1:])) if words else ("", ())


def _after_launcher(words: list[str]) -> list[str]:
    """The words from the first that is a file, or is neither an option nor an option's value."""
    for i, word in enumerate(words):
        if word == "--":
            return words[i + 1 :]
        of_option = i > 0 and words[i - 1].startswith("-") and "=" not in words[i - 1]
        if not word.startswith("-") and ("/" in word or not of_option):
            return words[i:]
    return []
