"""Imports the binary files of blktrace: one for each processor, NAME.blktrace.0, NAME.blktrace.1, …

A record is a struct blk_io_trace of linux/blktrace_api.h (48 bytes), followed by `pdu_len` bytes of
extra data. Both byte orders are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sesame.errors import InputError
from sesame.exchange.block_events import (
    CHUNK_BYTES,
    DISCARD,
    FLUSH,
    OTHER,
    READ,
    WRITE,
    BlockTrace,
    event,
)
from sesame.exchange.record_file import Scratch
from sesame.exchange.traced import Traced
from sesame.traced.block_requests import COMPLETE, ISSUE, Events

FIELDS = [
    ("magic", "u4"),
    ("sequence", "u4"),
    ("time", "u8"),
    ("sector", "u8"),
    ("bytes", "u4"),
    ("action", "u4"),
    ("pid", "u4"),
    ("device", "u4"),
    ("cpu", "u4"),
    ("error", "u2"),
    ("pdu_len", "u2"),
]
RECORD_BYTES = 48
MAGIC, VERSION = 0x65617400, 7
# linux/blktrace_api.h: enum blktrace_act, blktrace_cat, blktrace_notify
TA_MASK, TA_ISSUE, TA_COMPLETE = 0xFF, 7, 8
TC_WRITE, TC_FLUSH, TC_PC, TC_NOTIFY, TC_DISCARD = (1 << 16 + bit for bit in (1, 2, 9, 10, 13))
TN_PROCESS = 0
TA_CGROUP, CGROUP_BYTES = 0x100, 8
MINOR_BITS = 20

Records = npt.NDArray[Any]


def recognises(path: Path) -> bool:
    files = _files_of(path)
    return bool(files) and _order_of(files[0]) is not None


def read(path: Path, _scratch: Scratch) -> Traced:
    files = _files_of(path)
    if not files:
        raise InputError("there is no *.blktrace.0 in it", path=str(path))
    trace = BlockTrace("blktrace")
    streams = [_Stream(file, trace, single=len(files) == 1) for file in files]
    return trace.of_events(_merged(streams, trace))


def _files_of(path: Path) -> list[Path]:
    """The files of all processors, given the directory or the file of one processor."""
    if path.is_dir():
        return sorted(path.glob("*.blktrace.*"))
    if not path.is_file():
        return []
    numbered = re.fullmatch(r"(.*\.blktrace\.)\d+", path.name)
    if numbered is None:
        return [path]
    same = re.compile(re.escape(numbered[1]) + r"\d+")
    return sorted(file for file in path.parent.iterdir() if same.fullmatch(file.name))


def _order_of(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            head = file.read(4)
    except OSError:
        return None
    for order in "<>":
        if len(head) == 4 and int(np.frombuffer(head, f"{order}u4")[0]) & ~0xFF == MAGIC:
            return order
    return None


class _Stream:
    """The records of one file, read in blocks of some MiB."""

    def __init__(self, path: Path, trace: BlockTrace, *, single: bool) -> None:
        self.path, self._trace = path, trace
        order = _order_of(path)
        if order is None and (path.stat().st_size or single):
            raise InputError(
                f"at byte 0: not a record of blktrace, expected the number {MAGIC | VERSION:#x}",
                path=str(path),
            )
        self._dtype = np.dtype([(name, f"{order or '<'}{kind}") for name, kind in FIELDS])

    def batches(self, commands: dict[int, int]) -> Iterator[Records]:
        rest, place = b"", 0
        with self.path.open("rb") as file:
            while block := file.read(CHUNK_BYTES):
                data = rest + block
                used = 0
                for records, end in self._runs(data, place, commands):
                    used = end
                    yield records
                place += used
                rest = data[used:]
        if rest:
            self._trace.damage.append(
                f"{self.path.name}: at byte {place}: the last record is cut off"
            )

    def _runs(
        self, data: bytes, place: int, commands: dict[int, int]
    ) -> Iterator[tuple[Records, int]]:
        """Runs of consecutive records without extra data in between, and the offset of each run's
        end."""
        at = 0
        while (count := (len(data) - at) // RECORD_BYTES) > 0:
            records = np.frombuffer(data, self._dtype, min(count, 1 << 16), at)
            with_data = np.flatnonzero(records["pdu_len"])
            records = records[: with_data[0] + 1] if len(with_data) else records
            self._check(records, place + at)
            end = at + len(records) * RECORD_BYTES
            if extra := int(records["pdu_len"][-1]):
                if end + extra > len(data):
                    records, extra, end = records[:-1], 0, end - RECORD_BYTES
                    if len(records):
                        yield records, end
                    return
                self._note_name(records[-1], data[end : end + extra], commands)
            at = end + extra
            yield records, at

    def _check(self, records: Records, place: int) -> None:
        wrong = np.flatnonzero(records["magic"] != MAGIC | VERSION)
        if not len(wrong):
            return
        found = int(records["magic"][wrong[0]])
        where = f"at byte {place + int(wrong[0]) * RECORD_BYTES}"
        if found & ~0xFF == MAGIC:
            message = f"{where}: version {found & 0xFF} of blktrace's format, expected {VERSION}"
        else:
            message = f"{where}: {found:#010x}, expected a record with {MAGIC | VERSION:#x}"
        hint = "convert the trace to text with blkparse, and import the text"
        raise InputError(message, path=str(self.path), hint=hint)

    def _note_name(self, record: Any, data: bytes, commands: dict[int, int]) -> None:
        action = int(record["action"])
        if not action & TC_NOTIFY or action & TA_MASK != TN_PROCESS:
            return
        if action & TA_CGROUP:
            data = data[CGROUP_BYTES:]
        name = data.split(b"\0")[0].decode(errors="replace")
        commands[int(record["pid"])] = self._trace.commands.number(name)


@dataclass
class _Waiting:
    """The records of one file that are read and not yet merged."""

    source: Iterator[Records]
    events: Events | None = None
    ended: bool = False

    def fill(self, columns: Any) -> None:
        while not self.ended and (self.events is None or not len(self.events["time_ns"])):
            records = next(self.source, None)
            if records is None:
                self.ended = True
            else:
                self.events = columns(records)

    @property
    def last_ns(self) -> int:
        assert self.events is not None
        return int(self.events["time_ns"].max())


def _merged(streams: list[_Stream], trace: BlockTrace) -> Iterator[Events]:
    """Merges the events of all processors by time. An event waits until no file can have earlier
    ones."""
    commands: dict[int, int] = {}

    def columns(records: Records) -> Events:
        return _columns(records, trace, commands)

    files = [_Waiting(_gathered(stream.batches(commands))) for stream in streams]
    while True:
        for file in files:
            file.fill(columns)
        there = [f for f in files if f.events is not None and len(f.events["time_ns"])]
        if not there:
            return
        running = [f.last_ns for f in there if not f.ended]
        until = min(running, default=np.iinfo(np.int64).max)
        parts = []
        for file in there:
            assert file.events is not None
            ready = file.events["time_ns"] <= until
            parts.append({name: values[ready] for name, values in file.events.items()})
            file.events = {name: values[~ready] for name, values in file.events.items()}
        yield {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _gathered(runs: Iterator[Records], least: int = 1 << 16) -> Iterator[Records]:
    """Joins short runs into batches of at least `least` records."""
    kept: list[Records] = []
    count = 0
    for records in runs:
        kept.append(records)
        count += len(records)
        if count >= least:
            yield np.concatenate(kept)
            kept, count = [], 0
    if kept:
        yield np.concatenate(kept)


def _columns(records: Records, trace: BlockTrace, commands: dict[int, int]) -> Events:
    """Columns of the issue and completion records."""
    action = records["action"]
    kind = action & TA_MASK
    wanted = ((kind == TA_ISSUE) | (kind == TA_COMPLETE)) & (action & TC_NOTIFY == 0)
    records, action, kind = records[wanted], action[wanted], kind[wanted]
    device = records["device"].astype(np.int64)
    codes = np.zeros(len(device), np.int64)
    for number in np.unique(device).tolist():
        name = f"{number >> MINOR_BITS},{number & (1 << MINOR_BITS) - 1}"
        codes[device == number] = trace.devices.number(name)
    pids, place = np.unique(records["pid"], return_inverse=True)
    named = np.array([commands.get(pid, 0) for pid in pids.tolist()], np.int64)
    size = records["bytes"].astype(np.int64)
    return event(
        time_ns=records["time"],
        kind=np.where(kind == TA_ISSUE, ISSUE, COMPLETE),
        device=codes,
        sector=np.where(size > 0, records["sector"].astype(np.int64), -1),
        bytes=size,
        operation=_operation(action, size),
        pid=records["pid"],
        command=named[place] if len(named) else place,
    )


def _operation(action: npt.NDArray[Any], size: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    found = np.where(action & TC_WRITE, WRITE, READ)
    found = np.where(action & TC_DISCARD, DISCARD, found)
    found = np.where((action & TC_FLUSH > 0) & (size == 0), FLUSH, found)
    return np.where(action & TC_PC, OTHER, found)
