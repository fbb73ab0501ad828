"""Computes the file offsets of DFTracer's calls from the open files.

Only opens, seeks and other calls without data are handled one by one. Offsets of the transfers
between two of them are running sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sesame.exchange.dftracer_calls import MOST, Handler, OpenFile, Owner

Ints = npt.NDArray[np.int64]


class Calls(Protocol):
    """The columns needed of a block of calls, one element for each call."""

    is_transfer: npt.NDArray[np.bool_]
    offset: Ints  # -1: not recorded
    size: Ints
    bytes: Ints
    arguments: dict[int, Any]  # of calls that transfer nothing


def positions(
    calls: Calls,
    owners: Sequence[Owner],
    paths: Sequence[Any],
    keys: Ints,
    handlers: Sequence[Handler | None],
) -> tuple[Ints, ...]:
    """Handle, offset, size and bytes of each call; updates the positions of open files.

    `keys` has a number for each call, which stands for its process and file: `owners[key]` and
    `paths[key]`. `handlers` are those of the calls that transfer nothing, in the calls' order.
    """
    order = np.argsort(keys, kind="stable")
    key, transfers, offset = keys[order], calls.is_transfer[order], calls.offset[order]
    step = np.where(transfers & (offset < 0), calls.bytes[order], 0)
    moved = np.cumsum(step)
    before = moved - step
    is_first = np.diff(key, prepend=-1) != 0
    # A stretch is a call handled by itself (or a file's first call) and the transfers after it.
    begins = is_first | ~transfers
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], len(order))
    stretch = np.cumsum(begins) - 1
    lengths = moved[ends - 1] - before[starts]
    handle, position = np.full(len(starts), -1), np.full(len(starts), -1)
    found = [np.full(len(order), -1), offset, calls.size[order], calls.bytes[order]]
    by_call = dict(zip(sorted(calls.arguments), handlers, strict=True))
    for number in np.argsort(order[starts], kind="stable").tolist():
        at, of = int(starts[number]), int(key[starts[number]])
        call, owner, path = int(order[at]), owners[of], paths[of]
        open_file = owner.open_files.get(path)
        handler = by_call.get(call)
        if handler is not None:
            place = handler(owner, path, open_file, calls.arguments[call])
            for column, value in zip(found, place, strict=True):
                column[at] = value
            open_file = owner.open_files.get(path)
        if open_file is not None:
            handle[number], position[number] = open_file.handle, open_file.position
            _move(open_file, int(lengths[number]))
    known = position[stretch] >= 0
    places = position[stretch] + before - before[starts][stretch]
    found[0] = np.where(transfers, handle[stretch], found[0])
    found[1] = np.where(transfers & known & (offset < 0), places, found[1])
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return tuple(column[back] for column in found)


def _move(open_file: OpenFile, moved: int) -> None:
    if open_file.position >= 0:
        open_file.position += moved
        if open_file.position > MOST:
            open_file.position = -1
