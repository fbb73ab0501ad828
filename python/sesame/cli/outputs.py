"""Checks, before a run that may be long, that the files of a verb can be written."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from sesame.errors import OutputError


def check_file(path: Path) -> None:
    """Raises OutputError if `path` cannot be written. An existing file will be replaced."""
    if path.is_dir():
        raise OutputError(f"{path}: this is a directory")
    try:
        with tempfile.TemporaryFile(dir=path.parent) as file:
            file.write(b"\0" * 4096)
    except OSError as error:
        raise OutputError(f"{path}: cannot write there: {error.strerror}") from error
    if path.exists() and not os.access(path, os.W_OK):
        raise OutputError(f"{path}: cannot write over it")
