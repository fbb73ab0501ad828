"""Removes the oldest data sets of a collector, by their age and their size together."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sesame.datasets import DataSet
from sesame.errors import SesameError
from sesame.measurement.collector.ages import Ages
from sesame.measurement.collector.journal import DAMAGED

SEGMENT = "measured-"
MADE = re.compile(
    rf"{SEGMENT}\d{{8}}T\d{{6}}(-\d+)?\.sesame|{DAMAGED}-(journal-\d+|received\.json)"
)


@dataclass(frozen=True)
class Keeping:
    """How long data sets are kept, and how much of them; None: without limit."""

    seconds: float | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class _Kept:
    path: Path
    bytes: int
    changed_s: float


def remove_old(directory: Path, keeping: Keeping, ages: Ages, say: Callable[[str], None]) -> int:
    """Removes what `keeping` does not cover, the oldest first; returns the bytes that remain.

    Only data sets that a collector made are removed, by their name and info, and files with damage
    that it set aside. A data set is renamed first, so that no other process reads it in part.
    """
    found = _found(directory)
    total = sum(one.bytes for one in found)
    if keeping == Keeping():
        return total
    age_of = ages.update({one.path.name: one.changed_s for one in found})
    for one in sorted(found, key=lambda one: (-age_of[one.path.name], one.changed_s)):
        is_old = keeping.seconds is not None and age_of[one.path.name] > keeping.seconds
        if not is_old and (keeping.bytes is None or total <= keeping.bytes):
            break
        if not _is_of_collector(one.path):
            total -= one.bytes
            continue
        try:
            _remove(one.path)
        except OSError as error:
            say(f"{one.path}: cannot be removed: {error.strerror}")
            continue
        total -= one.bytes
        reason = "older than" if is_old else "more data than"
        say(f"{one.path}: removed, {reason} the settings keep")
    return total


def _found(directory: Path) -> list[_Kept]:
    found = []
    for path in directory.iterdir():
        if not MADE.fullmatch(path.name) or path.is_symlink():
            continue
        with suppress(OSError):  # removed meanwhile
            files = [path, *path.iterdir()] if path.is_dir() else [path]
            states = [file.lstat() for file in files]
            size = sum(512 * state.st_blocks for state in states)
            found.append(_Kept(path, size, max(state.st_mtime for state in states)))
    return found


def _is_of_collector(path: Path) -> bool:
    """Whether it is a file with damage, or the data set of a journal. A user may have given another
    one such a name."""
    if path.suffix != ".sesame":
        return path.is_file()
    try:
        return "journal" in DataSet(path).info
    except (SesameError, OSError, ValueError):
        return False


def _remove(path: Path) -> None:
    if not path.is_dir():
        path.unlink()
        return
    hidden = path.with_name(f".{path.name}")
    path.rename(hidden)
    shutil.rmtree(hidden)
