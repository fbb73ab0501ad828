"""The contents of files, by their hash, on any file system that fsspec knows."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import fsspec

CHUNK = 1 << 20


def sha256_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class FileStore:
    """Files named by their SHA-256 under `root`. They are never changed.

    `root` is a directory or an address of fsspec (`s3://bucket/path`), with the options of its
    file system. Safe for several threads and processes: a file appears when it is complete.
    """

    def __init__(self, root: str, **options: Any) -> None:
        self.system, self.root = fsspec.core.url_to_fs(root, **options)
        self.is_local = "file" in _protocols(self.system)
        if self.is_local:
            self.system.makedirs(self.root, exist_ok=True)

    def address(self, sha256: str) -> str:
        return f"{self.root}/files/{sha256[:2]}/{sha256}"

    def local_path(self, sha256: str) -> Path | None:
        """The file itself if the storage is local. It must not be changed."""
        return Path(self.address(sha256)) if self.is_local else None

    def has(self, sha256: str) -> bool:
        return bool(self.system.exists(self.address(sha256)))

    def put(self, path: Path, *, may_link: bool = False) -> str:
        """Stores a file and returns its hash. With `may_link` a local storage has a hard link to
        it where possible, so the caller must not change the file afterwards."""
        sha256 = sha256_of(path)
        if self.has(sha256):
            return sha256
        address = self.address(sha256)
        partial = f"{self.root}/partial/{secrets.token_hex(8)}"
        self.system.makedirs(self.system._parent(address), exist_ok=True)
        if not self.is_local:
            self.system.put_file(str(path), address)  # objects appear when they are complete
            return sha256
        Path(partial).parent.mkdir(exist_ok=True)
        _link_or_copy(path, Path(partial), may_link)
        Path(partial).replace(address)
        return sha256

    def size(self, sha256: str) -> int:
        """Raises FileNotFoundError."""
        return int(self.system.size(self.address(sha256)))

    def check(self) -> None:
        """Writes a file and removes it. Raises whatever the file system raises."""
        address = f"{self.root}/check-{secrets.token_hex(8)}"
        self.system.pipe_file(address, b"sesame")
        self.system.rm_file(address)

    def open(self, sha256: str) -> BinaryIO:
        """Raises FileNotFoundError."""
        opened: BinaryIO = self.system.open(self.address(sha256), "rb")
        return opened

    def fetch(self, sha256: str, path: Path) -> None:
        """Puts the file at `path`, as a hard link where possible: do not change it."""
        local = self.local_path(sha256)
        if local is not None:
            _link_or_copy(local, path, may_link=True)
        else:
            self.system.get_file(self.address(sha256), str(path))

    def derived_address(self, content_hash: str) -> str:
        return f"{self.root}/derived/{content_hash[:2]}/{content_hash}"

    def keep_derived(self, content_hash: str, directory: Path) -> None:
        """Stores a directory of files made from a version; of a local storage it is there."""
        if not self.is_local:
            for path in sorted(directory.rglob("*")):
                if path.is_file():
                    name = path.relative_to(directory).as_posix()
                    self.system.put_file(str(path), f"{self.derived_address(content_hash)}/{name}")

    def fetch_derived(self, content_hash: str, directory: Path) -> None:
        """Copies what `keep_derived` has stored into a directory, which is empty."""
        address = self.derived_address(content_hash)
        with contextlib.suppress(FileNotFoundError):
            for found in self.system.find(address):
                target = directory / found.removeprefix(f"{address}/")
                target.parent.mkdir(parents=True, exist_ok=True)
                self.system.get_file(found, str(target))

    def remove_derived(self, content_hash: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.system.rm(self.derived_address(content_hash), recursive=True)

    def all_derived(self) -> set[str]:
        """The versions, by their content, that have derived files."""
        depth = self.root.count("/") + 3
        try:
            found = self.system.find(f"{self.root}/derived")
        except FileNotFoundError:
            return set()
        return {one.split("/")[depth] for one in found}

    def all(self) -> Iterator[str]:
        """The hashes of all files that are stored."""
        with contextlib.suppress(FileNotFoundError):
            for found in self.system.find(f"{self.root}/files"):
                yield found.rpartition("/")[2]

    def remove(self, sha256: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.system.rm_file(self.address(sha256))


def _protocols(system: Any) -> tuple[str, ...]:
    return (system.protocol,) if isinstance(system.protocol, str) else tuple(system.protocol)


def _link_or_copy(source: Path, target: Path, may_link: bool) -> None:
    if may_link:
        with contextlib.suppress(OSError):  # another file system, or none with hard links
            os.link(source.resolve(), target)
            return
    shutil.copyfile(source, target)
