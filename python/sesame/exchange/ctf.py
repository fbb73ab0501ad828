"""Imports traces in the Common Trace Format 1.8, of LTTng, perf, babeltrace2 and others.

Every event class becomes a table that only this data set has: `time_ns`, the processor, contexts
and fields. Structures become a column for each of their fields; variants and arrays of structures
are JSON text. Classes of several traces that have the same name and fields share a table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from heapq import merge
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa

from sesame.datasets import Field, HostMachine, RecordType, all_record_types
from sesame.errors import InputError
from sesame.exchange.ctf_decode import Named
from sesame.exchange.ctf_metadata import is_metadata, read_metadata
from sesame.exchange.ctf_streams import Found, TraceReader
from sesame.exchange.ctf_types import (
    Array,
    Enumeration,
    Event,
    Float,
    Integer,
    String,
    Structure,
    Type,
)
from sesame.exchange.record_file import Scratch
from sesame.exchange.spool import Spool
from sesame.exchange.traced import Columns, Traced, free_identifier

MOST_STREAMS = 800  # files that are open at once
MOST_TABLES = 1 << 12
BUFFERED_ROWS = 1 << 14  # in memory
EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)  # an earlier time is one since the machine started
CPU = ("cpu_id", "cpu")

Get = Callable[[Found], Any]


def recognises(path: Path) -> bool:
    if path.is_dir():
        return any(map(is_metadata, _metadata_files(path)))
    return path.name == "metadata" and is_metadata(path)


def read(path: Path, scratch: Scratch) -> Traced:
    """`path` is a trace, its metadata, or a directory of several, which become one data set."""
    files = _metadata_files(path) if path.is_dir() else [path]
    readers = [TraceReader(one.parent, read_metadata(one)) for one in files if is_metadata(one)]
    streams = [(reader, file) for reader in readers for file in reader.files()]
    if not streams:
        raise InputError("a trace without streams of events", path=str(path))
    if len(streams) > MOST_STREAMS:
        raise InputError(f"more than {MOST_STREAMS} streams", path=str(path))
    tables, first, last = _Tables(scratch), None, 0
    for found in merge(*(reader.events(file) for reader, file in streams), key=_time):
        first = found.time_ns if first is None else first
        last = max(last, found.time_ns)
        tables.add(found, found.time_ns - first)
    return _traced(path, readers, tables, first or 0, last)


def _metadata_files(path: Path) -> list[Path]:
    return sorted(one for one in path.rglob("metadata") if one.is_file())


_time = attrgetter("time_ns")


@dataclass
class _Column:
    described: Field
    get: Get


@dataclass
class _Table:
    described: RecordType
    getters: list[Get]
    rows: list[list[Any]] = field(default_factory=list)  # of all classes of the table


class _Tables:
    """A table for each event class. Their records are on disk but for the most recent."""

    def __init__(self, scratch: Scratch) -> None:
        self.all: dict[int, _Table] = {}  # by the id of the class
        self._classes: list[Event] = []  # kept, since their ids are
        self._spool = Spool(scratch)
        self._names = set(all_record_types())
        self._buffered = 0

    def add(self, found: Found, since_first_ns: int) -> None:
        table = self.all.get(id(found.kind)) or self._new(found)
        table.rows.append([since_first_ns, *(get(found) for get in table.getters)])
        self._buffered += 1
        if self._buffered >= BUFFERED_ROWS:
            self.flush()

    def _new(self, found: Found) -> _Table:
        if len(self.all) == MOST_TABLES:
            raise InputError(f"more than {MOST_TABLES} kinds of events")
        time = Field("time_ns", "int64", "ns", "time since the first event of the trace")
        taken, columns = {time.name}, list[_Column]()
        if cpu := next((one for one in CPU if isinstance(found.parts[0].get(one), int)), ""):
            columns.append(_Column(Field("cpu", "int64", "", "processor"), _getter(0, (cpu,))))
            taken.add("cpu")
        for part, of in enumerate(
            (found.kind.common, found.kind.context, found.kind.fields), start=1
        ):
            columns += _columns(part, of, (), taken)
        fields = (time, *(one.described for one in columns))
        table = self._by_fields(found.kind.name, fields, [one.get for one in columns])
        self.all[id(found.kind)] = table
        self._classes.append(found.kind)
        return table

    def _by_fields(self, event: str, fields: tuple[Field, ...], getters: list[Get]) -> _Table:
        for one in self.all.values():
            if (one.described.meaning, one.described.fields) == (event, fields):
                return _Table(one.described, getters, one.rows)
        name = free_identifier(event, self._names)
        self._names.add(name)
        return _Table(RecordType(name, event, fields), getters)

    def flush(self) -> None:
        for table in self.all.values():
            if table.rows:
                self._spool.append(table.described.name, _batch(table))
                table.rows.clear()
        self._buffered = 0

    def batches(self, name: str) -> Iterator[Columns]:
        for batch in self._spool.batches(name):
            yield {name: batch.column(name) for name in batch.schema.names}


def _batch(table: _Table) -> pa.RecordBatch:
    schema = table.described.arrow_schema()
    columns = zip(schema, zip(*table.rows, strict=True), strict=True)
    try:
        arrays = [pa.array(values, each.type) for each, values in columns]
    except (pa.ArrowException, OverflowError) as error:
        raise InputError(f"event {table.described.meaning}: {error}") from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


# ---- Columns of an event class ----


def _columns(
    part: int, of: Structure | None, path: tuple[str, ...], taken: set[str]
) -> list[_Column]:
    found: list[_Column] = []
    for name, kind in of.fields if of is not None else ():
        inner = (*path, name)
        if isinstance(kind, Structure):
            found += _columns(part, kind, inner, taken)
            continue
        short = free_identifier("_".join(inner), taken)
        taken.add(short)
        stored, make = _stored(kind)
        meaning = ".".join(inner) if short != name else ""
        found.append(_Column(Field(short, stored, "", meaning), _getter(part, inner, make)))
    return found


def _getter(part: int, path: tuple[str, ...], make: Callable[[Any], Any] | None = None) -> Get:
    names = [itemgetter(name) for name in path]

    def get(found: Found) -> Any:
        value: Any = found.parts[part]
        for name in names:
            value = name(value)
        return value if make is None else make(value)

    return get


def _stored(kind: Type) -> tuple[str, Callable[[Any], Any] | None]:
    """The type of a column, and what makes its values."""
    match kind:
        case Integer():
            return ("int64" if kind.is_signed or kind.size < 64 else "uint64"), None
        case Float():
            return "float64", None
        case String():
            return "text", None
        case Enumeration():
            return "name", _label
        case Array(element=Integer(is_text=True)):
            return "text", None
        case Array(element=Integer() | Float() | String() as element):
            return f"{_stored(element)[0]}[]", None
    return "text", _json


def _label(value: Named) -> str:
    return value.label or str(int(value))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


# ---- The run ----


def _traced(
    path: Path, readers: list[TraceReader], tables: _Tables, first_ns: int, last_ns: int
) -> Traced:
    tables.flush()
    damage = [line for one in readers for line in one.damage]
    if not tables.all:
        raise InputError("; ".join(["a trace without events", *damage]), path=str(path))
    environment = {
        name: str(value) for one in readers for name, value in one.trace.environment.items()
    }
    if discarded := sum(one.discarded for one in readers):
        damage.append(f"{discarded} events had no space in the tracer's buffers")
    own = {one.described.name: one.described for one in tables.all.values()}
    tool = environment.get("tracer_name", "CTF")
    host = environment.get("hostname") or environment.get("host")
    system = " ".join(environment[one] for one in ("sysname", "release") if environment.get(one))
    begin = datetime.fromtimestamp(first_ns / 1e9, UTC) if 0 < first_ns < 1 << 62 else EARLIEST
    return Traced(
        tool=tool,
        version=_version(environment),
        command=[],
        begin=begin if begin > EARLIEST else None,
        duration_ns=last_ns - first_ns,
        ranks=0,
        batches={name: tables.batches(name) for name in own},
        own=own,
        damage=damage,
        title=f"Events of {tool}" + (f" on {host}" if host else ""),
        host=HostMachine(host, system) if host else None,
        more={
            **({"trace_environment": environment} if environment else {}),
            **({"begin_realtime_ns": first_ns} if begin > EARLIEST else {}),
        },
    )


def _version(environment: dict[str, str]) -> str:
    major, minor = environment.get("tracer_major"), environment.get("tracer_minor")
    return f"{major}.{minor}" if major and minor else environment.get("version", "")
