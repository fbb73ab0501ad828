"""The formats: which there are, and which one a file is in."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from sesame.datasets import DataSet, DataSetWriter
from sesame.errors import InputError
from sesame.exchange import (
    blkparse,
    blktrace,
    chrome,
    csv,
    darshan,
    dftracer,
    msr_cambridge,
    otf2_export,
    otf2_import,
    perf_script,
    sddf,
    traced,
)
from sesame.exchange.record_file import Scratch


class Importer(Protocol):
    def recognises(self, path: Path) -> bool:
        """Whether a file or directory looks like one of this format."""

    def read(self, path: Path, scratch: Scratch, /) -> traced.Traced:
        """`scratch` has files for what memory may not hold, until the run is written."""


class Exporter(Protocol):
    def __call__(self, data_set: DataSet, destination: Path, *, force: bool) -> int:
        """Returns the number of records that were written."""


# By the names of the command line.
IMPORTS: dict[str, Importer] = {
    "darshan": darshan,
    "dftracer": dftracer,
    "otf2": otf2_import,
    "sddf": sddf,
    "blktrace": blktrace,
    "blkparse": blkparse,
    "perf": perf_script,
    "msr": msr_cambridge,
}
EXPORTS: dict[str, Exporter] = {
    "otf2": otf2_export.write,
    "chrome": chrome.write,
    "sddf": sddf.write,
    "sddf-binary": sddf.write_binary,
    "csv": csv.write,
}


def import_trace(
    path: Path, destination: Path, *, format_name: str | None = None, force: bool = False
) -> dict[str, Any]:
    """Makes a data set of another tool's file or directory; returns the figures of the run."""
    if not path.exists():
        raise InputError("there is no such file", path=str(path))
    if format_name is None:
        format_name = find_format(path)
    # The destination comes first: reading may take long.
    with (
        DataSetWriter(destination, force=force) as writer,
        Scratch(writer.directory) as scratch,
    ):
        run = IMPORTS[format_name].read(path, scratch)
        return traced.write(run, writer, path.name)


def find_format(path: Path) -> str:
    for name, importer in IMPORTS.items():
        if importer.recognises(path):
            return name
    raise InputError(
        f"this is in none of the formats {', '.join(IMPORTS)}",
        path=str(path),
        hint="--from names the format of a file that is damaged at its beginning",
    )


def export_data_set(
    path: Path,
    format_name: str,
    destination: Path,
    *,
    force: bool = False,
    kernel: Path | None = None,
) -> int:
    """Writes a data set in another format; returns the number of records that went there.

    `kernel`: a trace of the kernel, recorded at the same time, to go into the same time line.
    """
    if kernel is not None:
        if format_name != "chrome":
            raise InputError(f"--kernel: expected --to chrome, got --to {format_name}")
        return chrome.write(DataSet(path), destination, force=force, kernel=DataSet(kernel))
    return EXPORTS[format_name](DataSet(path), destination, force=force)
