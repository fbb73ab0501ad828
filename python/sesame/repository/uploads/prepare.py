"""What is made of a data set when it is uploaded, so that pages are quick. Each function writes
into a directory of its own below `derived`."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from pathlib import Path

# By the name of the directory. Imported in the process that imports.
PREPARATIONS: dict[str, str] = {}


def prepare(data_set: Path, derived: Path) -> None:
    for name, place in PREPARATIONS.items():
        function: Callable[[Path, Path], None] = pkgutil.resolve_name(place)
        directory = derived / name
        directory.mkdir()
        function(data_set, directory)
