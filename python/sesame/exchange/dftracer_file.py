"""One file of a DFTracer trace: its lines a block at a time, as columns of numbers.

What of a block may be wrong is found before anything of it is noted; a block with a line that is no
event is halved until that line is alone, and counted. Names and paths stay numbers and hashes here:
`dftracer` makes one run of the files.
"""

from __future__ import annotations

import gc
import gzip
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import orjson

from sesame.errors import InputError
from sesame.exchange.dftracer_calls import (
    CALLS_OF_FILES,
    Opening,
    call_name,
    check,
    handler_of,
    is_transfer,
)

BLOCK_BYTES = 1 << 17  # of lines at once: their events stay in the processor's cache
LONGEST_LINE = 16 << 20
COMPLETE = {"X", 1}
METADATA = {"M", 4}
OWN = "dftracer"  # the category of what the tracer says of itself
NS_OF_UNIT = {"NS": 1, "US": 1000, "MS": 10**6, "S": 10**9}
# A record's cells: those of record_file, then FIELDS.
FIELDS = ("call", "file", "other_file", "handle", "offset", "size", "bytes")
CELLS = 4 + len(FIELDS)
NAMING = {"opendir", "rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat"}
MOST_PID = (1 << 31) - 1
LATEST = 1 << 62  # ns
NONE = -(1 << 62)  # an argument that is not there
EVENT = itemgetter("name", "pid", "tid", "ts", "dur", "args")
WRONG = (LookupError, TypeError, ArithmeticError, ValueError, AttributeError)

Event = dict[str, Any]
Ints = npt.NDArray[np.int64]
Key = str | int  # of a path or a string: its hash, or itself


@dataclass
class Process:
    number: int
    host: Key
    pid: int
    parent_pid: int = -1
    mpi_rank: int = -1
    command: Key = ""
    begin_ns: int = LATEST
    end_ns: int = 0
    records: int = 0
    is_cut_off: bool = False
    threads: list[int] = field(default_factory=list)  # their tids, in the order of appearance
    openings: dict[Key, Opening] = field(default_factory=dict)
    handles: int = 0


@dataclass
class Part:
    """What one file has. `records` has the cells of each; numbers count in the lists here."""

    name: str
    processes: list[Process] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    files: list[tuple[Key, bool]] = field(default_factory=list)  # and whether it is a hash
    directories: set[int] = field(default_factory=set)
    strings: dict[str, str] = field(default_factory=dict)  # by hash
    lost: Counter[str] = field(default_factory=Counter)
    bad_lines: int = 0
    first_bad: tuple[int, str] = (0, "")
    last_is_bad: bool = False
    lines: int = 0
    damage: str = ""
    version: str = ""


def read_part(path: Path, records: Path) -> Part:
    """Writes the cells of the file's records to `records`."""
    with records.open("wb") as out, _without_collection():
        return _Reader(path, out).read()


@contextmanager
def _without_collection() -> Iterator[None]:
    """Events have no cycles, and looking for some takes half of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def open_trace(path: Path) -> Any:
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if zipped else path.open("rb")


class _Numbers(dict[Any, int]):
    """The number of a key, in the order of appearance; `added` hears of new ones."""

    def __init__(self, added: Callable[[Any], int]) -> None:
        self._added = added

    def __missing__(self, key: Any) -> int:
        self[key] = number = self._added(key)
        return number


@dataclass
class _Columns:
    """A block's calls on files, one element each."""

    process: list[tuple[Key, int]]
    tid: list[int]
    begin: Ints
    duration: Ints
    name: list[str]
    path: list[Key]
    arguments: list[Event]
    offset: Ints  # -1: not said
    size: Ints
    bytes: Ints


class _Reader:
    def __init__(self, path: Path, out: BinaryIO) -> None:
        self._path = path
        self._out = out
        self._unit_ns = 1000
        self.part = Part(path.name)
        self._processes = _Numbers(self._add_process)
        self._threads = _Numbers(self._add_thread)
        self._calls = _Numbers(self._add_call)
        self._files: dict[Key, int] = {"": -1}
        self._handlers: dict[int, Any] = {}  # by number of the call; None: it has no position

    # Numbers

    def _add_process(self, key: tuple[Key, int]) -> int:
        number = len(self.part.processes)
        self.part.processes.append(Process(number, *key))
        return number

    def _add_thread(self, key: tuple[int, int]) -> int:
        threads = self.part.processes[key[0]].threads
        threads.append(key[1])
        return len(threads) - 1

    def _add_call(self, name: str) -> int:
        self._handlers[len(self.part.calls)] = handler_of(call_name(name))
        self.part.calls.append(call_name(name))
        return len(self.part.calls) - 1

    def _add_files(self, keys: list[Key], arguments: list[Event]) -> None:
        if not self._files.keys() >= set(keys):
            for key, one in zip(keys, arguments, strict=True):
                self._file(key, is_hash="fhash" in one)

    def _file(self, key: Key, *, is_hash: bool) -> int:
        if key not in self._files:
            self._files[key] = len(self.part.files)
            self.part.files.append((key, is_hash))
        return self._files[key]

    # Lines

    def read(self) -> Part:
        try:
            for lines in self._blocks():
                self.part.last_is_bad = False
                self._take_lines(self.part.lines + 1, lines)
                self.part.lines += len(lines)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.part.damage = f"the compressed data are damaged: {error}"
        except OSError as error:
            raise InputError(f"cannot read: {error.strerror}", path=str(self._path)) from error
        return self.part

    def _blocks(self) -> Iterator[list[bytes]]:
        rest = b""
        with open_trace(self._path) as file:
            while True:
                data = file.read1(BLOCK_BYTES)
                if not data:
                    break
                *lines, rest = (rest + data).split(b"\n")
                if len(rest) > LONGEST_LINE:
                    raise InputError(
                        f"a line of more than {LONGEST_LINE >> 20} MiB",
                        path=str(self._path),
                        line=self.part.lines + len(lines) + 1,
                    )
                if lines:
                    yield lines
        if rest:
            yield [rest]

    def _take_lines(self, first: int, lines: list[bytes]) -> None:
        try:
            self._take(_events(lines))
        except WRONG as error:
            if len(lines) > 1:
                half = len(lines) // 2
                self._take_lines(first, lines[:half])
                self._take_lines(first + half, lines[half:])
                return
            said = "not JSON" if isinstance(error, orjson.JSONDecodeError) else _said(error)
            self.part.first_bad = self.part.first_bad if self.part.bad_lines else (first, said)
            self.part.bad_lines += 1
            self.part.last_is_bad = True
        else:
            self.part.last_is_bad &= not any(line.strip() for line in lines)

    # Events

    def _take(self, events: list[Event]) -> None:
        calls = [e for e in events if e["ph"] in COMPLETE and e["cat"] in CALLS_OF_FILES]
        others: list[Callable[[], None]] = []
        if len(calls) < len(events):
            known = set(map(id, calls))
            rest = [event for event in events if id(event) not in known]
            self._find_unit(rest)
            others = [self._other(event) for event in rest]
        columns = self._columns(calls) if calls else None
        for note in others:
            note()
        if columns is not None:
            self._note(columns)

    def _find_unit(self, events: list[Event]) -> None:
        """Of times. It is said before the first of them, maybe in the same block."""
        for event in events:
            if event["name"] == "CM" and event["args"].get("name") == "time_metric":
                self._unit_ns = NS_OF_UNIT[event["args"]["value"]]

    def _other(self, event: Event) -> Callable[[], None]:
        """What an event that is no call on a file has to say."""
        arguments = event.get("args", {})
        if event["ph"] in METADATA:
            return self._explanation(event, arguments)
        category = event["cat"]
        if event["ph"] not in COMPLETE or category != OWN:
            return lambda: self.part.lost.update([f"events of category {category}"])
        begin = _in_time(int(event["ts"]) * self._unit_ns)
        end = _in_time(begin + int(event["dur"]) * self._unit_ns)
        key = _process_key(event["pid"], arguments)
        parent, version = int(arguments.get("ppid", -1)), int(arguments.get("version", 0))
        rank, command = int(arguments.get("rank", -1)), arguments.get("cmd_hash")
        text = str(arguments.get("cmd", "")) if command is None else command
        return lambda: self._start(key, (begin, end), parent, version, rank, text)

    def _explanation(self, event: Event, arguments: Event) -> Callable[[], None]:
        kind, name = event["name"], arguments.get("name")
        if kind in ("FH", "HH", "SH"):
            key, text = str(arguments["value"]), str(arguments["name"])
            return lambda: self.part.strings.update({key: text})
        if kind == "PR" and name == "rank":
            process, rank = _process_key(event["pid"], arguments), int(arguments["value"])
            return lambda: setattr(self.part.processes[self._processes[process]], "mpi_rank", rank)
        return lambda: None

    def _start(
        self,
        key: tuple[Key, int],
        times: tuple[int, int],
        parent: int,
        version: int,
        rank: int,
        command: Key,
    ) -> None:
        process = self.part.processes[self._processes[key]]
        process.begin_ns = min(process.begin_ns, times[0])
        process.end_ns = max(process.end_ns, times[1])
        process.parent_pid = parent if parent >= 0 else process.parent_pid
        process.mpi_rank = rank if rank >= 0 else process.mpi_rank
        process.command = command or process.command
        if version:  # 20003 is 2.0.3
            self.part.version = f"{version // 10000}.{version // 100 % 100}.{version % 100}"

    def _columns(self, calls: list[Event]) -> _Columns:
        try:
            heads = list(map(EVENT, calls))
        except KeyError:
            for event in calls:
                event.setdefault("args", {})
            heads = list(map(EVENT, calls))
        name, pid, tid, ts, dur, arguments = map(list, zip(*heads, strict=True))
        gets = [one.get for one in arguments]
        hosts, paths = _first_of(gets, "hhash", "hostname"), _first_of(gets, "fhash", "fname")
        set(hosts), set(paths)  # whatever cannot be a key is found here
        kinds = {one: is_transfer(one) for one in set(name)}
        transfers = np.array([kinds[one] for one in name], bool)
        if not all(kinds.values()):
            for at in np.flatnonzero(~transfers).tolist():
                check(call_name(name[at]), arguments[at])

        def number(key: str, default: int) -> Ints:
            return _arguments(gets, key, default, transfers)

        item = number("size", 1)
        asked = _either(number("count", NONE), lambda: number("num", 0))
        moved = _either(number("ret", NONE), lambda: number("ret_len", 0))
        longest = LATEST // self._unit_ns
        begin, duration = (_in_range(values, longest) * self._unit_ns for values in (ts, dur))
        _in_range(begin + duration, LATEST)
        pids = _in_range(pid, MOST_PID).tolist()
        return _Columns(
            list(zip(hosts, pids, strict=True)),
            _in_range(tid, LATEST).tolist(),
            begin,
            duration,
            name,
            paths,
            arguments,
            np.where(transfers, np.maximum(number("offset", -1), -1), -1),
            np.where(transfers, _product(np.maximum(asked, 0), item), 0),
            np.where(transfers, _product(np.maximum(moved, 0), item), 0),
        )

    def _note(self, columns: _Columns) -> None:
        count = len(columns.name)
        self._add_files(columns.path, columns.arguments)
        process = self._numbered(self._processes, columns.process)
        call = [self._calls[name] for name in columns.name]
        cells = np.full((count, CELLS), -1, np.int64)
        cells[:, 0] = process
        cells[:, 1] = self._numbered(self._threads, list(zip(process, columns.tid, strict=True)))
        cells[:, 2], cells[:, 3] = columns.begin, columns.duration
        cells[:, 4] = call
        cells[:, 5] = [self._files[key] for key in columns.path]
        found = self._positions(columns, process, call)
        cells[:, 7], cells[:, 8], cells[:, 9], cells[:, 10] = found
        self._name_others(columns, cells)
        self._out.write(cells.tobytes())
        self._note_processes(np.array(process), columns)

    @staticmethod
    def _numbered(numbers: _Numbers, keys: list[Any]) -> list[int]:
        """Mostly all of a block are the same."""
        if keys.count(keys[0]) == len(keys):
            return [numbers[keys[0]]] * len(keys)
        return [numbers[key] for key in keys]

    def _name_others(self, columns: _Columns, cells: Ints) -> None:
        """Directories, and the second file of what has two."""
        if not set(columns.name).isdisjoint(NAMING):
            for at in [at for at, name in enumerate(columns.name) if name in NAMING]:
                arguments = columns.arguments[at]
                hashed = arguments.get("newpath_hash")
                other = arguments.get("newpath") if hashed is None else hashed
                if other is not None:
                    cells[at, 6] = self._file(other, is_hash=hashed is not None)
                if columns.name[at] == "opendir":
                    self.part.directories.add(int(cells[at, 5]))

    def _positions(
        self, columns: _Columns, process: list[int], call: list[int]
    ) -> tuple[list[int], ...]:
        """Handle, offset, size and bytes of each call; it moves the position of what is open."""
        handles = [-1] * len(call)
        offsets, moved = columns.offset.tolist(), columns.bytes.tolist()
        sizes, handlers, processes = columns.size.tolist(), self._handlers, self.part.processes
        for at, (number, one, path) in enumerate(zip(call, process, columns.path, strict=True)):
            handler = handlers[number]
            owner = processes[one]
            opening = owner.openings.get(path)
            if handler is None:  # a transfer
                if opening is not None:
                    handles[at] = opening.handle
                    if offsets[at] < 0 <= opening.position:
                        offsets[at] = opening.position
                        opening.position += moved[at]
                continue
            found = handler(owner, path, opening, columns.arguments[at])
            handles[at], offsets[at], sizes[at], moved[at] = found
        return handles, offsets, sizes, moved

    def _note_processes(self, process: Ints, columns: _Columns) -> None:
        end = columns.begin + columns.duration
        for number in set(process.tolist()):
            mine, owner = process == number, self.part.processes[number]
            owner.begin_ns = min(owner.begin_ns, int(columns.begin[mine].min()))
            owner.end_ns = max(owner.end_ns, int(end[mine].max()))
            owner.records += int(mine.sum())


def _first_of(gets: list[Any], hashed: str, plain: str) -> list[Key]:
    """The hash of a text, or the text itself; empty where there is neither."""
    found = [get(hashed) for get in gets]
    if None in found:
        pairs = zip(found, gets, strict=True)
        return [get(plain, "") if value is None else value for value, get in pairs]
    return found


def _events(lines: list[bytes]) -> list[Event]:
    """Empty lines, brackets around all and commas between lines are not about anything."""
    try:
        found = orjson.loads(b"[" + b",".join(lines) + b"]")
    except orjson.JSONDecodeError:
        texts = (line.strip().rstrip(b",") for line in lines)
        some = [text for text in texts if text not in (b"", b"[", b"]")]
        found = orjson.loads(b"[" + b",".join(some) + b"]")
        if len(found) != len(some):
            raise ValueError("several events in a line") from None
    if not set(map(type, found)) <= {dict}:
        raise TypeError("no object")
    return found  # type: ignore[no-any-return]


def _said(error: Exception) -> str:
    return f"not an event of DFTracer: {type(error).__name__} {error}"


def _process_key(pid: Any, arguments: Event) -> tuple[Key, int]:
    hashed = arguments.get("hhash")
    host = arguments.get("hostname", "") if hashed is None else hashed
    return host, int(_in_range([pid], MOST_PID)[0])


def _in_time(ns: int) -> int:
    if not 0 <= ns < LATEST:
        raise ValueError(f"a time of {ns} ns")
    return ns


def _ints(values: list[Any]) -> Ints:
    try:
        return np.array(values, np.int64)
    except (TypeError, ValueError):
        return np.array([int(value) for value in values], np.int64)


def _in_range(values: Any, most: int) -> Ints:
    numbers = values if isinstance(values, np.ndarray) else _ints(values)
    if len(numbers) and (numbers.min() < 0 or numbers.max() > most):
        raise ValueError("a number that is none of its kind")
    return numbers


def _arguments(gets: list[Any], key: str, default: int, wanted: npt.NDArray[np.bool_]) -> Ints:
    """An argument of each call as a number; of those that are not wanted it may be anything."""
    values = [get(key, default) for get in gets]
    try:
        return np.array(values, np.int64)
    except (TypeError, ValueError, OverflowError):
        pairs = zip(values, wanted.tolist(), strict=True)
        return np.array([int(value) if is_so else default for value, is_so in pairs], np.int64)


def _either(values: Ints, others: Callable[[], Ints]) -> Ints:
    missing = values == NONE
    return np.where(missing, others(), values) if missing.any() else values


def _product(count: Ints, size: Ints) -> Ints:
    if (size == 1).all():
        return count
    if (np.abs(count.astype(float) * size) > LATEST).any():
        raise OverflowError("bytes beyond 62 bits")
    return np.asarray(np.maximum(count * size, 0))
