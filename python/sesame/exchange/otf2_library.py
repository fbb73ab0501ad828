"""Loads the Python package `otf2` at first use; converts between its constants and Sesame's."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from sesame.analysis.calls import COLLECTIVE, COMPLETION, POINT_TO_POINT, call_class
from sesame.errors import OutputError
from sesame.extras import require
from sesame.traced.calls import plain_name
from sesame.traced.io_calls import LAYER_NAMES, METADATA, MPI_IO, POSIX, STDIO, io_kind

ANCHOR = "traces.otf2"
# How Score-P names the layers.
PARADIGMS = {POSIX: "POSIX", STDIO: "ISOC", MPI_IO: "MPI-IO"}
# Attributes, for data without a field in OTF2.
OFFSET, ERROR, FILE = "sesame::offset", "sesame::error", "sesame::file"
COMM = "sesame::communicator"
UNKNOWN_OPEN_FILE = "unknown opening"  # ends the name of a handle that Sesame exported
CREATION_FLAGS = {
    "CREATE": os.O_CREAT,
    "TRUNCATE": os.O_TRUNC,
    "DIRECTORY": os.O_DIRECTORY,
    "EXCLUSIVE": os.O_EXCL,
    "NO_CONTROLLING_TERMINAL": os.O_NOCTTY,
    "NO_FOLLOW": os.O_NOFOLLOW,
    "PATH": os.O_PATH,
}
STATUS_FLAGS = {
    "CLOSE_ON_EXEC": os.O_CLOEXEC,
    "APPEND": os.O_APPEND,
    "NON_BLOCKING": os.O_NONBLOCK,
    "ASYNC": os.O_ASYNC,
    "SYNC": os.O_SYNC,
    "DATA_SYNC": os.O_DSYNC,
    "AVOID_CACHING": os.O_DIRECT,
    "NO_ACCESS_TIME": os.O_NOATIME,
}


def load() -> Any:
    require("exchange", "an OTF2 archive", "otf2")
    library = importlib.import_module("otf2")
    importlib.import_module("otf2.events")
    _fix_intercommunicators(library.definitions)
    return library


def _fix_intercommunicators(definitions: Any) -> None:
    """Works around an error in otf2 3.2: InterComm has the fields of Comm in addition to its own,
    and its parent must be an InterComm, so that none can be read or written."""
    name, *fields = definitions.InterComm._fields
    if [field.name for field in fields] == ["groupA", "groupB", "parent", "flags"]:
        return
    own = [
        field._replace(type=definitions.Comm) if field.name == "parent" else field
        for field in fields[-4:]
    ]
    definitions.InterComm._fields = (name, *own)


@contextmanager
def listening() -> Iterator[Any]:
    """Captures stderr, where the library prints a page for an error.

    Yields a function that returns the reason in the first line, or "". File descriptor 2 is
    redirected for the whole process until the block ends.
    """
    with tempfile.TemporaryFile() as file:

        def first_reason() -> str:
            file.seek(0)
            line = file.readline().decode(errors="replace").strip()
            return line.partition("error: ")[2] or line

        before = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield first_reason
        finally:
            os.dup2(before, 2)
            os.close(before)


@contextmanager
def writing(destination: Path) -> Iterator[None]:
    """Turns the library's errors into OutputError."""
    with listening() as first_reason:
        try:
            yield
        except Exception as error:
            if not type(error).__module__.startswith(("otf2", "_otf2")):
                raise
            reason = first_reason() or str(error)
            raise OutputError(f"{destination}: the OTF2 library cannot write: {reason}") from error


@contextmanager
def new_archive(otf2: Any, directory: Path, ticks_per_second: int) -> Iterator[Any]:
    """Creates an archive in a new `directory`; closes it unless the block fails."""
    archive = otf2.writer.Writer(str(directory), timer_resolution=ticks_per_second)
    try:
        yield archive
        archive.close()
    except BaseException:
        archive._handle = None  # else its destructor closes it again and fails again
        raise


@cache
def collective_operation(otf2: Any, call: str) -> Any:
    """The kind of a collective call; None for others."""
    word = plain_name(call).upper()
    kinds = otf2.enums.CollectiveOp
    for name in (word, word.removeprefix("I")):
        if hasattr(kinds, name) and call_class(call) == COLLECTIVE:
            return getattr(kinds, name)
    return None


@cache
def opening_words(otf2: Any, flags: int) -> tuple[Any, Any, Any]:
    """Access mode, creation and status flags for the flags of open."""
    modes = otf2.enums.IoAccessMode
    access = {os.O_RDONLY: modes.READ_ONLY, os.O_WRONLY: modes.WRITE_ONLY}
    mode = access.get(flags & os.O_ACCMODE, modes.READ_WRITE)
    sets = ((otf2.enums.IoCreationFlag, CREATION_FLAGS), (otf2.enums.IoStatusFlag, STATUS_FLAGS))
    creation, status = (
        kind(sum(getattr(kind, n).value for n, f in words.items() if flags & f == f))
        for kind, words in sets
    )
    return mode, creation, status


def flags_of_opening(otf2: Any, event: Any) -> int:
    """The flags of open, from an IoCreateHandle event."""
    modes = otf2.enums.IoAccessMode
    flags = {modes.READ_ONLY: os.O_RDONLY, modes.WRITE_ONLY: os.O_WRONLY}.get(event.mode, os.O_RDWR)
    for value, words in (
        (event.creation_flags, CREATION_FLAGS),
        (event.status_flags, STATUS_FLAGS),
    ):
        for name, flag in words.items():
            if value.value & getattr(type(value), name).value:
                flags |= flag
    return flags


def region_role(otf2: Any, call: str, *, is_io: bool) -> Any:
    roles = otf2.enums.RegionRole
    if is_io:
        return roles.FILE_IO_METADATA if io_kind(call) in METADATA else roles.FILE_IO
    kind = call_class(call)
    if kind in (POINT_TO_POINT, COMPLETION):
        return roles.POINT2POINT
    return roles.COLL_OTHER if kind == COLLECTIVE else roles.FUNCTION


def layer_words(layer: int) -> str:
    return f"{LAYER_NAMES[layer]} I/O"
