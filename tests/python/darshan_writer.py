"""Writes Darshan logs with Darshan's own library, for tests and benchmarks of the import."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sesame.exchange.darshan_log import Library, find_library
from sesame.exchange.darshan_reader import COUNTERS, HEAD, MOUNT_BYTES, Job, counter_names, load

MODULES = {"POSIX": 1, "MPI-IO": 2, "STDIO": 9, "DXT_POSIX": 10, "DXT_MPIIO": 11}
VERSIONS = {"POSIX": 4, "MPI-IO": 3, "STDIO": 2}


class NameRef(ctypes.Structure):
    """An entry of the library's table of names; it walks the table by `next` alone."""

    _fields_ = (
        ("record", ctypes.c_void_p),
        ("table", ctypes.c_void_p),
        ("prev", ctypes.c_void_p),
        ("next", ctypes.c_void_p),
        ("rest", ctypes.c_byte * 32),
    )


@dataclass
class Record:
    """The counters of one file and process in one module."""

    module: str
    id: int
    rank: int
    counters: dict[str, float] = field(default_factory=dict)


@dataclass
class Trace:
    """The segments of one file and process: (offset, length, begin, end) of writes, of reads."""

    module: str
    id: int
    rank: int
    writes: np.ndarray
    reads: np.ndarray
    host: str = "node0"


@dataclass
class LogContents:
    processes: int
    names: dict[int, str]
    records: Sequence[Record] = ()
    traces: Sequence[Trace] = ()
    command: str = "./program -x 1"
    start_s: int = 1_700_000_000
    run_time_s: float = 10.0
    partial: int = 0  # a bit for each module
    mounts: Sequence[tuple[str, str]] = (("/", "ext4"), ("/scratch", "lustre"))


def write_log(path: Path, contents: LogContents) -> None:
    library = find_library()
    f, pointer = load(str(library.path)), ctypes.c_void_p
    f.darshan_log_close.argtypes = [pointer]
    f.darshan_log_create.restype = pointer
    f.darshan_log_create.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
    for name in ("job", "exe", "namehash"):
        getattr(f, f"darshan_log_put_{name}").argtypes = [pointer, pointer]
    f.darshan_log_put_mounts.argtypes = [pointer, pointer, ctypes.c_int]
    f.darshan_log_put_mod.argtypes = [pointer, ctypes.c_int, pointer, ctypes.c_int, ctypes.c_int]
    log = f.darshan_log_create(os.fsencode(path), 0, contents.partial)
    assert log, path
    end_s, end_ns = divmod(round((contents.start_s + contents.run_time_s) * 1e9), 10**9)
    metadata = b"lib_ver=3.5.0\n"
    job = Job(0, contents.start_s, 1, end_s, end_ns + 1, contents.processes, 7, metadata)
    assert f.darshan_log_put_job(log, ctypes.byref(job)) == 0
    assert f.darshan_log_put_exe(log, ctypes.create_string_buffer(contents.command.encode())) == 0
    assert f.darshan_log_put_mounts(log, _mounts(contents), len(contents.mounts)) == 0
    kept = _names(contents)
    assert f.darshan_log_put_namehash(log, ctypes.byref(kept[0][0])) == 0
    for name, number in MODULES.items():
        for data in _data(f, library, contents, name):
            version = _version(library, name)
            assert f.darshan_log_put_mod(log, number, data, len(data), version) >= 0
    f.darshan_log_close(log)


def _version(library: Library, module: str) -> int:
    if module in VERSIONS:
        return VERSIONS[module]
    return {"DXT_POSIX": 1, "DXT_MPIIO": 2}[module] + library.segments_have_threads


def _mounts(contents: LogContents) -> ctypes.Array:
    data = b"".join(
        kind.encode().ljust(MOUNT_BYTES, b"\0") + at.encode().ljust(MOUNT_BYTES, b"\0")
        for at, kind in contents.mounts
    )
    return ctypes.create_string_buffer(data, len(data))


def _names(contents: LogContents) -> tuple[ctypes.Array, list[ctypes.Array]]:
    """The table, and the records that it points to."""
    table = (NameRef * len(contents.names))()
    records = []
    for place, (number, name) in enumerate(contents.names.items()):
        record = ctypes.create_string_buffer(number.to_bytes(8, "little") + name.encode() + b"\0")
        records.append(record)
        table[place].record = ctypes.addressof(record)
        if place + 1 < len(table):
            table[place].next = ctypes.addressof(table[place + 1])
    return table, records


def _data(f: ctypes.CDLL, library: Library, contents: LogContents, module: str) -> list[bytes]:
    if module in COUNTERS:
        return [_counters(f, r) for r in contents.records if r.module == module]
    return [_segments(library, trace) for trace in contents.traces if trace.module == module]


def _counters(f: ctypes.CDLL, record: Record) -> bytes:
    prefix = COUNTERS[record.module]
    head = np.array([record.id], "<u8").tobytes() + np.array([record.rank], "<i8").tobytes()
    known = {f"{prefix.upper()}_{name}": value for name, value in record.counters.items()}
    counts, times = counter_names(f, prefix), counter_names(f, f"{prefix}_f")
    assert set(known) <= {*counts, *times}, set(known) - {*counts, *times}
    values = np.array([known.get(name, 0) for name in counts], "<i8")
    return head + values.tobytes() + np.array([known.get(n, 0.0) for n in times]).tobytes()


def _segments(library: Library, trace: Trace) -> bytes:
    counts = len(trace.writes), len(trace.reads)
    head = HEAD.pack(trace.id, trace.rank, 0, trace.host.encode(), *counts)
    rows = np.concatenate([np.reshape(trace.writes, (-1, 4)), np.reshape(trace.reads, (-1, 4))])
    thread = [("thread", "<u8")] if library.segments_have_threads else []
    layout = [("offset", "<i8"), ("length", "<i8"), ("begin", "<f8"), ("end", "<f8"), *thread]
    segments = np.zeros(len(rows), layout)
    for place, (name, _) in enumerate(layout[:4]):
        segments[name] = rows[:, place]
    return head + segments.tobytes()
