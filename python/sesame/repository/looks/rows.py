"""Records as CSV, and the elements of one array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from sesame.datasets import DataSet
from sesame.errors import InputError
from sesame.exchange.csv import plain_column, plain_schema
from sesame.repository.looks.described import Table
from sesame.repository.looks.scan import Selection, selected

MOST_ELEMENTS = 1 << 20


def write_rows(
    data_set: DataSet,
    table: Table,
    fields: Sequence[str],
    selection: Selection,
    out: BinaryIO,
) -> None:
    """The selected records with `fields` (all if there are none). Names are text, arrays are JSON,
    times are integers as stored."""
    import pyarrow as pa
    from pyarrow import csv

    names = fields or [one.name for one in table.fields]
    schema = plain_schema(data_set.schema(table.name))
    schema = pa.schema([schema.field(name) for name in names])
    with csv.CSVWriter(out, schema) as writer:
        for batch in selected(data_set, table, names, selection):
            columns = [plain_column(batch.column(name)) for name in names]
            columns = [one.cast(field.type) for one, field in zip(columns, schema, strict=True)]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
    out.flush()


def element_rows(
    data_set: DataSet, table: Table, request: Mapping[str, Any]
) -> dict[str, np.ndarray[Any, Any]]:
    """`values`: the elements of an array of one record, arrays of arrays one after the other."""
    name, row = str(request["field"]), int(request["row"])
    table.get(name, table.arrays)
    for batch in data_set.batches(table.name, [name], 4096):
        if row < len(batch):
            values = batch.column(0).slice(row, 1)
            while hasattr(values, "flatten") and hasattr(values.type, "value_type"):
                values = values.flatten()
            found = values.slice(0, MOST_ELEMENTS).to_numpy(zero_copy_only=False).astype(float)
            return {"values": found}
        row -= len(batch)
    raise InputError(f"row: there is no record {request['row']}, there are {table.rows}")
