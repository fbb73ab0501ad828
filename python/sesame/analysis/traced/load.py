"""The records of a traced run as columns, with the kind of each call."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa

from sesame.analysis.calls import call_class
from sesame.analysis.traced.intervals import Array
from sesame.analysis.traced.views import MOST_FRAGMENTS, NO_VIEWS, FileViews
from sesame.datasets import RUNS_WITH_CALLS, DataSet
from sesame.datasets.traced import IoFlag, MpiFlag
from sesame.errors import InputError
from sesame.traced.io_calls import COPIES, READ, WRITE, io_kind, io_layer

STORED = ("regular", "directory", "unknown")  # kinds of files whose data are kept somewhere


@dataclass(frozen=True)
class Columns:
    """Arrays of one length; `call` is an index in `names`."""

    names: list[str]

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[1].name))

    def where(self, chosen: Array) -> Self:
        """The records that a mask or an array of indices chooses."""
        if chosen.dtype == bool and chosen.all():
            return self
        arrays = {f.name: getattr(self, f.name)[chosen] for f in fields(self)[1:]}
        return replace(self, **arrays)


@dataclass(frozen=True)
class IoRecords(Columns):
    """Calls on files."""

    rank: Array
    thread: Array
    begin: Array  # ns
    end: Array
    call: Array
    kind: Array  # of sesame.traced.io_calls, as the layer
    layer: Array
    file: Array
    comm: Array  # -1 for none
    offset: Array
    bytes: Array
    flags: Array
    error: Array
    view: Array  # index in the views of the run, if the access has known fragments; else -1
    reach: Array  # offset after its last byte; -1 if unknown

    @cached_property
    def own(self) -> Array:
        """Calls of the application itself, not those made inside another recorded call."""
        return np.asarray((self.flags & (IoFlag.NESTED | IoFlag.IMPLIED)) == 0)

    @cached_property
    def located(self) -> Array:
        """Whether the bytes are one range from `offset` on, and not several fragments."""
        return np.asarray((self.offset >= 0) & ((self.flags & IoFlag.SCATTERED) == 0))

    @cached_property
    def known(self) -> Array:
        """Whether it is known exactly which bytes of the file they are."""
        return np.asarray(self.reach >= 0)

    def fragments(self, views: FileViews) -> IoRecords:
        """One record for each fragment of each record; only offset, size and end differ. Records
        whose bytes are not known are left out."""
        io = self.where(self.known)
        if not (io.view >= 0).any():
            return io
        fragments = views.fragments(io.view, io.offset, io.bytes)
        order = np.argsort(fragments.access, kind="stable")
        io = io.where(fragments.access[order])
        offset, size = fragments.offset[order], fragments.bytes[order]
        return replace(
            io,
            offset=offset,
            bytes=size,
            reach=offset + size,
            view=np.full(len(io), -1),
            flags=io.flags & ~np.uint16(IoFlag.SCATTERED),
        )

    @cached_property
    def calls(self) -> Array:
        """How many calls a record stands for: several of a character each when they were merged."""
        merged = (self.flags & IoFlag.MERGED) != 0
        return np.where(merged, np.maximum(self.bytes, 1), 1)

    @cached_property
    def requests(self) -> Array:
        """How many requests for data a record stands for."""
        moves = (self.kind == READ) | (self.kind == WRITE)
        return np.where(moves, self.calls, 0)


@dataclass(frozen=True)
class MpiRecords(Columns):
    """MPI calls."""

    rank: Array
    thread: Array
    begin: Array  # ns
    end: Array
    call: Array
    kind: Array  # of sesame.analysis.calls
    comm: Array
    peer: Array
    tag: Array
    bytes: Array
    completion: Array
    flags: Array
    calls: Array  # that a record stands for: several of polls that found nothing

    @cached_property
    def own(self) -> Array:
        """Calls of the application itself, not those made inside another recorded call."""
        return np.asarray((self.flags & MpiFlag.NESTED) == 0)


@dataclass(frozen=True)
class Files:
    """The files of a run; records refer to them by index."""

    path: list[str]
    kind: list[str]
    filesystem: list[str]
    block_size: Array  # 0 when unknown
    size_before: Array  # bytes before the run; -1 if the file did not exist

    def __len__(self) -> int:
        return len(self.path)

    @cached_property
    def stored(self) -> Array:
        return np.array([kind in STORED for kind in self.kind], bool)


@dataclass(frozen=True)
class Processes:
    """The processes of a run, in the order of their numbers `rank`."""

    rank: Array
    mpi_rank: Array  # -1 for none
    begin: Array  # ns
    end: Array
    processor: Array  # ns of processor time; 0 when not known
    threads: Array
    discarded: Array
    host: list[str]
    outcome: list[str]

    @cached_property
    def ranks(self) -> Array:
        """The numbers of the processes whose time counts: the ranks of MPI, without launchers and
        other helpers. In a run without MPI, all processes."""
        is_rank = self.mpi_rank >= 0
        return self.rank[is_rank] if is_rank.any() else self.rank

    @property
    def is_mpi(self) -> bool:
        return bool((self.mpi_rank >= 0).any())


@dataclass(frozen=True)
class TracedRun:
    """All records of a traced run. Times are ns."""

    data_set: DataSet
    io: IoRecords
    mpi: MpiRecords
    files: Files
    processes: Processes
    views: FileViews = NO_VIEWS

    @property
    def ranks(self) -> int:
        """One more than the largest number of a process."""
        return int(self.processes.rank.max()) + 1 if len(self.processes.rank) else 0

    @property
    def begin(self) -> int:
        return int(self.processes.begin.min()) if len(self.processes.begin) else 0

    @property
    def end(self) -> int:
        return int(self.processes.end.max()) if len(self.processes.end) else 0

    @property
    def seconds(self) -> float:
        return (self.end - self.begin) * 1e-9


def is_traced(data_set: DataSet) -> bool:
    """Whether this is a traced, imported or replayed run, even with few records or none.

    A simulated run is not, although it has records of type io if its program used simulated files.
    """
    return data_set.kind in RUNS_WITH_CALLS and _has_any(
        data_set, "io", "mpi", "process", "file_total"
    )


def _has_any(data_set: DataSet, *names: str) -> bool:
    return any(name in data_set.record_types for name in names)


def load_run(data_set: DataSet) -> TracedRun:
    """Loads all records of a run; record types that the data set lacks are empty.

    Raises InputError if it is not a traced run, or its records contradict one another.
    """
    if not is_traced(data_set) and not data_set.has("io"):
        known = ", ".join(data_set.record_types) or "none"
        raise InputError(
            "not a traced run: expected one of the tables io, mpi, process and file_total, "
            f"got {known}",
            path=str(data_set.path),
            hint="`sesame trace` records a run, `sesame import` imports that of another tool",
        )
    files = _files(data_set)
    views = _views(data_set)
    io, mpi = _io(data_set, len(files), views), _mpi(data_set)
    processes = _processes(data_set, io, mpi)
    for name, records in (("io", io), ("mpi", mpi)):
        missing = np.setdiff1d(records.rank, processes.rank)
        if len(missing):
            raise InputError(
                f"some records are of rank {missing[0]}, but the table process has no row of that "
                "rank, expected one row there for each process of the run",
                path=str(data_set.path / f"{name}.parquet"),
                hint="the data set is damaged, or was written by another program: record or import "
                "the run again",
            )
    return TracedRun(data_set, io, mpi, files, processes, views)


def _columns(data_set: DataSet, name: str, wanted: list[str]) -> dict[str, Any]:
    """Arrays by field, empty if there are no such records. `names` are those of `call`."""
    if not data_set.has(name):
        return {**{field: np.zeros(0, np.int64) for field in wanted}, "names": []}
    table = data_set.table(name, wanted).unify_dictionaries().combine_chunks()
    found: dict[str, Any] = {"names": []}
    for field in wanted:
        column = _single(table.column(field))
        if pa.types.is_dictionary(column.type):
            found["names"] = column.dictionary.to_pylist()
            found[field] = column.indices.to_numpy()
        else:
            found[field] = column.to_numpy(zero_copy_only=False)
    return found


def _single(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _by_name(names: list[str], of: Any, call: Array) -> Array:
    return np.array([of(name) for name in names] or [0], np.int8)[call]


def _views(data_set: DataSet) -> FileViews:
    if not data_set.has("file_view"):
        return NO_VIEWS
    return FileViews(data_set.table("file_view").to_pydict())


def _io(data_set: DataSet, files: int, views: FileViews) -> IoRecords:
    wanted = (
        "rank thread begin_ns duration_ns call file other_file handle comm offset bytes flags error"
    )
    found = _columns(data_set, "io", wanted.split())
    names, call = found["names"], found["call"]
    if len(call) and int(found["file"].max()) >= files:
        raise InputError(
            f"records of type io name file {int(found['file'].max())}, and there are {files}",
            path=str(data_set.path / "io.parquet"),
        )
    begin = found["begin_ns"]
    records = IoRecords(
        names=names,
        rank=found["rank"].astype(np.int64),
        thread=found["thread"],
        begin=begin,
        end=begin + np.maximum(found["duration_ns"], 0),
        call=call,
        kind=_by_name(names, io_kind, call),
        layer=_by_name(names, io_layer, call),
        file=found["file"].astype(np.int64),
        comm=found["comm"],
        offset=found["offset"],
        bytes=np.maximum(found["bytes"], 0),
        flags=found["flags"],
        error=found["error"],
        view=np.full(len(call), -1),
        reach=np.full(len(call), -1),
    )
    records = _with_places(records, found["handle"], views)
    return _with_copies(records, found["other_file"])


def _with_places(records: IoRecords, handle: Array, views: FileViews) -> IoRecords:
    """Adds the views of accesses in several fragments, and the ends of all accesses."""
    view, reach = records.view, np.where(records.located, records.offset + records.bytes, -1)
    scattered = (records.flags & IoFlag.SCATTERED) != 0
    at = np.flatnonzero(scattered & (records.offset >= 0) & (records.bytes > 0))
    if len(at):
        of = views.find(records.rank[at], handle[at], records.begin[at])
        count = views.count(of, records.offset[at], records.bytes[at])
        order = np.argsort(count, kind="stable")
        fits = order[np.cumsum(count[order]) <= MOST_FRAGMENTS]
        chosen = fits[count[fits] > 0]
        at, of = at[chosen], of[chosen]
        view[at] = of
        fragments = views.fragments(of, records.offset[at], records.bytes[at])
        end = np.zeros(len(at), np.int64)
        np.maximum.at(end, fragments.access, fragments.offset + fragments.bytes)
        reach[at] = end
    return replace(records, view=view, reach=reach)


def _with_copies(records: IoRecords, other: Array) -> IoRecords:
    """Adds for each copy from file to file a write of the other file, which takes no time."""
    copies = [i for i, name in enumerate(records.names) if name in COPIES]
    chosen = np.flatnonzero(np.isin(records.call, copies) & (other >= 0))
    if len(chosen) == 0:
        return records
    added = records.where(chosen)
    added = replace(
        added,
        kind=np.full(len(chosen), WRITE, np.int8),
        end=added.begin,
        file=other[chosen].astype(np.int64),
        offset=np.full(len(chosen), -1, np.int64),
        reach=np.full(len(chosen), -1, np.int64),
    )
    arrays: dict[str, Any] = {
        f.name: np.insert(getattr(records, f.name), chosen + 1, getattr(added, f.name))
        for f in fields(records)[1:]
    }
    return replace(records, **arrays)


def _mpi(data_set: DataSet) -> MpiRecords:
    wanted = "rank thread begin_ns duration_ns call comm peer tag bytes completion flags"
    found = _columns(data_set, "mpi", wanted.split())
    if data_set.has("mpi") and "calls" in data_set.schema("mpi").names:
        calls = _columns(data_set, "mpi", ["calls"])["calls"]
    else:  # a data set of an earlier version
        calls = np.ones(len(found["rank"]), np.int64)
    return MpiRecords(
        names=found["names"],
        rank=found["rank"].astype(np.int64),
        thread=found["thread"],
        begin=found["begin_ns"],
        end=found["begin_ns"] + np.maximum(found["duration_ns"], 0),
        call=found["call"],
        kind=_by_name(found["names"], call_class, found["call"]),
        comm=found["comm"],
        peer=found["peer"],
        tag=found["tag"],
        bytes=found["bytes"],
        completion=found["completion"],
        flags=found["flags"],
        calls=calls,
    )


def _files(data_set: DataSet) -> Files:
    if not data_set.has("file"):
        return Files([], [], [], np.zeros(0, np.int64), np.zeros(0, np.int64))
    table = data_set.table("file")
    index = table.column("index").to_numpy()
    if not np.array_equal(np.sort(index), np.arange(len(index))):
        raise InputError(
            f"expected the indices 0 to {len(index) - 1}, each once",
            path=str(data_set.path / "file.parquet"),
        )
    table = _sorted(table, index)
    return Files(
        path=table.column("path").to_pylist(),
        kind=table.column("kind").to_pylist(),
        filesystem=table.column("filesystem").to_pylist(),
        block_size=table.column("block_size").to_numpy(),
        size_before=table.column("size_before").to_numpy(),
    )


def _processes(data_set: DataSet, io: IoRecords, mpi: MpiRecords) -> Processes:
    if not data_set.has("process"):
        return _processes_of_records(io, mpi)
    table = data_set.table("process")
    table = _sorted(table, table.column("rank").to_numpy())
    return Processes(
        rank=table.column("rank").to_numpy().astype(np.int64),
        mpi_rank=table.column("mpi_rank").to_numpy(),
        begin=table.column("begin_ns").to_numpy(),
        end=table.column("end_ns").to_numpy(),
        processor=_optional(table, "processor_ns"),
        threads=table.column("threads").to_numpy(),
        discarded=table.column("discarded").to_numpy().astype(np.int64),
        host=table.column("host").to_pylist(),
        outcome=table.column("outcome").to_pylist(),
    )


def _optional(table: pa.Table, field: str) -> Array:
    """A field that older data sets lack; zeros if it is missing."""
    if field not in table.column_names:
        return np.zeros(len(table), np.int64)
    return np.asarray(table.column(field).to_numpy())


def _sorted(table: pa.Table, key: Array) -> pa.Table:
    """The table sorted by `key`. pyarrow's own sort is not used: its import takes too long."""
    return table if np.all(key[1:] > key[:-1]) else table.take(np.argsort(key, kind="stable"))


def _processes_of_records(io: IoRecords, mpi: MpiRecords) -> Processes:
    """Processes as far as records show them: each from its first record to its last."""
    rank = np.concatenate([io.rank, mpi.rank])
    ranks = np.unique(rank)
    index = np.searchsorted(ranks, rank)
    begin = np.full(len(ranks), np.iinfo(np.int64).max)
    end = np.zeros(len(ranks), np.int64)
    np.minimum.at(begin, index, np.concatenate([io.begin, mpi.begin]))
    np.maximum.at(end, index, np.concatenate([io.end, mpi.end]))
    unknown = [""] * len(ranks)
    none = np.zeros(len(ranks), np.int64)
    return Processes(ranks, ranks, begin, end, none, none + 1, none, unknown, unknown)
