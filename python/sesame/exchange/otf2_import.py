"""Imports an OTF2 archive: MPI calls and file calls, with the data of their events."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sesame.datasets.traced import IoFlag, MpiFlag
from sesame.errors import InputError
from sesame.exchange import otf2_library
from sesame.exchange.otf2_communicators import WORLD, Makers
from sesame.exchange.otf2_numbers import ArchiveNumbers
from sesame.exchange.otf2_records import Records
from sesame.exchange.record_file import Scratch
from sesame.exchange.traced import Traced
from sesame.traced.calls import is_data_collective, makes_communicator
from sesame.traced.io_calls import MPI_IO, OTHER, POSIX, io_kind, io_layer, is_mpi_io

MAGIC = b"OTF2"
BATCH_EVENTS = 1 << 12
UNDEFINED_ROOTS = 0xFFFFFFFB  # this and larger roots are no ranks but special values
# The fields that events fill, and what they hold until then.
IO_FIELDS = {"file": -1, "handle": -1, "offset": -1, "size": 0, "bytes": 0, "comm": -1, "error": 0}
MPI_FIELDS = {"comm": -1, "peer": -1, "tag": -1, "bytes": 0, "made": -1}
STARTS_MPI = ("MPI_Init", "MPI_Init_thread")
ENDS_MPI = ("MPI_Finalize",)
NO_BYTES = 1 << 63  # this and larger byte counts are negative return values of the call


def recognises(path: Path) -> bool:
    anchor = _anchor(path)
    if anchor is None or not anchor.is_file():
        return False
    with anchor.open("rb") as file:
        return MAGIC in file.read(16)


def _anchor(path: Path) -> Path | None:
    if not path.is_dir():
        return path
    found = sorted(path.glob("*.otf2"))
    return found[0] if len(found) == 1 else None


def read(path: Path, scratch: Scratch) -> Traced:
    otf2 = otf2_library.load()
    anchor = _anchor(path)
    if anchor is None:
        raise InputError("expected one file *.otf2 in it", path=str(path))
    with otf2_library.listening() as first_reason, ExitStack() as stack:
        with _library_errors(anchor, first_reason):
            opened = otf2.reader.open(str(anchor.absolute()), batch_events=BATCH_EVENTS)
            archive = stack.enter_context(opened)
        run = _Run(otf2, archive.definitions, scratch)
        events = iter(archive.events)
        while True:
            with _library_errors(anchor, first_reason):
                found = next(events, None)
            if found is None:
                return run.traced()
            try:
                run.take(*found)
            except OverflowError as error:
                raise InputError(
                    f"an event {type(found[1]).__name__} has a number of more than 63 bits",
                    path=str(anchor),
                    hint="the archive is damaged, or the event has no size; see otf2-print",
                ) from error


@contextmanager
def _library_errors(anchor: Path, first_reason: Callable[[], str]) -> Iterator[None]:
    """Turns the library's errors, which have no common base class, into InputError."""
    try:
        yield
    except Exception as error:
        reason = first_reason() or str(error) or type(error).__name__
        raise InputError(
            f"the OTF2 library cannot read this archive: {reason}",
            path=str(anchor),
            hint="it is cut off or damaged, or from a newer OTF2: `pip install --upgrade otf2`",
        ) from error


@dataclass
class _Frame:
    """A region that a thread is in, and its record, if it has one."""

    region: Any
    io: int = -1
    mpi: int = -1
    filled: bool = False  # an event has recorded what the call did
    parts: list[int] = field(default_factory=list)  # records of the file accesses that it completed


@dataclass
class _Thread:
    rank: int
    number: int
    frames: list[_Frame] = field(default_factory=list)
    created: int = -1  # the communicator of the last CommCreate

    def frame(self, kind: str) -> _Frame | None:
        """The innermost region that is a call of this kind."""
        return next((f for f in reversed(self.frames) if getattr(f, kind) >= 0), None)


class _Run:
    def __init__(self, otf2: Any, definitions: Any, scratch: Scratch) -> None:
        self._otf2 = otf2
        self._numbers = ArchiveNumbers(otf2, definitions)
        self._clock = definitions.clock_properties
        self._threads = {
            location: _Thread(rank, number)
            for location, (rank, number) in self._numbers.threads.items()
        }
        self.io = Records(scratch, IO_FIELDS)
        self.mpi = Records(scratch, MPI_FIELDS)
        self._requests: dict[tuple[int, int], int] = {}
        self._operations: dict[tuple[int, Any, int], int] = {}
        self._positions: dict[tuple[int, Any], int] = {}
        self._command: list[str] = []
        self._handlers: dict[Any, Any] = {}  # by type of event
        self._last_ns = 0
        self._makers = Makers()
        self._without_comm: list[int] = []  # records of collective calls without an event
        self._lost: Counter[str] = Counter()

    def take(self, location: Any, event: Any) -> None:
        thread = self._threads.get(location)
        if thread is None:  # an accelerator's stream, or metrics
            self._lost["events of locations that are no threads"] += 1
            return
        handler = self._handler(type(event))
        if handler is None:
            self._lost[f"events {type(event).__name__}"] += 1
            return
        ns = self._ns(event.time)
        self._last_ns = max(self._last_ns, ns)
        handler(thread, ns, event)

    def _handler(self, kind: Any) -> Any:
        """The method for a type of event: `_on_mpi_send` for MpiSend. None if there is none."""
        if kind not in self._handlers:
            name = re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()
            self._handlers[kind] = getattr(self, f"_on_{name}", None)
        return self._handlers[kind]

    def _ns(self, ticks: int) -> int:
        since: int = ticks - self._clock.global_offset
        return since * 10**9 // int(self._clock.timer_resolution)

    # Regions

    def _on_enter(self, thread: _Thread, ns: int, event: Any) -> None:
        frame = _Frame(event.region)
        call = event.region.name
        call = call[1:] if call.startswith("PMPI_") else call
        if self._is_io(call, event.region):
            flags = IoFlag.NESTED if thread.frame("io") else 0
            frame.io = self.io.add(thread.rank, thread.number, ns, call, int(flags))
        elif call.startswith("MPI_"):
            flags_mpi = MpiFlag.NESTED if thread.frame("mpi") else 0
            frame.mpi = self.mpi.add(thread.rank, thread.number, ns, call, int(flags_mpi))
        else:
            self._lost["calls of other functions"] += 1
        thread.frames.append(frame)

    def _is_io(self, call: str, region: Any) -> bool:
        if call.startswith("MPI_"):
            return is_mpi_io(call)
        roles = self._otf2.enums.RegionRole
        is_file = region.region_role in (roles.FILE_IO, roles.FILE_IO_METADATA)
        return is_file or io_kind(call) != OTHER

    def _on_leave(self, thread: _Thread, ns: int, event: Any) -> None:
        if not thread.frames or thread.frames[-1].region is not event.region:
            raise InputError(
                f"rank {thread.rank} leaves the region {event.region.name} without being in it"
            )
        frame = thread.frames.pop()
        for records, number in ((self.io, frame.io), (self.mpi, frame.mpi)):
            if number >= 0:
                records.end(number, ns)
        for number in frame.parts:
            self.io.end(number, ns)
        for attribute, value in (event.attributes or {}).items():
            if frame.io >= 0 and attribute.name == otf2_library.ERROR:
                self.io.fill(frame.io, 0, error=int(value))
            elif frame.io >= 0 and attribute.name == otf2_library.FILE:
                self.io.fill(frame.io, 0, file=self._numbers.file(value))
            elif frame.mpi >= 0 and attribute.name == otf2_library.COMM:
                frame.filled = True
                self.mpi.fill(frame.mpi, 0, comm=self._numbers.comms.number(value, thread.rank))
        if frame.mpi >= 0:
            self._note_maker(thread, frame)

    def _note_maker(self, thread: _Thread, frame: _Frame) -> None:
        """Collects calls without an event that names the communicator they made or used."""
        call = frame.region.name
        if makes_communicator(call):
            if self.mpi.value(frame.mpi, "made") < 0 and not frame.filled:
                self._makers.calls[thread.rank].append((frame.mpi, call))
        elif is_data_collective(call) and not frame.filled:
            self._without_comm.append(frame.mpi)

    def _on_program_begin(self, thread: _Thread, ns: int, event: Any) -> None:
        self._command = self._command or [event.program_name, *event.program_arguments]

    def _on_program_end(self, thread: _Thread, ns: int, event: Any) -> None:
        """Only the time is used."""

    # Messages

    def _message(self, thread: _Thread, ns: int, call: str, flags: int, **fields: Any) -> int:
        """The record that a message event describes; returns its number.

        It is the MPI call around the event. If an earlier event has filled that record, a new one
        is added, nested in the call.
        """
        frame = thread.frame("mpi")
        if frame is not None and not frame.filled:
            frame.filled = True
            number = frame.mpi
        else:
            nested = int(MpiFlag.NESTED) if frame is not None else 0
            number = self.mpi.add(thread.rank, thread.number, ns, call, nested)
        self.mpi.fill(number, flags, **fields)
        return number

    def _envelope(self, thread: _Thread, event: Any, other: int) -> dict[str, int]:
        return {
            "comm": self._numbers.comms.number(event.communicator, thread.rank),
            "peer": self._numbers.comms.process(event.communicator, other, thread.rank),
            "tag": event.msg_tag,
            "bytes": event.msg_length,
        }

    def _on_mpi_send(self, thread: _Thread, ns: int, event: Any) -> None:
        self._message(thread, ns, "MPI_Send", 0, **self._envelope(thread, event, event.receiver))

    def _on_mpi_recv(self, thread: _Thread, ns: int, event: Any) -> None:
        self._message(thread, ns, "MPI_Recv", 0, **self._envelope(thread, event, event.sender))

    def _on_mpi_isend(self, thread: _Thread, ns: int, event: Any) -> None:
        envelope = self._envelope(thread, event, event.receiver)
        number = self._message(thread, ns, "MPI_Isend", int(MpiFlag.NONBLOCKING), **envelope)
        self._requests[thread.rank, event.request_id] = number

    def _on_mpi_irecv_request(self, thread: _Thread, ns: int, event: Any) -> None:
        number = self._message(thread, ns, "MPI_Irecv", int(MpiFlag.NONBLOCKING))
        self._requests[thread.rank, event.request_id] = number

    def _on_mpi_irecv(self, thread: _Thread, ns: int, event: Any) -> None:
        envelope = self._envelope(thread, event, event.sender)
        number = self._requests.pop((thread.rank, event.request_id), None)
        if number is None:
            self._message(thread, ns, "MPI_Recv", 0, **envelope)
            return
        self.mpi.fill(number, 0, **envelope)
        self._completed(thread, number)

    def _on_mpi_isend_complete(self, thread: _Thread, ns: int, event: Any) -> None:
        number = self._requests.pop((thread.rank, event.request_id), None)
        if number is not None:
            self._completed(thread, number)

    def _completed(self, thread: _Thread, number: int) -> None:
        frame = thread.frame("mpi")
        if frame is not None:
            frame.filled = True
            self.mpi.complete(number, frame.mpi)

    def _on_mpi_request_test(self, thread: _Thread, ns: int, event: Any) -> None:
        frame = thread.frame("mpi")
        if frame is not None:
            self.mpi.fill(frame.mpi, int(MpiFlag.POLL))

    def _on_mpi_request_cancelled(self, thread: _Thread, ns: int, event: Any) -> None:
        number = self._requests.pop((thread.rank, event.request_id), None)
        if number is not None:
            self.mpi.fill(number, int(MpiFlag.CANCELLED))
            self._completed(thread, number)

    def _on_mpi_collective_begin(self, thread: _Thread, ns: int, event: Any) -> None:
        """All data is in the end event."""

    def _on_mpi_collective_end(self, thread: _Thread, ns: int, event: Any) -> None:
        """Inside a file call, such as an open, the event tells that call's communicator."""
        fields = self._collective(thread, event)
        inner = thread.frames[-1] if thread.frames else None
        if inner is not None and inner.io >= 0:
            self.io.fill(inner.io, int(IoFlag.COLLECTIVE), comm=fields["comm"])
            return
        kind = str(event.collective_op).rpartition(".")[2]
        if "HANDLE" in kind or "ALLOCATE" in kind:
            self._handle_collective(thread, inner, fields)
            return
        self._message(thread, ns, f"MPI_{kind.capitalize()}", 0, **fields)

    def _handle_collective(
        self, thread: _Thread, inner: _Frame | None, fields: dict[str, int]
    ) -> None:
        """Fills in the communicator of a call that makes or frees a communicator or a window.

        If only the new communicator's members took part, the event names the new communicator;
        the record then gets its parent.
        """
        if inner is None or inner.mpi < 0 or inner.region.name in STARTS_MPI:
            return
        inner.filled = True
        made = self.mpi.value(inner.mpi, "made")
        if made >= 0 and fields["comm"] == made:
            fields["comm"] = self._numbers.comms.parent(made, thread.rank)
        self.mpi.fill(inner.mpi, 0, comm=fields["comm"])

    def _on_comm_create(self, thread: _Thread, ns: int, event: Any) -> None:
        thread.created = self._numbers.comms.number(event.communicator, thread.rank)
        inner = thread.frames[-1] if thread.frames else None
        if inner is None or inner.mpi < 0 or not makes_communicator(inner.region.name):
            return  # made by MPI_Init, or by a non-blocking call that a wait completes here
        parent = self._numbers.comms.parent(thread.created, thread.rank)
        self.mpi.fill(inner.mpi, 0, made=thread.created, comm=parent)

    def _on_comm_destroy(self, thread: _Thread, ns: int, event: Any) -> None:
        inner = thread.frames[-1] if thread.frames else None
        if inner is not None and inner.mpi >= 0 and inner.region.name not in ENDS_MPI:
            number = self._numbers.comms.number(event.communicator, thread.rank)
            self.mpi.fill(inner.mpi, 0, comm=number)

    def _collective(self, thread: _Thread, event: Any) -> dict[str, int]:
        comms = self._numbers.comms
        fields = {
            "comm": comms.number(event.communicator, thread.rank),
            "bytes": event.size_sent or event.size_received,
        }
        if event.root < UNDEFINED_ROOTS:
            fields["peer"] = comms.process(event.communicator, event.root, thread.rank)
        return fields

    def _on_non_blocking_collective_request(self, thread: _Thread, ns: int, event: Any) -> None:
        number = self._message(thread, ns, "MPI_Icollective", int(MpiFlag.NONBLOCKING))
        self._requests[thread.rank, event.request_id] = number

    def _on_non_blocking_collective_complete(self, thread: _Thread, ns: int, event: Any) -> None:
        number = self._requests.pop((thread.rank, event.request_id), None)
        if number is not None:
            self.mpi.fill(number, 0, **self._collective(thread, event))
            if event.collective_op == self._otf2.enums.CollectiveOp.CREATE_HANDLE:
                self.mpi.fill(number, 0, made=thread.created)
            self._completed(thread, number)

    # Files

    def _file_call(self, thread: _Thread, ns: int, call: str, handle: Any, **fields: Any) -> int:
        frame = thread.frame("io")
        if frame is not None and not frame.filled:
            frame.filled = True
            number = frame.io
        else:
            nested = int(IoFlag.NESTED) if frame is not None else 0
            number = self.io.add(thread.rank, thread.number, ns, call, nested)
        place = self._numbers.handle(thread.rank, handle)
        self.io.fill(number, 0, file=self._numbers.file(handle.file), handle=place, **fields)
        return number

    def _on_io_create_handle(self, thread: _Thread, ns: int, event: Any) -> None:
        self._numbers.open_handle(thread.rank, event.handle)
        size = otf2_library.flags_of_opening(self._otf2, event)
        number = self._file_call(thread, ns, "open", event.handle, size=size)
        self._positions[thread.rank, event.handle] = 0
        if event.handle.comm is not None:
            comm = self._numbers.comms.number(event.handle.comm, thread.rank)
            self.io.fill(number, int(IoFlag.COLLECTIVE), comm=comm)

    def _on_io_duplicate_handle(self, thread: _Thread, ns: int, event: Any) -> None:
        self._numbers.open_handle(thread.rank, event.new_handle)
        self._file_call(thread, ns, "dup", event.new_handle)

    def _on_io_destroy_handle(self, thread: _Thread, ns: int, event: Any) -> None:
        self._file_call(thread, ns, "close", event.handle)
        self._positions.pop((thread.rank, event.handle), None)

    def _on_io_seek(self, thread: _Thread, ns: int, event: Any) -> None:
        self._positions[thread.rank, event.handle] = event.offset_result
        self._file_call(thread, ns, "lseek", event.handle, offset=event.offset_result)

    def _on_io_delete_file(self, thread: _Thread, ns: int, event: Any) -> None:
        frame = thread.frame("io")
        if frame is not None:
            self.io.fill(frame.io, 0, file=self._numbers.file(event.file))

    def _on_io_operation_begin(self, thread: _Thread, ns: int, event: Any) -> None:
        modes = self._otf2.enums.IoOperationMode
        word = {modes.READ: "read", modes.WRITE: "write"}.get(event.mode, "fsync")
        is_mpi = event.handle.io_paradigm.identification == otf2_library.PARADIGMS[MPI_IO]
        number = self._file_call(
            thread,
            ns,
            f"MPI_File_{word}" if is_mpi else word,
            event.handle,
            size=_bytes(event.bytes_request),
            offset=-1 if word == "fsync" else self._offset(thread, event),
        )
        collective = event.operation_flags.value & self._otf2.enums.IoOperationFlag.COLLECTIVE.value
        self.io.fill(number, int(IoFlag.COLLECTIVE) if collective else 0)
        self._operations[thread.rank, event.handle, event.matching_id] = number

    def _offset(self, thread: _Thread, event: Any) -> int:
        """The offset: exports of Sesame record it; else it follows from earlier calls on the
        handle."""
        for attribute, value in (event.attributes or {}).items():
            if attribute.name == otf2_library.OFFSET:
                return int(value)
        frame = thread.frame("io")
        call = frame.region.name if frame is not None else "read"
        if call.startswith(("p", "MPI_")) or io_layer(call) not in (POSIX, io_layer("fread")):
            return -1
        return self._positions.get((thread.rank, event.handle), -1)

    def _on_io_operation_issued(self, thread: _Thread, ns: int, event: Any) -> None:
        number = self._operations.get((thread.rank, event.handle, event.matching_id))
        if number is not None:
            self.io.fill(number, int(IoFlag.ASYNCHRONOUS))

    def _on_io_operation_complete(self, thread: _Thread, ns: int, event: Any) -> None:
        number = self._operations.pop((thread.rank, event.handle, event.matching_id), None)
        if number is None:
            return
        moved = _bytes(event.bytes_result)
        self.io.fill(number, 0, bytes=moved)
        place = thread.rank, event.handle
        if self.io.value(number, "offset") == self._positions.get(place, -1) >= 0:
            self._positions[place] += moved
        if not self.io.is_ended(number) and all(f.io != number for f in thread.frames):
            self.io.end(number, ns)
        inner = thread.frames[-1] if thread.frames else None
        if inner is not None and inner.mpi >= 0:
            self.io.complete(number, self._part_of_wait(thread, inner, number))
            return
        frame = thread.frame("io")
        if frame is not None and frame.io != number:
            self.io.complete(number, frame.io)

    def _part_of_wait(self, thread: _Thread, wait: _Frame, number: int) -> int:
        """Adds a record, nested in a wait or test, for the file access that it completed."""
        begin, call = self.mpi.value(wait.mpi, "begin_ns"), wait.region.name
        part = self.io.add(thread.rank, thread.number, begin, call, int(IoFlag.NESTED))
        same = ("file", "handle", "offset", "size")
        self.io.fill(part, 0, **{name: self.io.value(number, name) for name in same})
        wait.parts.append(part)
        return part

    def _fill_communicators(self) -> None:
        """Fills in communicators without an event, where the definitions determine them."""
        comms = self._numbers.comms
        made = comms.made_in_order(self._makers)
        for record, number in (made or {}).items():
            rank = self.mpi.value(record, "rank")
            self.mpi.fill(record, 0, made=number, comm=comms.parent(number, rank))
        if made is None:
            self._lost["calls that made communicators: which is which"] = len(self._makers)
        if self._without_comm:
            self._lost["collective calls without an event: their data"] = len(self._without_comm)
        for record in self._without_comm if comms.is_world_alone else ():
            self.mpi.fill(record, 0, comm=WORLD)

    def traced(self) -> Traced:
        open_calls = [f for thread in self._threads.values() for f in thread.frames]
        for frame in open_calls:
            for records, number in ((self.io, frame.io), (self.mpi, frame.mpi)):
                if number >= 0:
                    records.end(number, self._last_ns)
        self._fill_communicators()
        realtime = self._clock.realtime_timestamp
        known = 0 < realtime < 1 << 62
        tables = self._numbers.tables(self._last_ns, self.io, self.mpi)
        return Traced(
            tool="OTF2",
            version="",
            command=self._command,
            begin=datetime.fromtimestamp(realtime / 1e9, UTC) if known else None,
            duration_ns=self._last_ns,
            ranks=len(tables["process"]["rank"]),
            tables=tables,
            batches={"io": self.io.batches(), "mpi": self.mpi.batches()},
            damage=[f"{len(open_calls)} calls have no end"] if open_calls else [],
            lost=[f"{count} {what}" for what, count in sorted(self._lost.items())],
        )


def _bytes(count: int) -> int:
    return count if count < NO_BYTES else 0
