"""Exports a data set as an OTF2 archive: calls as regions, messages, collectives, file accesses."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sesame.datasets import DataSet
from sesame.datasets.traced import MpiFlag
from sesame.errors import InputError
from sesame.exchange import otf2_library
from sesame.exchange.otf2_calls import Array, Calls, simulated_calls, traced_calls
from sesame.exchange.otf2_definitions import Definitions
from sesame.exchange.otf2_files import FileEvents
from sesame.exchange.otf2_library import collective_operation
from sesame.exchange.output import whole_directory
from sesame.traced.calls import (
    is_completion,
    is_receive,
    is_send,
    makes_communicator,
    plain_name,
)

TICKS_TRACED, TICKS_SIMULATED = 10**9, 10**12  # per second
MESSAGE_FIELDS = (
    *("send_ps", "receive_complete_ps", "bytes"),
    *("source", "destination", "tag", "context", "flags"),
)
OF_COLLECTIVE = 2  # flag of a simulated message
# Plain numbers: the flags' own arithmetic is slow.
DEFERRED, CANCELLED = int(MpiFlag.NONBLOCKING | MpiFlag.PERSISTENT), int(MpiFlag.CANCELLED)
FREES = ("comm_free", "comm_disconnect")
# Order of events with equal times: a receive before the end of its call, a send after the begin
# of its call.
RECEIVE, CALL, SEND = range(3)

Event = Any  # of the library
Timed = tuple[int, int, Event]


def write(data_set: DataSet, destination: Path, *, force: bool) -> int:
    """Writes the archive: `destination/traces.otf2` is its anchor file. Returns the number of
    calls."""
    otf2 = otf2_library.load()
    traced = data_set.has("io") or data_set.has("mpi")
    if not traced and not data_set.has("call"):
        raise InputError("there are no records of calls in it", path=str(data_set.path))
    calls = traced_calls(data_set) if traced else simulated_calls(data_set)
    ticks = TICKS_TRACED if traced else TICKS_SIMULATED
    with (
        whole_directory(destination, otf2_library.ANCHOR, force=force) as directory,
        otf2_library.writing(destination),
    ):
        archive_directory = directory / "archive"  # created by the library
        with otf2_library.new_archive(otf2, archive_directory, ticks) as archive:
            definitions = Definitions(otf2, archive, data_set, _ranks(data_set, calls))
            messages = {} if traced else _simulated_messages(otf2, data_set, definitions)
            events = _Events(otf2, definitions, calls, has_messages=traced)
            programs = _programs(otf2, data_set)
            for rank, thread, chosen in calls.by_location():
                writer = archive.event_writer_from_location(definitions.location(rank, thread))
                found = events.of(rank, chosen)
                if rank in messages:
                    found = _merged(found, messages[rank])
                program = programs.get(rank) if thread == 0 else None
                for event in _framed(program, found):
                    writer(event)
        for part in list(archive_directory.iterdir()):
            part.rename(directory / part.name)
        archive_directory.rmdir()
    return len(calls.begin)


def _programs(otf2: Any, data_set: DataSet) -> dict[int, tuple[Event, Event]]:
    """The begin and end event of each process; none where the data set does not record them."""
    if not data_set.has("process"):
        return {}
    name, *arguments = [str(word) for word in data_set.info.get("command", [])] or [""]
    e, status = otf2.events, int(otf2.enums.Undefined.INT64.value)
    table = data_set.table("process", ["rank", "begin_ns", "end_ns"])
    return {
        rank: (e.ProgramBegin(begin, name, arguments), e.ProgramEnd(end, status))
        for rank, begin, end in zip(*(c.to_pylist() for c in table.columns), strict=True)
    }


def _framed(program: tuple[Event, Event] | None, events: Iterator[Event]) -> Iterator[Event]:
    """Puts the begin and end event of a process around its events.

    The begin event is left out if an event is earlier, the end event if one is later.
    """
    first = last = next(events, None)
    if program is not None and first is not None and program[0].time <= first.time:
        yield program[0]
    while last is not None:
        yield last
        following = next(events, None)
        if following is None and program is not None and last.time <= program[1].time:
            yield program[1]
        last = following


def _merged(calls: Iterator[Event], messages: list[Timed]) -> Iterator[Event]:
    timed = ((event.time, CALL, event) for event in calls)
    both = heapq.merge(timed, messages, key=lambda one: one[:2])
    return (event for _, _, event in both)


def _ranks(data_set: DataSet, calls: Calls) -> list[int]:
    if data_set.has("process"):
        ranks: list[int] = sorted(data_set.table("process", ["rank"]).column(0).to_pylist())
        return ranks
    count = max(int(data_set.info.get("ranks", 0)), int(calls.rank.max(initial=-1)) + 1)
    return list(range(count))


class _Events:
    """Converts calls to OTF2 events."""

    def __init__(
        self, otf2: Any, definitions: Definitions, calls: Calls, *, has_messages: bool
    ) -> None:
        self._has_messages = has_messages  # in the records of calls, which a simulated run has not
        self._otf2 = otf2
        self._e = otf2.events
        self._definitions = definitions
        self._calls = calls
        self._files = FileEvents(otf2, definitions, calls.io)
        self._ended = self._completed_by(calls.mpi)

    def _completed_by(self, mpi: dict[str, list[Any]]) -> dict[int, list[int]]:
        """The non-blocking calls that a call completed, by row."""
        ended = defaultdict(list)
        for row, records in enumerate(mpi.get("completion", ())):
            if records > 0:
                ended[row + records].append(row)
        return ended

    def of(self, rank: int, chosen: Array) -> Iterator[Event]:
        """The events of one thread. A call that ends after its enclosing call extends that call."""
        now = 0
        open_calls: list[tuple[int, bool, int]] = []  # end, is I/O and row, the innermost last
        for begin, end, is_io, row in self._calls.rows(chosen):
            while open_calls and open_calls[-1][0] <= begin:
                stop, inner_is_io, inner = open_calls.pop()
                now = max(now, stop)
                yield from self._leave(rank, inner_is_io, inner, now)
            now = max(now, begin)
            yield from self._enter(rank, is_io, row, now)
            open_calls.append((end, is_io, row))
        while open_calls:
            stop, inner_is_io, inner = open_calls.pop()
            now = max(now, stop)
            yield from self._leave(rank, inner_is_io, inner, now)

    def _enter(self, rank: int, is_io: bool, row: int, time: int) -> Iterable[Event]:
        call = (self._calls.io if is_io else self._calls.mpi)["call"][row]
        if not (is_io and is_completion(call)):
            yield self._e.Enter(time, self._definitions.region(call, is_io=is_io))
        yield from self._files.begin(rank, row, time) if is_io else self._begin(row, time)

    def _leave(self, rank: int, is_io: bool, row: int, time: int) -> Iterable[Event]:
        call = (self._calls.io if is_io else self._calls.mpi)["call"][row]
        yield from self._files.end(rank, row, time) if is_io else self._end(row, time)
        if is_io and is_completion(call):
            return
        attributes = self._files.attributes(row) if is_io else self._attributes(row)
        yield self._e.Leave(time, self._definitions.region(call, is_io=is_io), attributes)

    def _attributes(self, row: int) -> dict[Any, Any] | None:
        """The communicator of a call without an event that names it, such as MPI_Win_fence."""
        mpi = self._calls.mpi
        comm, call = mpi["comm"][row], mpi["call"][row]
        is_recorded = self._is_collective(row) or (
            self._has_messages and mpi["peer"][row] >= 0 and (is_send(call) or is_receive(call))
        )
        if comm < 0 or is_recorded or not self._has_messages:
            return None
        return {self._definitions.communicator: self._definitions.comm(comm)}

    def _is_collective(self, row: int) -> bool:
        """Whether collective events record the call: it transfers data, or makes or frees a
        communicator."""
        call = self._calls.mpi["call"][row]
        return (
            collective_operation(self._otf2, call) is not None
            or makes_communicator(call)
            or plain_name(call) in FREES
        )

    def _is_deferred(self, row: int) -> bool:
        flags: int = self._calls.mpi["flags"][row]
        return flags & DEFERRED != 0

    def _begin(self, row: int, time: int) -> Iterable[Event]:
        mpi, e = self._calls.mpi, self._e
        call = mpi["call"][row]
        if mpi["comm"][row] < 0 and mpi["made"][row] < 0:
            return
        if self._is_collective(row):
            if self._is_deferred(row):
                yield e.NonBlockingCollectiveRequest(time, row + 1)
            else:
                yield e.MpiCollectiveBegin(time)
        elif mpi["peer"][row] >= 0 and self._has_messages:
            if is_send(call):
                yield self._send(row, time)
            elif is_receive(call) and self._is_deferred(row):
                yield e.MpiIrecvRequest(time, row + 1)

    def _send(self, row: int, time: int) -> Event:
        envelope = self._envelope(row)
        if self._is_deferred(row):
            return self._e.MpiIsend(time, *envelope, row + 1)
        return self._e.MpiSend(time, *envelope)

    def _envelope(self, row: int) -> tuple[int, Any, int, int]:
        mpi, comm = self._calls.mpi, self._calls.mpi["comm"][row]
        place = self._definitions.place(comm, mpi["peer"][row])
        tag, size = max(mpi["tag"][row], 0), max(mpi["bytes"][row], 0)
        return place, self._definitions.comm(comm), tag, size

    def _end(self, row: int, time: int) -> Iterable[Event]:
        mpi, e = self._calls.mpi, self._e
        for other in self._ended.get(row, ()):
            yield from self._complete(other, time)
        call = mpi["call"][row]
        if (mpi["comm"][row] < 0 and mpi["made"][row] < 0) or self._is_deferred(row):
            return
        if self._is_collective(row):
            yield from self._made_or_freed(row, time)
            yield e.MpiCollectiveEnd(time, *self._collective(row))
        elif is_receive(call) and mpi["peer"][row] >= 0 and self._has_messages:
            yield e.MpiRecv(time, *self._envelope(row))

    def _complete(self, row: int, time: int) -> Iterable[Event]:
        """The completion events of a wait, for the calls that started the requests."""
        mpi, e = self._calls.mpi, self._e
        call = mpi["call"][row]
        if mpi["comm"][row] < 0 or not self._is_deferred(row):
            return
        if mpi["flags"][row] & CANCELLED:
            yield e.MpiRequestCancelled(time, row + 1)
        elif self._is_collective(row):
            yield from self._made_or_freed(row, time)
            yield e.NonBlockingCollectiveComplete(time, *self._collective(row), row + 1)
        elif is_send(call) and mpi["peer"][row] >= 0:
            yield e.MpiIsendComplete(time, row + 1)
        elif is_receive(call) and mpi["peer"][row] >= 0:
            yield e.MpiIrecv(time, *self._envelope(row), row + 1)

    def _made_or_freed(self, row: int, time: int) -> Iterable[Event]:
        mpi, comm = self._calls.mpi, self._definitions.comm
        if mpi["made"][row] >= 0:
            yield self._e.CommCreate(time, comm(mpi["made"][row]))
        elif plain_name(mpi["call"][row]) in FREES:
            yield self._e.CommDestroy(time, comm(mpi["comm"][row]))

    def _collective(self, row: int) -> tuple[Any, Any, int, int, int]:
        """The fields of a collective event.

        If the call's own communicator is not known, the event names the one that the call made.
        Score-P does the same for calls in which only members of the new communicator take part.
        """
        mpi = self._calls.mpi
        call, comm, root = mpi["call"][row], mpi["comm"][row], mpi["peer"][row]
        undefined = int(self._otf2.enums.Undefined.UINT32.value)
        place = self._definitions.place(comm, root) if root >= 0 else undefined
        kind = collective_operation(self._otf2, call)
        if kind is None:
            kinds, place = self._otf2.enums.CollectiveOp, undefined
            kind = kinds.DESTROY_HANDLE if plain_name(call) in FREES else kinds.CREATE_HANDLE
        comm = comm if comm >= 0 else mpi["made"][row]
        return kind, self._definitions.comm(comm), place, max(mpi["bytes"][row], 0), 0


def _simulated_messages(
    otf2: Any, data_set: DataSet, definitions: Definitions
) -> dict[int, list[Timed]]:
    """The events of a simulated run's messages by rank, in the order of time."""
    found: dict[int, list[Timed]] = defaultdict(list)
    if not data_set.has("message"):
        return found
    e = otf2.events
    for batch in data_set.batches("message", list(MESSAGE_FIELDS)):
        for sent, received, size, source, destination, tag, context, flags in zip(
            *(batch.column(name).to_pylist() for name in MESSAGE_FIELDS), strict=True
        ):
            if flags & OF_COLLECTIVE:
                continue
            comm = definitions.comm(context)
            send = e.MpiSend(sent, destination, comm, max(tag, 0), size)
            receive = e.MpiRecv(received, source, comm, max(tag, 0), size)
            found[source].append((sent, SEND, send))
            found[destination].append((received, RECEIVE, receive))
    for events in found.values():
        events.sort(key=lambda event: event[:2])
    return found
