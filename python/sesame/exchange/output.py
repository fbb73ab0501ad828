"""Writes files and directories completely or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sesame.errors import OutputError
from sesame.settings import setting


@contextmanager
def whole_file(path: Path, *, force: bool) -> Iterator[BinaryIO]:
    """A temporary file, renamed to `path` when the block ends without an error."""
    _check(path, force=force)
    if path.is_dir():
        raise OutputError(f"{path}: this is a directory, expected the name of a file")
    with _errors_of(path):
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
            _set_usual_mode(Path(name), 0o666)
            Path(name).rename(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


@contextmanager
def whole_directory(path: Path, marker: str, *, force: bool) -> Iterator[Path]:
    """A temporary directory, renamed to `path` when the block ends without an error.

    With `force` an existing directory is replaced, but only if it contains the file `marker`.
    """
    _check(path, force=force)
    if path.exists() and not (path / marker).is_file():
        raise OutputError(
            f"{path}: not replaced, since it has no {marker}",
            hint="remove it yourself, or name another destination",
        )
    with _errors_of(path):
        new = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        try:
            yield new
            _set_usual_mode(new, 0o777)
            if path.exists():
                shutil.rmtree(path)
            new.rename(path)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise


def _check(path: Path, *, force: bool) -> None:
    if path.exists() and not force:
        raise OutputError(f"{path}: already there", hint=f"{setting('force', True)} writes over it")
    if not path.parent.is_dir():
        raise OutputError(f"{path}: there is no directory {path.parent}")


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {error.strerror}") from error


def _set_usual_mode(path: Path, mode: int) -> None:
    """Gives a temporary file, which only its owner can read, the usual permissions."""
    umask = os.umask(0)
    os.umask(umask)
    path.chmod(mode & ~umask)
