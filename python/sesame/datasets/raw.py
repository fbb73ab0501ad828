"""From raw streams (Common Trace Format) to Parquet, in bounded memory."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sesame import native
from sesame.datasets.fields import RecordType
from sesame.datasets.schema import is_io, record_type

# Of records, a row of which has at most 60 bytes. Twice as many are in memory: while one batch is
# written the next is read. Larger batches leave the processor's cache.
READ_BYTES = 4 << 20
PROTOCOL_NAMES = ["eager", "rendezvous"]
# Differences of rows take a tenth of the room and half the time to write: times rise in the rows of
# a rank, and most other numbers are the same in many rows.
NUMBER_ENCODING = "DELTA_BINARY_PACKED"
TIME_UNIT = "ps"

Values = np.ndarray[Any, Any]
Records = dict[str, Values]  # by field


@dataclass
class RawSummary:
    rows: dict[str, int] = field(default_factory=dict)
    discarded: int = 0
    damage: list[str] = field(default_factory=list)


def _taken(records: Records, rows: slice | Values) -> Records:
    return {name: values[rows] for name, values in records.items()}


class _TableWriter:
    """Writes the records of one type, a group of rows for each batch."""

    def __init__(
        self, described: dict[str, Any], name: str, directory: Path, call_names: list[str]
    ) -> None:
        self.name = name
        self._names = {"call_name": call_names, "protocol_name": PROTOCOL_NAMES}
        self._lists = {f["name"]: f["names"] for f in described["fields"]}
        self._type: RecordType = record_type(name)
        self._schema = self._type.arrow_schema()
        times = [field.name for field in self._type.fields if field.unit == TIME_UNIT]
        names = [field.name for field in self._type.fields if field.type == "name"]
        numbers = [field for field in self._schema.names if field not in names]
        self._file = pq.ParquetWriter(
            directory / f"{name}.parquet",
            self._schema,
            compression="zstd",
            use_dictionary=names,
            column_encoding=dict.fromkeys(numbers, NUMBER_ENCODING),
            write_statistics=[*times, "rank", "source", "destination"],
        )
        self.rows = 0

    def add(self, data: Records, runs: list[tuple[int, int]]) -> None:
        """Records, and of which ranks they are: (rank, rows) in their order."""
        if runs:
            ranks = np.array([rank for rank, _ in runs], np.uint32)
            self._write(data, np.repeat(ranks, [rows for _, rows in runs]))

    def _write(self, records: Records, ranks: Values) -> None:
        columns = [self._column(name, records, ranks) for name in self._schema.names]
        self._file.write_table(pa.Table.from_arrays(columns, schema=self._schema))
        self.rows += len(ranks)

    def _column(self, name: str, records: Records, ranks: Values) -> pa.Array:
        if name == "rank":
            return pa.array(ranks)
        values = records[name]
        if not self._lists[name]:
            return pa.array(values)
        names = self._names[self._lists[name]]
        unknown = max(int(values.max()) + 1 - len(names), 0)
        names = names + [f"unknown {len(names) + i}" for i in range(unknown)]
        return pa.DictionaryArray.from_arrays(values.astype(np.int32), pa.array(names, pa.string()))

    def close(self) -> None:
        self._file.close()


class _IoWriter(_TableWriter):
    """Calls on files, in the form and order of traced runs: by begin, what is inside behind."""

    def __init__(self, described: dict[str, Any], directory: Path, call_names: list[str]) -> None:
        super().__init__(described, "io", directory, call_names)
        # Of the rank that was last in a batch, of which more may follow.
        self._waiting: list[Records] = []
        self._rank = -1

    def add(self, data: Records, runs: list[tuple[int, int]]) -> None:
        begin = 0
        for rank, rows in runs:
            if rank != self._rank:
                self._write_waiting()
                self._rank = rank
            self._waiting.append(_taken(data, slice(begin, begin + rows)))
            begin += rows

    def _write_waiting(self) -> None:
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        records = {name: np.concatenate([part[name] for part in waiting]) for name in waiting[0]}
        count = len(records["begin_ps"])
        # The stream has an inner call in front of the one that it is inside: of two that begin and
        # end together the later is the outer.
        order = np.lexsort((-np.arange(count), -records["end_ps"], records["begin_ps"]))
        self._write(_taken(records, order), np.full(count, self._rank, np.uint32))

    def _column(self, name: str, records: Records, ranks: Values) -> pa.Array:
        kind = self._schema.field(name).type
        begin_ns = records["begin_ps"] // 1000
        if name == "begin_ns":
            return pa.array(begin_ns)
        if name == "duration_ns":
            return pa.array(records["end_ps"] // 1000 - begin_ns)
        if name in ("other_file", "comm"):
            return pa.array(np.full(len(ranks), -1), kind)
        if name in ("thread", "completion"):
            return pa.array(np.zeros(len(ranks), np.int64), kind)
        column = super()._column(name, records, ranks)
        return column if name in ("rank", "call") else column.cast(kind)

    def close(self) -> None:
        self._write_waiting()
        super().close()


def _wait_for(written: list[Future[None]]) -> None:
    for one in written:
        one.result()


def convert_raw(raw: Path, directory: Path) -> RawSummary:
    """Writes call.parquet, message.parquet, io.parquet, … into `directory`.

    A stream that is cut off or damaged gives the records in front of the damage and a line in
    the summary.
    """
    call_names = native.read_call_names(str(raw))
    writers = {
        described["name"]: _IoWriter(described, directory, call_names)
        if is_io(described)
        else _TableWriter(described, described["name"], directory, call_names)
        for described in native.record_types()
    }
    reader, at_end = native.RawReader.open(str(raw)), False
    with ThreadPoolExecutor(len(writers)) as pool:
        try:
            written: list[Future[None]] = []
            while not at_end:
                records, at_end = reader.read(READ_BYTES)
                _wait_for(written)
                written = [pool.submit(writers[name].add, *records[name]) for name in records]
            _wait_for(written)
        finally:
            pool.shutdown()
            for writer in writers.values():
                writer.close()
    rows = {writer.name: writer.rows for writer in writers.values()}
    if rows.get("io") == 0:  # as of most programs
        del rows["io"]
        (directory / "io.parquet").unlink()
    return RawSummary(rows, reader.discarded, reader.damage)
