"""Batches of records of many types, on disk between reading a file and writing its tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import pyarrow as pa

from sesame.exchange.record_file import Scratch


class Spool:
    """One temporary file for all types, so that their number needs no open files."""

    def __init__(self, scratch: Scratch) -> None:
        self._file = scratch.new_file()
        self._places: dict[str, list[tuple[int, int]]] = defaultdict(list)  # offset and bytes
        self._end = 0

    def append(self, name: str, batch: pa.RecordBatch) -> None:
        """Batches of one name have the same schema."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        data = sink.getvalue()
        self._file.seek(self._end)
        self._file.write(data)
        self._places[name].append((self._end, data.size))
        self._end += data.size

    def batches(self, name: str) -> Iterator[pa.RecordBatch]:
        """The batches of a name in the order in which they were appended."""
        for offset, size in self._places[name]:
            self._file.seek(offset)
            with pa.ipc.open_stream(self._file.read(size)) as stream:
                yield from stream
