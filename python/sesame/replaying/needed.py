"""Finds the files that must exist before a replay: those that existed before the traced run."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np

from sesame.replaying import calls
from sesame.replaying.issued import Issued, roles_on_names
from sesame.replaying.precedence import CREATE
from sesame.replaying.records import Trace
from sesame.replaying.targets import Needed
from sesame.traced.groups import Array

OF_DIRECTORIES = ("opendir", "fdopendir", "readdir", "mkdir", "rmdir")
GIVE_NAMES = ("rename", "link", "symlink")


def what_is_needed(trace: Trace, issued: Issued, preopened: set[str]) -> Needed:
    """`preopened`: paths that a process uses in its first record of them without opening them."""
    io, needed = trace.io, Needed()
    names = _Names(trace, issued)
    succeeded = issued.rows[io["error"][issued.rows] == 0]
    used = set(io["file"][succeeded].tolist()) | set(io["other_file"][succeeded].tolist())
    indices = [index for index in sorted(used - {-1}) if issued.path[index] is not None]
    directories = _directories(trace, issued, indices)
    directories |= {origin for path in directories if (origin := names.origin(path)) is not None}
    extent = _extents(trace, issued)
    needed.made = {Path(path) for path in names.made}
    for index in indices:
        path, file = str(issued.path[index]), trace.files[index]
        size = file.size_before if file.size_before >= 0 else int(extent[index])
        needed.touched.add(Path(path))
        needed.space += max(int(extent[index]), file.size_before)
        origin = names.origin(path)
        is_found = origin is not None and names.is_found(origin)
        if path in preopened and (origin != path or not is_found):
            needed.late.add(path)
        if origin is None or not is_found:
            continue
        if origin in directories:
            needed.directories.add(Path(origin))
        elif origin == path or names.size_before.get(origin, -1) < 0:
            place = Path(origin)
            needed.touched.add(place)
            needed.files[place] = max(size, needed.files.get(place, 0))
    needed.touched |= names.moved_with_directories(needed.touched, directories)
    needed.touched -= needed.directories
    return needed


class _Names:
    """The names that the run created, and where their files were before the run."""

    def __init__(self, trace: Trace, issued: Issued) -> None:
        name_of = {number: name for name, number in calls.call_numbers().items()}
        rows, roles = roles_on_names(trace, issued)
        self._first_role: dict[str, int] = {}
        # By name that the run made: the earlier name of its file; None: a new file.
        self._source: dict[str, str | None] = {}
        self._renames: list[tuple[str, str]] = []
        self.size_before: dict[str, int] = {}
        for row, (path, role) in zip(rows.tolist(), roles, strict=True):
            call = name_of[int(issued.call[row])]
            is_first = path not in self._first_role
            self._first_role.setdefault(path, role)
            if role != CREATE:
                continue
            source = issued.path[trace.io["file"][row]] if call in GIVE_NAMES else None
            if is_first and (call == "mkdir" or call in GIVE_NAMES):
                self._source[path] = source
            if call == "rename" and source is not None:
                self._renames.append((source, path))
        for place, file in zip(issued.path, trace.files, strict=True):
            if place is not None:
                self.size_before[place] = max(file.size_before, self.size_before.get(place, -1))

    @property
    def made(self) -> set[str]:
        return set(self._source)

    def origin(self, path: str) -> str | None:
        """The path before the run; None if the run made it, or a directory above it."""
        for place in (path, *map(str, Path(path).parents)):
            if place in self._source:
                source = self._source[place]
                return None if source is None else self.origin(source + path[len(place) :])
        return path

    def is_found(self, path: str) -> bool:
        created = self._first_role.get(path) == CREATE
        return not created or (self.size_before.get(path, -1) >= 0 and path not in self._source)

    def moved_with_directories(self, paths: set[Path], directories: set[str]) -> set[Path]:
        """The new paths of `paths` after directories above them are renamed."""
        moved: set[Path] = set()
        for source, path in self._renames:
            if source in directories:
                inside = [one for one in paths | moved if Path(source) in one.parents]
                moved |= {Path(path) / one.relative_to(source) for one in inside}
        return moved


def _directories(trace: Trace, issued: Issued, indices: list[int]) -> set[str]:
    """Paths that are directories: by their recorded kind, by the calls on them, or because another
    path is below them, even if only a failed lookup names that."""
    io, number_of = trace.io, calls.call_numbers()
    call = issued.call[issued.rows]
    chosen = np.isin(call, [number_of[name] for name in OF_DIRECTORIES])
    opens_directory = issued.size[issued.rows] & os.O_DIRECTORY != 0
    rows = issued.rows[chosen | ((call == number_of["open"]) & opens_directory)]
    found = {issued.path[index] for index in set(io["file"][rows].tolist())}
    found |= {issued.path[i] for i in indices if trace.files[i].kind == "directory"}
    absent = issued.rows[io["error"][issued.rows] == errno.ENOENT]
    below = {issued.path[i] for i in (*indices, *io["file"][absent].tolist()) if i >= 0} - {None}
    found |= {str(parent) for path in below for parent in Path(str(path)).parents}
    return {path for path in found if path is not None}


def _extents(trace: Trace, issued: Issued) -> Array:
    """The largest size of each file in the run, as far as the records show."""
    io, rows = trace.io, issued.rows
    number_of = calls.call_numbers()
    data = rows[
        np.isin(issued.call[rows], [number_of[name] for name in calls.reads() | calls.writes()])
    ]
    longest = np.zeros(len(trace.files) + 1, np.int64)
    known = data[io["offset"][data] >= 0]
    np.maximum.at(longest, io["file"][known], io["offset"][known] + io["bytes"][known])
    lengths = [number_of[name] for name in ("posix_fallocate", "fallocate", "ftruncate")]
    sized = rows[np.isin(issued.call[rows], lengths) & (io["error"][rows] == 0)]
    np.maximum.at(longest, io["file"][sized], io["offset"][sized] + issued.size[sized])
    unknown = data[io["offset"][data] < 0]
    np.add.at(longest, io["file"][unknown], io["bytes"][unknown])
    return longest
