"""The files of a replay: where they are, which are made before it, which are removed after it."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sesame.errors import InputError, OutputError
from sesame.replaying.records import TracedFile
from sesame.settings import setting

SYSTEM = ("/proc", "/sys", "/dev", "/run")
SHARED_MEMORY = "/dev/shm"
CHUNK = 1 << 20
MOST_NAMED = 3  # files in a message
SPARE_SPACE = 1.02  # a file system needs some space for metadata


def is_replayed(file: TracedFile) -> bool:
    if not file.path.startswith("/") or file.kind not in ("regular", "directory", "unknown"):
        return False
    return not _under(file.path, SYSTEM) or _under(file.path, (SHARED_MEMORY,))


def _under(path: str, directories: tuple[str, ...]) -> bool:
    return any(
        path == directory or path.startswith(directory.rstrip("/") + "/")
        for directory in directories
    )


@dataclass(frozen=True)
class Target:
    """Where the files of the traced run are in the replay."""

    directory: Path | None
    mappings: tuple[tuple[str, str], ...] = ()  # (OLD, NEW), absolute and without / at the end

    def place(self, path: str) -> Path:
        path = posixpath.normpath(path)
        old, new = self._mapping(path)
        if old:
            return Path(new + path[len(old.rstrip("/")) :])
        if self.directory is None:
            raise InputError(
                f"the run used {path}, and nothing says where that is in the replay",
                hint=f"give {setting('directory', 'DIR')} for all files, or "
                f"{setting('mappings', {'OLD': 'NEW'})} for some",
            )
        return self.directory / path.lstrip("/")

    def _mapping(self, path: str) -> tuple[str, str]:
        """The mapping of the longest directory that contains the path, or else two empty texts."""
        above = [pair for pair in self.mappings if _under(path, pair[:1])]
        return max(above, key=lambda pair: len(pair[0]), default=("", ""))

    def check_mappings(self, files: Sequence[TracedFile]) -> None:
        """Raises InputError for a mapping that puts no file anywhere: it may be misspelled."""
        paths = [posixpath.normpath(file.path) for file in files if is_replayed(file)]
        unused = {old for old, _ in self.mappings} - {self._mapping(path)[0] for path in paths}
        if unused:
            raise InputError(
                f"{setting('mappings')}: no file of the run is placed by that of {min(unused)}",
                hint=f"its files are {', '.join(paths[:MOST_NAMED])}, …" if paths else None,
            )


@dataclass
class Needed:
    """The files that must exist before a replay, and those that it changes, by their new path."""

    files: dict[Path, int] = field(default_factory=dict)  # sizes
    directories: set[Path] = field(default_factory=set)
    made: set[Path] = field(default_factory=set)  # names that the run itself makes
    # Open in a process from its begin, although they do not exist when the replay begins.
    late: set[str] = field(default_factory=set)
    touched: set[Path] = field(default_factory=set)  # used or made by the run
    space: int = 0  # bytes of all files together, at most


class Layout:
    """Makes the files that a run needs, and removes the files of a replay.

    `with Layout(needed, …):` makes the files at the beginning. At the end, also after Ctrl-C, it
    removes everything that did not exist before, unless `keep` is set.
    """

    def __init__(self, needed: Needed, *, payload: str, force: bool, keep: bool) -> None:
        self._needed = needed
        self._payload = payload
        self._force = force
        self._keep = keep
        self._there_before: set[Path] = set()
        self._new_directories: list[Path] = []

    def __enter__(self) -> Layout:
        self._check()
        try:
            self._make()
        except BaseException as error:
            self._remove()
            if isinstance(error, OSError):
                raise OutputError(f"{error.filename}: cannot write: {error.strerror}") from error
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if not self._keep:
            self._remove()

    def drop_caches(self) -> str:
        """Drops the files' data from the page cache, as root all caches; returns a description."""
        for path in self._needed.files:
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        if os.geteuid() != 0:
            return "of these files"
        os.sync()
        Path("/proc/sys/vm/drop_caches").write_text("3\n")
        return "of the whole machine"

    def _check(self) -> None:
        touched = self._needed.touched | set(self._needed.files)
        self._there_before = {path for path in touched if os.path.lexists(path)}
        in_the_way = {path for path in self._there_before if not path.is_dir()}
        if in_the_way and not self._force:
            raise OutputError(
                f"{min(in_the_way)}: already there, and the replay would write over it",
                hint=f"give another {setting('directory')}; {setting('force', True)} writes over "
                "it",
            )
        by_device: dict[Path, int] = {}
        for root in {_existing_parent(path) for path in touched}:
            by_device[root] = root.stat().st_dev
        for root in by_device:
            if not os.access(root, os.W_OK | os.X_OK):
                raise OutputError(f"{root}: permission denied: cannot make files there")
        if len(set(by_device.values())) == 1:
            self._check_space(next(iter(by_device)))

    def _check_space(self, root: Path) -> None:
        there = sum(path.stat().st_size for path in self._there_before if path.is_file())
        file_system = os.statvfs(root)
        free = file_system.f_bavail * file_system.f_frsize + there
        wanted = int(self._needed.space * SPARE_SPACE)
        if wanted > free:
            raise OutputError(
                f"{root}: replay target too small: the files of the run take {wanted:,} bytes, "
                f"free are {free:,}"
            )

    def _make(self) -> None:
        needed = self._needed
        parents = {path.parent for path in needed.touched | set(needed.files)}
        wanted = {p for p in parents | needed.directories if not self._is_made_by_run(p)}
        for path in sorted(wanted):
            self._make_directory(path)
        for path in needed.touched & self._there_before:
            if not path.is_dir():
                path.unlink()  # `force`: begin as the run did
        for path, size in needed.files.items():
            _write(path, size, self._payload)
        os.sync()  # else the kernel would write the data during the replay

    def _is_made_by_run(self, path: Path) -> bool:
        return any(one in self._needed.made for one in (path, *path.parents))

    def _make_directory(self, path: Path) -> None:
        missing = []
        while not path.exists():
            missing.append(path)
            path = path.parent
        for one in reversed(missing):
            one.mkdir()
            self._new_directories.append(one)

    def _remove(self) -> None:
        needed = self._needed
        ours = (needed.touched | set(needed.files)) - self._there_before
        for path in sorted(ours, reverse=True):  # what is inside first
            with suppress(FileNotFoundError, NotADirectoryError):
                if path.is_dir() and not path.is_symlink():
                    _remove_empty(path)
                else:
                    path.unlink()
        for path in reversed(self._new_directories):
            _remove_empty(path)


def _remove_empty(path: Path) -> None:
    with suppress(OSError):  # another process has created a file in it
        path.rmdir()


def _existing_parent(path: Path) -> Path:
    while not path.is_dir():
        path = path.parent
    return path


def _write(path: Path, size: int, payload: str) -> None:
    random = np.random.default_rng(20121)
    chunk = bytes(CHUNK) if payload == "zero" else random.bytes(CHUNK)
    if payload == "compressible":
        chunk = b"".join(bytes(2048) + chunk[at + 2048 : at + 4096] for at in range(0, CHUNK, 4096))
    with path.open("wb", buffering=0) as file:
        for at in range(0, size, CHUNK):
            part = memoryview(chunk)[: min(CHUNK, size - at)]
            while part:
                part = part[file.write(part) :]
