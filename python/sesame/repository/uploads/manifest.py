"""The list of files of an upload, checked: what is uploaded is hostile."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from sesame.errors import InputError

MOST_FILES = 10_000
LONGEST_PATH, LONGEST_NAME = 1000, 255  # bytes
DEEPEST = 16
SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class SentFile:
    """A file of an upload. `sha256`: None where a browser did not compute it; then the file is
    checked by its size only."""

    path: str
    bytes: int
    sha256: str | None


@dataclass(frozen=True)
class Manifest:
    files: tuple[SentFile, ...]

    @property
    def size(self) -> int:
        return sum(one.bytes for one in self.files)

    def key(self, *more: str) -> str:
        """The same for the same files and the same `more`."""
        files = sorted((one.path, one.bytes, one.sha256 or "") for one in self.files)
        return hashlib.sha256(json.dumps([files, more]).encode()).hexdigest()

    def as_json(self) -> list[dict[str, Any]]:
        return [{"path": one.path, "bytes": one.bytes, "sha256": one.sha256} for one in self.files]


def parse_manifest(files: Sequence[Mapping[str, Any]], most_bytes: int) -> Manifest:
    """Raises InputError."""
    if not 1 <= len(files) <= MOST_FILES:
        raise InputError(f"files: expected 1 to {MOST_FILES} files, got {len(files)}")
    found = tuple(_sent_file(one) for one in files)
    require_no_conflict([one.path for one in found])
    manifest = Manifest(found)
    if manifest.size > most_bytes:
        raise InputError(f"files: {manifest.size} bytes, expected at most {most_bytes}")
    return manifest


def _sent_file(one: Mapping[str, Any]) -> SentFile:
    path, size, digest = one.get("path"), one.get("bytes"), one.get("sha256")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise InputError("files: expected the number of bytes of each file")
    if digest is not None and not (isinstance(digest, str) and SHA256.fullmatch(digest)):
        raise InputError("files: expected sha256 as 64 hexadecimal digits in lower case")
    return SentFile(checked_path(path), size, digest)


def checked_path(path: Any) -> str:
    """A relative path that stays below its directory, on every system and in every page. Raises
    InputError."""
    if not isinstance(path, str) or not path:
        raise InputError("files: expected a path of each file")
    shown = repr(path[:80])
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        raise InputError(f"{shown}: expected a name in UTF-8") from None
    if size > LONGEST_PATH or any(not one.isprintable() for one in path) or "\\" in path:
        raise InputError(f"{shown}: expected a path of printable characters without backslashes")
    parts = path.split("/")
    if any(one in ("", ".", "..") or len(one.encode()) > LONGEST_NAME for one in parts):
        raise InputError(f"{shown}: expected a relative path without empty parts, '.' and '..'")
    if len(parts) > DEEPEST:
        raise InputError(f"{shown}: expected at most {DEEPEST} directories")
    return path


def require_no_conflict(paths: Sequence[str]) -> None:
    """Raises InputError if two files have the same path, or one's path is a directory of
    another's."""
    known = set(paths)
    if len(known) != len(paths):
        raise InputError("files: two files have the same path")
    for path in paths:
        for above in PurePosixPath(path).parents:
            if str(above) in known:
                raise InputError(f"{str(above)[:80]!r}: this is a file and a directory")
