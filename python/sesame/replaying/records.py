"""The records of a traced run as columns, and for each the record in which it is nested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sesame.datasets import DataSet
from sesame.datasets.describe import count_of
from sesame.datasets.traced import IoFlag, MpiFlag
from sesame.errors import InputError
from sesame.traced.groups import Array
from sesame.traced.members import members_of
from sesame.trust import Doubt, Reason

MOST_NAMED = 5
LOWER_BOUND = "take the replayed I/O for a lower bound"
LONGEST_RUN_NS = 100 * 86_400 * 10**9  # longer runs overflow sums of times of many streams


@dataclass(frozen=True)
class Table:
    """Records of one type: columns by name; `call` as indices into `names`."""

    columns: dict[str, Array]
    names: list[str]

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    def __len__(self) -> int:
        return len(self.columns["rank"])

    @property
    def end(self) -> Array:
        return self["begin_ns"] + self["duration_ns"]

    def is_call(self, wanted: Any) -> Array:
        """Whether the name of each record's call is in `wanted`."""
        return self.by_name(lambda name: name in wanted).astype(bool)

    def by_call(self, values: dict[str, int], missing: int) -> Array:
        """For each record `values[name of its call]`, or `missing`."""
        return self.by_name(lambda name: values.get(name, missing))

    def by_name(self, value_of: Callable[[str], int]) -> Array:
        """For each record `value_of(name of its call)`."""
        of_name = np.array([value_of(name) for name in self.names] or [0])
        return np.asarray(of_name[self["call"]])


@dataclass(frozen=True)
class TracedFile:
    path: str
    kind: str
    size_before: int
    filesystem: str


@dataclass(frozen=True)
class Process:
    rank: int
    parent: int
    begin_ns: int
    end_ns: int
    processor_ns: int  # 0 when not known
    outcome: str
    discarded: int


@dataclass(frozen=True)
class Trace:
    """A traced run. Times are nanoseconds since its first process began."""

    path: Path
    io: Table
    mpi: Table
    files: list[TracedFile]
    processes: list[Process]
    communicators: dict[int, Array]  # members in the order of their rank in it
    preempted: Table  # intervals in which other processes had the processor for some time
    doubts: tuple[Doubt, ...] = ()  # about records that are missing

    @property
    def recorded_ns(self) -> int:
        return max(process.end_ns for process in self.processes)


def read_trace(path: Path) -> Trace:
    data_set = DataSet(path)
    if "process" not in data_set.record_types:
        raise InputError(
            "this is no traced run: it has no records of type process",
            path=str(path),
            hint="record a run with `sesame trace`, or import one with `sesame import`",
        )
    processes = data_set.table("process").to_pylist()
    if not processes:
        raise InputError("the trace has no process", path=str(path))
    first = min(row["begin_ns"] for row in processes)
    last = max(row["end_ns"] for row in processes)
    if last - first > LONGEST_RUN_NS:
        raise InputError(
            f"impossible times: the run took {(last - first) * 1e-9:,.0f} s",
            path=str(path),
            hint="was the trace damaged, or a clock set during the run?",
        )
    return Trace(
        path,
        _table(data_set, "io", first),
        _table(data_set, "mpi", first),
        _files(data_set),
        [
            Process(
                row["rank"],
                row["parent"],
                row["begin_ns"] - first,
                row["end_ns"] - first,
                row.get("processor_ns", 0),
                row["outcome"],
                row["discarded"],
            )
            for row in processes
        ],
        _communicators(data_set),
        _table(data_set, "preempted", first),
        tuple(_doubts(data_set, processes)),
    )


def _doubts(data_set: DataSet, processes: list[dict[str, Any]]) -> Iterator[Doubt]:
    """Doubts because records are missing or damaged."""
    result = data_set.info.get("result", {})
    for doubt in result.get("doubts", []):
        if doubt["reason"] == Reason.INCOMPLETE_INPUT:
            yield _incomplete(f"of the recorded run {doubt['text']}", "this I/O", LOWER_BOUND)
    if lost := sum(row["discarded"] for row in processes):
        text = f"{count_of(lost, 'record')} of the run were lost"
        yield _incomplete(text, "what they tell", "record it again with more space for the trace")
    if cut_off := sum(row["outcome"] == "cut off" for row in processes):
        text = f"the records of {cut_off:,} of {len(processes):,} processes are cut off"
        yield _incomplete(text, "what came after them", "record the run to its end")
    if damage := result.get("damage", []):
        text = f"the recorded streams are damaged: {damage[0]}"
        yield _incomplete(text, "what stood behind the damage", "record it again")


def _incomplete(text: str, what: str, hint: str) -> Doubt:
    return Doubt(Reason.INCOMPLETE_INPUT, f"{text}: {what} is not replayed", hint)


def _table(data_set: DataSet, name: str, first: int) -> Table:
    from sesame.datasets import record_type

    if name not in data_set.record_types:
        schema = record_type(name).arrow_schema()
        table = schema.empty_table()
    else:
        table = data_set.table(name)
    columns, names = {}, list[str]()
    for field in table.schema.names:
        column = table.column(field)
        if pa.types.is_dictionary(column.type):
            column = column.unify_dictionaries().combine_chunks()
            if isinstance(column, pa.ChunkedArray):
                column = pa.concat_arrays(column.chunks or [pa.array([], column.type)])
            names = column.dictionary.to_pylist()
            column = column.indices
        values = (
            column.to_numpy(zero_copy_only=False)
            if isinstance(column, pa.Array)
            else (column.to_numpy())
        )
        columns[field] = values.astype(np.int64)
    columns["begin_ns"] = columns["begin_ns"] - first
    if name == "mpi" and "calls" not in columns:  # as in data sets of earlier versions
        columns["calls"] = np.ones(len(table), np.int64)
    return Table(columns, names)


def _files(data_set: DataSet) -> list[TracedFile]:
    if "file" not in data_set.record_types:
        return []
    rows = data_set.table("file").to_pylist()
    by_index = {row["index"]: row for row in rows}
    absent = {"path": "", "kind": "unknown", "size_before": -1, "filesystem": ""}
    count = max(by_index, default=-1) + 1
    found = [by_index.get(index, absent) for index in range(count)]
    return [
        TracedFile(row["path"], row["kind"], row["size_before"], row["filesystem"] or "")
        for row in found
    ]


def _communicators(data_set: DataSet) -> dict[int, Array]:
    if "communicator" not in data_set.record_types:
        return {}
    rows = data_set.table("communicator").to_pylist()
    return {row["index"]: members_of(row["members"]) for row in rows}


def what_it_holds(trace: Trace) -> str:
    """A description of the records, for the error about a trace without I/O to replay."""
    if not len(trace.io):
        number = int(trace.mpi["calls"].sum())
        calls = f"{count_of(number, 'call')} of MPI" if number else "no calls"
        if DataSet(trace.path).has("file_total"):
            return (
                "the data set has counters of files and no single calls; of Darshan, extended "
                "tracing has them (DXT_ENABLE_IO_TRACE=1 when the job runs)"
            )
        return f"the trace holds {calls}, and none on files"
    count = np.bincount(trace.io["call"], minlength=len(trace.io.names))
    most = np.argsort(-count, kind="stable")[:MOST_NAMED]
    named = ", ".join(f"{trace.io.names[one]} {count[one]:,}" for one in most if count[one])
    kinds = Counter(file.kind for file in trace.files)
    files = ", ".join(f"{kind} {number:,}" for kind, number in kinds.most_common())
    return (
        f"the trace holds {count_of(len(trace.io), 'call')} on files ({named}), and none on a "
        f"regular file or directory that is replayed; files by kind: {files or 'none'}"
    )


@dataclass(frozen=True)
class Order:
    """All records of a trace and their order in time.

    Each record has a number: rows of `io` come first, then rows of `mpi`. A stream is a thread of a
    process.
    """

    stream: Array  # index in `streams`
    begin: Array
    end: Array
    sorted: Array  # numbers, by stream and time, outer records before inner ones
    top: Array  # number of the outermost record around each; its own number if there is none
    streams: list[tuple[int, int]]  # rank and thread


def order_of(trace: Trace) -> Order:
    io, mpi = trace.io, trace.mpi

    def both(name: str) -> Array:
        return np.concatenate([io[name], mpi[name]])

    key = both("rank") << 16 | both("thread")
    keys, stream = np.unique(key, return_inverse=True)
    begin = both("begin_ns")
    end = np.concatenate([io.end, mpi.end])
    nested = np.concatenate([io["flags"] & IoFlag.NESTED != 0, mpi["flags"] & MpiFlag.NESTED != 0])
    by_time = np.lexsort((nested, -end, begin, stream))
    numbers = np.arange(len(by_time))
    is_top = ~nested[by_time]
    # The first record of a thread cannot be nested, whatever its flag says.
    is_top[np.flatnonzero(np.diff(stream[by_time], prepend=-1))] = True
    last_top = np.maximum.accumulate(np.where(is_top, numbers, 0))
    top = np.empty(len(by_time), np.int64)
    top[by_time] = by_time[last_top]
    streams = [(int(one) >> 16, int(one) & 0xFFFF) for one in keys]
    return Order(stream, begin, end, by_time, top, streams)


def contained_in_earlier(stream: Array, begin: Array, end: Array) -> Array:
    """Whether each interval, sorted as in Order, lies inside an earlier one of the same stream."""
    if len(stream) == 0:
        return np.zeros(0, bool)
    far = int(end.max()) + 1
    latest = np.maximum.accumulate(end + stream * far) - stream * far
    before = np.concatenate([[-1], latest[:-1]])
    before[np.flatnonzero(np.diff(stream, prepend=-1))] = -1
    return np.asarray((begin < before) & (end <= before))
