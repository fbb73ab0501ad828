"""Writes the tables of a traced run fast: a row group for each batch, a thread for each file.

Writing Parquet costs most, so each column has the encoding that is fastest for it. Columns without
nulls need no definition levels.
"""

from __future__ import annotations

import queue
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sesame.datasets import record_type
from sesame.datasets.encodings import fast_encodings

# With statistics, readers can skip row groups.
STATISTICS = ["rank", "begin_ns"]
BATCHES_WAITING = 2


class FastTable:
    """Writes the file of one record type in a thread of its own.

    `add` passes a batch to the thread and waits if too many are queued. `close` must be called at
    the end. Both raise the error of an earlier batch.
    """

    def __init__(self, name: str, directory: Path, call_names: list[str]) -> None:
        self.rows = 0
        described = record_type(name).arrow_schema()
        self._schema = pa.schema([field.with_nullable(False) for field in described])
        self._schema = self._schema.with_metadata(described.metadata)
        self._names = pa.array(call_names, pa.string())
        self._file = pq.ParquetWriter(
            directory / f"{name}.parquet",
            self._schema,
            write_statistics=STATISTICS,
            **fast_encodings(self._schema),
        )
        self._waiting: queue.Queue[dict[str, Any] | None] = queue.Queue(BATCHES_WAITING)
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._write_all, daemon=True)
        self._thread.start()

    def add(self, columns: dict[str, Any]) -> None:
        if self._failure is not None:
            raise self._failure
        self._waiting.put(columns)

    def close(self) -> None:
        self._waiting.put(None)
        self._thread.join()
        if self._failure is None:
            self._file.close()
        else:
            raise self._failure

    def _write_all(self) -> None:
        while (columns := self._waiting.get()) is not None:
            if self._failure is not None:
                continue
            try:
                table = self._table(columns)
                self._file.write_table(table, row_group_size=table.num_rows)
                self.rows += table.num_rows
            except BaseException as error:
                self._failure = error

    def _table(self, columns: dict[str, Any]) -> pa.Table:
        arrays = []
        for field in self._schema:
            values = columns[field.name]
            if pa.types.is_dictionary(field.type):
                arrays.append(pa.DictionaryArray.from_arrays(pa.array(values), self._names))
            else:
                arrays.append(_without_copy(values, field.type))
        return pa.Table.from_arrays(arrays, schema=self._schema)


def _without_copy(values: np.ndarray[Any, Any], kind: pa.DataType) -> pa.Array:
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])
