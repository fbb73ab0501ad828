"""Writes a plan, the input of `sesame-replayer`. core/replay/plan.h describes the format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sesame.datasets.traced import IoFlag
from sesame.replaying import calls
from sesame.replaying.events import AFTER, ARRIVE, WAIT
from sesame.replaying.processors import keeps_processor
from sesame.replaying.records import Order
from sesame.replaying.schedule import Operations, Schedule
from sesame.traced.groups import Array


def layout(*parts: tuple[str, str]) -> np.dtype[Any]:
    """The data type of a C struct: each part is a type and the names of its fields."""
    return np.dtype([(name, kind) for kind, names in parts for name in names.split()])


HEADER = layout(
    ("S8", "magic"),
    ("<u4", "version payload direct process processes tables"),
    ("<u8", "streams operations events links targets opened files text"),
)
STREAM = layout(
    ("<u4", "rank thread table slots"),
    ("<u8", "first count"),
    ("<i8", "tail_ns largest"),
    ("<u4", "flags unused"),
)
OPERATION = layout(
    ("<i8", "gap_ns transfer_ns offset size expected_bytes"),
    ("<i4", "file other_file slot"),
    ("<u2", "call flags"),
    ("<u4", "first_link arrive wait arrive_after"),
    ("<i4", "other_slot expected_error"),
)
EVENT = layout(("<u4", "arrivals tokens first_target targets"))
OPENED = layout(("<u4", "table slots slot"), ("<i4", "file"), ("<u4", "flags late"))
FILE = layout(("<u4", "begin flags"))
PAYLOADS = ("zero", "compressible", "random")
MERGED, FORMATTED = 1, 2
OF_IO_FLAG = {IoFlag.MERGED: MERGED, IoFlag.WILL_NEED: 4, IoFlag.DONT_NEED: 8}
KEEPS_PROCESSOR = 1
REGULAR = 1


@dataclass(frozen=True)
class Share:
    """The streams that one process of the replay plays: those of some ranks."""

    process: int = 0
    processes: int = 1

    def of_streams(self, order: Order) -> Array:
        """The process of each stream: ranks in blocks."""
        ranks = np.array([rank for rank, _ in order.streams], np.int64)
        values, index = np.unique(ranks, return_inverse=True)
        return np.asarray(index * self.processes // max(len(values), 1))


def write_plan(
    schedule: Schedule, path: Path, share: Share, *, payload: str, direct: bool
) -> Array:
    """Writes the plan of one process. Returns the indices of its operations in the schedule."""
    operations, order = schedule.operations, schedule.order
    process_of = (
        share.of_streams(order)[operations.stream]
        if len(operations.stream)
        else (operations.stream)
    )
    ours = np.flatnonzero(process_of == share.process)
    links, by_operation = _local_links(operations, ours)
    table_of: dict[int, int] = {}
    streams = _streams(schedule, share, ours, table_of)
    files, text = _files(schedule)
    events, targets = _events(operations, process_of, share)
    opened = _opened(schedule, table_of)
    header = np.zeros(1, HEADER)
    header["magic"], header["version"] = b"SESREPLY", 2
    header["payload"], header["direct"] = PAYLOADS.index(payload), int(direct)
    header["process"], header["processes"] = share.process, share.processes
    header["tables"] = len(table_of)
    parts = {
        "streams": streams,
        "operations": _operations(schedule, ours, by_operation),
        "events": events,
        "opened": opened,
        "files": files,
        "links": links.astype("<u4"),
        "targets": targets.astype("<u4"),
        "text": np.frombuffer(text, np.uint8),
    }
    for name, part in parts.items():
        header[name] = len(part)
    with path.open("wb") as file:
        file.write(header.tobytes())
        for part in parts.values():
            file.write(part.tobytes())
    return ours


def _local_links(operations: Operations, ours: Array) -> tuple[Array, dict[str, Array]]:
    """The events of the links of these operations; and by operation the number of links of each
    kind, and the index of the first."""
    place = np.full(len(operations.source), -1, np.int64)
    place[ours] = np.arange(len(ours))
    at = place[operations.link_operation] if len(place) else operations.link_operation
    mine = at >= 0
    at, kind = at[mine], operations.link_kind[mine]
    counts = {
        name: np.bincount(at[kind == which], minlength=len(ours))
        for name, which in (("arrive", ARRIVE), ("wait", WAIT), ("arrive_after", AFTER))
    }
    total = counts["arrive"] + counts["wait"] + counts["arrive_after"]
    counts["first_link"] = np.cumsum(total) - total
    return operations.link_event[mine], counts


def _streams(schedule: Schedule, share: Share, ours: Array, table_of: dict[int, int]) -> Array:
    order, operations = schedule.order, schedule.operations
    local = np.flatnonzero(share.of_streams(order) == share.process)
    streams = np.zeros(len(local), STREAM)
    first = np.searchsorted(operations.stream[ours], local)
    behind = np.searchsorted(operations.stream[ours], local, "right")
    largest, keeps = _largest(schedule), keeps_processor(schedule)
    for at, stream in enumerate(local.tolist()):
        rank, thread = order.streams[stream]
        streams[at] = (
            rank,
            thread,
            table_of.setdefault(rank, len(table_of)),
            schedule.slots.count.get(rank, 1),
            first[at],
            behind[at] - first[at],
            schedule.tail_ns[stream],
            largest[stream],
            KEEPS_PROCESSOR if keeps[stream] else 0,
            0,
        )
    return streams


def _largest(schedule: Schedule) -> Array:
    """Bytes of the largest transfer of each stream."""
    operations, issued = schedule.operations, schedule.issued
    largest = np.zeros(len(schedule.order.streams), np.int64)
    rows = operations.source[operations.source >= 0]
    data = np.isin(
        issued.call[rows], [calls.call_numbers()[n] for n in sorted(calls.reads() | calls.writes())]
    )
    rows = rows[data]
    np.maximum.at(largest, schedule.order.stream[rows], issued.size[rows])
    return largest


def _operations(schedule: Schedule, ours: Array, counts: dict[str, Array]) -> Array:
    trace, issued, all_ = schedule.trace, schedule.issued, schedule.operations
    made = np.zeros(len(ours), OPERATION)
    made["gap_ns"], made["transfer_ns"] = all_.gap[ours], all_.transfer[ours]
    for name, values in counts.items():
        made[name] = values
    made["file"] = made["other_file"] = made["slot"] = made["other_slot"] = -1
    source = all_.source[ours]
    at = np.flatnonzero(source >= 0)
    rows, io = source[at], trace.io
    made["call"][at] = issued.call[rows]
    made["offset"][at], made["size"][at] = io["offset"][rows], issued.size[rows]
    made["expected_bytes"][at], made["expected_error"][at] = io["bytes"][rows], io["error"][rows]
    made["file"][at], made["other_file"][at] = io["file"][rows], io["other_file"][rows]
    made["slot"][at] = schedule.slots.slot[rows]
    made["other_slot"][at] = _other_slots(schedule, rows)
    flags = np.where(io.is_call(calls.FORMATTED)[rows], FORMATTED, 0)
    for recorded, flag in OF_IO_FLAG.items():
        flags |= np.where(io["flags"][rows] & recorded != 0, flag, 0)
    made["flags"][at] = flags
    return made


def _other_slots(schedule: Schedule, rows: Array) -> Array:
    """The slot of the other file of a copy, which the record names by its path only: of the slots
    that the process has open on it, the one that a thread used last; -1 without one."""
    trace, slots = schedule.trace, schedule.slots.slot
    io, number_of = trace.io, calls.call_numbers()
    found = np.full(len(rows), -1, np.int64)
    copies = [number_of["copy_file_range"], number_of["sendfile"]]
    closing = {number_of[name] for name in calls.closings()}
    for at in np.flatnonzero(np.isin(schedule.issued.call[rows], copies)).tolist():
        row = rows[at]
        same = (io["rank"] == io["rank"][row]) & (io["file"] == io["other_file"][row])
        before = np.flatnonzero(same & (slots >= 0) & (io["begin_ns"] < io["begin_ns"][row]))
        by_time = before[np.argsort(io["begin_ns"][before], kind="stable")]
        last = dict(zip(slots[by_time].tolist(), by_time.tolist(), strict=True))
        still_open = [row for row in last.values() if schedule.issued.call[row] not in closing]
        if still_open:
            found[at] = slots[max(still_open, key=lambda row: io["begin_ns"][row])]
    return found


def _events(operations: Operations, process_of: Array, share: Share) -> tuple[Array, Array]:
    """For each event the number of arrivals in this process, and of notifications (tokens) from
    others; and the processes to notify."""
    events = np.zeros(operations.events, EVENT)
    if len(operations.link_event) == 0:
        return events, np.zeros(0, np.int64)
    process = process_of[operations.link_operation]
    waits = operations.link_kind == WAIT
    arriving = ~waits & (process == share.process)
    events["arrivals"] = np.bincount(operations.link_event[arriving], minlength=operations.events)
    if share.processes == 1:
        return events, np.zeros(0, np.int64)

    def pairs(which: Array) -> Array:
        return np.unique(operations.link_event[which] * share.processes + process[which])

    from_, to = pairs(~waits), pairs(waits)
    here = np.zeros(operations.events, bool)
    here[to[to % share.processes == share.process] // share.processes] = True
    others = from_[from_ % share.processes != share.process] // share.processes
    events["tokens"] = np.where(here, np.bincount(others, minlength=operations.events), 0)
    elsewhere = to[to % share.processes != share.process]
    elsewhere = elsewhere[events["arrivals"][elsewhere // share.processes] > 0]
    event = elsewhere // share.processes
    events["targets"] = np.bincount(event, minlength=operations.events)
    events["first_target"] = np.cumsum(events["targets"]) - events["targets"]
    return events, elsewhere % share.processes


def _opened(schedule: Schedule, table_of: dict[int, int]) -> Array:
    path, late = schedule.issued.path, schedule.needed.late
    mine: list[tuple[Any, ...]] = [
        (table_of[rank], schedule.slots.count[rank], slot, file, flags, int(path[file] in late))
        for rank, slot, file, flags in schedule.slots.opened
        if rank in table_of
    ]
    return np.array(mine, OPENED)


def _files(schedule: Schedule) -> tuple[Array, bytes]:
    files = np.zeros(len(schedule.issued.path), FILE)
    text = bytearray()
    for index, path in enumerate(schedule.issued.path):
        files[index] = (len(text), REGULAR if path is not None else 0)
        text += (path or "/dev/null").encode() + b"\0"
    return files, bytes(text)
