"""Reads requests of any origin in one form, a limited number at a time.

For a disk, a place is a device, and a position a byte of it. For an application there is one place:
its files, concatenated; a position is a byte of them. A stream is a sequence of requests that may
continue one another: those to one device, or those of one process to one file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sesame.analysis.traced.load import load_run
from sesame.datasets import DataSet
from sesame.datasets.block import OPERATIONS, SECTOR_BYTES
from sesame.errors import InputError
from sesame.traced.block_requests import COMPLETE, ISSUE, Depth, Pairing, in_time_order
from sesame.traced.io_calls import READ, WRITE

ROWS = 1 << 19  # at once
MINOR_BITS = 20  # of a device's number in an event of the kernel
ALL_FILES = "all files"

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Requests:
    """Reads and writes in the order of time."""

    time_ns: Ints
    place: Ints
    position: Ints  # B
    bytes: Ints
    write: npt.NDArray[np.bool_]
    depth: Ints
    latency_ns: Ints  # -1: unknown
    who: Ints
    stream: Ints

    def __len__(self) -> int:
        return len(self.time_ns)

    def where(self, chosen: npt.NDArray[np.bool_]) -> Requests:
        if chosen.all():
            return self
        return Requests(**{name: values[chosen] for name, values in vars(self).items()})


@dataclass
class Overview:
    """The number and extent of the requests to each place, and their time span."""

    requests: dict[int, int] = field(default_factory=dict)
    end: dict[int, int] = field(default_factory=dict)  # B, of the highest request
    begin_ns: int = 0
    end_ns: int = 0

    def add(self, part: Requests) -> None:
        if not len(part):
            return
        if not self.requests:
            self.begin_ns = int(part.time_ns[0])
        self.begin_ns = min(self.begin_ns, int(part.time_ns.min()))
        self.end_ns = max(self.end_ns, int(part.time_ns.max()))
        for place in np.unique(part.place).tolist():
            here = part.place == place
            self.requests[place] = self.requests.get(place, 0) + int(here.sum())
            end = int((part.position + part.bytes)[here].max())
            self.end[place] = max(self.end.get(place, 0), end)


@dataclass
class Source:
    """Where requests come from. `read` starts from the first request each time."""

    name: str
    is_disk: bool
    duration_s: float  # of the recording; 0: not known
    read: Callable[[], Iterator[Requests]]
    places: list[str] = field(default_factory=list)
    whos: list[str] = field(default_factory=list)
    operations: dict[str, int] = field(default_factory=dict)  # counts of those that move no data
    files: list[tuple[int, str]] = field(default_factory=list)  # where each file begins
    overview: Overview = field(default_factory=Overview)

    def look(self) -> Source:
        """Fills `overview`; returns this source. Raises InputError if there is no request."""
        for part in self.read():
            self.overview.add(part)
        if not self.overview.requests:
            raise InputError("there is no read or write in this data set", path=self.name)
        return self

    def name_of(self, position: int) -> str:
        """A position as text: the sector, or the file with the offset in it."""
        if self.is_disk:
            return f"sector {position // SECTOR_BYTES:,}"
        begins = [begin for begin, _ in self.files]
        number = int(np.searchsorted(begins, position, "right")) - 1
        begin, path = self.files[number]
        return f"{path} at {position - begin:,}"


def open_source(data_set: DataSet) -> Source:
    """Requests of devices if there are any, else the calls of an application."""
    if data_set.has("block_request"):
        return _block(data_set).look()
    if data_set.has("kernel_event"):
        return _kernel(data_set).look()
    if data_set.has("io"):
        return _application(data_set).look()
    known = ", ".join(data_set.record_types) or "none"
    raise InputError(
        "no requests in it: expected records of type block_request, kernel_event or io; there are "
        f"records of type {known}",
        path=str(data_set.path),
        hint="sesame import reads blktrace, blkparse, perf and MSR files; sesame trace records "
        "applications",
    )


def busiest(sources: list[Source]) -> str:
    """The place with most requests in all of them."""
    total: dict[str, int] = {}
    for source in sources:
        for place, count in source.overview.requests.items():
            total[source.places[place]] = total.get(source.places[place], 0) + count
    return max(total, key=lambda name: total[name])


class _Codes:
    """Numbers of names that stay the same from batch to batch."""

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self._numbers = {name: number for number, name in enumerate(names)}

    def number(self, name: str) -> int:
        if name not in self._numbers:
            self._numbers[name] = len(self._names)
            self._names.append(name)
        return self._numbers[name]

    def column(self, column: pa.Array) -> Ints:
        if not isinstance(column, pa.DictionaryArray):
            column = column.dictionary_encode()
        own = np.array([self.number(name) for name in column.dictionary.to_pylist()], np.int64)
        return own[column.indices.to_numpy(zero_copy_only=False)] if len(own) else np.empty(0, int)


def _seconds(data_set: DataSet) -> float:
    """The duration of a recording (0 if not known); of one of the kernel until its last summary."""
    if data_set.has("kernel_summary"):
        ends = data_set.table("kernel_summary", ["end_ns"]).column("end_ns")
        return float(ends.to_numpy().max()) * 1e-9
    return float(data_set.info.get("result", {}).get("duration_s") or 0)


def _block(data_set: DataSet) -> Source:
    def read() -> Iterator[Requests]:
        places, whos, operations = _Codes(source.places), _Codes(source.whos), _Codes([])
        reading = [operations.number(name) for name in OPERATIONS[:2]]
        counts: dict[str, int] = {}
        for batch in data_set.batches("block_request", rows=ROWS):
            operation = operations.column(batch["operation"])
            data = (operation == reading[0]) | (operation == reading[1])
            _count(counts, batch["operation"])
            numbers = {
                name: batch[name].to_numpy().astype(np.int64)
                for name in ("time_ns", "sector", "bytes", "depth", "latency_ns")
            }
            device = places.column(batch["device"])
            yield Requests(
                numbers["time_ns"],
                device,
                numbers["sector"] * SECTOR_BYTES,
                numbers["bytes"],
                operation == reading[1],
                numbers["depth"],
                numbers["latency_ns"],
                whos.column(batch["command"]),
                device,
            ).where(data & (numbers["bytes"] > 0))
        source.operations = {name: n for name, n in counts.items() if name not in OPERATIONS[:2]}

    source = Source(str(data_set.path), True, _seconds(data_set), read)
    return source


def _count(counts: dict[str, int], column: pa.Array) -> None:
    for row in column.value_counts().to_pylist():
        counts[str(row["values"])] = counts.get(str(row["values"]), 0) + int(row["counts"])


def _kernel(data_set: DataSet) -> Source:
    def read() -> Iterator[Requests]:
        places, whos, classes = _Codes(source.places), _Codes(source.whos), _Codes([])
        reading = [classes.number(name) for name in OPERATIONS[:2]]
        pairing, late = Pairing(), list[int]()
        events = in_time_order(_kernel_events(data_set, classes), late)
        for found in pairing.requests(events):
            devices = np.unique(found["device"], return_inverse=True)
            names = [f"{n >> MINOR_BITS},{n & (1 << MINOR_BITS) - 1}" for n in devices[0].tolist()]
            data = (found["operation"] == reading[0]) | (found["operation"] == reading[1])
            pids = pa.array(found["pid"]).cast(pa.string())
            device = np.array([places.number(name) for name in names], np.int64)[devices[1]]
            yield Requests(
                found["time_ns"],
                device,
                found["sector"] * SECTOR_BYTES,
                found["bytes"],
                found["operation"] == reading[1],
                found["depth"],
                found["latency_ns"],
                whos.column(pids),
                device,
            ).where(data & (found["bytes"] > 0))

    source = Source(str(data_set.path), True, _seconds(data_set), read)
    return source


def _kernel_events(data_set: DataSet, classes: _Codes) -> Iterator[dict[str, Ints]]:
    subsystems, points = _Codes(["block"]), _Codes(["issue", "complete"])
    columns = ["time_ns", "subsystem", "point", "class", "where", "bytes", "what", "pid"]
    for batch in data_set.batches("kernel_event", columns=columns, rows=ROWS):
        point = points.column(batch["point"])
        wanted = (subsystems.column(batch["subsystem"]) == 0) & (point < 2)
        found: dict[str, Any] = {
            "kind": np.where(point == 0, ISSUE, COMPLETE),
            "operation": classes.column(batch["class"]),
        }
        for name, theirs in (("time_ns",) * 2, ("bytes",) * 2, ("sector", "where"), ("pid",) * 2):
            found[name] = batch[theirs].to_numpy().astype(np.int64)
        found["device"] = batch["what"].to_numpy().astype(np.int64)
        yield {name: values[wanted] for name, values in found.items()}


def _application(data_set: DataSet) -> Source:
    """The application's own reads and writes of files. Devices, pipes and sockets are no files."""
    run = load_run(data_set)
    io = run.io
    moves = (io.kind == READ) | (io.kind == WRITE)
    stored = np.append(run.files.stored, False)  # file -1 is the last
    io = io.where(moves & io.own & (io.bytes > 0) & stored[io.file] & io.located)
    if not len(io):
        raise InputError(
            "no call in it that reads or writes a known place of a file", path=str(data_set.path)
        )
    io = io.where(np.argsort(io.begin, kind="stable"))
    length = np.zeros(len(run.files), np.int64)
    np.maximum.at(length, io.file, io.offset + io.bytes)
    begins = np.concatenate(([0], np.cumsum(length)))[:-1]
    nothing = np.zeros(len(io), np.int64)
    depth = Depth().add(nothing, io.begin, io.end)

    def read() -> Iterator[Requests]:
        for at in range(0, len(io), ROWS):
            rows = slice(at, at + ROWS)
            yield Requests(
                io.begin[rows].astype(np.int64),
                nothing[rows],
                (begins[io.file] + io.offset)[rows],
                io.bytes[rows].astype(np.int64),
                (io.kind == WRITE)[rows],
                depth[rows],
                (io.end - io.begin)[rows].astype(np.int64),
                io.rank[rows].astype(np.int64),
                (io.rank * len(run.files) + io.file)[rows].astype(np.int64),
            )

    whos = [f"rank {number}" for number in range(int(io.rank.max()) + 1)]
    used = np.flatnonzero(length)
    files = [(int(begins[i]), run.files.path[i]) for i in used]
    return Source(str(data_set.path), False, run.seconds, read, [ALL_FILES], whos, files=files)
