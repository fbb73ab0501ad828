"""Reads a data set. pyarrow is imported for the first table, since that takes as long as a short
simulation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sesame.datasets.info import Info, Kind
from sesame.datasets.writer import FORMAT_VERSION
from sesame.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

READABLE_VERSIONS = (2, 3, FORMAT_VERSION)
# Record types of earlier format versions and their names today.
RENAMED_TYPES = {"kernel_pull": "kernel_reading"}


class DataSet:
    """A data set on disk: `info` is info.json; records are read when they are asked for.

    Raises InputError if there is no data set, or one that this version cannot read.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.info = _read_info(self.path)

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def kind(self) -> Kind:
        return self.info.kind

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of its record types, each a table."""
        return tuple(self.record_types)

    @property
    def record_types(self) -> Mapping[str, Any]:
        """The record types by name, each with meaning, file, rows, and fields (name, type, unit,
        meaning)."""
        return self.info.record_types

    def has(self, name: str) -> bool:
        """Whether the table exists and has rows."""
        return bool(self.record_types.get(name, {}).get("rows", 0))

    def table(self, name: str, columns: list[str] | None = None) -> pa.Table:
        """All records of a type, as stored: times are integers of ns or ps, exact. The field
        metadata has unit and meaning. Raises InputError for a name that is not in `tables`."""
        with self._open(name) as file:
            return self._guard(name, lambda: file.read(columns=columns))

    def batches(
        self, name: str, columns: list[str] | None = None, rows: int = 1 << 18
    ) -> Iterator[pa.RecordBatch]:
        """The records of a type in batches of at most `rows`. Raises InputError as `table` does."""
        with self._open(name) as file:
            batches = file.iter_batches(batch_size=rows, columns=columns)
            while (batch := self._guard(name, lambda: next(batches, None))) is not None:
                yield batch

    def parquet(self, name: str) -> pq.ParquetFile:
        """The open file of a record type, for reading some of its row groups. Raises InputError as
        `table` does; what reads it raises pyarrow's exceptions."""
        return self._open(name)

    def schema(self, name: str) -> pa.Schema:
        """The fields of a record type as Parquet holds them."""
        with self._open(name) as file:
            return self._guard(name, lambda: file.schema_arrow)

    def file(self, name: str) -> Path:
        """The Parquet file of a record type, which has an earlier name in older data sets."""
        stored: str = self.record_types[name].get("file", f"{name}.parquet")
        return self.path / Path(stored).name

    def size_bytes(self) -> int:
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())

    def _stored(self, name: str) -> Any:
        """The path of a table, or an open file."""
        return self.file(name)

    def _open(self, name: str) -> pq.ParquetFile:
        import pyarrow.parquet as pq

        if name not in self.record_types:
            known = ", ".join(self.record_types) or "none"
            raise InputError(f"no records of type {name}, there are: {known}", path=str(self.path))
        file = self._guard(name, lambda: pq.ParquetFile(self._stored(name)))
        described = [field["name"] for field in self.record_types[name].get("fields", [])]
        if missing := [field for field in described if field not in file.schema_arrow.names]:
            raise InputError(
                f"these are other records: there is no {missing[0]}, which info.json describes",
                path=str(self.file(name)),
            )
        return file

    def _guard(self, name: str, read: Any) -> Any:
        import pyarrow as pa

        try:
            return read()
        except (OSError, pa.ArrowException) as error:
            reason = str(error).splitlines()[0]
            raise InputError(
                f"cannot read these records: {reason}", path=str(self.file(name))
            ) from error


def _with_names_of_today(record_types: Mapping[str, Any]) -> dict[str, Any]:
    """The record types of info.json by their names of this version; `file` stays as it was."""
    return {RENAMED_TYPES.get(name, name): one for name, one in record_types.items()}


def _read_info(path: Path) -> Info:
    file = path / "info.json"
    try:
        info = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        why = (
            "it has no info.json"
            if path.exists()
            else "there is no info.json, and no such directory"
        )
        raise InputError(f"this is no data set: {why}", path=str(path)) from None
    except NotADirectoryError:
        raise InputError(
            "this is no data set: not a directory",
            path=str(path),
            hint="`sesame import` makes one of another tool's trace",
        ) from None
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}", path=str(file)) from error
    except ValueError as error:
        line = getattr(error, "lineno", None)
        raise InputError(f"not JSON: {error}", path=str(file), line=line) from error
    if not isinstance(info, dict) or not isinstance(info.get("record_types"), dict):
        raise InputError("this is not the info.json of a data set", path=str(file))
    if info.get("format_version") not in READABLE_VERSIONS:
        expected = f"{READABLE_VERSIONS[0]} to {FORMAT_VERSION}"
        raise InputError(
            f"data set format {info.get('format_version')}, expected {expected}",
            path=str(file),
            hint="read it with the version of sesame that wrote it",
        )
    info["record_types"] = _with_names_of_today(info["record_types"])
    try:
        return Info.from_json(info)
    except ValueError as error:
        raise InputError(
            str(error), path=str(file), hint="read it with the version of sesame that wrote it"
        ) from error
