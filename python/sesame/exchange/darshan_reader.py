"""Reads a Darshan log with Darshan's own library; runs as a separate program.

    python darshan_reader.py LIBRARY THREADS LOG

Darshan's library may abort the process when it reads a damaged log, hence the separate process. The
program writes to stdout: a line of JSON that describes the log, then the records of its modules. It
imports only Python's standard library, so that it starts fast.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys
from collections.abc import Callable
from typing import Any

JOB_RECORD_BYTES = 4096  # a job and the command line share a record of this size
COUNTERS = {"POSIX": "posix", "MPI-IO": "mpiio", "STDIO": "stdio"}
TRACES = ("DXT_MPIIO", "DXT_POSIX")
# The head of a DXT record, which has the trace of one file and process: id, rank, shared, host,
# number of writes, number of reads. The segments follow it, writes first.
HEAD = struct.Struct("<Qqq64sqq")
SEGMENT_BYTES = 32
THREAD_BYTES = 8  # added to each segment by libraries after 3.5.0


class Job(ctypes.Structure):
    _fields_ = (
        ("uid", ctypes.c_int64),
        ("start_s", ctypes.c_int64),
        ("start_ns", ctypes.c_int64),
        ("end_s", ctypes.c_int64),
        ("end_ns", ctypes.c_int64),
        ("processes", ctypes.c_int64),
        ("id", ctypes.c_int64),
        ("metadata", ctypes.c_char * 1024),
    )


MOUNT_BYTES = JOB_RECORD_BYTES - ctypes.sizeof(Job) - 1


class Mount(ctypes.Structure):
    _fields_ = (("type", ctypes.c_char * MOUNT_BYTES), ("path", ctypes.c_char * MOUNT_BYTES))


class Module(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("length", ctypes.c_int),
        ("version", ctypes.c_int),
        ("index", ctypes.c_int),
        ("partial", ctypes.c_int),
    )


class Name(ctypes.Structure):
    _fields_ = (("id", ctypes.c_uint64), ("name", ctypes.c_void_p))


class ReadError(Exception):
    """Reading failed; the library has printed the reason on stderr."""


def load(path: str) -> Any:
    f, pointer = ctypes.CDLL(path), ctypes.c_void_p
    f.darshan_log_open.restype = pointer
    f.darshan_log_open.argtypes = [ctypes.c_char_p]
    f.darshan_log_get_job.argtypes = [pointer, pointer]
    f.darshan_log_get_exe.argtypes = [pointer, ctypes.c_char_p]
    for name in ("mounts", "name_records", "modules"):
        getattr(f, f"darshan_log_get_{name}").argtypes = [pointer, pointer, pointer]
    f.darshan_log_get_name_records.restype = f.darshan_log_get_modules.restype = None
    f.darshan_log_get_record.argtypes = [pointer, ctypes.c_int, pointer]
    f.darshan_free.argtypes = [pointer]
    return f


def counter_names(library: Any, prefix: str) -> list[str]:
    """The names of a module's counters in their order. The library's list ends with an entry
    NUM_INDICES."""
    table = (ctypes.c_char_p * 1024).in_dll(library, f"{prefix}_counter_names")
    names: list[str] = []
    for name in table:
        if name is None or name.endswith(b"NUM_INDICES"):
            break
        names.append(name.decode())
    return names


class Log:
    def __init__(self, library: Any, path: str, segment_bytes: int) -> None:
        self._library = library
        self._segment_bytes = segment_bytes
        self._handle = library.darshan_log_open(os.fsencode(path))
        if not self._handle:
            raise ReadError

    def describe(self) -> tuple[dict[str, Any], list[bytes]]:
        """The description of the log, and the records of all modules that are imported."""
        job = self._job()
        modules = {
            module.name.decode(): (module.index, module.version, bool(module.partial))
            for module in self._list(self._library.darshan_log_get_modules, Module)
        }
        described: dict[str, Any] = {
            "job": {name: getattr(job, name) for name, *_ in Job._fields_ if name != "metadata"},
            "metadata": job.metadata.decode(errors="replace"),
            "command": self._command(),
            "mounts": [
                (mount.path.decode(errors="replace"), mount.type.decode(errors="replace"))
                for mount in self._list(self._library.darshan_log_get_mounts, Mount)
            ],
            "names": self._names(),
            "modules": modules,
            "counters": {},
            "records": {},
        }
        records = []
        for name, (index, _, _) in modules.items():
            if name in COUNTERS or name in TRACES:
                copy = self._copier(name, described["counters"])
                found = self._records(index, copy)
                described["records"][name] = [len(record) for record in found]
                records += found
        return described, records

    def _copier(self, name: str, counters: dict[str, Any]) -> Callable[[int], bytes]:
        """A function that copies the record at an address; adds the module's `counters`."""
        if name in TRACES:
            return self._copy_trace
        prefix = COUNTERS[name]
        counts = counter_names(self._library, prefix)
        times = counter_names(self._library, f"{prefix}_f")
        counters[name] = {"counts": counts, "times": times}
        size = 16 + 8 * len(counts) + 8 * len(times)
        return lambda address: ctypes.string_at(address, size)

    def _copy_trace(self, address: int) -> bytes:
        *_, writes, reads = HEAD.unpack(ctypes.string_at(address, HEAD.size))
        return ctypes.string_at(address, HEAD.size + (writes + reads) * self._segment_bytes)

    def _job(self) -> Job:
        # The library writes the whole record; the job is its first part.
        space = ctypes.create_string_buffer(JOB_RECORD_BYTES)
        self._check(self._library.darshan_log_get_job(self._handle, space))
        return Job.from_buffer_copy(space)

    def _command(self) -> str:
        space = ctypes.create_string_buffer(JOB_RECORD_BYTES + 1)
        self._check(self._library.darshan_log_get_exe(self._handle, space))
        return space.value.decode(errors="replace")

    def _names(self) -> dict[int, str]:
        return {
            record.id: ctypes.string_at(record.name).decode(errors="replace")
            for record in self._list(self._library.darshan_log_get_name_records, Name)
        }

    def _records(self, index: int, copy: Callable[[int], bytes]) -> list[bytes]:
        records = []
        record = ctypes.c_void_p()
        get, free, handle = (
            self._library.darshan_log_get_record,
            self._library.darshan_free,
            self._handle,
        )
        while (got := get(handle, index, ctypes.byref(record))) > 0:
            records.append(copy(record.value or 0))
            free(record)
            record.value = None
        self._check(got)
        return records

    def _list(self, get: Any, kind: Any) -> list[Any]:
        items, count = ctypes.POINTER(kind)(), ctypes.c_int(0)
        self._check(get(self._handle, ctypes.byref(items), ctypes.byref(count)))
        return [items[number] for number in range(count.value)]

    def _check(self, status: int | None) -> None:
        if status is not None and status < 0:
            raise ReadError


def main(library: str, threads: str, path: str) -> int:
    segment_bytes = SEGMENT_BYTES + (THREAD_BYTES if threads == "1" else 0)
    try:
        described, records = Log(load(library), path, segment_bytes).describe()
    except ReadError:
        return 1
    out = sys.stdout.buffer
    out.write(json.dumps(described).encode() + b"\n")
    out.write(b"".join(records))
    out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
