"""Imports DFTracer traces: lines of JSON, one for each call, in a file for each process.

There are three versions of the format. The first has quoted numbers and the path in every event.
The second has hashes of paths, and metadata lines that map them to text. The third has numeric
phases. `dftracer_file` reads one file.
"""

from __future__ import annotations

import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import orjson

from sesame.errors import InputError
from sesame.exchange.dftracer_columns import Key, coded_numbers
from sesame.exchange.dftracer_file import CELLS, FIELDS, ParsedFile, Process, open_trace, parse_file
from sesame.exchange.record_file import (
    CELL,
    HEAD,
    SORTED_RECORDS,
    Cells,
    Scratch,
    SortedRecords,
)
from sesame.exchange.traced import Batches, Columns, Traced, names

SUFFIXES = ("*.pfw", "*.pfw.gz")


def recognises(path: Path) -> bool:
    files = _files_of(path)
    if not files:
        return False
    try:
        with open_trace(files[0]) as lines:
            head = [lines.readline(1 << 16) for _ in range(2)]
        event = orjson.loads(next(line for line in head if line.strip() not in (b"", b"[")))
    except (OSError, EOFError, zlib.error, ValueError, StopIteration):
        return False
    return isinstance(event, dict) and {"name", "cat", "pid", "ph"} <= event.keys()


def read(path: Path, scratch: Scratch) -> Traced:
    files = _files_of(path)
    if not files:
        raise InputError(f"there is no {' or '.join(SUFFIXES)} in it", path=str(path))
    with _parsed_files(files) as (parsed_files, cells):
        if not any(parsed.processes for parsed in parsed_files):
            raise _nothing_in(files, parsed_files, path)
        run = _Run(parsed_files, cells)
        # Sort now: the files with the cells are removed before the run is written.
        return run.traced(SortedRecords(run, scratch))


def _files_of(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for suffix in SUFFIXES for file in path.glob(suffix))
    return [path]


def _nothing_in(files: list[Path], parsed_files: list[ParsedFile], path: Path) -> InputError:
    for file, parsed in zip(files, parsed_files, strict=True):
        if parsed.bad_lines:
            line, reason = parsed.first_bad
            return InputError(reason, path=str(file), line=line)
        if parsed.damage:
            return InputError(parsed.damage, path=str(file))
    return InputError("this trace has no events", path=str(path))


@contextmanager
def _parsed_files(files: list[Path]) -> Iterator[tuple[list[ParsedFile], list[Path]]]:
    """Parses all files; yields the results and the files with their records' cells."""
    with tempfile.TemporaryDirectory(prefix="sesame-") as directory:
        cells = [Path(directory) / str(number) for number in range(len(files))]
        yield list(map(parse_file, files, cells)), cells


class _Run:
    """Merges the parsed files into one run: numbers their processes, calls and files."""

    fields = (*HEAD, *FIELDS)

    def __init__(self, parsed_files: list[ParsedFile], cells: list[Path]) -> None:
        self._parsed_files = parsed_files
        self._cells = cells
        self._strings = {
            key: text for parsed in parsed_files for key, text in parsed.strings.items()
        }
        self._processes: dict[tuple[str, int], Process] = {}
        self._calls: dict[str, int] = {}
        self._files: dict[str, int] = {}
        self._directories: set[int] = set()
        self._owners = [
            [self._process(process) for process in parsed.processes] for parsed in parsed_files
        ]
        for parsed, mine in zip(parsed_files, self._owners, strict=True):
            if (parsed.damage or parsed.last_is_bad) and mine:
                mine[-1].is_cut_off = True
        self._number_processes()
        for parsed in parsed_files:
            for call in parsed.calls:
                self._calls.setdefault(call, len(self._calls))
            numbers = [self._file(key, is_hash) for key, is_hash in parsed.files]
            self._directories |= {numbers[number] for number in parsed.directories if number >= 0}

    def parts(self) -> Iterator[tuple[int, Cells]]:
        """All records, a bounded number at a time: the number of records before, and the cells."""
        first = 0
        for parsed, mine, path in zip(self._parsed_files, self._owners, self._cells, strict=True):
            for rows in self._numbered(parsed, mine, path):
                yield first, rows
                first += len(rows)

    def _text(self, key: Key, *, is_hash: bool = True) -> str:
        return self._strings.get(str(key), "") if is_hash else str(key)

    def _host(self, key: Key) -> str:
        return self._strings.get(str(key), "" if isinstance(key, int) else str(key))

    def _process(self, found: Process) -> Process:
        """The same process may be in several files."""
        key = self._host(found.host), found.pid
        one = self._processes.setdefault(key, Process(len(self._processes), key[0], found.pid))
        one.begin_ns = min(one.begin_ns, found.begin_ns)
        one.end_ns = max(one.end_ns, found.end_ns)
        one.records += found.records
        one.parent_pid = max(one.parent_pid, found.parent_pid)
        one.mpi_rank = max(one.mpi_rank, found.mpi_rank)
        one.command = one.command or self._strings.get(str(found.command), str(found.command))
        one.threads += [tid for tid in found.threads if tid not in one.threads]
        return one

    def _number_processes(self) -> None:
        """By rank in MPI_COMM_WORLD where all ranks are present; else in order of appearance."""
        everyone = list(self._processes.values())
        ranks = [process.mpi_rank for process in everyone if process.mpi_rank >= 0]
        if sorted(ranks) != list(range(len(ranks))):
            for process in everyone:
                process.mpi_rank = -1
        order = sorted(everyone, key=lambda p: (p.mpi_rank < 0, p.mpi_rank, p.number))
        for number, process in enumerate(order):
            process.number = number
        self._ordered = order

    def _file(self, key: Key, is_hash: bool) -> int:
        path = self._text(key, is_hash=is_hash)
        return self._files.setdefault(path, len(self._files)) if path else -1

    def _numbered(self, parsed: ParsedFile, mine: list[Process], path: Path) -> Iterator[Cells]:
        """The records of one file with the numbers of the run. Index -1 means none."""
        calls = np.array([*(self._calls[call] for call in parsed.calls), -1])
        files = np.array([*(self._file(*file) for file in parsed.files), -1])
        numbers = np.array([*(process.number for process in mine), -1])
        threads = [
            np.array([*(one.threads.index(tid) for tid in process.threads), -1])
            for one, process in zip(mine, parsed.processes, strict=True)
        ]
        with path.open("rb") as file:
            while data := file.read(SORTED_RECORDS * CELLS * CELL.size):
                rows = np.frombuffer(data, np.int64).reshape(-1, CELLS).copy()
                owner = rows[:, 0].copy()
                for number in coded_numbers(owner).values:
                    of_owner = owner == number
                    rows[of_owner, 1] = threads[number][rows[of_owner, 1]]
                rows[:, 0], rows[:, 4] = numbers[owner], calls[rows[:, 4]]
                rows[:, 5], rows[:, 6] = files[rows[:, 5]], files[rows[:, 6]]
                yield rows

    def traced(self, records: SortedRecords) -> Traced:
        begin = min(process.begin_ns for process in self._ordered)
        end = max(process.end_ns for process in self._ordered)
        lost: Counter[str] = sum((parsed.lost for parsed in self._parsed_files), Counter())
        return Traced(
            tool="DFTracer",
            version=next((parsed.version for parsed in self._parsed_files if parsed.version), ""),
            command=next((str(p.command).split(";") for p in self._ordered if p.command), []),
            begin=datetime.fromtimestamp(begin / 1e9, UTC),
            duration_ns=end - begin,
            ranks=len(self._ordered),
            batches={"io": self._io(records, begin)},
            tables={"file": self._file_table(), "process": self._process_table(begin)},
            damage=[text for parsed in self._parsed_files for text in _damage(parsed)],
            lost=[f"{count} {what}" for what, count in sorted(lost.items())],
        )

    def _io(self, records: SortedRecords, begin: int) -> Batches:
        for columns in records.batches():
            del columns["number"]
            columns["begin_ns"] = columns["begin_ns"] - begin
            columns["call"] = names(list(self._calls), columns["call"])
            columns["flags"] = np.zeros(len(columns["begin_ns"]), np.int64)
            yield columns

    def _file_table(self) -> Columns:
        kinds = {True: "regular", False: "unknown"}
        return {
            "index": np.arange(len(self._files)),
            "path": list(self._files),
            "kind": [
                "directory" if index in self._directories else kinds[path.startswith("/")]
                for path, index in self._files.items()
            ],
        }

    def _process_table(self, begin: int) -> Columns:
        processes = self._ordered
        numbers = {(process.host, process.pid): process.number for process in processes}
        return {
            "rank": [process.number for process in processes],
            "mpi_rank": [process.mpi_rank for process in processes],
            "parent": [numbers.get((p.host, p.parent_pid), -1) for p in processes],
            "host": [process.host for process in processes],
            "pid": [process.pid for process in processes],
            "command": [str(process.command).replace(";", " ") for process in processes],
            "begin_ns": [process.begin_ns - begin for process in processes],
            "end_ns": [process.end_ns - begin for process in processes],
            "threads": [max(len(process.threads), 1) for process in processes],
            "records": [process.records for process in processes],
            "outcome": ["cut off" if p.is_cut_off else "exited" for p in processes],
        }


def _damage(parsed: ParsedFile) -> list[str]:
    found = []
    if parsed.last_is_bad and parsed.bad_lines == 1:
        found.append(f"{parsed.name}: line {parsed.first_bad[0]}, the last, is cut off")
    elif parsed.bad_lines:
        line, reason = parsed.first_bad
        count = (
            "1 line is left out"
            if parsed.bad_lines == 1
            else f"{parsed.bad_lines:,} lines are left out"
        )
        found.append(f"{parsed.name}: {count}, the first is line {line}: {reason}")
    if parsed.damage:
        found.append(f"{parsed.name}: {parsed.damage}")
    return found
