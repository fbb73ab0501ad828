"""Where a data set is written: whether that is possible, whether one is there, and how it
gets there."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from sesame.errors import OutputError


def check_destination(path: Path, *, force: bool) -> None:
    """Says before a run what would keep its output from being written."""
    try:
        there = path.exists()
    except OSError as error:  # a directory on the way may not be searched
        raise OutputError(f"{path}: cannot write there: {error.strerror}") from error
    if there and not force:
        raise OutputError(f"{path}: already there", hint="--force writes over it")
    if there and not is_data_set(path):
        raise OutputError(f"{path}: this is no data set; remove it yourself if it may go")
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
    """Renames the directory `new` to `path`. What was there goes, and stays when that fails."""
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
