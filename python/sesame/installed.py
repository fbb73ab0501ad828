"""Where the native programs and libraries of this package are."""

from __future__ import annotations

import os
from pathlib import Path

import sesame
from sesame.errors import SesameError


def find_installed(name: str) -> Path:
    """A program or library of the package; SESAME_BIN names another directory to look in."""
    directories = [Path(entry) / "bin" for entry in sesame.__path__]
    if "SESAME_BIN" in os.environ:
        directories.insert(0, Path(os.environ["SESAME_BIN"]))
    for directory in directories:
        if (directory / name).is_file():
            return directory / name
    raise SesameError(
        f"{name} is missing, looked in {', '.join(map(str, directories))}",
        hint="install sesame again; in a source tree run `make build`",
    )
