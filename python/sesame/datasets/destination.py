"""The path of a new data set: checks that it can be written, makes the directory in which it is
written, and moves it there when it is complete."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from sesame.errors import OutputError
from sesame.settings import setting


def check_destination(path: Path, *, force: bool) -> None:
    """Raises OutputError, before a run, if its data set cannot be written to `path`."""
    try:
        there = path.exists()
    except OSError as error:  # no permission to search a directory of the path
        raise OutputError(f"{path}: cannot write there: {error.strerror}") from error
    if there and not force:
        raise OutputError(f"{path}: already there", hint=f"{setting('force', True)} writes over it")
    if there and not is_data_set(path):
        raise OutputError(f"{path}: this is no data set, and is not replaced; remove it yourself")
    parent = path.parent
    if not parent.is_dir():
        raise OutputError(f"{path}: there is no directory {parent}")
    try:
        # os.access says yes to root even on a read-only file system, so try.
        with tempfile.TemporaryFile(dir=parent) as file:
            file.write(b"\0" * 4096)
    except OSError as error:
        raise OutputError(f"{path}: cannot write there: {error.strerror}") from error


def is_data_set(path: Path) -> bool:
    return (path / "info.json").is_file()


class HiddenDirectory:
    """A new directory `.NAME.new.HOST.…` beside `path`, locked until close() or the end of the
    process. The lock tells that it is in use: one that a killed process has left is removed when
    this host next writes a data set to the same path. Other hosts leave it alone, since some shared
    file systems have locks of one host only."""

    def __init__(self, path: Path) -> None:
        prefix = f".{path.name}.new.{os.uname().nodename.replace('/', '_')}."
        with suppress(OSError):  # no permission to list the directory
            made_here = re.compile(re.escape(prefix) + r"[a-z0-9_]{8}")  # by mkdtemp()
            for one in path.parent.iterdir():
                if made_here.fullmatch(one.name) and not one.is_symlink():
                    _remove_unless_used(one)
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=path.parent))
        self._descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        with suppress(OSError):  # a file system without locks: what is left there stays
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def close(self) -> None:
        """Unlocks it. Further calls do nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _remove_unless_used(directory: Path) -> None:
    """An empty one may be that of a process that has not locked it yet; it writes only when it
    has."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:  # of another user, or gone
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if any(directory.iterdir()):
            shutil.rmtree(directory, ignore_errors=True)
    except OSError:  # in use
        pass
    finally:
        os.close(descriptor)


def move_into_place(new: Path, path: Path) -> None:
    """Renames the directory `new` to `path`. An existing data set is deleted, but kept if the
    rename fails."""
    if not path.exists():
        new.rename(path)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{path.name}.old.", dir=path.parent))
    try:
        path.rename(old / "data")
        new.rename(path)
    except BaseException:  # also Ctrl-C between both
        if not path.exists():
            (old / "data").rename(path)
        raise
    finally:
        if path.exists():
            shutil.rmtree(old, ignore_errors=True)
