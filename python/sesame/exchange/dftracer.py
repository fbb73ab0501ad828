"""Imports DFTracer traces: lines of JSON, one for each call, in a file for each process.

Three forms are about: the first has its numbers in quotation marks and paths in every event, the
second has hashes of the paths and lines that explain them, the third has numbers for the phases.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from sesame.errors import InputError
from sesame.exchange.record_file import RecordFile, Scratch
from sesame.exchange.traced import Batches, Columns, Traced, names

SUFFIXES = ("*.pfw", "*.pfw.gz")
COMPLETE = ("X", 1)
METADATA = ("M", 4)
CALLS = ("POSIX", "STDIO")  # the categories of calls on files
OWN = "dftracer"  # the category of what the tracer says of itself
NS_OF_UNIT = {"NS": 1, "US": 1000, "MS": 10**6, "S": 10**9}
RENAMED = {"__xstat": "stat", "__lxstat": "lstat", "__fxstat": "fstat", "__fxstatat": "fstatat"}
OPENINGS = {"open", "openat", "creat", "fopen", "fdopen", "freopen"}
CLOSINGS = {"close", "fclose"}
SEEKS = {"lseek", "fseek", "fseeko"}
TRANSFERS = {"read", "write", "pread", "pwrite", "fread", "fwrite", "fgets", "fputs"}
MODES = {  # of fopen, as flags of open
    "r": os.O_RDONLY,
    "w": os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
    "a": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
}
FIELDS = ("call", "file", "other_file", "handle", "offset", "size", "bytes")


def recognises(path: Path) -> bool:
    files = _files_of(path)
    if not files:
        return False
    try:
        with _open(files[0]) as lines:
            head = [lines.readline(1 << 16) for _ in range(2)]
        event = json.loads(next(line for line in head if line.strip() not in (b"", b"[")))
    except (OSError, EOFError, zlib.error, ValueError, StopIteration):
        return False
    return isinstance(event, dict) and {"name", "cat", "pid", "ph"} <= event.keys()


def read(path: Path, scratch: Scratch) -> Traced:
    files = _files_of(path)
    if not files:
        raise InputError(f"there is no {' or '.join(SUFFIXES)} in it", path=str(path))
    run = _Run(scratch)
    for file in files:
        run.read(file)
    if not run.processes:
        raise InputError("this trace has no events", path=str(path))
    return run.traced()


def _files_of(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for suffix in SUFFIXES for file in path.glob(suffix))
    return [path]


def _open(path: Path) -> Any:
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if zipped else path.open("rb")


@dataclass
class _Opening:
    """What a process has open under one path: the last of it, and where it reads and writes."""

    handle: int
    position: int  # -1 when unknown
    count: int = 1


@dataclass
class _Process:
    number: int
    pid: int
    parent_pid: int = -1
    host: str = ""
    command: str = ""
    begin_ns: int = 1 << 62
    end_ns: int = 0
    records: int = 0
    outcome: str = "exited"
    threads: dict[int, int] = field(default_factory=dict)
    openings: dict[str, _Opening] = field(default_factory=dict)
    handles: int = 0


class _Run:
    """Everything that was read so far."""

    def __init__(self, scratch: Scratch) -> None:
        self.processes: dict[tuple[str, int], _Process] = {}
        self.records = RecordFile(scratch, FIELDS)
        self.calls: dict[str, int] = {}
        self.files: dict[str, int] = {}
        self.directories: set[int] = set()
        self.strings: dict[str, str] = {}  # by hash
        self.lost: Counter[str] = Counter()
        self.damage: list[str] = []
        self.version = ""
        self.unit_ns = 1000

    def read(self, path: Path) -> None:
        last: _Process | None = None
        for number, event in self._events(path):
            try:
                last = self._take(event) or last
            except (LookupError, TypeError, ArithmeticError, ValueError, AttributeError) as error:
                raise InputError(
                    f"not an event of DFTracer: {type(error).__name__} {error}",
                    path=str(path),
                    line=number,
                ) from error
        if self.damage and self.damage[-1].startswith(f"{path.name}:") and last is not None:
            last.outcome = "cut off"

    def _events(self, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
        """A process that was killed leaves a line, or a compressed block, that is cut off."""
        broken: int | None = None
        try:
            with _open(path) as lines:
                for number, line in enumerate(lines, 1):
                    text = line.strip().rstrip(b",")
                    if text in (b"", b"[", b"]"):
                        continue
                    if broken is not None:
                        break
                    try:
                        event = json.loads(text)
                    except ValueError:
                        broken = number  # good if it is the last
                        continue
                    yield number, event
                else:
                    if broken is not None:
                        self.damage.append(f"{path.name}: line {broken}, the last, is cut off")
                    return
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.damage.append(f"{path.name}: the compressed data are damaged: {error}")
            return
        except OSError as error:
            raise InputError(f"cannot read: {error.strerror}", path=str(path)) from error
        raise InputError("not JSON", path=str(path), line=broken)

    def _take(self, event: dict[str, Any]) -> _Process | None:
        arguments: dict[str, Any] = event.get("args", {})
        phase = event["ph"]
        if phase in METADATA:
            self._explain(event["name"], arguments)
            return None
        category = event["cat"]
        if phase not in COMPLETE or (category not in CALLS and category != OWN):
            self.lost[f"events of category {category}"] += 1
            return None
        process = self._process(event, arguments)
        begin = int(event["ts"]) * self.unit_ns
        duration = int(event["dur"]) * self.unit_ns
        process.begin_ns = min(process.begin_ns, begin)
        process.end_ns = max(process.end_ns, begin + duration)
        if category == OWN:
            self._start(process, arguments)
        else:
            thread = process.threads.setdefault(int(event["tid"]), len(process.threads))
            self._call(process, thread, begin, duration, event["name"], arguments)
        return process

    def _explain(self, name: str, arguments: dict[str, Any]) -> None:
        if name in ("FH", "HH", "SH"):
            self.strings[str(arguments["value"])] = str(arguments["name"])
        elif name == "CM" and arguments.get("name") == "time_metric":
            self.unit_ns = NS_OF_UNIT[arguments["value"]]

    def _process(self, event: dict[str, Any], arguments: dict[str, Any]) -> _Process:
        host = self._string(arguments, "hhash", "hostname")
        key = host, int(event["pid"])
        if key not in self.processes:
            self.processes[key] = _Process(len(self.processes), key[1], host=host)
        return self.processes[key]

    def _string(self, arguments: dict[str, Any], hashed: str, plain: str) -> str:
        if plain in arguments:
            return str(arguments[plain])
        return self.strings.get(str(arguments.get(hashed)), "")

    def _start(self, process: _Process, arguments: dict[str, Any]) -> None:
        process.parent_pid = int(arguments.get("ppid", process.parent_pid))
        process.command = self._string(arguments, "cmd_hash", "cmd") or process.command
        version = int(arguments.get("version", 0))  # 20003 is 2.0.3
        if version:
            self.version = f"{version // 10000}.{version // 100 % 100}.{version % 100}"

    def _file(self, path: str) -> int:
        return self.files.setdefault(path, len(self.files)) if path else -1

    def _call(
        self,
        process: _Process,
        thread: int,
        begin: int,
        duration: int,
        name: str,
        arguments: dict[str, Any],
    ) -> None:
        name = name.removesuffix("64")
        name = RENAMED.get(name, name)
        path = self._string(arguments, "fhash", "fname")
        file = self._file(path)
        if name == "opendir":
            self.directories.add(file)
        other = self._file(self._string(arguments, "newpath_hash", "newpath"))
        handle, offset, size, moved = _access(process, name, path, arguments)
        call = self.calls.setdefault(name, len(self.calls))
        head = (process.number, thread, begin, duration, call, file, other)
        self.records.append((*head, handle, offset, size, moved))
        process.records += 1

    def traced(self) -> Traced:
        processes = list(self.processes.values())
        begin = min(process.begin_ns for process in processes)
        end = max(process.end_ns for process in processes)
        return Traced(
            tool="DFTracer",
            version=self.version,
            command=next((p.command.split(";") for p in processes if p.command), []),
            begin=datetime.fromtimestamp(begin / 1e9, UTC),
            duration_ns=end - begin,
            ranks=len(processes),
            batches={"io": self._io(begin)},
            tables={
                "file": self._file_table(),
                "process": self._process_table(processes, begin),
            },
            damage=self.damage,
            lost=[f"{count} {what}" for what, count in sorted(self.lost.items())],
        )

    def _io(self, begin: int) -> Batches:
        for columns in self.records.sorted().batches():
            del columns["number"]
            columns["begin_ns"] = columns["begin_ns"] - begin
            columns["call"] = names(list(self.calls), columns["call"])
            columns["flags"] = np.zeros(len(columns["begin_ns"]), np.int64)
            yield columns

    def _file_table(self) -> Columns:
        kinds = {True: "regular", False: "unknown"}
        return {
            "index": np.arange(len(self.files)),
            "path": list(self.files),
            "kind": [
                "directory" if index in self.directories else kinds[path.startswith("/")]
                for path, index in self.files.items()
            ],
        }

    def _process_table(self, processes: list[_Process], begin: int) -> Columns:
        numbers = {(process.host, process.pid): process.number for process in processes}
        return {
            "rank": [process.number for process in processes],
            "parent": [numbers.get((p.host, p.parent_pid), -1) for p in processes],
            "host": [process.host for process in processes],
            "pid": [process.pid for process in processes],
            "command": [process.command.replace(";", " ") for process in processes],
            "begin_ns": [process.begin_ns - begin for process in processes],
            "end_ns": [process.end_ns - begin for process in processes],
            "threads": [max(len(process.threads), 1) for process in processes],
            "records": [process.records for process in processes],
            "outcome": [process.outcome for process in processes],
        }


def _access(
    process: _Process, name: str, path: str, arguments: dict[str, Any]
) -> tuple[int, int, int, int]:
    """Handle, offset, size and bytes of a call; it moves the position of what is open."""
    if name in OPENINGS:
        return _open_call(process, path, arguments)
    opening = process.openings.get(path)
    if opening is None:
        opening = _Opening(-1, -1)
    if name in CLOSINGS:
        opening.count -= 1
        if opening.count <= 0:
            process.openings.pop(path, None)
        return opening.handle, -1, 0, 0
    if name in ("dup", "dup2"):
        opening.position = -1  # both move it, and only one is seen from here on
    if name in SEEKS:
        return opening.handle, _seek(opening, name, arguments), 0, 0
    if name not in TRANSFERS:
        return opening.handle, -1, 0, 0
    return (opening.handle, *_transfer(opening, arguments))


def _open_call(
    process: _Process, path: str, arguments: dict[str, Any]
) -> tuple[int, int, int, int]:
    mode = arguments.get("mode")
    if isinstance(mode, str):  # of fopen; that of open is a number
        flags = MODES.get(mode[:1], 0)
        flags = flags & ~os.O_WRONLY | os.O_RDWR if "+" in mode else flags
    else:
        flags = int(arguments.get("flags", 0))
    opening = process.openings.get(path)
    process.handles += 1
    if opening is None:
        position = -1 if flags & os.O_APPEND else 0
        process.openings[path] = _Opening(process.handles - 1, position)
    else:
        # Which of two openings a later call uses is not in the trace.
        opening.count += 1
        opening.handle = opening.position = -1
    return process.handles - 1, -1, flags, 0


def _seek(opening: _Opening, name: str, arguments: dict[str, Any]) -> int:
    """The new position, as far as the trace tells it."""
    if opening.count > 1:
        return -1
    offset, whence = int(arguments.get("offset", -1)), int(arguments.get("whence", -1))
    if name == "lseek" and "ret" in arguments:
        opening.position = int(arguments["ret"])
    elif whence == os.SEEK_SET:
        opening.position = offset
    elif whence == os.SEEK_CUR and opening.position >= 0:
        opening.position += offset
    else:
        opening.position = -1
    return opening.position


def _transfer(opening: _Opening, arguments: dict[str, Any]) -> tuple[int, int, int]:
    item = int(arguments.get("size", 1))  # of fread; calls that count bytes have none
    asked = int(arguments.get("count", arguments.get("num", 0))) * item
    moved = int(arguments.get("ret", arguments.get("ret_len", 0))) * item
    moved = max(moved, 0)
    if "offset" in arguments:
        return int(arguments["offset"]), asked, moved
    offset = opening.position
    if offset >= 0:
        opening.position += moved
    return offset, asked, moved
