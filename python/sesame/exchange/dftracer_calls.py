"""How DFTracer's file calls change the file positions of open files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

CALLS_OF_FILES = ("POSIX", "STDIO")  # the categories of calls on files
RENAMED = {"__xstat": "stat", "__lxstat": "lstat", "__fxstat": "fstat", "__fxstatat": "fstatat"}
OPEN_CALLS = {"open", "openat", "creat", "fopen", "fdopen", "freopen"}
CLOSE_CALLS = {"close", "fclose"}
SEEK_CALLS = {"lseek", "fseek", "fseeko"}
DUP_CALLS = {"dup", "dup2"}
TRANSFERS = {"read", "write", "pread", "pwrite", "fread", "fwrite", "fgets", "fputs"}
MODES = {  # of fopen, as flags of open
    "r": os.O_RDONLY,
    "w": os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
    "a": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
}

MOST = 1 << 62  # of a position

Arguments = dict[str, Any]
Access = tuple[int, int, int, int]  # handle, offset, size, bytes


@dataclass
class OpenFile:
    """The file that a process has open under a path: its latest handle and its file position.

    `count` is the number of open descriptors; the trace does not record which one a call uses.
    """

    handle: int
    position: int  # -1 when unknown
    count: int = 1


class Owner(Protocol):
    """The state of a process: its open files by path, and the number of handles given out."""

    open_files: dict[Any, OpenFile]
    handles: int


Handler = Callable[[Owner, Any, OpenFile | None, Arguments], Access]


def call_name(name: str) -> str:
    name = name.removesuffix("64")
    return RENAMED.get(name, name)


def is_transfer(name: str) -> bool:
    return name in TRANSFERS or call_name(name) in TRANSFERS


def handler_of(call: str) -> Handler | None:
    """The function that handles a call; None for transfers, which only advance the position."""
    if call in TRANSFERS:
        return None
    for names, handler in ((OPEN_CALLS, _open), (CLOSE_CALLS, _close), (SEEK_CALLS, _seek)):
        if call in names:
            return _lseek if call == "lseek" else handler
    return _duplicate if call in DUP_CALLS else _other


def open_flags(arguments: Arguments) -> int:
    mode = arguments.get("mode")
    if not isinstance(mode, str):  # the mode of fopen is text, that of open a number
        return int(arguments.get("flags", 0))
    flags = MODES.get(mode[:1], 0)
    return flags & ~os.O_WRONLY | os.O_RDWR if "+" in mode else flags


def _open(owner: Owner, path: Any, open_file: OpenFile | None, arguments: Arguments) -> Access:
    flags = open_flags(arguments)
    owner.handles += 1
    if open_file is None:
        owner.open_files[path] = OpenFile(owner.handles - 1, -1 if flags & os.O_APPEND else 0)
    else:
        # The trace does not record which of two descriptors a later call uses.
        open_file.count += 1
        open_file.handle = open_file.position = -1
    return owner.handles - 1, -1, flags, 0


def _close(owner: Owner, path: Any, open_file: OpenFile | None, arguments: Arguments) -> Access:
    if open_file is None:
        return -1, -1, 0, 0
    open_file.count -= 1
    if open_file.count <= 0:
        owner.open_files.pop(path, None)
    return open_file.handle, -1, 0, 0


def _duplicate(owner: Owner, path: Any, open_file: OpenFile | None, arguments: Arguments) -> Access:
    if open_file is not None:
        open_file.position = -1  # both descriptors move it, and the trace records only one
    return _other(owner, path, open_file, arguments)


def _other(owner: Owner, path: Any, open_file: OpenFile | None, arguments: Arguments) -> Access:
    return -1 if open_file is None else open_file.handle, -1, 0, 0


def _lseek(owner: Owner, path: Any, open_file: OpenFile | None, arguments: Arguments) -> Access:
    """Handle and new position, which is the return value."""
    if "ret" not in arguments:
        return _seek(owner, path, open_file, arguments)
    open_file = open_file or OpenFile(-1, -1)
    if open_file.count > 1:
        return open_file.handle, -1, 0, 0
    open_file.position = int(arguments["ret"])
    return open_file.handle, max(open_file.position, -1), 0, 0


def _seek(owner: Owner, path: Any, open_file: OpenFile | None, arguments: Arguments) -> Access:
    """Handle and new position; -1 where the trace does not record it."""
    open_file = open_file or OpenFile(-1, -1)
    if open_file.count > 1:
        return open_file.handle, -1, 0, 0
    offset, whence = int(arguments.get("offset", -1)), int(arguments.get("whence", -1))
    if whence == os.SEEK_SET:
        open_file.position = offset
    elif whence == os.SEEK_CUR and open_file.position >= 0:
        open_file.position += offset
    else:
        open_file.position = -1
    open_file.position = max(open_file.position, -1)
    return open_file.handle, open_file.position, 0, 0


def check(call: str, arguments: Arguments) -> None:
    """Raises where a handler would, before any state has changed."""
    if call in OPEN_CALLS:
        _in_bounds(open_flags(arguments))
    for name in ("newpath_hash", "newpath"):
        hash(arguments.get(name))
    if call in SEEK_CALLS:
        for name in ("ret", "offset", "whence"):
            _in_bounds(int(arguments.get(name, 0)))


def _in_bounds(value: int) -> None:
    if abs(value) > MOST:
        raise OverflowError("a number beyond 62 bits")
