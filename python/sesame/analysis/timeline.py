"""The time line of a simulated run as a grid of cells; each has the state that fills most of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sesame.analysis.calls import CLASS_NAMES, COMPUTE, FILE_ACCESS, call_class
from sesame.datasets import DataSet
from sesame.datasets.traced import IoFlag

Array = np.ndarray[Any, Any]
OVER = -1  # the rank has ended

MOST_ROWS = 256
MOST_COLUMNS = 1000


@dataclass(frozen=True)
class Timeline:
    """The grid: a row for some ranks, a column for some time."""

    states: Array  # [row][column], a class of calls or OVER
    ranks_per_row: int
    cell_s: float
    records: int


def rank_spans(data_set: DataSet) -> tuple[Array, Array]:
    """When each rank began and ended, in seconds."""
    table = data_set.table("rank")
    end_s = table.column("end_s").to_numpy()
    if "begin_s" not in table.column_names:  # recorded before ranks could be spawned
        return np.zeros(len(end_s)), end_s
    return table.column("begin_s").to_numpy(), end_s


def bin_timeline(data_set: DataSet, rows: int = MOST_ROWS, columns: int = MOST_COLUMNS) -> Timeline:
    """The time line in at most `rows` x `columns` cells. The time of each class in each cell is
    exact."""
    begin_s, end_s = rank_spans(data_set)
    ranks = len(end_s)
    ranks_per_row = -(-ranks // rows)
    rows = -(-ranks // ranks_per_row)
    cell_ps = max(float(end_s.max()) * 1e12 / columns, 1.0)
    row_of = np.arange(ranks) // ranks_per_row

    classes = len(CLASS_NAMES)
    time = np.zeros((classes, rows, columns))
    records = 0
    for rank, call, begin, end in (*_calls(data_set), *_file_calls(data_set)):
        records += len(rank)
        for kind in range(1, classes):
            chosen = (call == kind) & (end > begin)
            add_intervals(
                time[kind], row_of[rank[chosen]], begin[chosen] / cell_ps, end[chosen] / cell_ps
            )

    alive = np.zeros((rows, columns))
    add_intervals(alive, row_of, begin_s * 1e12 / cell_ps, end_s * 1e12 / cell_ps)
    time[COMPUTE] = np.maximum(alive - time[1:].sum(axis=0), 0)
    states = time.argmax(axis=0).astype(np.int8)
    states[alive < 1e-9] = OVER
    return Timeline(states, ranks_per_row, cell_ps * 1e-12, records)


def _calls(data_set: DataSet) -> Iterator[tuple[Array, Array, Array, Array]]:
    """Columns (rank, class, begin_ps, end_ps) of the MPI calls, a limited number at a time."""
    for batch in data_set.batches("call", ["rank", "call", "begin_ps", "end_ps"]):
        names = batch.column("call").dictionary.to_pylist()
        class_of = np.array([call_class(name) for name in names] or [0])
        yield (
            batch.column("rank").to_numpy(),
            class_of[batch.column("call").indices.to_numpy()],
            batch.column("begin_ps").to_numpy(),
            batch.column("end_ps").to_numpy(),
        )


def _file_calls(data_set: DataSet) -> Iterator[tuple[Array, Array, Array, Array]]:
    """The same columns for calls on files (POSIX, stdio) that the program makes itself."""
    calls = own_file_calls(data_set)
    if calls is not None:
        kind = np.full(len(calls["rank"]), FILE_ACCESS)
        yield calls["rank"], kind, calls["begin_ps"], calls["end_ps"]


def own_file_calls(data_set: DataSet) -> dict[str, Array] | None:
    """Calls on simulated files outside MPI: columns rank, call (name), begin_ps, end_ps, bytes."""
    if not data_set.has("io"):
        return None
    table = data_set.table("io", ["rank", "call", "begin_ns", "duration_ns", "bytes", "flags"])
    names = np.array(table.column("call").to_pylist(), dtype=object)
    flags = table.column("flags").to_numpy()
    of_mpi = np.array([str(name).startswith("MPI_") for name in names], dtype=bool)
    own = ~of_mpi & ((flags & IoFlag.NESTED) == 0)
    begin = table.column("begin_ns").to_numpy()[own] * 1000
    return {
        "rank": table.column("rank").to_numpy()[own].astype(np.int64),
        "call": names[own],
        "begin_ps": begin,
        "end_ps": begin + table.column("duration_ns").to_numpy()[own] * 1000,
        "bytes": table.column("bytes").to_numpy()[own],
    }


def add_intervals(cells: Array, row: Array, begin: Array, end: Array) -> None:
    """Adds to the cells of a row the share of each cell that each interval [begin, end) covers.
    `begin` and `end` are in units of columns."""
    rows, columns = cells.shape
    begin = np.clip(begin, 0, columns)
    end = np.clip(end, 0, columns)
    first = np.minimum(begin.astype(np.int64), columns - 1)
    last = np.minimum(end.astype(np.int64), columns - 1)
    # The cover of a cell is its share of the interval's start and end; whole cells between them
    # come from the difference array `step`, one column wider for the end of the last cell.
    size = rows * (columns + 1)
    at_first = row * (columns + 1) + first
    at_last = row * (columns + 1) + last
    cover = np.bincount(at_last, end - last, size) - np.bincount(at_first, begin - first, size)
    step = np.bincount(at_first, minlength=size) - np.bincount(at_last, minlength=size)
    whole = np.cumsum(step.reshape(rows, columns + 1), axis=1)
    cells += (cover.reshape(rows, columns + 1) + whole)[:, :columns]
