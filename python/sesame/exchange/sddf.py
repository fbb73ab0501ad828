"""Exports a data set as SDDF, with a descriptor for each record type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sesame.datasets import DataSet
from sesame.errors import InputError
from sesame.exchange.output import whole_file
from sesame.exchange.sddf_format import (
    ENCODED,
    BinaryForm,
    Descriptor,
    SddfField,
    TextForm,
)

# Integers that a 32-bit int may not hold are doubles, exact to 2^53.
SDDF_TYPES = {
    **dict.fromkeys(("int32", "int16", "int8", "uint16", "uint8"), "int"),
    **dict.fromkeys(("int64", "uint64", "uint32", "float64"), "double"),
    **dict.fromkeys(("text", "name"), "char"),
}
MOST_EXACT = 1 << 53
INFO_KEYS = ("title", "begin_time", "contact", "description")


def write(data_set: DataSet, destination: Path, *, force: bool) -> int:
    return _write(data_set, destination, TextForm(), force=force)


def write_binary(data_set: DataSet, destination: Path, *, force: bool) -> int:
    return _write(data_set, destination, BinaryForm(), force=force)


def write_binary_big(data_set: DataSet, destination: Path, *, force: bool) -> int:
    return _write(data_set, destination, BinaryForm(">"), force=force)


def _write(
    data_set: DataSet, destination: Path, form: TextForm | BinaryForm, *, force: bool
) -> int:
    if not data_set.record_types:
        raise InputError("there are no records in it", path=str(data_set.path))
    with whole_file(destination, force=force) as file:
        file.write(form.head())
        file.write(form.attributes(_stream_attributes(data_set)))
        records = 0
        for tag, (name, described) in enumerate(data_set.record_types.items(), 1):
            descriptor = _descriptor(tag, name, described)
            file.write(form.descriptor(descriptor))
            for batch in data_set.batches(name, rows=1 << 14):
                columns = [_column(data_set, name, batch, field) for field in described["fields"]]
                file.write(_records(data_set, form, descriptor, columns))
                records += len(batch)
    return records


def _records(
    data_set: DataSet, form: TextForm | BinaryForm, descriptor: Descriptor, columns: list[Any]
) -> bytes:
    try:
        return b"".join(form.data(descriptor, row) for row in zip(*columns, strict=True))
    except ValueError as error:
        wrong = f"{descriptor.name} records: {error}"
        raise InputError(wrong, path=str(data_set.path)) from None


def _stream_attributes(data_set: DataSet) -> dict[str, str]:
    info = data_set.info
    instrument = info.get("instrument", {})
    return {
        **{key: str(info[key]) for key in INFO_KEYS if info.get(key)},
        "command": " ".join(str(word) for word in info.get("command", [])),
        "ranks": str(info.get("ranks", "")),
        "instrument": str(instrument.get("name", "")),
        "instrument version": str(instrument.get("version", "")),
        ENCODED[0]: ENCODED[1],
    }


def sddf_type(kind: str) -> tuple[str, int]:
    """Type and dimension of a field of a data set, whose arrays are `int32[]` and the like."""
    element = SDDF_TYPES[kind.rstrip("[]")]
    return element, kind.count("[]") + (element == "char")


def _descriptor(tag: int, name: str, described: dict[str, Any]) -> Descriptor:
    fields = []
    for field in described["fields"]:
        element, dimension = sddf_type(field["type"])
        notes = {key: field[key] for key in ("unit", "meaning") if field[key]}
        fields.append(SddfField(field["name"], element, dimension, notes))
    return Descriptor(tag, name, tuple(fields), {"meaning": described["meaning"]})


def _column(
    data_set: DataSet, name: str, batch: pa.RecordBatch, field: dict[str, str]
) -> list[Any]:
    column = batch.column(field["name"])
    values: list[Any] = column.to_pylist()
    most = largest(column) if field["type"].rstrip("[]") in ("int64", "uint64") else 0
    if most > MOST_EXACT:
        raise InputError(
            f"field {field['name']} of {name} records: SDDF has no 64-bit integers, and its "
            f"doubles hold integers exactly up to 2^53, got one of size {most}",
            path=str(data_set.path / f"{name}.parquet"),
            hint="export in another format, for instance csv",
        )
    return values


def _elements(column: pa.Array) -> pa.Array:
    while pa.types.is_list(column.type):
        column = column.flatten()
    return column


def is_integer(column: pa.Array) -> bool:
    return bool(pa.types.is_integer(_elements(column).type))


def largest(column: pa.Array) -> int:
    """The largest size of an integer in a column, whose values may be arrays."""
    ends = pc.min_max(_elements(column)).as_py()
    return max((abs(int(end or 0)) for end in ends.values()), default=0)
