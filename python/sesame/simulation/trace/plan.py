"""Makes the player's plan of a traced run: the calls of each rank, and the computation before each.
core/player/plan.h describes the format of the file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sesame.simulation.trace.calls import STARTS, Role
from sesame.simulation.trace.collectives import ROLES as COLLECTIVES
from sesame.simulation.trace.collectives import Collectives, plan_collectives
from sesame.simulation.trace.communicators import (
    WORLD,
    Communicator,
    Made,
    Makers,
    RankTable,
    check_membership,
    own_communicators,
)
from sesame.simulation.trace.events import Array, Events
from sesame.simulation.trace.files import fill_operations
from sesame.simulation.trace.matching import match_messages
from sesame.simulation.trace.requests import (
    Requests,
    drop_cancelled,
    number_accesses,
    number_requests,
    tie_accesses,
)

MAGIC = b"ssmplan2"
NAME_BYTES = 32
HEADER_BYTES = 96
PROC_NULL = -1
NO_PEER = -2  # peer of a call with MPI_PROC_NULL
OPERATION = np.dtype(
    [
        ("call", "<u4"),
        ("comm", "<i4"),
        ("peer", "<i4"),
        ("tag", "<i4"),
        ("bytes", "<i8"),
        ("number", "<i8"),
        ("list", "<i8"),
    ]
)
# The number of MPI calls that the player makes for an operation, if it is not one. Operations on
# files make one, to which the computation before them belongs.
CALLS_OF = {
    "MPI_Init": 2,
    "MPI_Comm_create": 3,
    "MPI_Comm_create_group": 3,
    "MPI_COMM_SELF": 0,
    "io": 0,
    "io_start": 0,
    "io_wait": 0,
    "timed": 0,
}
BUFFERED = ("MPI_Bsend", "MPI_Ibsend")
MESSAGES = (
    Role.SEND,
    Role.RECEIVE,
    Role.SEND_RECEIVE,
    Role.SEND_START,
    Role.RECEIVE_START,
    Role.SEND_RECEIVE_START,
    Role.PROBE,
)


@dataclass
class Plan:
    """The plan of all ranks."""

    operations: Array  # OPERATION, by rank and time
    counts: Array  # number of operations of each rank
    requests: Array  # number of requests of each rank
    names: list[str]  # of calls; `call` of an operation is an index in it
    lists: Array  # further arguments of operations (Lists)
    opens: Array  # number of opens of files of each rank
    communicators: int  # their number
    buffer_bytes: int  # of the largest message or access
    times: list[Array]  # computation of each rank before each MPI call and after the last, ns
    io_s: Array  # s of each rank in file operations that take their recorded time
    paths: tuple[str | None, ...] = ()  # of files, by index

    @property
    def ranks(self) -> int:
        return len(self.counts)

    def write(self, path: Path) -> None:
        names = b"".join(name.encode().ljust(NAME_BYTES, b"\0") for name in self.names)
        first = np.cumsum(self.counts) - self.counts
        parts = np.stack([first, self.counts, self.requests, self.opens], axis=1)
        texts = [(path or "").encode() + b"\0" for path in self.paths]
        ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
        text = np.frombuffer(b"".join(texts) + b"\0", np.uint8)
        places = ends - [len(text) for text in texts]
        arrays = [
            parts.astype("<u8"),
            self.operations,
            self.lists.astype("<i8"),
            np.asarray(places, "<u8"),
            text,
        ]
        offsets = HEADER_BYTES + np.cumsum([0, len(names), *(array.nbytes for array in arrays)])
        numbers = [self.ranks, self.communicators, len(self.names), self.buffer_bytes]
        header = np.array([*numbers, offsets[-1], *offsets[:-1]], "<u8")
        with path.open("wb") as file:
            file.write(MAGIC)
            file.write(header.tobytes())
            file.write(names)
            for array in arrays:
                array.tofile(file)


class Lists:
    """Arguments of operations that do not fit into their fields, in one array."""

    def __init__(self) -> None:
        self._parts: list[Array] = []
        self._length = 0

    def add(self, values: Array) -> int:
        """Adds values; returns the index of the first."""
        begin = self._length
        self._parts.append(np.asarray(values, np.int64))
        self._length += len(values)
        return begin

    def joined(self) -> Array:
        return np.concatenate([*self._parts, np.zeros(1, np.int64)])


class Planner:
    """Makes an operation for each event, fills in their fields step by step, and leaves out those
    that are not `kept`."""

    def __init__(
        self,
        events: Events,
        communicators: list[Communicator],
        ranks: int,
        after: Array,
        paths: tuple[str | None, ...] = (),
    ) -> None:
        self.events = events
        self.ranks = ranks
        self.communicators = communicators
        self.after = after  # computation after the last event of each rank
        self.paths = paths
        self.table = RankTable(communicators)
        self.lists = Lists()
        self.operations = np.zeros(len(events), OPERATION)
        self.operations["call"] = events.played
        self.kept = events.role != Role.LOCAL
        self.buffer_bytes = 1

    def plan(self, notes: list[str]) -> Plan:
        events = self.events
        drop_cancelled(events, notes)
        tie_accesses(events)
        own = own_communicators(self.communicators)
        made = Makers(events, self.communicators).find()
        uses = np.isin(events.role, (*MESSAGES, *COLLECTIVES, Role.FREE, Role.MAKE))
        uses &= (events.peer != NO_PEER) | (events.comm >= 0)
        check_membership(events, np.flatnonzero(uses), self.table, made, own)
        match_messages(events)
        collectives = plan_collectives(events, self.communicators, self.table, self.lists, notes)
        self.operations["call"] = events.played
        self.kept = ~np.isin(
            events.role,
            (Role.LOCAL, Role.START, Role.COMPLETION),
        )
        self._messages()
        self._pairs()
        self._collectives(collectives)
        self._communicators(made)
        requests = number_requests(events, self.ranks)
        self._requests(requests)
        self._durations(requests)
        opens = fill_operations(events, self.operations, self.ranks)
        self._reserve(events.bytes[np.isin(events.role, (Role.FILE, Role.FILE_START))])
        return self._finish(requests, own, opens)

    def _messages(self) -> None:
        events, operations = self.events, self.operations
        messages = np.isin(events.role, MESSAGES)
        for name in ("comm", "tag", "bytes"):
            operations[name] = getattr(events, name)
        operations["peer"] = np.where(
            messages & (events.peer >= 0), self.table.find(events.comm, events.peer), PROC_NULL
        )
        operations["tag"] = np.maximum(operations["tag"], 0)
        alone = messages & (events.peer == NO_PEER) & (events.comm < 0)
        operations["comm"] = np.where(alone, WORLD, operations["comm"])
        # A probe without a peer found no message, so it is not played.
        self.kept &= ~((events.role == Role.PROBE) & (events.peer < 0))
        self._reserve(operations["bytes"][messages])

    def _pairs(self) -> None:
        """Puts the receive inside an MPI_Sendrecv into the list of its operation. If no receive is
        recorded, nothing is received."""
        events, operations = self.events, self.operations
        outer = np.flatnonzero(events.role == Role.SEND_RECEIVE)
        inside = np.flatnonzero((events.role == Role.RECEIVE) & (events.parent >= 0))
        received = np.tile(np.array([PROC_NULL, 0, 0], np.int64), (len(outer), 1))
        place = np.searchsorted(outer, events.parent[inside])
        for column, name in enumerate(("peer", "tag", "bytes")):
            received[place, column] = operations[name][inside]
        begin = self.lists.add(received.ravel())
        operations["list"][outer] = begin + 3 * np.arange(len(outer))
        self.kept[inside] = False

    def _collectives(self, collectives: Collectives) -> None:
        for name in ("peer", "bytes", "list"):
            self.operations[name][collectives.events] = getattr(collectives, name)
        self._reserve(collectives.buffer_bytes)

    def _communicators(self, made: dict[int, Made]) -> None:
        operations = self.operations
        for event, how in made.items():
            row = operations[event]
            row["comm"], row["peer"] = how.comm, how.parent
            row["number"], row["tag"] = how.number, how.tag
            row["list"] = self.lists.add(np.array([len(how.members), *how.members]))

    def _requests(self, requests: Requests) -> None:
        events, operations = self.events, self.operations
        waits = requests.waits_for > 0
        starts = np.isin(events.role, STARTS)
        operations["number"] = np.where(waits | starts, requests.number, operations["number"])
        operations["bytes"] = np.where(waits, requests.waits_for, operations["bytes"])
        operations["call"] = np.where(waits, self._call("MPI_Wait"), operations["call"])
        self.kept |= waits

    def _call(self, name: str) -> int:
        if name not in self.events.names:
            self.events.names.append(name)
        return self.events.names.index(name)

    def _durations(self, requests: Requests) -> None:
        events = self.events
        timed = np.isin(events.role, (Role.IO, Role.IO_START, Role.TIMED))
        self.operations["number"][timed] = (events.end - events.begin)[timed]
        start, wait, number = number_accesses(events, requests)
        self.operations["number"][wait] = events.end[wait] - events.begin[start]
        self.operations["list"][start] = self.operations["list"][wait] = number

    def _reserve(self, sizes: Array) -> None:
        self.buffer_bytes = max(self.buffer_bytes, int(np.max(sizes, initial=1)))

    def _finish(self, requests: Requests, own: list[tuple[int, int]], opens: Array) -> Plan:
        events = self.events
        times = self._times()
        written = self.kept & (events.role != Role.INIT)
        operations, rank = self.operations[written], events.rank[written]
        operations, rank = self._with_extras(operations, rank, own)
        used = np.flatnonzero(np.bincount(operations["call"], minlength=1))
        operations["call"] = np.searchsorted(used, operations["call"])
        seconds = (events.end - events.begin) * 1e-9
        io = np.isin(events.role, (Role.IO, Role.IO_START))
        return Plan(
            operations,
            np.bincount(rank, minlength=self.ranks),
            requests.of_rank,
            [events.names[call] for call in used],
            self.lists.joined(),
            opens,
            len(self.communicators),
            self.buffer_bytes,
            times,
            np.bincount(events.rank[io], seconds[io], self.ranks),
            self.paths,
        )

    def _with_extras(
        self, operations: Array, rank: Array, own: list[tuple[int, int]]
    ) -> tuple[Array, Array]:
        """Adds the first operations of each rank: MPI_COMM_SELF, and memory for buffered sends."""
        buffering = self._buffering()
        names = ["MPI_COMM_SELF"] * len(own) + ["buffer"] * len(buffering)
        extra = np.zeros(len(names), OPERATION)
        extra["call"] = [self._call(name) for name in names]
        extra["comm"][: len(own)] = [comm for _, comm in own]
        ranks = np.concatenate([np.array([r for r, _ in own], np.int64), buffering, rank])
        order = np.argsort(ranks, kind="stable")
        return np.concatenate([extra, operations])[order], ranks[order]

    def _buffering(self) -> Array:
        """The ranks that make buffered sends."""
        events = self.events
        buffered = np.array([name in BUFFERED for name in events.names], bool)
        return np.unique(events.rank[self.kept & buffered[self.operations["call"]]])

    def _times(self) -> list[Array]:
        """The computation before each MPI call: all since the previous call, including that before
        events that are not MPI calls of the player."""
        events = self.events
        calls = np.array([CALLS_OF.get(name, 1) for name in events.names])
        count = np.where(self.kept, calls[self.operations["call"]], 0)
        # MPI_Buffer_attach follows MPI_Init.
        count += (events.role == Role.INIT) & np.isin(events.rank, self._buffering())
        playing = np.flatnonzero(count)
        passed = np.cumsum(events.gap)
        rank = events.rank[playing]
        first = np.ones(len(playing), bool)
        first[1:] = np.diff(rank) > 0
        last_of = np.searchsorted(events.rank, np.arange(self.ranks), "right") - 1
        start = np.where(rank > 0, passed[last_of[rank - 1]], 0)
        before = np.where(first, start, np.roll(passed[playing], 1))
        at = np.cumsum(count[playing]) - count[playing]
        times = np.zeros(int(count.sum()), np.int64)
        times[at] = passed[playing] - before
        ends = np.cumsum(np.bincount(rank, count[playing], self.ranks).astype(np.int64))
        final = np.zeros(self.ranks, np.int64)
        final[rank] = passed[playing]  # the last one stays
        after = passed[last_of] - final + self.after
        return [
            np.append(part, after[rank]) for rank, part in enumerate(np.split(times, ends[:-1]))
        ]
