"""Data sets whose tables are read in the server's process: only so much of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from sesame.datasets import DataSet
from sesame.errors import InputError

MOST_BYTES = 512 << 20  # that are read of a data set for a comparison, as Arrow holds them
ROWS = 1 << 14  # read at once


class BoundedDataSet(DataSet):
    """Raises InputError when more than MOST_BYTES are read of it. An import has read every record
    before, so a batch of `ROWS` is bounded, too (`uploads.importing`)."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._left = MOST_BYTES

    def table(self, name: str, columns: list[str] | None = None) -> pa.Table:
        batches = list(self.batches(name, columns))
        return pa.Table.from_batches(batches, None if batches else self._schema(name, columns))

    def batches(
        self, name: str, columns: list[str] | None = None, rows: int = ROWS
    ) -> Iterator[pa.RecordBatch]:
        for batch in super().batches(name, columns, min(rows, ROWS)):
            self._left -= batch.nbytes
            if self._left < 0:
                raise InputError(
                    f"more than {MOST_BYTES >> 20} MiB of records would be read",
                    hint="`sesame diff` compares them on your machine",
                )
            yield batch

    def _schema(self, name: str, columns: list[str] | None) -> pa.Schema:
        whole = self.schema(name)
        return whole if columns is None else pa.schema([whole.field(one) for one in columns])
