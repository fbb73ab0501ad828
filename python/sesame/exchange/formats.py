"""The formats: which there are, and which one a file is in."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from sesame.datasets import DataSet, DataSetWriter
from sesame.errors import InputError
from sesame.exchange import traced

# Name for the command line, and the module that knows the format. A module is loaded when its
# format is met: some bring libraries that not everyone has.
IMPORTS = {"darshan": "darshan", "dftracer": "dftracer", "otf2": "otf2_import", "sddf": "sddf"}
EXPORTS = {
    "otf2": ("otf2_export", "write"),
    "chrome": ("chrome", "write"),
    "sddf": ("sddf", "write"),
    "sddf-binary": ("sddf", "write_binary"),
    "csv": ("csv", "write"),
}


def _module(name: str) -> Any:
    return importlib.import_module(f"sesame.exchange.{name}")


def import_trace(
    path: Path, destination: Path, *, format_name: str | None = None, force: bool = False
) -> dict[str, Any]:
    """Makes a data set of another tool's file or directory; returns the figures of the run."""
    if not path.exists():
        raise InputError("there is no such file", path=str(path))
    if format_name is None:
        format_name = find_format(path)
    # The destination comes first: reading may take long.
    with DataSetWriter(destination, force=force) as writer:
        found = _module(IMPORTS[format_name]).read(path)
        return traced.write(found, writer, path.name)


def find_format(path: Path) -> str:
    for name, module in IMPORTS.items():
        if _module(module).recognises(path):
            return name
    raise InputError(
        f"this is in none of the formats {', '.join(IMPORTS)}",
        path=str(path),
        hint="--from names the format of a file that is damaged at its beginning",
    )


def export_data_set(path: Path, format_name: str, destination: Path, *, force: bool = False) -> int:
    """Writes a data set in another format; returns the number of records that went there."""
    module, function = EXPORTS[format_name]
    records: int = getattr(_module(module), function)(DataSet(path), destination, force=force)
    return records
