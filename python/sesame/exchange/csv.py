"""Exports a data set as CSV: one file for each record type."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from sesame.datasets import DataSet
from sesame.errors import InputError
from sesame.exchange.output import whole_directory

FIELDS = "fields.csv"  # describes the columns of the other files


def write(data_set: DataSet, destination: Path, *, force: bool) -> int:
    """Writes `destination/call.csv`, …, `fields.csv` and `info.json`; returns the number of
    records."""
    if not data_set.record_types:
        raise InputError("there are no records in it", path=str(data_set.path))
    records = 0
    with whole_directory(destination, FIELDS, force=force) as directory:
        for name in data_set.record_types:
            records += _write_table(data_set, name, directory / f"{name}.csv")
        _write_fields(data_set, directory / FIELDS)
        info = json.dumps(data_set.info.as_json(), indent=2) + "\n"
        (directory / "info.json").write_text(info, encoding="utf-8")
    return records


def _write_table(data_set: DataSet, name: str, path: Path) -> int:
    """Writes in batches, since a table may be larger than memory."""
    schema = plain_schema(data_set.schema(name))
    rows = 0
    with csv.CSVWriter(path, schema) as writer:
        for batch in data_set.batches(name):
            columns = [
                plain_column(column).cast(field.type)
                for column, field in zip(batch, schema, strict=True)
            ]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
            rows += len(batch)
    return rows


def plain_column(column: pa.Array) -> pa.Array:
    """A column as CSV has it: arrays as JSON, any other as it is."""
    if not pa.types.is_list(column.type):
        return column
    return pa.array([json.dumps(value) for value in column.to_pylist()], pa.string())


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema with names of a dictionary and arrays as plain text."""
    return pa.schema([field.with_type(_plain_type(field.type)) for field in schema])


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.string()
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _write_fields(data_set: DataSet, path: Path) -> None:
    rows = [
        (name, *(field[key] for key in ("name", "type", "unit", "meaning")))
        for name, described in data_set.record_types.items()
        for field in described["fields"]
    ]
    names = ("record_type", "field", "type", "unit", "meaning")
    columns = zip(*rows, strict=True)
    csv.write_csv(pa.table(dict(zip(names, map(list, columns), strict=True))), path)
