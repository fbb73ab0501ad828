"""The result of an import, `Traced`, and its conversion to a data set."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sesame.datasets import (
    DataSetWriter,
    HostMachine,
    Info,
    Instrument,
    Kind,
    RecordType,
    record_type,
)
from sesame.datasets.describe import count_of
from sesame.datasets.traced import IoFlag, outcome_of

Columns = dict[str, Any]
Batches = Iterator[Columns]
Ints = npt.NDArray[np.int64]

# The value of a field that the other tool did not record; fields not listed here get 0 or "".
UNKNOWN = {
    "other_file": -1,
    "handle": -1,
    "offset": -1,
    "file": -1,
    "comm": -1,
    "peer": -1,
    "tag": -1,
    "made": -1,
    "calls": 1,
    "remote_parent": -1,
    "mpi_rank": -1,
    "parent": -1,
    "pid": -1,
    "size_before": -1,
    "kind": "unknown",
    "interface": "unknown",
    "outcome": "exited",
}


@dataclass
class Traced:
    """One run. A table has columns by field name; a column that is left out is unknown.

    Generators in `batches` may set duration, title, damage and lost while they run: these fields
    are valid only after all batches are read.
    """

    tool: str
    version: str
    command: list[str]
    begin: datetime | None
    duration_ns: int
    ranks: int
    tables: dict[str, Columns] = field(default_factory=dict)  # by record type
    batches: dict[str, Batches] = field(default_factory=dict)  # tables larger than memory
    damage: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)  # what was left out: no data set can hold it
    title: str = ""
    own: dict[str, RecordType] = field(default_factory=dict)  # types that only this run has
    description: str = ""
    host: HostMachine | None = None  # without one, the hosts of the processes
    more: dict[str, Any] = field(default_factory=dict)  # further keys of info.json


def names(values: Sequence[str], codes: npt.NDArray[Any]) -> pa.DictionaryArray:
    """A column of names: `values[code]` for each code."""
    return pa.DictionaryArray.from_arrays(codes.astype(np.int32), pa.array(values, pa.string()))


def free_identifier(name: str, taken: Set[str]) -> str:
    """A name that is not `taken`, in lower case with underscores: of a file, or a column in SQL."""
    short = re.sub(r"[^0-9a-z]+", "_", name.lower()).strip("_")[:60] or "unnamed"
    if short[0].isdigit():
        short = f"n_{short}"
    number, free = 1, short
    while free in taken:
        number += 1
        free = f"{short}_{number}"
    return free


def complete(described: RecordType, columns: Columns) -> Columns:
    """All columns of a record type; missing ones are filled with the values of UNKNOWN."""
    rows = len(next(iter(columns.values()))) if columns else 0
    wrong = set(columns) - {f.name for f in described.fields}
    assert not wrong, wrong
    return {f.name: columns.get(f.name, _missing(f.name, f.type, rows)) for f in described.fields}


def _missing(name: str, kind: str, rows: int) -> Any:
    value = UNKNOWN.get(name, "" if kind in ("text", "name") else 0)
    if isinstance(value, str):
        return [value] * rows
    return np.full(rows, value)


def call_order(columns: Mapping[str, Ints], layer: Ints) -> Ints:
    """The order of records: by rank, thread and begin, a call before those inside it.

    Of two calls with equal times the one with the lower `layer` is the outer one.
    """
    return np.lexsort(
        (
            layer,
            -columns["duration_ns"],
            columns["begin_ns"],
            columns["thread"],
            columns["rank"],
        )
    )


def nested(columns: Mapping[str, Ints], layer: Ints) -> npt.NDArray[np.bool_]:
    """Whether each call lies inside a call of a lower layer on the same thread.

    The records must be in the order of `call_order`.
    """
    if len(layer) == 0:
        return np.zeros(0, bool)
    end = columns["begin_ns"] + columns["duration_ns"]
    begin = columns["begin_ns"] - columns["begin_ns"].min()
    end = end - columns["begin_ns"].min()
    changes = (np.diff(columns["rank"]) != 0) | (np.diff(columns["thread"]) != 0)
    group = np.concatenate(([0], np.cumsum(changes)))
    base = group * (int(end.max()) + 1)  # keeps the ends of an earlier thread below these begins
    inside = np.zeros(len(layer), bool)
    for number in range(1, int(layer.max()) + 1):
        outer = np.maximum.accumulate(base + np.where(layer < number, end, 0))
        inside |= (layer == number) & (outer >= base + end) & (outer > base + begin)
    return inside


def mark_nested(columns: Columns, layer: Ints) -> None:
    inside = nested(columns, layer)
    columns["flags"] = np.asarray(columns["flags"]) | np.where(inside, int(IoFlag.NESTED), 0)


def write(traced: Traced, writer: DataSetWriter, source: str) -> dict[str, Any]:
    """Writes what was found as a data set; returns its result, the figures of the run."""
    io_ns: list[int] = []
    tables = {name: iter([columns]) for name, columns in traced.tables.items()}
    for name, batches in (tables | traced.batches).items():
        parts = _with_time(batches, io_ns) if name == "io" else batches
        described = traced.own.get(name) or record_type(name)
        writer.write_described_batches(described, (complete(described, part) for part in parts))
    result = _result(traced, writer.rows)
    if result["rows"].get("io", 0):
        result["io_s"] = float(sum(io_ns)) / 1e9
    writer.finish(_info(traced, source, result))
    return result


def _with_time(batches: Batches, io_ns: list[int]) -> Batches:
    """Passes the batches on. Appends to `io_ns` the total time of each batch's outer calls."""
    for io in batches:
        if io:
            outer = (np.asarray(io["flags"]) & int(IoFlag.NESTED)) == 0
            io_ns.append(int(np.asarray(io["duration_ns"])[outer].sum()))
        yield io


def _result(traced: Traced, rows: Mapping[str, int]) -> dict[str, Any]:
    """The result of a traced run, with what was not imported."""
    processes = traced.tables.get("process", {})
    outcomes = {str(name) for name in np.asarray(processes.get("outcome", ()))}
    discarded = int(np.sum(np.asarray(processes.get("discarded", ()))))
    result: dict[str, Any] = {
        "outcome": outcome_of(outcomes, traced.damage, discarded),
        "duration_s": traced.duration_ns / 1e9,
        "processes": rows.get("process", 0),
        "rows": dict(rows),
        "damage": traced.damage,
        "not_imported": traced.lost,
    }
    return result


def _host(processes: Columns) -> HostMachine:
    hosts = dict.fromkeys(str(host) for host in np.asarray(processes.get("host", ())) if host)
    return HostMachine.of_nodes(list(hosts))


def _info(traced: Traced, source: str, result: dict[str, Any]) -> Info:
    program = traced.command[0].rsplit("/", 1)[-1] if traced.command else "a program"
    begin = None if traced.begin is None else traced.begin.isoformat(timespec="seconds")
    return Info(
        kind=Kind.IMPORTED,
        title=traced.title
        or f"{program} on {count_of(traced.ranks, 'rank')}, traced by {traced.tool}",
        description=traced.description or f"Imported from {source}.",
        instrument=Instrument(traced.tool, traced.version),
        importer=Instrument.ours("sesame import"),
        host=traced.host or _host(traced.tables.get("process", {})),
        more=traced.more,
        ranks=traced.ranks,
        begin_time=begin,
        command=traced.command,
        result=result,
        raw={"format": traced.tool, "directory": None, "discarded": 0, "damage": traced.damage},
    )
