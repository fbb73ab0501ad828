"""The records of a traced run as one sequence of events for each rank, with the computation between
them.

A record inside another is either a part of that call (the receive of MPI_Sendrecv, a message that
MPI_Start starts), or an internal call of the library. Internal calls are left out: the outer call
is played.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pyarrow as pa

from sesame.datasets import DataSet
from sesame.datasets.traced import IoFlag, MpiFlag
from sesame.errors import InputError
from sesame.simulation.trace.calls import POLLS, STARTS, Role, plain, role_of

Array = np.ndarray[Any, Any]
CLOCK = "Wtime"
IDLE_WORK_NS = 2000  # polls with less work than this between them are one wait
COLUMNS = ("rank", "thread", "begin_ns", "duration_ns", "call", "comm", "bytes", "flags")
FILE_COLUMNS = ("file", "other_file", "handle", "offset", "size", "error")
IO_COLUMNS = (*COLUMNS, *FILE_COLUMNS, "completion")
MPI_COLUMNS = (*COLUMNS, "peer", "tag", "completion", "made")


@dataclass
class Events:
    """Events as arrays of equal length, in the order of rank, then begin. `call` and `played` are
    indices in `names`."""

    rank: Array
    call: Array
    begin: Array  # ns
    end: Array
    comm: Array
    peer: Array
    tag: Array
    bytes: Array
    flags: Array
    thread: Array
    is_io: Array
    on_file: Array  # on a regular file
    file: Array  # this and the next five are fields of io records
    other_file: Array
    handle: Array
    offset: Array
    size: Array
    error: Array
    record: Array  # number among the records of its rank and type; for messages
    completed_by: Array  # number of the event that completed the request; -1 for none
    made: Array  # communicator; -1 for none
    role: Array
    played: Array  # index in `names` of the player's call
    parent: Array = field(default_factory=lambda: np.empty(0, np.int64))  # -1: not inside another
    gap: Array = field(default_factory=lambda: np.empty(0, np.int64))  # ns of computation before
    names: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if len(self.parent) != len(self):
            self.parent = np.full(len(self), -1, np.int64)
        if len(self.gap) != len(self):
            self.gap = np.zeros(len(self), np.int64)

    def __len__(self) -> int:
        return len(self.rank)

    def take(self, chosen: Array) -> Events:
        """The events for which `chosen` is true; events that completed these must be among them."""
        place = np.full(len(self) + 1, -1, np.int64)
        place[:-1][chosen] = np.arange(np.count_nonzero(chosen))
        arrays = {f.name: getattr(self, f.name)[chosen] for f in fields(self) if f.name != "names"}
        arrays["completed_by"] = place[arrays["completed_by"]]
        arrays["parent"] = place[arrays["parent"]]
        return Events(**arrays, names=self.names)

    def describe(self, index: int) -> str:
        """Where an event is in the trace, for messages."""
        kind = "io" if self.is_io[index] else "mpi"
        return (
            f"rank {self.rank[index]}, {kind} record {self.record[index]} "
            f"({self.names[self.call[index]]})"
        )


@dataclass(frozen=True)
class LeftOut:
    """MPI calls of which only the accesses inside are played."""

    rank: Array
    begin: Array  # ns
    end: Array


@dataclass(frozen=True)
class Span:
    """When each rank began and ended, ns."""

    begin: Array
    end: Array

    @property
    def ranks(self) -> int:
        return len(self.begin)


def read_events(
    data_set: DataSet,
    span: Span,
    communicators: int,
    notes: list[str],
    choose_files: Callable[[Events], tuple[Events, Array]],
) -> tuple[Events, LeftOut]:
    """Reads the events to play, and the MPI calls that are left out. Raises InputError.

    `communicators`: their number. `choose_files`: chooses the accesses to files that are played.
    The gaps have all time between events; `keep_computation` reduces them to computation.
    """
    tables = [_read_table(data_set, name, span) for name in ("mpi", "io") if data_set.has(name)]
    events = _with_ends(tables, span)
    _check_calls(events)
    _check_times(events)
    _check_communicators(events, communicators)
    events = _leave_out_other_threads(events, span, notes)
    _find_parents(events)
    events, on_files = choose_files(events)
    in_parts = events.parent == np.arange(len(events))
    left_out = LeftOut(*(getattr(events, n)[in_parts] for n in ("rank", "begin", "end")))
    events = events.take(_is_played(events) | on_files)
    _find_gaps(events, span)
    return events, left_out


def _names(column: pa.ChunkedArray) -> tuple[Array, list[str]]:
    coded = column.combine_chunks()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.chunk(0)
    if not pa.types.is_dictionary(coded.type):
        coded = coded.dictionary_encode()
    return coded.indices.to_numpy(zero_copy_only=False).astype(
        np.int64
    ), coded.dictionary.to_pylist()


def _read_table(data_set: DataSet, name: str, span: Span) -> Events:
    io = name == "io"
    table = data_set.table(name, list(IO_COLUMNS if io else MPI_COLUMNS))
    columns = {c: table.column(c).to_numpy() for c in table.column_names if c != "call"}
    call, names = _names(table.column("call"))
    rank = columns["rank"].astype(np.int64)
    count = len(rank)
    begin = columns["begin_ns"].astype(np.int64)
    first = np.searchsorted(rank, np.arange(rank.max(initial=-1) + 2))  # records are by rank
    if np.any(np.diff(rank) < 0):
        raise InputError("records are not in the order of ranks", path=str(data_set.path))
    record = np.arange(count) - first[rank]
    none = np.full(count, -1, np.int64)
    completion = columns["completion"].astype(np.int64)
    completed_by = np.where(completion > 0, np.arange(count) + completion, -1)
    _check_completions(completed_by, rank, record, name, data_set)
    roles = [(Role.IO, "io") if io else role_of(plain(n)) for n in names]
    played = [f"MPI_{played}" if played[:1].isupper() else played for _, played in roles]
    return Events(
        rank=rank,
        call=call,
        begin=begin,
        end=begin + columns["duration_ns"],
        comm=columns["comm"].astype(np.int64),
        peer=none if io else columns["peer"].astype(np.int64),
        tag=none if io else columns["tag"].astype(np.int64),
        bytes=columns["bytes"].astype(np.int64),
        flags=columns["flags"].astype(np.int64),
        thread=columns["thread"].astype(np.int64),
        is_io=np.full(count, io),
        on_file=_is_regular(data_set, columns["file"]) if io else np.zeros(count, bool),
        **{name: columns[name].astype(np.int64) if io else none for name in FILE_COLUMNS},
        record=record,
        completed_by=completed_by,
        made=columns["made"].astype(np.int64) if "made" in columns else none,
        role=np.array([role for role, _ in roles], np.int64)[call] if count else call,
        played=call + len(names),
        names=[*names, *played],
    ).take(rank < span.ranks)


def _is_regular(data_set: DataSet, file: Array) -> Array:
    """Whether each access is to a regular file: MPI libraries also read from pipes and sockets."""
    if not data_set.has("file"):
        return np.zeros(len(file), bool)
    rows = data_set.table("file", ["index", "kind"]).to_pylist()
    regular = [row["index"] for row in rows if row["kind"] == "regular"]
    return np.isin(file, regular)


def _check_completions(
    completed_by: Array, rank: Array, record: Array, name: str, data_set: DataSet
) -> None:
    known = np.flatnonzero(completed_by >= 0)
    target = completed_by[known]
    outside = target >= len(rank)
    wrong = outside | (rank[np.where(outside, 0, target)] != rank[known])
    if wrong.any():
        first = known[np.argmax(wrong)]
        raise InputError(
            f"rank {rank[first]}, {name} record {record[first]}: the call that completed it is "
            "missing",
            path=str(data_set.path),
            hint="was the traced run cut off?",
        )


def _with_ends(tables: list[Events], span: Span) -> Events:
    """Joins all records by rank and time; adds MPI_Init and MPI_Finalize where they are missing."""
    tables = [*tables, _missing(tables, "MPI_Init", span), _missing(tables, "MPI_Finalize", span)]
    joined: dict[str, Any] = {"names": []}
    events = 0
    for table in tables:
        table.call = table.call + len(joined["names"])
        table.played = table.played + len(joined["names"])
        table.completed_by = np.where(table.completed_by < 0, -1, table.completed_by + events)
        joined["names"] += table.names
        events += len(table)
    for f in fields(Events):
        if f.name not in ("names", "gap", "parent"):
            joined[f.name] = np.concatenate([getattr(table, f.name) for table in tables])
    order = np.lexsort((np.arange(events), _comes_late(joined), joined["begin"], joined["rank"]))
    place = np.empty(events + 1, np.int64)
    place[order] = np.arange(events)
    place[-1] = -1
    for name, values in joined.items():
        if name != "names":
            joined[name] = values[order]
    joined["completed_by"] = place[joined["completed_by"]]
    return _one_number_a_name(Events(**joined))


def _comes_late(records: dict[str, Any]) -> Array:
    """Which records to sort after all others that began at the same time: nested ones, whose outer
    call may be in the other table.

    A nested record right after an outer call of its own table with the same begin stays there. If
    calls take no time, as in a replay without waiting, many begin at the same time.
    """
    nested = _is_flagged_nested(records["is_io"], records["flags"])
    outer = np.maximum.accumulate(np.where(nested, 0, np.arange(len(nested))))
    stays = ~nested[outer]
    for name in ("is_io", "rank", "thread", "begin"):
        stays &= records[name] == records[name][outer]
    late: Array = nested & ~stays
    return late


def _missing(tables: list[Events], name: str, span: Span) -> Events:
    role = role_of(plain(name))[0]
    there = np.zeros(span.ranks, bool)
    begin, end = span.begin, span.end.copy()
    for table in tables:
        there[table.rank[table.role == role]] = True
        np.maximum.at(end, table.rank, table.end)
    rank = np.flatnonzero(~there)
    time = (begin if role == Role.INIT else end)[rank]
    zero, none = np.zeros(len(rank), np.int64), np.full(len(rank), -1, np.int64)
    return Events(
        rank=rank,
        call=zero,
        begin=time,
        end=time,
        comm=none,
        peer=none,
        tag=none,
        bytes=zero,
        flags=zero,
        thread=zero,
        is_io=zero.astype(bool),
        on_file=zero.astype(bool),
        **dict.fromkeys(FILE_COLUMNS, none),
        record=none,
        completed_by=none,
        made=none,
        role=zero + role,
        played=zero,
        names=[name],
    )


def _one_number_a_name(events: Events) -> Events:
    names = sorted(set(events.names))
    number = np.array([names.index(name) for name in events.names], np.int64)
    events.call, events.played = number[events.call], number[events.played]
    events.names = names
    return events


def _check_calls(events: Events) -> None:
    refused = np.flatnonzero(events.role == Role.REFUSED)
    if len(refused):
        raise InputError(
            f"{events.describe(refused[0])}: the simulator cannot play this call",
            hint="neither processes that a program starts nor partitioned messages can be played",
        )


def _check_times(events: Events) -> None:
    """Raises InputError unless rank and time together fit into 64 bits, and no call ends before it
    begins."""
    longest = (1 << 62) // (int(events.rank.max(initial=0)) + 1)
    wrong = (events.begin < 0) | (events.begin > longest) | (events.end < events.begin)
    if wrong.any():
        first = int(np.argmax(wrong))
        raise InputError(
            f"{events.describe(first)}: impossible times: it began {events.begin[first]} ns after "
            f"the run and took {events.end[first] - events.begin[first]} ns",
            hint="the trace is damaged; record it again",
        )


def _check_communicators(events: Events, communicators: int) -> None:
    for named in (events.comm, events.made):
        strange = named >= communicators
        if strange.any():
            first = int(np.argmax(strange))
            raise InputError(f"{events.describe(first)}: there is no communicator {named[first]}")


def _leave_out_other_threads(events: Events, span: Span, notes: list[str]) -> Events:
    """A rank is played as one sequence of calls, those of threads that call MPI. MPI_Init, which is
    added if it is missing, makes the first thread one of them."""
    threads = int(events.thread.max(initial=0)) + 1
    calls = np.zeros((span.ranks, threads), bool)
    calls[events.rank[~events.is_io], events.thread[~events.is_io]] = True
    kept = calls[events.rank, events.thread]
    if kept.all():
        return events
    left_out = np.count_nonzero(~kept & events.on_file)
    if left_out:
        notes.append(
            f"{left_out:,} file operations are left out: they are of threads that call no MPI, and "
            "ran beside threads that do"
        )
    return events.take(kept)


def _is_flagged_nested(is_io: Array, flags: Array) -> Array:
    flag = np.where(is_io, int(IoFlag.NESTED), int(MpiFlag.NESTED))
    nested: Array = (flags & flag) != 0
    return nested


def _find_parents(events: Events) -> None:
    """Finds the outermost event around each: an event is inside if it began before that ended."""
    if not len(events):
        return
    stride = int(events.end.max()) + 1
    offset = events.rank * stride
    end = np.maximum.accumulate(events.end + offset)
    inside = np.zeros(len(events), bool)
    inside[1:] = (events.begin + offset)[1:] < end[:-1]
    inside |= _is_flagged_nested(events.is_io, events.flags)
    outer = np.maximum.accumulate(np.where(inside, 0, np.arange(len(events))))
    events.parent = np.where(inside, outer, -1)
    at_once = inside & (events.thread != events.thread[outer])
    if at_once.any():
        first = int(np.argmax(at_once))
        raise InputError(
            f"{events.describe(first)}: thread {events.thread[first]} made it while thread "
            f"{events.thread[outer[first]]} was inside {events.names[events.call[outer[first]]]}",
            hint="a rank is played as one sequence of calls; trace the program with one thread "
            "that calls MPI",
        )


def _is_played(events: Events) -> Array:
    """Whether each event is played: events inside no other, and nested ones that are a message."""
    outer = np.where(events.parent < 0, 0, events.role[events.parent])
    receive = np.isin(events.role, (Role.RECEIVE, Role.RECEIVE_START))
    pair = np.isin(outer, (Role.SEND_RECEIVE, Role.SEND_RECEIVE_START))
    start = np.isin(events.role, STARTS) & (outer == Role.START)
    mapped = events.is_io & ((events.flags & int(IoFlag.IMPLIED)) != 0)
    chosen: Array = ((events.parent < 0) & ~mapped) | (receive & pair) | start
    # Keep events that completed a played one, so that each request has an end.
    ends = events.completed_by[chosen & (events.completed_by >= 0)]
    chosen[ends] = True
    return chosen


def _find_gaps(events: Events, span: Span) -> None:
    """Sets the gap, the time before each event.

    A short time between polls that find nothing is waiting, so it is left out. The time of reading
    a clock counts, as in a simulated program. The time of other local calls does not, since the
    simulated MPI does not charge it either.
    """
    if not len(events):
        return
    stride = int(max(events.end.max(), span.end.max(initial=0))) + 1
    offset = events.rank * stride
    end = np.maximum.accumulate(events.end + offset)
    first = np.ones(len(events), bool)
    first[1:] = np.diff(events.rank) > 0
    before = np.empty(len(events), np.int64)
    before[1:] = end[:-1]
    before[first] = (span.begin[events.rank] + offset)[first]
    gap = np.maximum(events.begin + offset - before, 0)
    found_nothing = ~events.is_io & ((events.flags & int(MpiFlag.POLL)) != 0)
    polls = np.array([plain(name) in POLLS for name in events.names], bool)[events.call]
    waits = np.zeros(len(events), bool)
    waits[1:] = polls[1:] & found_nothing[:-1] & ~first[1:] & (gap[1:] < IDLE_WORK_NS)
    clock = np.array([plain(name) == CLOCK for name in events.names], bool)[events.call]
    events.gap = np.where(waits, 0, gap) + np.where(clock, events.end - events.begin, 0)
    unknown = (events.role == Role.FREE) & (events.comm <= 0)
    events.role = np.where(found_nothing | unknown, Role.LOCAL, events.role)
