"""Imports SDDF files of any tool.

Records that a data set has, as our own export writes them, become those tables. Every other record
type becomes a table that only this data set has: its name and those of its fields in lower case
with underscores, arrays as lists.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from sesame.datasets import Field, HostMachine, RecordType, all_record_types
from sesame.errors import InputError
from sesame.exchange.record_file import Scratch
from sesame.exchange.sddf import is_integer, largest, sddf_type
from sesame.exchange.sddf_format import BINARY_MAGIC, TEXT_MAGIC, Descriptor
from sesame.exchange.sddf_reader import Attributes, Data, read_packets
from sesame.exchange.spool import Spool
from sesame.exchange.traced import Columns, Traced, free_identifier

MOST_TYPES = 1 << 10  # of records in a file
BUFFERED_VALUES = 1 << 19  # in memory
ELEMENTS = {"char": "text", "int": "int64", "float": "float64", "double": "float64"}
UNITS = ("unit", "units")
MEANINGS = ("meaning", "description")
# Words of the SESAME repository's info files, and of our own export.
TITLES = ("title", "data set title")
HOSTS = ("host", "host name", "hostname")
RANKS = ("ranks", "numnodes", "number of nodes", "nodes")
BEGINS = ("begin_time", "begin date", "date")
INSTRUMENTS = ("instrument", "instrument type", "tool")
VERSIONS = ("instrument version", "version")


def recognises(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(5) in (TEXT_MAGIC, BINARY_MAGIC)


@dataclass
class _Table:
    """A table that is being read."""

    described: RecordType
    is_known: bool  # a type that data sets have
    order: list[str]  # names of the fields in the order of the values
    rows: list[list[Any]] = field(default_factory=list)
    wide: set[str] = field(default_factory=set)  # fields with integers of more than 32 bits

    def narrowed(self) -> RecordType:
        """The type of a foreign record, once all integers are known: `int` has 32 bits in SDDF."""
        fields = tuple(
            replace(each, type=each.type.replace("int64", "int32"))
            if each.name not in self.wide
            else each
            for each in self.described.fields
        )
        return self.described if self.is_known else replace(self.described, fields=fields)


def read(path: Path, scratch: Scratch) -> Traced:
    attributes: dict[str, str] = {}
    tables = _Tables(path, scratch)
    for packet in read_packets(path):
        if isinstance(packet, Attributes):
            attributes |= packet.pairs
        elif isinstance(packet, Data):
            tables.add(packet)
        else:
            tables.describe(packet)
    if not tables.all:
        raise InputError("it describes no records", path=str(path))
    return _traced(path, attributes, tables)


class _Tables:
    """All tables of a file. Their records are on disk but for the most recent."""

    def __init__(self, path: Path, scratch: Scratch) -> None:
        self.all: dict[Any, _Table] = {}  # by name and fields of the descriptor
        self._by_descriptor: dict[int, tuple[Descriptor, _Table | None]] = {}  # by its id
        self._path = path
        self._spool = Spool(scratch)
        self._names: set[str] = set()
        self._buffered = 0

    def describe(self, found: Descriptor) -> None:
        """A descriptor may be repeated; one of the same name with other fields is another type."""
        key = (found.name, tuple((each.name, each.type, each.dimension) for each in found.fields))
        if key not in self.all and found.fields:
            self.all[key] = self._new_table(found)
        self._by_descriptor[id(found)] = (found, self.all.get(key))

    def _new_table(self, found: Descriptor) -> _Table:
        if len(self.all) == MOST_TYPES:
            raise InputError(f"more than {MOST_TYPES} record types", path=str(self._path))
        known = all_record_types().get(found.name)
        is_known = known is not None and _matches(found, known) and found.name not in self._names
        if known is not None and is_known:
            table = _Table(known, True, [each.name for each in found.fields])
        else:
            described = _own_type(found, self._names)
            table = _Table(described, False, [each.name for each in described.fields])
        self._names.add(table.described.name)
        return table

    def add(self, record: Data) -> None:
        _, table = self._by_descriptor[id(record.described)]
        if table is None:  # a record without fields
            return
        table.rows.append(record.values)
        self._buffered += sum(
            len(value) if isinstance(value, list) else 1 for value in record.values
        )
        if self._buffered >= BUFFERED_VALUES:
            self.flush()

    def flush(self) -> None:
        for table in self.all.values():
            if table.rows:
                self._spool.append(table.described.name, self._batch(table))
                table.rows = []
        self._buffered = 0

    def _batch(self, table: _Table) -> pa.RecordBatch:
        schema = table.described.arrow_schema()
        columns = dict(zip(table.order, zip(*table.rows, strict=True), strict=True))
        arrays = [self._array(table, each, columns[each.name]) for each in schema]
        for each, column in zip(schema.names, arrays, strict=True):
            if not table.is_known and is_integer(column) and largest(column) >= 1 << 31:
                table.wide.add(each)
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _array(self, table: _Table, each: pa.Field, values: tuple[Any, ...]) -> pa.Array:
        kind, whole = each.type, list(values)
        try:
            if pa.types.is_integer(kind):
                whole = [value if type(value) is int else _whole(value) for value in values]
            return pa.array(whole, kind)
        except (pa.ArrowException, ArithmeticError, TypeError, ValueError) as error:
            wrong = f"record {table.described.name}, field {each.name}: {error}"
            raise InputError(wrong, path=str(self._path)) from error

    def batches(self, table: _Table) -> Any:
        schema = table.narrowed().arrow_schema()
        for batch in self._spool.batches(table.described.name):
            yield {each.name: batch.column(each.name).cast(each.type) for each in schema}

    def whole(self, table: _Table) -> Columns:
        parts = list(self._spool.batches(table.described.name))
        schema = table.described.arrow_schema()
        columns = pa.Table.from_batches(parts, schema=schema).combine_chunks()
        return {
            name: columns.column(name).combine_chunks() for name in schema.names if len(columns)
        }


def _traced(path: Path, attributes: dict[str, str], tables: _Tables) -> Traced:
    tables.flush()
    words = {key.lower(): value for key, value in attributes.items()}
    small: dict[str, Columns] = {}
    batches: dict[str, Any] = {}
    own: dict[str, RecordType] = {}
    for table in tables.all.values():
        name = table.described.name
        if name == "process":  # figures of the run are made from it
            small[name] = tables.whole(table)
        else:
            batches[name] = tables.batches(table)
        if not table.is_known:
            own[name] = table.narrowed()
    ends = small.get("process", {}).get("end_ns")
    ranks, host = _first(words, RANKS), _first(words, HOSTS)
    return Traced(
        tool=_first(words, INSTRUMENTS) or "SDDF",
        version=_first(words, VERSIONS),
        command=words.get("command", "").split(),
        begin=_time(_first(words, BEGINS)),
        duration_ns=max(ends.to_pylist(), default=0) if ends is not None else 0,
        ranks=int(ranks) if re.fullmatch(r"\d{1,9}", ranks) else 0,
        tables=small,
        batches=batches,
        own=own,
        title=_first(words, TITLES) or (f"Records of {path.name}" if own else ""),
        description=words.get("description", ""),
        host=HostMachine(host, _first(words, ("system type", "platform"))) if host else None,
        more={"stream_attributes": attributes} if own and attributes else {},
    )


def _matches(descriptor: Descriptor, described: RecordType) -> bool:
    types = {each.name: (each.type, each.dimension) for each in descriptor.fields}
    return types == {each.name: sddf_type(each.type) for each in described.fields}


def _own_type(found: Descriptor, taken: set[str]) -> RecordType:
    """The type of a foreign record. Its name is no name that a table of data sets has."""
    name = free_identifier(found.name, {*taken, *all_record_types()})
    fields: list[Field] = []
    names: set[str] = set()
    for each in found.fields:
        short = free_identifier(each.name, names)
        names.add(short)
        meaning = _meaning(each.attributes, UNITS) or (each.name if each.name != short else "")
        kind = ELEMENTS[each.type] + "[]" * (each.dimension - (each.type == "char"))
        if each.type == "char" and each.dimension == 0:
            kind = "text"
        fields.append(Field(short, kind, _first(each.attributes, UNITS), meaning))
    return RecordType(name, _meaning(found.attributes, ()) or found.name, tuple(fields))


def _meaning(attributes: dict[str, str], without: tuple[str, ...]) -> str:
    said = _first(attributes, MEANINGS)
    return said or "; ".join(
        f"{key}: {value}" for key, value in attributes.items() if key.lower() not in without
    )


def _first(words: dict[str, str], keys: tuple[str, ...]) -> str:
    return next((words[key].strip() for key in keys if words.get(key, "").strip()), "")


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
