"""Selects the recorded calls that a replay issues, with their arguments."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from sesame.datasets.traced import IoFlag
from sesame.replaying import calls
from sesame.replaying.precedence import CREATE, REMOVE, USE
from sesame.replaying.records import Order, Trace, contained_in_earlier
from sesame.replaying.targets import Target, is_replayed
from sesame.traced.calls import is_completion
from sesame.traced.groups import Array
from sesame.traced.io_calls import MPI_IO, io_layer

DATA_NEEDS_SLOT = {"sync"} | calls.NAMING


@dataclass(frozen=True)
class Issued:
    """The records of type io that are issued, and the calls that they become."""

    rows: Array  # by stream and time
    call: Array  # number of the issued call, for every row of io; 0 where there is none
    size: Array  # argument of the issued call, for every row of io
    path: list[str | None]  # of each file of the trace in the replay; None if it is not replayed
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
    possible &= (top < len(io)) | in_wait[top]  # I/O that MPI does for itself belongs to its call
    is_mpi = io.by_name(io_layer) == MPI_IO  # includes records inside a wait for such a call
    by_time = order.sorted[order.sorted < len(io)]
    plain = by_time[(possible & ~is_mpi)[by_time]]
    inner = contained_in_earlier(order.stream[plain], order.begin[plain], order.end[plain])
    plain = plain[~inner]
    chosen = np.zeros(len(io), bool)
    chosen[plain] = True
    # Calls of MPI-IO are issued only if the trace does not show the I/O inside any of them. If it
    # does, a rank without I/O inside its call has given its data to another rank.
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
    """Operations on names by time: their rows, and (path, role) of each.

    Only those that succeeded; with `failed` also those that failed, with the role USE.
    """
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
