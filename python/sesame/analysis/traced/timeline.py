"""The time line of a traced run: what every process did when, in cells of time and processes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sesame.analysis import calls
from sesame.analysis.timeline import OVER, add_intervals
from sesame.analysis.traced.activity import outermost
from sesame.analysis.traced.intervals import Array
from sesame.analysis.traced.load import TracedRun
from sesame.traced.io_calls import READ, WRITE

REST, READING, WRITING, FILE_CALLS = range(4)
MPI = 4  # the first of the classes of calls but computation
STATE_NAMES = (
    "neither I/O nor MPI",
    "read",
    "write",
    "other file calls",
    *calls.CLASS_NAMES[calls.POINT_TO_POINT : calls.OTHER],
    "other MPI",
)
# What is neither I/O nor MPI is pale.
STATE_COLOURS = (
    calls.CLASS_COLOURS[calls.COMPUTE],
    "green",
    "orange",
    "yellow",
    *calls.CLASS_COLOURS[calls.POINT_TO_POINT : calls.FILE_ACCESS],
    "sky",  # calls of MPI-IO that are known as calls of MPI only
    calls.CLASS_COLOURS[calls.OTHER],
)
VISIBLE = 0.1  # share of a cell's time from which calls are shown; low, since I/O may be little

MOST_ROWS = 256
MOST_COLUMNS = 800


@dataclass(frozen=True)
class Cells:
    """The time line as a grid: a row for some ranks, a column for some time."""

    states: Array  # [row][column], an index in STATE_NAMES or OVER
    ranks_per_row: int
    cell_s: float
    records: int


@dataclass(frozen=True)
class Calls:
    """The outermost calls on files and of MPI together, as columns."""

    rank: Array
    begin: Array  # ns since the run began
    end: Array
    state: Array
    name: list[str]
    call: Array  # index in `name`
    bytes: Array
    file: Array  # -1 for none


def calls_of(run: TracedRun) -> Calls:
    io, mpi = outermost(run), run.mpi.where(run.mpi.own)
    of_io = np.select([io.kind == READ, io.kind == WRITE], [READING, WRITING], FILE_CALLS)
    return Calls(
        rank=np.concatenate([io.rank, mpi.rank]),
        begin=np.concatenate([io.begin, mpi.begin]) - run.begin,
        end=np.concatenate([io.end, mpi.end]) - run.begin,
        state=np.concatenate([of_io, mpi.kind.astype(np.int64) - 1 + MPI]),
        name=[*io.names, *mpi.names],
        call=np.concatenate([io.call, mpi.call + len(io.names)]),
        bytes=np.concatenate([io.bytes, mpi.bytes]),
        file=np.concatenate([io.file, np.full(len(mpi), -1)]),
    )


def bin_calls(
    run: TracedRun, found: Calls, rows: int = MOST_ROWS, columns: int = MOST_COLUMNS
) -> Cells:
    """The time line: each cell has the state that took most of its time in calls, or REST if calls
    took less than VISIBLE of its time."""
    ranks = run.ranks
    per_row = -(-ranks // rows)
    rows = -(-ranks // per_row)
    cell_ns = max((run.end - run.begin) / columns, 1.0)
    states, index = _present(found.state)
    time = np.zeros((len(states) * rows, columns))
    row = index * rows + found.rank // per_row
    add_intervals(time, row, found.begin / cell_ns, found.end / cell_ns)
    by_state = time.reshape(len(states), rows, columns)
    alive = np.zeros((rows, columns))
    processes = run.processes
    begin, end = processes.begin - run.begin, processes.end - run.begin
    add_intervals(alive, processes.rank // per_row, begin / cell_ns, end / cell_ns)
    busy = by_state.sum(axis=0)
    most = states[by_state.argmax(axis=0)]
    shown = np.where((busy >= VISIBLE * alive) & (busy > 0), most, REST).astype(np.int8)
    shown[(alive < 1e-9) & (busy < 1e-9)] = OVER
    return Cells(shown, per_row, cell_ns * 1e-9, len(found.rank))


def _present(state: Array) -> tuple[Array, Array]:
    """The states that occur, and for each call the index of its state among them."""
    count = np.bincount(state, minlength=len(STATE_NAMES))
    count[READING] += 1  # there must be at least one
    states = np.flatnonzero(count)
    return states, np.searchsorted(states, np.arange(len(STATE_NAMES)))[state]


def rate_over_time(run: TracedRun, kind: int, columns: int) -> tuple[Array, float]:
    """Bytes per second that all processes together moved in each of `columns` parts of the run,
    and the length of a part. A call's bytes are spread evenly over its time."""
    io = outermost(run)
    io = io.where((io.kind == kind) & (io.bytes > 0))
    cell = max((run.end - run.begin) / columns, 1.0)
    begin, end = (io.begin - run.begin) / cell, (io.end - run.begin) / cell
    # Bytes moved until each border of the cells: those of each call rise evenly in its time.
    borders = np.arange(columns + 1)
    rising = end > begin
    slope = io.bytes[rising] / (end - begin)[rising]
    total = _ramps(borders, begin[rising], slope) - _ramps(borders, end[rising], slope)
    at_once = np.minimum(begin[~rising].astype(np.int64), columns - 1)
    moved = np.diff(total) + np.bincount(at_once, io.bytes[~rising], columns)
    return np.maximum(moved, 0) / (cell * 1e-9), cell * 1e-9


def _ramps(at: Array, begin: Array, slope: Array) -> Array:
    """The sum of slope * max(at - begin, 0) over all ramps, for each `at`."""
    order = np.argsort(begin)
    begin, slope = begin[order], slope[order]
    count = np.searchsorted(begin, at, side="right")
    slopes = np.concatenate([[0.0], np.cumsum(slope)])[count]
    offsets = np.concatenate([[0.0], np.cumsum(slope * begin)])[count]
    return np.asarray(slopes * at - offsets)
