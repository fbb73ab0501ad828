"""Merges what a program did with what the system did at the same time: one data set with the tables
of both, on one clock, and a table of the calls and events of both in order of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sesame.datasets import RUNS_WITH_CALLS, DataSet, DataSetWriter, Field, Info, RecordType
from sesame.errors import InputError
from sesame.traced.clocks import kernel_shift_ns

MOMENTS = ("time_ns", "begin_ns", "end_ns")  # fields that are times, not durations
SEQUENCE = RecordType(
    "sequence",
    "A call of the program or an event of the system, in order of time",
    (
        Field("begin_ns", "int64", "ns", "its begin, since the begin of the run"),
        Field("duration_ns", "int64", "ns", "how long it took; 0 when that was not measured"),
        Field("level", "name", "", "program or system"),
        Field("record", "name", "", "the table that has its record"),
        Field("what", "name", "", "the call; of the system subsystem and point, or the table"),
        Field("rank", "int64", "rank", "the rank that did it; -1: another process, or unknown"),
        Field("bytes", "int64", "B", "its size"),
    ),
)
ROWS = 1 << 16
Systems = Sequence[tuple[DataSet, Mapping[str, str]]]  # with the new names of their tables
MOST_ROWS = 20_000_000  # of the sequence, which is sorted in memory


def merge(data_sets: Sequence[DataSet], destination: Path) -> None:
    """Raises InputError unless they are a run of a program and what was recorded of the system
    meanwhile, with the time of day of their begins."""
    program, systems = _levels(data_sets)
    with DataSetWriter(destination) as writer:
        for name in program.tables:
            writer.write_described_batches(_type(program, name, name), _columns(program, name, 0))
        merged = [(one, _add(writer, program, one)) for one in systems]
        note = _write_sequence(writer, program, merged)
        writer.finish(_info(program, merged, [note] if note else []))


def _info(program: DataSet, merged: Systems, notes: Sequence[str]) -> Info:
    """That of the program, with what was merged into it."""
    merged_with = [
        {"title": one.info.title, "kind": str(one.kind), "tables": list(names.values())}
        | {key: one.info[key] for key in ("instrument", "host", "command") if key in one.info}
        for one, names in merged
    ]
    infos = [program.info, *(one.info for one, _ in merged)]
    return replace(
        program.info,
        doubts=[doubt for info in infos for doubt in info.doubts],
        notes=[*(note for info in infos for note in info.notes), *notes],
        more={**program.info.more, "merged_with": merged_with},
    )


def _levels(data_sets: Sequence[DataSet]) -> tuple[DataSet, list[DataSet]]:
    """The data set of the program, and those of the system."""
    programs = [one for one in data_sets if one.kind in RUNS_WITH_CALLS and one.has("process")]
    if len(programs) != 1 or len(data_sets) < 2:
        kinds = ", ".join(str(one.kind) for one in data_sets)
        raise InputError(
            f"expected a run of one program, and what was recorded of the system: got {kinds}",
            hint="upload other data sets one by one",
        )
    return programs[0], [one for one in data_sets if one is not programs[0]]


def _add(writer: DataSetWriter, program: DataSet, system: DataSet) -> dict[str, str]:
    """Writes the tables of the system; returns their new names by those that they had."""
    shift, names = kernel_shift_ns(program, system), dict[str, str]()
    for name in system.tables:
        own = name if name not in writer.rows else f"system_{name}"
        if own in (*writer.rows, SEQUENCE.name):
            raise InputError(f"several data sets have the table {name}")
        writer.write_described_batches(_type(system, name, own), _columns(system, name, shift))
        names[name] = own
    return names


def _type(data_set: DataSet, name: str, new_name: str) -> RecordType:
    described = data_set.record_types[name]
    fields = tuple(
        Field(*(one[key] for key in ("name", "type", "unit", "meaning")))
        for one in described["fields"]
    )
    return RecordType(new_name, described["meaning"], fields)


def _columns(data_set: DataSet, name: str, shift_ns: int) -> Iterator[dict[str, Any]]:
    for batch in data_set.batches(name):
        yield {
            column: _shifted(batch.column(column), shift_ns if column in MOMENTS else 0)
            for column in batch.schema.names
        }


def _shifted(values: pa.Array, shift_ns: int) -> pa.Array:
    if not shift_ns or not pa.types.is_integer(values.type):
        return values
    try:
        return pc.add_checked(values.cast(pa.int64()), shift_ns)
    except pa.ArrowException as error:
        raise InputError(f"these are no times of one run: {error}") from error


def _write_sequence(writer: DataSetWriter, program: DataSet, systems: Systems) -> str:
    """The calls and events of both, in order of time. Returns why there is none, or ""."""
    sources = [(program, name, name, 0) for name in ("io", "mpi") if program.has(name)]
    for system, names in systems:
        shift = kernel_shift_ns(program, system)
        timed = {one: own for one, own in names.items() if "time_ns" in system.schema(one).names}
        sources += [(system, name, own, shift) for name, own in timed.items()]
    rows = sum(data_set.record_types[name]["rows"] for data_set, name, _, _ in sources)
    if rows > MOST_ROWS:
        return f"there is no table sequence: it is made up to {MOST_ROWS:,} records"
    ranks = _ranks(program)
    schema = SEQUENCE.arrow_schema()
    parts = [
        _part(batch, own, shift, ranks if data_set is not program else None).cast(schema)
        for data_set, name, own, shift in sources
        for batch in data_set.batches(name)
    ]
    whole = pa.concat_tables(parts).unify_dictionaries() if parts else schema.empty_table()
    keys = [("begin_ns", "ascending"), ("is_system", "ascending"), ("duration_ns", "descending")]
    is_system = pc.not_equal(whole.column("level").cast(pa.string()), "program")
    order = pc.sort_indices(whole.append_column("is_system", is_system), sort_keys=keys)
    taken = (whole.take(order.slice(at, ROWS)) for at in range(0, len(order), ROWS))
    writer.write_described_batches(
        SEQUENCE, ({name: one.column(name) for name in schema.names} for one in taken)
    )
    return ""


def _ranks(program: DataSet) -> dict[tuple[str, int], int]:
    """The rank of each process, by host and number."""
    rows = program.table("process", ["host", "pid", "rank"]).to_pylist()
    return {(row["host"], row["pid"]): row["rank"] for row in rows}


def _part(
    batch: pa.RecordBatch, table: str, shift_ns: int, ranks: Mapping[tuple[str, int], int] | None
) -> pa.Table:
    """Rows of the sequence. `ranks`: by process, for events of a system; None for calls."""
    columns = {name: batch.column(name) for name in batch.schema.names}
    none = pa.array([0] * len(batch), pa.int64())
    duration = columns.get("duration_ns", none).cast(pa.int64())
    if ranks is None:
        begin, what, rank = columns["begin_ns"], columns["call"], columns["rank"]
    else:
        end = _shifted(columns["time_ns"], shift_ns).cast(pa.int64())
        begin, what = pc.subtract(end, duration), pa.array([table] * len(batch))
        rank = pa.array([-1] * len(batch))
        if {"subsystem", "point", "node", "process"} <= columns.keys():
            names = (columns[name].cast(pa.string()) for name in ("subsystem", "point"))
            what = pc.binary_join_element_wise(*names, ".")
            places = zip(*(columns[one].to_pylist() for one in ("node", "process")), strict=True)
            rank = pa.array([ranks.get(place, -1) for place in places])
    level = pa.array(["program" if ranks is None else "system"] * len(batch), pa.string())
    return pa.table(
        {
            "begin_ns": begin,
            "duration_ns": duration,
            "level": level.dictionary_encode(),
            "record": pa.array([table] * len(batch), pa.string()).dictionary_encode(),
            "what": what.cast(pa.string()).dictionary_encode(),
            "rank": rank.cast(pa.int64()),
            "bytes": columns.get("bytes", none).cast(pa.int64()),
        }
    )
