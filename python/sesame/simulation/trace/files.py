"""How the player repeats calls on files that are on a file system of the target machine.

For a call of MPI-IO it plays the accesses inside the call, as the MPI library made them in the
traced run. A collective call also exchanges the data between its ranks, and has a barrier. If the
trace has no accesses inside such calls, for instance an import, the player accesses the data of the
call itself.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from sesame.datasets import DataSet
from sesame.datasets.traced import IoFlag
from sesame.simulation.trace.calls import Role
from sesame.simulation.trace.events import Array, Events
from sesame.traced.io_calls import (
    CHANGE,
    CLOSE,
    COPIES,
    OPEN,
    QUERY,
    READ,
    STDIO,
    SYNC,
    WRITE,
    io_kind,
    io_layer,
    is_mpi_io,
)

KERNEL = ("/dev", "/proc", "/sys")
KINDS = ("regular", "directory", "unknown")
OPEN_FLAGS = os.O_ACCMODE | os.O_CREAT | os.O_TRUNC
STREAM_FLAGS = OPEN_FLAGS | os.O_APPEND
MAPPING = ("mmap", "munmap", "mremap", "msync")  # timed: page accesses are not recorded
RESIZES = ("truncate", "ftruncate", "fallocate", "posix_fallocate", "MPI_File_set_size")
REMOVES = ("unlink", "unlinkat", "remove", "rmdir", "MPI_File_delete")
RENAMES = ("rename", "renameat", "renameat2")
MAKES = ("mkdir", "mkdirat", "link", "linkat", "symlink", "symlinkat")
PATHLESS = ("readdir", "getdents", "getdirentries", "getcwd")  # not in the model: take no time
DATA = ("file_read", "file_write")
DROP = "file_drop"


@dataclass(frozen=True)
class FilePlacement:
    """Paths of a traced run's files on the target machine, by file index; None where not
    simulated."""

    paths: tuple[str | None, ...]
    # Size in bytes of each file that existed before the run; -1: only its directory did.
    initial: Mapping[str, int]

    @property
    def known(self) -> Array:
        return np.array([path is not None for path in self.paths], bool)


def place_files(
    data_set: DataSet,
    mounts: Sequence[str],
    mappings: Sequence[tuple[str, str]],
    directory: str,
) -> FilePlacement:
    """Maps the files of a traced run on the mounts of the target machine.

    `directory` is the directory that the mount "." stands for. A mapping (OLD, NEW) moves files
    that were below OLD in the traced run to NEW.
    """
    if not data_set.has("file") or not mounts:
        return FilePlacement((), {})
    columns = ["index", "path", "kind", "size_before"]
    rows = {row["index"]: row for row in data_set.table("file", columns).to_pylist()}
    below = [directory if mount == "." else mount for mount in mounts]
    paths: list[str | None] = [None] * (max(rows, default=-1) + 1)
    initial: dict[str, int] = {}
    for index, row in rows.items():
        if row["kind"] not in KINDS or not row["path"].startswith("/"):
            continue
        path = _mapped(posixpath.normpath(row["path"]), mappings, directory)
        if any(is_below(path, mount) for mount in below) and not any(
            is_below(path, k) for k in KERNEL
        ):
            paths[index] = path
            size = row["size_before"] if row["kind"] == "regular" else -1
            initial[path] = max(initial.get(path, -1), size)
    return FilePlacement(tuple(paths), initial)


def is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _mapped(path: str, mappings: Sequence[tuple[str, str]], directory: str) -> str:
    for old, new in sorted(mappings, key=lambda pair: -len(pair[0])):
        if is_below(path, old):
            rest = path[len(old.rstrip("/")) :].lstrip("/")
            return posixpath.normpath(posixpath.join(directory, new, rest))
    return path


def choose_files(events: Events, placed: FilePlacement) -> tuple[Events, Array]:
    """Replaces calls on placed files by the player's calls. Returns all events, and which of them
    are such calls."""
    if not placed.known.any():
        return events, np.zeros(len(events), bool)
    has_inner = bool(_inner(events, placed).any())
    events = _with_writes_of_copies(events, placed)
    events = _with_ends_of_collectives(events, _on_placed(events, placed), has_inner)
    here, inner = _on_placed(events, placed), _inner(events, placed)
    mpi_io = _of_calls(events, is_mpi_io)
    data = _of_calls(events, lambda name: io_kind(name) in (READ, WRITE))
    alone = ~data | ((events.bytes > 0) & (events.offset >= 0))
    alone &= not has_inner
    outermost = here & (events.parent < 0) & (events.role != Role.COLLECTIVE)
    played = inner | (outermost & (~mpi_io | alone))
    events.parent[inner] = -1
    _assign(events, np.flatnonzero(played))
    gone = outermost & mpi_io & ~alone
    events.parent[gone] = np.flatnonzero(gone)  # its own parent: marks it as left out
    return events, played


def _inner(events: Events, placed: FilePlacement) -> Array:
    """Whether each event is an access that MPI-IO made inside a call, also one that completes a
    request."""
    here, mpi_io = _on_placed(events, placed), _of_calls(events, is_mpi_io)
    outer = np.maximum(events.parent, 0)
    in_call = (mpi_io & here)[outer] | (events.role[outer] == Role.COMPLETION)
    inner: Array = here & ~mpi_io & (events.parent >= 0) & in_call
    return inner


def _on_placed(events: Events, placed: FilePlacement) -> Array:
    inside = events.is_io & (events.file >= 0) & (events.file < len(placed.paths))
    here: Array = inside & placed.known[np.where(inside, events.file, 0)]
    here &= ((events.flags & int(IoFlag.IMPLIED)) == 0) & ~_of_calls(events, MAPPING.__contains__)
    return here


def _of_calls(events: Events, test: Any) -> Array:
    return np.array([bool(test(name)) for name in events.names], bool)[events.call]


def _with_writes_of_copies(events: Events, placed: FilePlacement) -> Events:
    """Adds a write after each copy from file to file, since the copy is played as its read. The
    trace does not record the offset: the write continues after the last one."""
    onto = np.isin(events.other_file, np.flatnonzero(placed.known)) & (events.bytes > 0)
    copies = np.flatnonzero(
        _on_placed(events, placed) & onto & _of_calls(events, COPIES.__contains__)
    )
    if not len(copies):
        return events
    result, is_write = _insert(events, copies, copies)
    result.call[is_write] = _number_of(result, "write")
    result.file[is_write] = result.other_file[is_write]
    result.handle[is_write] = result.offset[is_write] = -1
    return result


def _insert(events: Events, behind: Array, copied: Array) -> tuple[Events, Array]:
    """Inserts copies of the events `copied`, each after the event in `behind`. Returns all events,
    and which of them are copies."""
    source = np.insert(np.arange(len(events)), behind + 1, copied)
    is_copy = np.insert(np.zeros(len(events), bool), behind + 1, True)
    place = np.append(np.flatnonzero(~is_copy), -1)
    arrays = {f.name: getattr(events, f.name)[source] for f in fields(Events) if f.name != "names"}
    for name in ("completed_by", "parent"):
        arrays[name] = place[arrays[name]]
    arrays["completed_by"][is_copy] = -1
    return Events(**arrays, names=events.names), is_copy


def _with_ends_of_collectives(events: Events, here: Array, has_inner: bool) -> Events:
    """Replaces each collective call of MPI-IO by two collectives, before and after the accesses
    inside it: one exchanges the data, the other is a barrier.

    If the trace has no such accesses, the call stays as an access to its data, followed by a
    barrier.
    """
    together = here & (events.parent < 0) & (events.comm >= 0) & _of_calls(events, is_mpi_io)
    together &= (events.flags & int(IoFlag.COLLECTIVE)) != 0
    together &= ~_of_calls(events, lambda name: name.endswith("_end"))
    calls = np.flatnonzero(together)
    if not len(calls):
        return events
    last = calls.copy()
    inside = np.flatnonzero(events.parent >= 0)
    which = np.searchsorted(calls, events.parent[inside])
    known = (which < len(calls)) & (
        calls[np.minimum(which, len(calls) - 1)] == events.parent[inside]
    )
    np.maximum.at(last, which[known], inside[known])
    result, is_end = _insert(events, last, calls)
    kind = np.array([io_kind(name) for name in events.names])[result.call]
    together = np.insert(together, last + 1, True)
    writes, reads = (together & (kind == of) & has_inner for of in (WRITE, READ))
    exchange = (writes & ~is_end) | (reads & is_end)
    synchronizing = (together & is_end & ~exchange) | (reads & ~is_end)
    _set_played(result, exchange, "MPI_Alltoallv", Role.COLLECTIVE)
    _set_played(result, synchronizing, "MPI_Barrier", Role.COLLECTIVE)
    return result


def _set_played(events: Events, chosen: Array, name: str, role: Role) -> None:
    events.role[chosen] = role
    events.played[chosen] = _number_of(events, name)


def _number_of(events: Events, name: str) -> int:
    if name not in events.names:
        events.names.append(name)
    return events.names.index(name)


def _assign(events: Events, chosen: Array) -> None:
    failed = events.error[chosen] != 0
    moves = events.bytes[chosen] > 0
    drops = (events.flags[chosen] & int(IoFlag.DONT_NEED)) != 0
    for call in np.unique(events.call[chosen]).tolist():
        played = player_call(events.names[call])
        of_call = events.call[chosen] == call
        nothing = of_call & (failed | ((played in DATA) & ~moves) | ((played == DROP) & ~drops))
        events.role[chosen[of_call]] = Role.LOCAL
        if played:
            _set_played(events, chosen[of_call & ~nothing], played, Role.FILE)
        if io_kind(events.names[call]) in (
            OPEN,
            QUERY,
            CHANGE,
        ):  # the model handles these nevertheless
            _set_played(events, chosen[of_call & failed], "file_stat", Role.FILE)


def player_call(name: str) -> str:
    """The player's call for a call on a file; empty if the call takes no time in the model."""
    plain = name.removeprefix("P").removesuffix("_c")
    kind, is_stream = io_kind(name), io_layer(name) == STDIO
    for names, played in (
        (RESIZES, "file_resize"),
        (REMOVES, "file_remove"),
        (RENAMES, "file_rename"),
        (MAKES, "file_mkdir"),
        (("fflush",), "file_flush"),
        (("posix_fadvise",), DROP),
        (("fdopen", "closedir", *PATHLESS), ""),
    ):
        if plain in names:
            return played
    if kind == OPEN and "dir" in plain:
        return "file_stat"
    of_kind = {
        READ: "file_read",
        WRITE: "file_write",
        OPEN: "file_open_stream" if is_stream else "file_open",
        CLOSE: "file_close",
        SYNC: "file_sync",
        QUERY: "" if is_mpi_io(name) else "file_stat",
        CHANGE: "" if is_mpi_io(name) else "file_stat",
    }
    return of_kind.get(kind, "")


def fill_operations(events: Events, operations: Array, ranks: int) -> Array:
    """Fills in the fields of calls on files, as core/player/files.cc reads them. Returns the number
    of opens of each rank."""
    chosen = np.flatnonzero(np.isin(events.role, (Role.FILE, Role.FILE_START)))
    if not len(chosen):
        return np.zeros(ranks, np.int64)
    opening, counts = _number_opens(events, chosen, ranks)
    played = np.array(events.names)[events.played[chosen]]
    flags = events.size[chosen]
    flags = np.where(played == "file_open_stream", flags & STREAM_FLAGS, flags & OPEN_FLAGS)
    opens = np.char.startswith(played, "file_open")
    second = np.where(played == "file_rename", np.maximum(events.other_file[chosen], 0), 0)
    operations["comm"][chosen] = events.file[chosen]
    operations["peer"][chosen] = opening
    operations["tag"][chosen] = np.where(opens, flags, second)
    moved = np.where(played == DROP, events.size[chosen], events.bytes[chosen])
    operations["bytes"][chosen] = moved
    background = events.role[chosen] == Role.FILE_START
    operations["list"][chosen[~background]] = events.offset[chosen[~background]]
    operations["number"][chosen] = events.offset[chosen]
    return counts


def _number_opens(events: Events, chosen: Array, ranks: int) -> tuple[Array, Array]:
    """Numbers the opens of each rank; accesses without an open get one for each file."""
    handle = events.handle[chosen]
    key = np.where(handle >= 0, handle, -2 - events.file[chosen])
    rows = np.stack([events.rank[chosen], key], axis=1)
    unique, number = np.unique(rows, axis=0, return_inverse=True)
    counts = np.bincount(unique[:, 0], minlength=ranks)
    first = np.cumsum(counts) - counts
    return number.ravel() - first[events.rank[chosen]], counts
