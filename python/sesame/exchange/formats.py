"""The list of formats, and the detection of a file's format."""

from __future__ import annotations

import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sesame.errors import InputError
from sesame.settings import setting

if TYPE_CHECKING:
    from sesame.datasets import DataSet
    from sesame.exchange import traced
    from sesame.exchange.record_file import Scratch


class Importer(Protocol):
    def recognises(self, path: Path) -> bool:
        """Whether a file or directory looks like one of this format."""

    def read(self, path: Path, scratch: Scratch, /) -> traced.Traced:
        """Reads a trace. `scratch` provides temporary files for data larger than memory."""


class Exporter(Protocol):
    def __call__(self, data_set: DataSet, destination: Path, *, force: bool) -> int:
        """Returns the number of records that were written."""


# Module of each format, by its name on the command line; imported when it is used.
IMPORTS = {
    "darshan": "sesame.exchange.darshan",
    "dftracer": "sesame.exchange.dftracer",
    "otf2": "sesame.exchange.otf2_import",
    "sddf": "sesame.exchange.sddf_import",
    "ctf": "sesame.exchange.ctf",
    "blktrace": "sesame.exchange.blktrace",
    "blkparse": "sesame.exchange.blkparse",
    "perf": "sesame.exchange.perf_script",
    "msr": "sesame.exchange.msr_cambridge",
}
EXPORTS = {
    "otf2": "sesame.exchange.otf2_export:write",
    "chrome": "sesame.exchange.chrome:write",
    "sddf": "sesame.exchange.sddf:write",
    "sddf-binary": "sesame.exchange.sddf:write_binary",
    "sddf-binary-big": "sesame.exchange.sddf:write_binary_big",
    "csv": "sesame.exchange.csv:write",
}


def importer(name: str) -> Importer:
    found: Importer = pkgutil.resolve_name(IMPORTS[name])
    return found


def exporter(name: str) -> Exporter:
    found: Exporter = pkgutil.resolve_name(EXPORTS[name])
    return found


def import_trace(
    path: Path,
    destination: Path,
    *,
    format_name: str | None = None,
    force: bool = False,
    name: str = "",
) -> dict[str, Any]:
    """Imports another tool's file or directory as a data set; returns the figures of the run.

    `name`: of the source in the description, by default that of `path`. Raises InputError where the
    trace is invalid or of no known format.
    """
    from sesame.datasets import DataSetWriter
    from sesame.exchange import traced
    from sesame.exchange.record_file import Scratch

    if not path.exists():
        raise InputError("there is no such file", path=str(path))
    if format_name is None:
        format_name = find_format(path)
    # Open the destination first, so that an error in it is reported before the long reading.
    with (
        DataSetWriter(destination, force=force) as writer,
        Scratch(writer.directory) as scratch,
    ):
        run = importer(format_name).read(path, scratch)
        return traced.write(run, writer, name or path.name)


def find_format(path: Path) -> str:
    for name in IMPORTS:
        if importer(name).recognises(path):
            return name
    raise InputError(
        f"this is in none of the formats {', '.join(IMPORTS)}",
        path=str(path),
        hint=f"if the file is damaged at its beginning, name its format with {setting('from')}",
    )


def export_data_set(
    path: Path,
    format_name: str,
    destination: Path,
    *,
    force: bool = False,
    kernel: Path | None = None,
) -> int:
    """Writes a data set in another format; returns the number of records written.

    `kernel`: a measured data set with a kernel trace of the same time; only the format `chrome`
    takes one, and adds its events to the time line. Raises InputError where the format cannot hold
    the data set, OutputError where it cannot be written.
    """
    from sesame.datasets import DataSet

    if kernel is not None:
        if format_name != "chrome":
            raise InputError(
                f"{setting('kernel')}: expected {setting('to', 'chrome')}, got "
                f"{setting('to', format_name)}"
            )
        from sesame.exchange import chrome

        return chrome.write(DataSet(path), destination, force=force, kernel=DataSet(kernel))
    return exporter(format_name)(DataSet(path), destination, force=force)
