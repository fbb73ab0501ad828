"""From raw streams (Common Trace Format) to Parquet, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sesame import native
from sesame.datasets.fields import RecordType
from sesame.datasets.schema import is_io, record_type
from sesame.errors import InputError

READ_BYTES = 4 << 20
ROWS_PER_GROUP = 1 << 19
PROTOCOL_NAMES = ["eager", "rendezvous"]


@dataclass
class RawSummary:
    rows: dict[str, int] = field(default_factory=dict)
    discarded: int = 0
    damage: list[str] = field(default_factory=list)


class _TableWriter:
    """Collects the records of one type and writes them in groups of rows."""

    def __init__(
        self, described: dict[str, Any], name: str, directory: Path, call_names: list[str]
    ) -> None:
        self.name = name
        self._dtype = np.dtype([(f["name"], f["dtype"]) for f in described["fields"]])
        self._names = {"call_name": call_names, "protocol_name": PROTOCOL_NAMES}
        self._lists = {f["name"]: f["names"] for f in described["fields"]}
        self._type: RecordType = record_type(name)
        self._schema = self._type.arrow_schema()
        path = directory / f"{name}.parquet"
        self._file = pq.ParquetWriter(path, self._schema, compression="zstd")
        self._waiting: list[pa.Table] = []
        self._rows_waiting = 0
        self.rows = 0

    def add(self, records: bytes, rank: int) -> None:
        self._add(np.frombuffer(records, self._dtype), rank)

    def _add(self, array: np.ndarray[Any, Any], rank: int) -> None:
        if len(array) == 0:
            return
        columns = [self._column(name, array, rank) for name in self._schema.names]
        self._waiting.append(pa.Table.from_arrays(columns, schema=self._schema))
        self._rows_waiting += len(array)
        self.rows += len(array)
        if self._rows_waiting >= ROWS_PER_GROUP:
            self._write()

    def _column(self, name: str, array: np.ndarray[Any, Any], rank: int) -> pa.Array:
        if name == "rank":
            return pa.array(np.full(len(array), rank, np.uint32))
        values = np.ascontiguousarray(array[name])
        if not self._lists[name]:
            return pa.array(values)
        names = self._names[self._lists[name]]
        unknown = max(int(values.max()) + 1 - len(names), 0)
        names = names + [f"unknown {len(names) + i}" for i in range(unknown)]
        return pa.DictionaryArray.from_arrays(values.astype(np.int32), pa.array(names, pa.string()))

    def end_of_rank(self, rank: int) -> None:
        """All records of the rank have been added."""

    def _write(self) -> None:
        if self._waiting:
            table = pa.concat_tables(self._waiting).unify_dictionaries().combine_chunks()
            self._file.write_table(table)
        self._waiting = []
        self._rows_waiting = 0

    def close(self) -> None:
        self._write()
        self._file.close()


class _IoWriter(_TableWriter):
    """Calls on files, in the form and order of traced runs: by begin, what is inside behind."""

    def __init__(self, described: dict[str, Any], directory: Path, call_names: list[str]) -> None:
        super().__init__(described, "io", directory, call_names)
        self._of_rank: list[np.ndarray[Any, Any]] = []

    def add(self, records: bytes, rank: int) -> None:
        self._of_rank.append(np.frombuffer(records, self._dtype))

    def end_of_rank(self, rank: int) -> None:
        if not self._of_rank:
            return
        array = np.concatenate(self._of_rank)
        self._of_rank = []
        # The stream has an inner call in front of the one that it is inside: of two that begin and
        # end together the later is the outer.
        order = np.lexsort((-np.arange(len(array)), -array["end_ps"], array["begin_ps"]))
        self._add(array[order], rank)

    def _column(self, name: str, array: np.ndarray[Any, Any], rank: int) -> pa.Array:
        kind = self._schema.field(name).type
        begin_ns = array["begin_ps"] // 1000
        if name == "begin_ns":
            return pa.array(begin_ns)
        if name == "duration_ns":
            return pa.array(array["end_ps"] // 1000 - begin_ns)
        if name in ("other_file", "comm"):
            return pa.array(np.full(len(array), -1), kind)
        if name in ("thread", "completion"):
            return pa.array(np.zeros(len(array), np.int64), kind)
        column = super()._column(name, array, rank)
        return column if name in ("rank", "call") else column.cast(kind)


def convert_raw(raw: Path, directory: Path) -> RawSummary:
    """Writes call.parquet, message.parquet, io.parquet, … into `directory`.

    A stream that is cut off or damaged gives the records in front of the damage and a line in
    the summary.
    """
    summary = RawSummary()
    call_names = native.read_call_names(str(raw))
    writers = {
        described["name"]: _IoWriter(described, directory, call_names)
        if is_io(described)
        else _TableWriter(described, described["name"], directory, call_names)
        for described in native.record_types()
    }
    try:
        for path in native.stream_files(str(raw)):
            _convert_stream(path, writers, summary)
    finally:
        for writer in writers.values():
            writer.close()
    summary.rows = {writer.name: writer.rows for writer in writers.values()}
    if summary.rows.get("io") == 0:  # as of most programs
        del summary.rows["io"]
        (directory / "io.parquet").unlink()
    return summary


def _convert_stream(path: str, writers: dict[str, _TableWriter], summary: RawSummary) -> None:
    reader = native.StreamReader.open(path)
    at_end = False
    while not at_end:
        try:
            records, at_end = reader.read(READ_BYTES)
        except InputError as error:
            summary.damage.append(error.message)
            break
        for name, data in records.items():
            writers[name].add(data, reader.rank)
    for writer in writers.values():
        writer.end_of_rank(reader.rank)
    summary.discarded += reader.discarded
