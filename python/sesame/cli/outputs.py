"""Files that a verb writes: whether they can be written, before a run that may be long."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from sesame.errors import OutputError


def check_file(path: Path) -> None:
    """A file that is written over without asking, once it is known to be writable."""
    if path.is_dir():
        raise OutputError(f"{path}: this is a directory")
    try:
        with tempfile.TemporaryFile(dir=path.parent) as file:
            file.write(b"\0" * 4096)
    except OSError as error:
        raise OutputError(f"{path}: cannot write there: {error.strerror}") from error
    if path.exists() and not os.access(path, os.W_OK):
        raise OutputError(f"{path}: cannot write over it")
