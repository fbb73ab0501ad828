"""Reads one file of a DFTracer trace, block by block, and writes its records as numbers.

Threads parse the next blocks with Arrow while the current one is processed. A block is checked
before any of it is processed. If Arrow refuses a block, orjson parses its lines in small groups; a
bisection finds and counts the invalid lines. Names and paths stay numbers and hashes here:
`dftracer` merges the files and resolves them.
"""

from __future__ import annotations

import gc
import gzip
import os
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import orjson

from sesame.errors import InputError
from sesame.exchange.dftracer_calls import Handler, OpenFile, call_name, handler_of
from sesame.exchange.dftracer_columns import (
    COMPLETE,
    LATEST,
    MOST_PID,
    NEWLINE,
    Block,
    Coded,
    Event,
    Ints,
    Key,
    Types,
    coded_numbers,
    in_range,
    of_events,
    read_lines,
)
from sesame.exchange.dftracer_positions import positions

BLOCK_BYTES = 1 << 22  # read at once
SMALL_BLOCK_BYTES = 1 << 17  # as long as Arrow does not know the types of the fields
BLOCK_LINES = 512  # per group where Arrow refused the block: a group fits the processor's cache
LONGEST_LINE = 16 << 20
METADATA = {"M", 4}
OWN = "dftracer"  # the category of the tracer's own metadata
NS_OF_UNIT = {"NS": 1, "US": 1000, "MS": 10**6, "S": 10**9}
# A record's cells: those of record_file, then FIELDS.
FIELDS = ("call", "file", "other_file", "handle", "offset", "size", "bytes")
CELLS = 4 + len(FIELDS)
NAMING = {"opendir", "rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat"}
WRONG = (LookupError, TypeError, ArithmeticError, ValueError, AttributeError)


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
    open_files: dict[Key, OpenFile] = field(default_factory=dict)
    handles: int = 0


@dataclass
class ParsedFile:
    """The contents of one file. Processes, calls and files in its records are indices into the
    lists here."""

    name: str
    processes: list[Process] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    files: list[tuple[Key, bool]] = field(default_factory=list)  # key, and whether it is a hash
    directories: set[int] = field(default_factory=set)  # indices into `files`
    strings: dict[str, str] = field(default_factory=dict)  # by hash
    lost: Counter[str] = field(default_factory=Counter)
    bad_lines: int = 0
    first_bad: tuple[int, str] = (0, "")
    last_is_bad: bool = False
    lines: int = 0
    damage: str = ""
    version: str = ""


def parse_file(path: Path, records: Path) -> ParsedFile:
    """Writes the cells of the file's records to `records`."""
    with records.open("wb") as out, _without_collection():
        return _Reader(path, out).read()


@contextmanager
def _without_collection() -> Iterator[None]:
    """Switches cyclic garbage collection off, which otherwise takes half of the time; the events
    have no cycles."""
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
    """Numbers keys in the order of appearance; calls `added` for each new one."""

    def __init__(self, added: Callable[[Any], int]) -> None:
        self._added = added

    def __missing__(self, key: Any) -> int:
        self[key] = number = self._added(key)
        return number


class _Reader:
    def __init__(self, path: Path, out: BinaryIO) -> None:
        self._path = path
        self._out = out
        self._unit_ns = 1000
        self.parsed = ParsedFile(path.name)
        self._processes = _Numbers(self._add_process)
        self._threads = _Numbers(self._add_thread)
        self._calls = _Numbers(self._add_call)
        self._files: dict[Key, int] = {"": -1}
        self._handlers: list[Handler | None] = []  # by number of the call
        self._types = Types()

    # Numbers

    def _add_process(self, key: tuple[Key, int]) -> int:
        number = len(self.parsed.processes)
        self.parsed.processes.append(Process(number, *key))
        return number

    def _add_thread(self, key: tuple[int, int]) -> int:
        threads = self.parsed.processes[key[0]].threads
        threads.append(key[1])
        return len(threads) - 1

    def _add_call(self, name: str) -> int:
        self._handlers.append(handler_of(call_name(name)))
        self.parsed.calls.append(call_name(name))
        return len(self.parsed.calls) - 1

    def _file(self, key: Key, *, is_hash: bool) -> int:
        if key not in self._files:
            self._files[key] = len(self.parsed.files)
            self.parsed.files.append((key, is_hash))
        return self._files[key]

    # Lines

    def read(self) -> ParsedFile:
        workers = len(os.sched_getaffinity(0))
        blocks: deque[tuple[bytes, int, Future[Block] | None]] = deque()
        with ThreadPoolExecutor(workers) as pool:
            for data, count in self._blocks():
                schema = self._types.schema()
                future = None if schema is None else pool.submit(read_lines, data, count, schema)
                blocks.append((data, count, future))
                while len(blocks) > (0 if future is None else workers):
                    self._take_block(*blocks.popleft())
            while blocks:
                self._take_block(*blocks.popleft())
        return self.parsed

    def _block_bytes(self) -> int:
        return SMALL_BLOCK_BYTES if self._types.schema() is None else BLOCK_BYTES

    def _blocks(self) -> Iterator[tuple[bytes, int]]:
        """Blocks of complete lines, with their number; ends at damaged compressed data."""
        rest: list[bytes] = []
        length = lines = 0
        try:
            with open_trace(self._path) as file:
                while data := file.read1(self._block_bytes()):
                    length += len(data)
                    end = data.rfind(b"\n") + 1
                    if end:
                        block = b"".join((*rest, data[:end]))
                        count = int(np.count_nonzero(np.frombuffer(block, np.uint8) == NEWLINE))
                        yield block, count
                        lines += count
                        rest, length = [], len(data) - end
                    rest.append(data[end:])
                    if length > LONGEST_LINE:
                        raise InputError(
                            f"a line of more than {LONGEST_LINE >> 20} MiB",
                            path=str(self._path),
                            line=lines + 1,
                        )
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.parsed.damage = f"the compressed data are damaged: {error}"
            return
        except OSError as error:
            raise InputError(f"cannot read: {error.strerror}", path=str(self._path)) from error
        if length:
            yield b"".join(rest), 1

    def _take_block(self, data: bytes, count: int, future: Future[Block] | None) -> None:
        self.parsed.last_is_bad = False
        if future is None or not self._takes(future):
            lines = data.split(b"\n")[:count]
            for at in range(0, count, BLOCK_LINES):
                self._take_lines(self.parsed.lines + 1 + at, lines[at : at + BLOCK_LINES])
        self.parsed.lines += count

    def _takes(self, future: Future[Block]) -> bool:
        try:
            self._take(future.result())
        except (*WRONG, NotImplementedError):  # Arrow raises the last for types it cannot convert
            return False
        return True

    def _take_lines(self, first: int, lines: list[bytes]) -> None:
        try:
            block, calls = of_events(_events(lines))
            self._take(block)
        except WRONG as error:
            if len(lines) > 1:
                half = len(lines) // 2
                self._take_lines(first, lines[:half])
                self._take_lines(first + half, lines[half:])
                return
            said = "not JSON" if isinstance(error, orjson.JSONDecodeError) else _said(error)
            self.parsed.first_bad = (
                self.parsed.first_bad if self.parsed.bad_lines else (first, said)
            )
            self.parsed.bad_lines += 1
            self.parsed.last_is_bad = True
        else:
            self._types.learn(calls)
            self.parsed.last_is_bad &= not any(line.strip() for line in lines)

    # Events

    def _take(self, block: Block) -> None:
        self._find_unit(block.others)
        others = [self._other(event) for event in block.others]
        begin, duration = self._times(block)
        for note in others:
            note()
        if len(block):
            self._note(block, begin, duration)

    def _times(self, block: Block) -> tuple[Ints, Ints]:
        """Begin and duration of each call in nanoseconds."""
        longest = LATEST // self._unit_ns
        begin, duration = (
            in_range(values, longest) * self._unit_ns for values in (block.begin, block.duration)
        )
        in_range(begin + duration, LATEST)
        return begin, duration

    def _find_unit(self, events: list[Event]) -> None:
        """Finds the unit of times, which a metadata event before the first time states."""
        for event in events:
            if event["name"] == "CM" and event["args"].get("name") == "time_metric":
                self._unit_ns = NS_OF_UNIT[event["args"]["value"]]

    def _other(self, event: Event) -> Callable[[], None]:
        """Checks an event that is not a file call; returns a function that processes it."""
        arguments = event.get("args", {})
        if event["ph"] in METADATA:
            return self._explanation(event, arguments)
        category = event["cat"]
        if event["ph"] not in COMPLETE or category != OWN:
            return lambda: self.parsed.lost.update([f"events of category {category}"])
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
            return lambda: self.parsed.strings.update({key: text})
        if kind == "PR" and name == "rank":
            process, rank = _process_key(event["pid"], arguments), int(arguments["value"])
            return lambda: setattr(
                self.parsed.processes[self._processes[process]], "mpi_rank", rank
            )
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
        process = self.parsed.processes[self._processes[key]]
        process.begin_ns = min(process.begin_ns, times[0])
        process.end_ns = max(process.end_ns, times[1])
        process.parent_pid = parent if parent >= 0 else process.parent_pid
        process.mpi_rank = rank if rank >= 0 else process.mpi_rank
        process.command = command or process.command
        if version:  # 20003 is 2.0.3
            self.parsed.version = f"{version // 10000}.{version // 100 % 100}.{version % 100}"

    def _note(self, block: Block, begin: Ints, duration: Ints) -> None:
        cells = np.full((len(block), CELLS), -1, np.int64)
        process = self._processes_of(block)
        calls = np.array([self._calls[name] for name in block.name.values])[block.name.codes]
        pairs = zip(block.path.values, block.is_hash, strict=True)
        files = np.array([self._file(key, is_hash=is_hash) for key, is_hash in pairs])
        cells[:, 0], cells[:, 1] = process, self._threads_of(process, block.tid)
        cells[:, 2], cells[:, 3] = begin, duration
        cells[:, 4], cells[:, 5] = calls, files[block.path.codes]
        cells[:, 7], cells[:, 8], cells[:, 9], cells[:, 10] = self._positions(block, process, calls)
        self._name_others(block, cells)
        self._out.write(cells.tobytes())
        self._note_processes(process, begin, begin + duration)

    def _processes_of(self, block: Block) -> Ints:
        both = coded_numbers(block.host.codes * (MOST_PID + 1) + block.pid)
        pairs = (divmod(value, MOST_PID + 1) for value in both.values)
        numbers = [self._processes[block.host.values[host], pid] for host, pid in pairs]
        return np.array(numbers)[both.codes]

    def _threads_of(self, process: Ints, tid: Ints) -> Ints:
        tids = coded_numbers(tid)
        both = _pairs(process, tids)
        numbers = [self._threads[one, tids.values[code]] for one, code in both.values]
        return np.array(numbers)[both.codes]

    def _positions(self, block: Block, process: Ints, calls: Ints) -> tuple[Ints, ...]:
        both = _pairs(process, block.path)
        return positions(
            block,
            [self.parsed.processes[one] for one, _ in both.values],
            [block.path.values[path] for _, path in both.values],
            both.codes,
            [self._handlers[calls[at]] for at in block.arguments],
        )

    def _name_others(self, block: Block, cells: Ints) -> None:
        """Sets the second file of calls with two paths, and notes directories."""
        for at, arguments in block.arguments.items():
            name = block.name.values[block.name.codes[at]]
            if name not in NAMING:
                continue
            hashed = arguments.get("newpath_hash")
            other = arguments.get("newpath") if hashed is None else hashed
            if other is not None:
                cells[at, 6] = self._file(other, is_hash=hashed is not None)
            if name == "opendir":
                self.parsed.directories.add(int(cells[at, 5]))

    def _note_processes(self, process: Ints, begin: Ints, end: Ints) -> None:
        for number in coded_numbers(process).values:
            mine, owner = process == number, self.parsed.processes[number]
            owner.begin_ns = min(owner.begin_ns, int(begin[mine].min()))
            owner.end_ns = max(owner.end_ns, int(end[mine].max()))
            owner.records += int(mine.sum())


def _pairs(numbers: Ints, others: Coded) -> Coded:
    """Joins two columns to one column of pairs: a number, and a code of `others`."""
    count = len(others.values)
    both = coded_numbers(numbers * count + others.codes)
    return Coded([divmod(value, count) for value in both.values], both.codes)


def _events(lines: list[bytes]) -> list[Event]:
    """Parses lines; ignores empty lines, the enclosing brackets and trailing commas."""
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
    number = int(pid)
    if not 0 <= number <= MOST_PID:
        raise ValueError(f"pid {number} out of range, expected 0 to {MOST_PID}")
    return host, number


def _in_time(ns: int) -> int:
    if not 0 <= ns < LATEST:
        raise ValueError(f"a time of {ns} ns")
    return ns
