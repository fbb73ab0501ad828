"""The calls of a traced or simulated data set in the order of an OTF2 archive: by thread, then by
time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sesame.datasets import DataSet

Array = np.ndarray[Any, Any]
IO_FIELDS = "call file handle offset size bytes completion error flags"
MPI_FIELDS = "call comm peer tag bytes completion made flags"


@dataclass(frozen=True)
class Calls:
    """Times are in ticks of the archive's clock. A call is in table `io` or `mpi`, at `row`."""

    rank: Array
    thread: Array
    begin: Array
    end: Array
    is_io: Array
    row: Array
    io: dict[str, list[Any]] = field(default_factory=dict)
    mpi: dict[str, list[Any]] = field(default_factory=dict)

    def by_location(self) -> Iterator[tuple[int, int, Array]]:
        """For each thread: rank, thread, and its calls in the order of time. A call comes before
        the calls inside it."""
        order = np.lexsort((self.is_io, self.begin - self.end, self.begin, self.thread, self.rank))
        rank, thread = self.rank[order], self.thread[order]
        changes = np.flatnonzero((np.diff(rank) != 0) | (np.diff(thread) != 0)) + 1
        for chosen in np.split(order, changes) if len(order) else ():
            yield int(self.rank[chosen[0]]), int(self.thread[chosen[0]]), chosen

    def rows(self, chosen: Array) -> Iterator[tuple[int, int, bool, int]]:
        """(begin, end, is I/O, row) of calls, as Python integers, which are faster in loops."""
        begin, end = self.begin[chosen].tolist(), self.end[chosen].tolist()
        is_io, row = self.is_io[chosen].astype(bool).tolist(), self.row[chosen].tolist()
        return zip(begin, end, is_io, row, strict=True)


def traced_calls(data_set: DataSet) -> Calls:
    parts: list[tuple[Array, ...]] = []
    tables: dict[str, dict[str, list[Any]]] = {}
    for number, (name, wanted) in enumerate((("mpi", MPI_FIELDS), ("io", IO_FIELDS))):
        times = ["rank", "thread", "begin_ns", "duration_ns"]
        if not data_set.has(name):
            tables[name] = {}
            continue
        table = data_set.table(name, [*times, *wanted.split()])
        rank, thread, begin, duration = (
            table.column(key).to_numpy().astype(np.int64) for key in times
        )
        rows = np.arange(len(rank))
        parts.append((rank, thread, begin, begin + duration, np.full(len(rank), number), rows))
        tables[name] = {key: table.column(key).to_pylist() for key in wanted.split()}
    rank, thread, begin, end, is_io, rows = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    return Calls(rank, thread, begin, end, is_io, rows, io=tables["io"], mpi=tables["mpi"])


def simulated_calls(data_set: DataSet) -> Calls:
    """Calls of a simulated run. They complete no requests: messages are separate records."""
    wanted = ["rank", "begin_ps", "end_ps", "call", "context", "peer", "tag", "bytes", "flags"]
    table = data_set.table("call", wanted)
    rank, begin, end = (table.column(key).to_numpy().astype(np.int64) for key in wanted[:3])
    zero = np.zeros(len(rank), np.int64)
    mpi = {key: table.column(key).to_pylist() for key in wanted[3:]}
    mpi["comm"] = mpi.pop("context")
    mpi["completion"] = [0] * len(rank)
    mpi["made"] = [-1] * len(rank)
    mpi["flags"] = [0] * len(rank)
    return Calls(rank, zero, begin, end, zero, np.arange(len(rank)), mpi=mpi)
