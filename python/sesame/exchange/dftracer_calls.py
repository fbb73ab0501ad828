"""What DFTracer's calls on files do to the positions of what is open."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

CALLS_OF_FILES = ("POSIX", "STDIO")  # the categories of calls on files
RENAMED = {"__xstat": "stat", "__lxstat": "lstat", "__fxstat": "fstat", "__fxstatat": "fstatat"}
OPENINGS = {"open", "openat", "creat", "fopen", "fdopen", "freopen"}
CLOSINGS = {"close", "fclose"}
SEEKS = {"lseek", "fseek", "fseeko"}
DUPLICATIONS = {"dup", "dup2"}
TRANSFERS = {"read", "write", "pread", "pwrite", "fread", "fwrite", "fgets", "fputs"}
MODES = {  # of fopen, as flags of open
    "r": os.O_RDONLY,
    "w": os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
    "a": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
}

MOST = 1 << 62  # of a position

Arguments = dict[str, Any]
Place = tuple[int, int, int, int]  # handle, offset, size, bytes


@dataclass
class Opening:
    """What a process has open under one path: the last of it, and where it reads and writes."""

    handle: int
    position: int  # -1 when unknown
    count: int = 1


class Owner(Protocol):
    """A process."""

    openings: dict[Any, Opening]
    handles: int


Handler = Callable[[Owner, Any, Opening | None, Arguments], Place]


def call_name(name: str) -> str:
    name = name.removesuffix("64")
    return RENAMED.get(name, name)


def is_transfer(name: str) -> bool:
    return name in TRANSFERS or call_name(name) in TRANSFERS


def handler_of(call: str) -> Handler | None:
    """None for a transfer, whose place follows from the opening alone."""
    if call in TRANSFERS:
        return None
    for names, handler in ((OPENINGS, _open), (CLOSINGS, _close), (SEEKS, _seek)):
        if call in names:
            return _lseek if call == "lseek" else handler
    return _duplicate if call in DUPLICATIONS else _other


def flags_of_opening(arguments: Arguments) -> int:
    mode = arguments.get("mode")
    if not isinstance(mode, str):  # of fopen it is text; that of open is a number
        return int(arguments.get("flags", 0))
    flags = MODES.get(mode[:1], 0)
    return flags & ~os.O_WRONLY | os.O_RDWR if "+" in mode else flags


def _open(owner: Owner, path: Any, opening: Opening | None, arguments: Arguments) -> Place:
    flags = flags_of_opening(arguments)
    owner.handles += 1
    if opening is None:
        owner.openings[path] = Opening(owner.handles - 1, -1 if flags & os.O_APPEND else 0)
    else:
        # Which of two openings a later call uses is not in the trace.
        opening.count += 1
        opening.handle = opening.position = -1
    return owner.handles - 1, -1, flags, 0


def _close(owner: Owner, path: Any, opening: Opening | None, arguments: Arguments) -> Place:
    if opening is None:
        return -1, -1, 0, 0
    opening.count -= 1
    if opening.count <= 0:
        owner.openings.pop(path, None)
    return opening.handle, -1, 0, 0


def _duplicate(owner: Owner, path: Any, opening: Opening | None, arguments: Arguments) -> Place:
    if opening is not None:
        opening.position = -1  # both move it, and only one is seen from here on
    return _other(owner, path, opening, arguments)


def _other(owner: Owner, path: Any, opening: Opening | None, arguments: Arguments) -> Place:
    return -1 if opening is None else opening.handle, -1, 0, 0


def _lseek(owner: Owner, path: Any, opening: Opening | None, arguments: Arguments) -> Place:
    """Returns the new position."""
    if "ret" not in arguments:
        return _seek(owner, path, opening, arguments)
    opening = opening or Opening(-1, -1)
    if opening.count > 1:
        return opening.handle, -1, 0, 0
    opening.position = int(arguments["ret"])
    return opening.handle, max(opening.position, -1), 0, 0


def _seek(owner: Owner, path: Any, opening: Opening | None, arguments: Arguments) -> Place:
    """The new position, as far as the trace tells it."""
    opening = opening or Opening(-1, -1)
    if opening.count > 1:
        return opening.handle, -1, 0, 0
    offset, whence = int(arguments.get("offset", -1)), int(arguments.get("whence", -1))
    if whence == os.SEEK_SET:
        opening.position = offset
    elif whence == os.SEEK_CUR and opening.position >= 0:
        opening.position += offset
    else:
        opening.position = -1
    opening.position = max(opening.position, -1)
    return opening.handle, opening.position, 0, 0


def check(call: str, arguments: Arguments) -> None:
    """Raises where a handler would: before anything is noted."""
    if call in OPENINGS:
        _in_bounds(flags_of_opening(arguments))
    for name in ("newpath_hash", "newpath"):
        hash(arguments.get(name))
    if call in SEEKS:
        for name in ("ret", "offset", "whence"):
            _in_bounds(int(arguments.get(name, 0)))


def _in_bounds(value: int) -> None:
    if abs(value) > MOST:
        raise OverflowError("a number beyond 62 bits")
