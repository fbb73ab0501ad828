"""Writes a data set: into a temporary directory beside its path, renamed when it is complete.

Lists of Python values are written by the native part. Only arrays and batches need pyarrow, which
takes as long to load as a short simulation.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from sesame import native
from sesame.datasets.destination import (
    HiddenDirectory,
    check_destination,
    move_into_place,
)
from sesame.errors import InputError, OutputError

if TYPE_CHECKING:
    import pyarrow as pa

    from sesame.datasets.fields import RecordType
    from sesame.datasets.info import Info

FORMAT_VERSION = 4
Append = Callable[[dict[str, Any]], None]


class DataSetWriter:
    """Use as `with DataSetWriter(path) as writer:` … `writer.finish(info)`. Without `finish`
    nothing is kept.

    `directory` is the temporary directory; `raw` is its directory of raw streams.
    """

    def __init__(self, path: Path, *, force: bool = False) -> None:
        check_destination(path, force=force)
        self.path = path
        self._hidden = HiddenDirectory(path)
        self.directory = self._hidden.path
        self.raw = self.directory / "raw"
        self.rows: dict[str, int] = {}
        self._described: dict[str, RecordType] = {}
        self._finished = False

    def __enter__(self) -> DataSetWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._finished:
            shutil.rmtree(self.directory, ignore_errors=True)
        self._hidden.close()
        if isinstance(error, OSError) and error.errno is not None:
            raise OutputError(f"{self.path}: cannot write: {error.strerror}") from error

    def write_records(self, name: str, columns: dict[str, Any]) -> None:
        """Writes all records of one type: a list or array for each field, by name.

        Integer times are in the unit of the field. Raises OutputError.
        """
        self.write_described(self._type(name), columns)

    def write_described(self, described: RecordType, columns: dict[str, Any]) -> None:
        """Writes all records of a type that only this data set has. Raises OutputError."""
        values = [columns[field.name] for field in described.fields]
        if not all(isinstance(column, list) for column in values):
            self.write_described_batches(described, [columns])
            return
        self._described[described.name] = described
        try:
            native.write_table(
                str(self.directory / f"{described.name}.parquet"),
                described.name,
                described.meaning,
                described.complete,
                [(field.name, field.type, field.unit, field.meaning) for field in described.fields],
                values,
            )
        except InputError as error:  # the core raises no other error; this one is about writing
            raise OutputError(error.message, hint=error.hint) from error
        self.rows[described.name] = len(values[0])

    def write_batches(self, name: str, batches: Iterable[dict[str, Any]]) -> None:
        """Writes the records of one type in batches, for tables larger than memory. Each batch is
        written while the next one is made, so its arrays must not change afterwards."""
        self.write_described_batches(self._type(name), batches)

    def write_described_batches(
        self, described: RecordType, batches: Iterable[dict[str, Any]]
    ) -> None:
        """Does the same for a type that only this data set has."""
        from concurrent.futures import Future, ThreadPoolExecutor

        with self._appending(described) as append, ThreadPoolExecutor(1) as thread:
            written: Future[None] | None = None
            for columns in batches:
                if written is not None:
                    written.result()
                written = thread.submit(append, columns)
            if written is not None:
                written.result()

    def appending(self, name: str) -> AbstractContextManager[Append]:
        """Gives a function that appends a batch of records of one type. Several types may be
        written at the same time."""
        return self._appending(self._type(name))

    @contextmanager
    def _appending(self, described: RecordType) -> Iterator[Append]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        from sesame.datasets.encodings import fast_encodings

        self._described[described.name] = described
        schema = described.arrow_schema()
        self.rows[described.name] = 0

        def append(columns: dict[str, Any]) -> None:
            present = {key: columns[key] for key in schema.names}
            file.write_table(pa.Table.from_pydict(present, schema=schema))
            self.rows[described.name] += len(next(iter(present.values()), ()))

        path = self.directory / f"{described.name}.parquet"
        with pq.ParquetWriter(path, schema, **fast_encodings(schema)) as file:
            yield append

    def write_table(self, name: str, table: pa.Table) -> None:
        """Writes an Arrow table as it is; its columns must be those of the record type `name`."""
        import pyarrow.parquet as pq

        from sesame.datasets.encodings import fast_encodings

        path = self.directory / f"{name}.parquet"
        pq.write_table(table, path, **fast_encodings(table.schema))
        self.rows[name] = table.num_rows

    def finish(self, info: Info) -> None:
        """Writes info.json and moves the data set to its path.

        Raises ValueError if the info lacks keys that its kind requires; then nothing is written.
        """
        if missing := info.missing():
            raise ValueError(f"info of a {info.kind} data set lacks {', '.join(missing)}")
        described = {
            name: {**self._type(name).to_json(), "file": f"{name}.parquet", "rows": rows}
            for name, rows in sorted(self.rows.items())
        }
        head = {"format": "sesame data set", "format_version": FORMAT_VERSION}
        whole = replace(info, record_types=described)
        text = json.dumps({**head, **whole.as_json()}, indent=2) + "\n"
        (self.directory / "info.json").write_text(text, encoding="utf-8")
        # mkdtemp gives a directory that only its owner can read.
        umask = os.umask(0)
        os.umask(umask)
        self.directory.chmod(0o777 & ~umask)
        move_into_place(self.directory, self.path)
        self._finished = True

    def _type(self, name: str) -> RecordType:
        from sesame.datasets.schema import record_type

        return self._described.get(name) or record_type(name)
