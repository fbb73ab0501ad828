"""Which recorded calls are issued in a replay, and with what."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sesame.datasets.traced import IoFlag
from sesame.replay import calls
from sesame.replay.precedence import CREATE, REMOVE, USE
from sesame.replay.records import Order, Trace, contained_in_earlier
from sesame.replay.targets import Needed, Target, is_replayed
from sesame.traced.calls import is_completion
from sesame.traced.groups import Array
from sesame.traced.io_calls import MPI_IO, io_layer

DATA_NEEDS_SLOT = {"sync"} | calls.NAMING


@dataclass(frozen=True)
class Issued:
    """Rows of the record type io that are issued, by stream and time, and what they become."""

    rows: Array
    call: Array  # number of the issued call, for every row of io; 0 where there is none
    size: Array
    path: list[str | None]  # where each file of the trace is in the replay; None if nowhere
    left_out: dict[str, int]  # calls that are not issued, by recorded name


def choose_issued(trace: Trace, order: Order, target: Target) -> Issued:
    io = trace.io
    numbers = calls.call_numbers()
    issued_names = {name: calls.issued_name(name) for name in io.names}
    call = io.by_call({n: numbers[i] for n, i in issued_names.items() if i is not None}, 0)
    replayed = np.array([is_replayed(file) for file in trace.files] + [False])
    on_file = np.where(io["file"] >= 0, replayed[io["file"]], call == numbers["sync"])
    needs_handle = ~np.isin(call, [numbers[name] for name in sorted(DATA_NEEDS_SLOT)])
    possible = (call > 0) & on_file & ((io["handle"] >= 0) | ~needs_handle)
    top = order.top[: len(io)]
    in_wait = np.concatenate([np.zeros(len(io), bool), trace.mpi.by_name(is_completion) != 0])
    possible &= (top < len(io)) | in_wait[top]  # what MPI does for itself is part of its call
    is_mpi = io.by_name(io_layer) == MPI_IO  # also the record in a wait for such a call
    by_time = order.sorted[order.sorted < len(io)]
    plain = by_time[(possible & ~is_mpi)[by_time]]
    inner = contained_in_earlier(order.stream[plain], order.begin[plain], order.end[plain])
    plain = plain[~inner]
    chosen = np.zeros(len(io), bool)
    chosen[plain] = True
    # Calls of MPI-IO are issued only where the trace does not show what they did: a rank without
    # I/O of its own has given its data to another one.
    inside_mpi = np.concatenate([is_mpi, np.ones(len(trace.mpi), bool)])
    if not inside_mpi[top[plain]].any():
        chosen |= possible & is_mpi
    rows = by_time[chosen[by_time]]
    path = [str(target.place(file.path)) if is_replayed(file) else None for file in trace.files]
    aside = ~chosen & ~is_mpi & (top == np.arange(len(io)))
    counts = np.bincount(io["call"][aside], minlength=len(io.names))
    left_out = {name: int(count) for name, count in zip(io.names, counts, strict=False) if count}
    return Issued(rows, call, _sizes(trace, call), path, left_out)


def _sizes(trace: Trace, call: Array) -> Array:
    io = trace.io
    numbers = calls.call_numbers()
    by_result = np.isin(call, [numbers[name] for name in calls.SIZED_BY_RESULT])
    by_result |= (io["flags"] & IoFlag.MERGED != 0) | io.is_call(calls.PRINTS_TO_DESCRIPTOR)
    size = np.where(by_result, io["bytes"], io["size"])
    opening = np.isin(call, [numbers["open"], numbers["fopen"], numbers["fdopen"]])
    made = opening & io.is_call({"creat"})
    size = np.where(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, size)
    return np.where(opening, size & ~os.O_CLOEXEC, np.maximum(size, 0))


def roles_on_names(
    trace: Trace, issued: Issued, *, failed: bool = False
) -> tuple[Array, list[tuple[str, int]]]:
    """Operations on names that succeeded, by time: their rows, and (path, role) of each; on demand
    those that failed, too, which only used the name."""
    io = trace.io
    number_of = calls.call_numbers()
    name_of = {number: name for name, number in number_of.items()}
    naming = np.isin(issued.call[issued.rows], [number_of[name] for name in calls.NAMING])
    rows = issued.rows[naming & ((io["error"][issued.rows] == 0) | failed)]
    rows = rows[np.argsort(io["begin_ns"][rows], kind="stable")]
    found_rows: list[int] = []
    found: list[tuple[str, int]] = []
    for row in rows.tolist():
        call = name_of[int(issued.call[row])]
        path, other = _path(issued, io["file"][row]), _path(issued, io["other_file"][row])
        if path is not None:
            found_rows.append(row)
            done = io["error"][row] == 0
            found.append((path, _role(call, int(issued.size[row])) if done else USE))
        if other is not None and io["error"][row] == 0:
            found_rows.append(row)
            found.append((other, CREATE))
    return np.array(found_rows, np.int64), found


def _path(issued: Issued, file: int) -> str | None:
    return issued.path[file] if file >= 0 else None


def _role(call: str, flags: int) -> int:
    if call == "mkdir" or (call in ("open", "fopen") and flags & os.O_CREAT):
        return CREATE
    if call == "fopen" and flags & (os.O_WRONLY | os.O_TRUNC | os.O_APPEND):
        return CREATE
    return REMOVE if call in ("unlink", "rmdir", "rename") else USE


def what_is_needed(trace: Trace, issued: Issued, preopened: set[str]) -> Needed:
    """What must be there before the replay: what the run found."""
    io, needed = trace.io, Needed()
    rows, roles = roles_on_names(trace, issued)
    first: dict[str, tuple[int, int]] = {}
    for row, (path, role) in zip(rows.tolist(), roles, strict=True):
        first.setdefault(path, (row, role))
    mkdir = calls.call_numbers()["mkdir"]
    succeeded = issued.rows[io["error"][issued.rows] == 0]
    used = set(io["file"][succeeded].tolist()) | set(io["other_file"][succeeded].tolist())
    indices = [index for index in sorted(used - {-1}) if issued.path[index] is not None]
    directories = _directories(trace, issued, indices)
    extent = _extents(trace, issued)
    for index in indices:
        path, file = str(issued.path[index]), trace.files[index]
        place = Path(path)
        row, role = first.get(path, (-1, USE))
        needed.touched.add(place)
        needed.space += max(int(extent[index]), file.size_before)
        if row >= 0 and role == CREATE and int(issued.call[row]) == mkdir:
            needed.made.add(place)
        elif file.size_before >= 0 or (row >= 0 and role != CREATE) or path in preopened:
            if path in directories:
                needed.directories.add(place)
            else:
                known = file.size_before >= 0
                size = file.size_before if known else int(extent[index])
                needed.files[place] = max(size, needed.files.get(place, 0))
    needed.touched -= needed.directories
    return needed


def _directories(trace: Trace, issued: Issued, indices: list[int]) -> set[str]:
    """Paths that are directories: their kind says so, or what was done with them, or they have
    others below them."""
    io, number_of = trace.io, calls.call_numbers()
    of_directories = [number_of[name] for name in ("opendir", "mkdir", "rmdir")]
    rows = issued.rows[np.isin(issued.call[issued.rows], of_directories)]
    found = {str(issued.path[index]) for index in set(io["file"][rows].tolist())}
    found |= {str(issued.path[i]) for i in indices if trace.files[i].kind == "directory"}
    found |= {str(parent) for i in indices for parent in Path(str(issued.path[i])).parents}
    return found


def _extents(trace: Trace, issued: Issued) -> Array:
    """How long each file becomes, as far as the records tell."""
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
