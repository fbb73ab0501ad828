"""The path of a new data set: checks that it can be written, and moves it there when it is
complete."""

from __future__ import annotations

import shutil
import tempfile
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
