"""Exports a data set as SDDF, with a descriptor for each record type, and imports such files."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from sesame.datasets import DataSet, RecordType, all_record_types
from sesame.errors import InputError
from sesame.exchange.output import whole_file
from sesame.exchange.record_file import Scratch
from sesame.exchange.sddf_format import (
    BINARY_MAGIC,
    TEXT_MAGIC,
    BinaryForm,
    Descriptor,
    SddfField,
    TextForm,
)
from sesame.exchange.sddf_reader import Attributes, Data, read_packets
from sesame.exchange.traced import Traced

# Integers that a 32-bit int may not hold are doubles, exact to 2^53.
SDDF_TYPES = {
    **dict.fromkeys(("int32", "uint16", "uint8"), "int"),
    **dict.fromkeys(("int64", "uint64", "uint32", "float64"), "double"),
    **dict.fromkeys(("text", "name"), "char"),
}
MOST_EXACT = 1 << 53
INFO_KEYS = ("title", "begin_time", "contact", "description")


def write(data_set: DataSet, destination: Path, *, force: bool) -> int:
    return _write(data_set, destination, TextForm(), force=force)


def write_binary(data_set: DataSet, destination: Path, *, force: bool) -> int:
    return _write(data_set, destination, BinaryForm(), force=force)


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
                file.write(
                    b"".join(form.data(descriptor, row) for row in zip(*columns, strict=True))
                )
                records += len(batch)
    return records


def _stream_attributes(data_set: DataSet) -> dict[str, str]:
    info = data_set.info
    instrument = info.get("instrument", {})
    return {
        **{key: str(info[key]) for key in INFO_KEYS if info.get(key)},
        "command": " ".join(str(word) for word in info.get("command", [])),
        "ranks": str(info.get("ranks", "")),
        "instrument": str(instrument.get("name", "")),
        "instrument version": str(instrument.get("version", "")),
        "text": "percent-encoded, as in RFC 3986",
    }


def _descriptor(tag: int, name: str, described: dict[str, Any]) -> Descriptor:
    fields = []
    for field in described["fields"]:
        kind = SDDF_TYPES[field["type"]]
        notes = {key: field[key] for key in ("unit", "meaning") if field[key]}
        fields.append(SddfField(field["name"], kind, int(kind == "char"), notes))
    return Descriptor(tag, name, tuple(fields), {"meaning": described["meaning"]})


def _column(
    data_set: DataSet, name: str, batch: pa.RecordBatch, field: dict[str, str]
) -> list[Any]:
    column = batch.column(field["name"])
    values: list[Any] = column.to_pylist()
    is_long = field["type"] in ("int64", "uint64")
    most = max(map(abs, values), default=0) if is_long else 0
    if most > MOST_EXACT:
        raise InputError(
            f"field {field['name']} of {name} records: SDDF has no 64-bit integers, and its "
            f"doubles hold integers exactly up to 2^53, got one of size {most}",
            path=str(data_set.path / f"{name}.parquet"),
            hint="export in another format, for instance csv",
        )
    return values


def recognises(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(5) in (TEXT_MAGIC, BINARY_MAGIC)


def read(path: Path, _: Scratch) -> Traced:
    """Reads records of the types that data sets have. Others are left out and listed in `lost`."""
    known = all_record_types()
    attributes: dict[str, str] = {}
    rows: dict[str, list[list[Any]]] = {}
    order: dict[str, list[str]] = {}
    lost: dict[str, None] = {}
    for packet in read_packets(path):
        if isinstance(packet, Attributes):
            attributes |= packet.pairs
        elif isinstance(packet, Data):
            rows[packet.described.name].append(packet.values)
        elif packet.name in known and _matches(packet, known[packet.name]):
            rows.setdefault(packet.name, [])
            order[packet.name] = [field.name for field in packet.fields]
        else:
            rows.setdefault(packet.name, [])
            lost[f"records {packet.name}"] = None
    tables = {name: _table(known[name], fields, rows[name], path) for name, fields in order.items()}
    if not tables:
        raise InputError("none of its records are of a type that data sets have", path=str(path))
    ends = tables.get("process", {}).get("end_ns")
    return Traced(
        tool=attributes.get("instrument", "SDDF"),
        version=attributes.get("instrument version", ""),
        command=attributes.get("command", "").split(),
        begin=_time(attributes.get("begin_time", "")),
        duration_ns=max(ends.to_pylist(), default=0) if ends is not None else 0,
        ranks=int(attributes["ranks"]) if attributes.get("ranks", "").isdigit() else 0,
        tables=tables,
        lost=list(lost),
    )


def _matches(descriptor: Descriptor, described: RecordType) -> bool:
    types = {field.name: field.type for field in descriptor.fields}
    return types == {field.name: SDDF_TYPES[field.type] for field in described.fields}


def _table(
    described: RecordType, order: list[str], rows: list[list[Any]], path: Path
) -> dict[str, Any]:
    columns = dict(zip(order, map(list, zip(*rows, strict=True)), strict=True)) if rows else {}
    schema = described.arrow_schema()
    table = {}
    for name, values in columns.items():
        kind = schema.field(name).type
        try:
            exact = [_whole(value) for value in values] if pa.types.is_integer(kind) else values
            table[name] = pa.array(exact, kind)
        except (pa.ArrowException, ArithmeticError, TypeError, ValueError) as error:
            wrong = f"record {described.name}, field {name}: {error}"
            raise InputError(wrong, path=str(path)) from error
    return table


def _whole(value: Any) -> int:
    number = int(value)
    if number != value:
        raise ValueError(f"{value} is not a whole number")
    return number


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
