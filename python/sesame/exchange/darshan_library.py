"""Darshan's own reader of its logs, libdarshan-util, as the Python package `darshan` brings it.

The package itself is not imported: that takes longer than reading a log.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sesame.errors import InputError

JOB_RECORD_BYTES = 4096  # a job and the command line share a record of this size
HINT = "pip install 'sesame[exchange]' brings it"


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


_MOUNT_BYTES = JOB_RECORD_BYTES - ctypes.sizeof(Job) - 1


class _Mount(ctypes.Structure):
    _fields_ = (("type", ctypes.c_char * _MOUNT_BYTES), ("path", ctypes.c_char * _MOUNT_BYTES))


class _Module(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("length", ctypes.c_int),
        ("version", ctypes.c_int),
        ("index", ctypes.c_int),
        ("partial", ctypes.c_int),
    )


class _Name(ctypes.Structure):
    _fields_ = (("id", ctypes.c_uint64), ("name", ctypes.c_void_p))


@dataclass(frozen=True)
class Module:
    index: int
    version: int
    partial: bool  # Darshan ran out of memory for it


class Library:
    """The functions of libdarshan-util, and what its structures look like."""

    def __init__(self) -> None:
        spec = importlib.util.find_spec("darshan")
        if spec is None or not spec.submodule_search_locations:
            raise InputError("Darshan logs need the Python package darshan", hint=HINT)
        package = Path(spec.submodule_search_locations[0])
        found = sorted(package.parent.glob("darshan.libs/libdarshan-util*.so*"))
        if not found:
            raise InputError(f"the package in {package} has no libdarshan-util", hint=HINT)
        self.functions = ctypes.CDLL(str(found[0]))
        self._declare()
        # Libraries after 3.5.0 keep the thread of each segment; what they say of their version
        # does not tell.
        definitions = (package / "backend" / "api_def_c.py").read_text(encoding="utf-8")
        self.segments_have_threads = "pthread_id" in definitions
        self.version: str = self.functions.darshan_log_get_lib_version().decode()

    def _declare(self) -> None:
        f, pointer = self.functions, ctypes.c_void_p
        f.darshan_log_get_lib_version.restype = ctypes.c_char_p
        f.darshan_log_open.restype = pointer
        f.darshan_log_open.argtypes = [ctypes.c_char_p]
        f.darshan_log_close.argtypes = [pointer]
        f.darshan_log_get_job.argtypes = [pointer, pointer]
        f.darshan_log_get_exe.argtypes = [pointer, ctypes.c_char_p]
        for name in ("mounts", "name_records"):
            getattr(f, f"darshan_log_get_{name}").argtypes = [pointer, pointer, pointer]
        f.darshan_log_get_modules.restype = f.darshan_log_get_name_records.restype = None
        f.darshan_log_get_modules.argtypes = [pointer, pointer, pointer]
        f.darshan_log_get_record.argtypes = [pointer, ctypes.c_int, pointer]
        f.darshan_free.argtypes = [pointer]

    def counter_names(self, prefix: str) -> list[str]:
        """The counters of a module in their order; the list of the library ends with its count."""
        table = (ctypes.c_char_p * 1024).in_dll(self.functions, f"{prefix}_counter_names")
        names: list[str] = []
        for name in table:
            if name is None or name.endswith(b"NUM_INDICES"):
                return names
            names.append(name.decode())
        return names


class Log:
    """An open log. What the library says on stderr of one that is damaged goes into the error."""

    def __init__(self, library: Library, path: Path) -> None:
        self._library = library
        self._functions = library.functions
        self.path = path
        with self._listening() as heard:
            self._handle = self._functions.darshan_log_open(os.fsencode(path))
        if not self._handle:
            raise self._damaged(heard)

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        self._functions.darshan_log_close(self._handle)

    def job(self) -> Job:
        # The library writes the whole record, of which the job is the beginning.
        space = ctypes.create_string_buffer(JOB_RECORD_BYTES)
        self._call("darshan_log_get_job", space)
        return Job.from_buffer_copy(space)

    def command(self) -> str:
        space = ctypes.create_string_buffer(JOB_RECORD_BYTES + 1)
        self._call("darshan_log_get_exe", space)
        return space.value.decode(errors="replace")

    def mounts(self) -> list[tuple[str, str]]:
        """(path, type of the file system)"""
        return [
            (mount.path.decode(errors="replace"), mount.type.decode(errors="replace"))
            for mount in self._list("darshan_log_get_mounts", _Mount)
        ]

    def modules(self) -> dict[str, Module]:
        return {
            module.name.decode(): Module(module.index, module.version, bool(module.partial))
            for module in self._list("darshan_log_get_modules", _Module)
        }

    def names(self) -> dict[int, str]:
        """The paths by record id."""
        names: dict[int, str] = {}
        for record in self._list("darshan_log_get_name_records", _Name):
            names[record.id] = ctypes.string_at(record.name).decode(errors="replace")
            self._functions.darshan_free(record.name)
        return names

    def records(self, module: Module, copy: Callable[[int], bytes]) -> list[bytes]:
        """A copy of each record of a module, which `copy` makes from its address."""
        records = []
        with self._listening() as heard:
            record = ctypes.c_void_p()
            get = self._functions.darshan_log_get_record
            while (got := get(self._handle, module.index, ctypes.byref(record))) > 0:
                records.append(copy(record.value or 0))
                self._functions.darshan_free(record)
                record.value = None
        if got < 0:
            raise self._damaged(heard)
        return records

    def _call(self, name: str, *arguments: Any) -> None:
        with self._listening() as heard:
            status = getattr(self._functions, name)(self._handle, *arguments)
        if heard if status is None else status < 0:
            raise self._damaged(heard)

    def _list(self, name: str, kind: Any) -> list[Any]:
        items, count = ctypes.POINTER(kind)(), ctypes.c_int(0)
        self._call(name, ctypes.byref(items), ctypes.byref(count))
        copies = [kind.from_buffer_copy(items[number]) for number in range(count.value)]
        if items:
            self._functions.darshan_free(items)
        return copies

    def _damaged(self, heard: list[str]) -> InputError:
        reason = f": {heard[-1]}" if heard else ""
        return InputError(
            f"libdarshan-util {self._library.version} cannot read this log{reason}",
            path=str(self.path),
            hint="the log is cut off or damaged, or of a newer Darshan than this library",
        )

    @contextmanager
    def _listening(self) -> Iterator[list[str]]:
        """Keeps what the library prints on stderr, by line."""
        heard: list[str] = []
        with tempfile.TemporaryFile() as file:
            before = os.dup(2)
            os.dup2(file.fileno(), 2)
            try:
                yield heard
            finally:
                os.dup2(before, 2)
                os.close(before)
                file.seek(0)
                heard += [line.decode(errors="replace").strip() for line in file if line.strip()]
