"""Imports DFTracer traces: lines of JSON, one for each call, in a file for each process.

Three forms are about: the first has its numbers in quotation marks and paths in every event, the
second has hashes of the paths and lines that explain them, the third has numbers for the phases.
`dftracer_file` reads a file.
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
from sesame.exchange.dftracer_columns import Key
from sesame.exchange.dftracer_file import CELLS, FIELDS, Part, Process, open_trace, read_part
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
    with _parts(files) as (parts, cells):
        if not any(part.processes for part in parts):
            raise _nothing_in(files, parts, path)
        run = _Run(parts, cells)
        # Sorted at once: the cells are gone when the run is written.
        return run.traced(SortedRecords(run, scratch))


def _files_of(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for suffix in SUFFIXES for file in path.glob(suffix))
    return [path]


def _nothing_in(files: list[Path], parts: list[Part], path: Path) -> InputError:
    for file, part in zip(files, parts, strict=True):
        if part.bad_lines:
            line, said = part.first_bad
            return InputError(said, path=str(file), line=line)
        if part.damage:
            return InputError(part.damage, path=str(file))
    return InputError("this trace has no events", path=str(path))


@contextmanager
def _parts(files: list[Path]) -> Iterator[tuple[list[Part], list[Path]]]:
    """What each file has, and the files of their records' cells."""
    with tempfile.TemporaryDirectory(prefix="sesame-") as folder:
        cells = [Path(folder) / str(number) for number in range(len(files))]
        yield list(map(read_part, files, cells)), cells


class _Run:
    """One run of the parts: their processes, calls and files get numbers of the run."""

    fields = (*HEAD, *FIELDS)

    def __init__(self, parts: list[Part], cells: list[Path]) -> None:
        self._parts = parts
        self._cells = cells
        self._strings = {key: text for part in parts for key, text in part.strings.items()}
        self._processes: dict[tuple[str, int], Process] = {}
        self._calls: dict[str, int] = {}
        self._files: dict[str, int] = {}
        self._directories: set[int] = set()
        self._owners = [[self._process(process) for process in part.processes] for part in parts]
        for part, mine in zip(parts, self._owners, strict=True):
            if (part.damage or part.last_is_bad) and mine:
                mine[-1].is_cut_off = True
        self._number_processes()
        for part in parts:
            for call in part.calls:
                self._calls.setdefault(call, len(self._calls))
            numbers = [self._file(key, is_hash) for key, is_hash in part.files]
            self._directories |= {numbers[number] for number in part.directories if number >= 0}

    def parts(self) -> Iterator[tuple[int, Cells]]:
        """All records, a bounded number at a time, and how many there were before them."""
        first = 0
        for part, mine, path in zip(self._parts, self._owners, self._cells, strict=True):
            for rows in self._numbered(part, mine, path):
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
        """By their ranks in MPI_COMM_WORLD, as far as all of them are there; else as found."""
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

    def _numbered(self, part: Part, mine: list[Process], path: Path) -> Iterator[Cells]:
        """The records of a part with the numbers of the run; the last of each list is for none."""
        calls = np.array([*(self._calls[call] for call in part.calls), -1])
        files = np.array([*(self._file(*file) for file in part.files), -1])
        numbers = np.array([*(process.number for process in mine), -1])
        threads = [
            np.array([*(one.threads.index(tid) for tid in process.threads), -1])
            for one, process in zip(mine, part.processes, strict=True)
        ]
        with path.open("rb") as file:
            while data := file.read(SORTED_RECORDS * CELLS * CELL.size):
                rows = np.frombuffer(data, np.int64).reshape(-1, CELLS).copy()
                owner = rows[:, 0].copy()
                for number in np.unique(owner).tolist():
                    of_owner = owner == number
                    rows[of_owner, 1] = threads[number][rows[of_owner, 1]]
                rows[:, 0], rows[:, 4] = numbers[owner], calls[rows[:, 4]]
                rows[:, 5], rows[:, 6] = files[rows[:, 5]], files[rows[:, 6]]
                yield rows

    def traced(self, records: SortedRecords) -> Traced:
        begin = min(process.begin_ns for process in self._ordered)
        end = max(process.end_ns for process in self._ordered)
        lost: Counter[str] = sum((part.lost for part in self._parts), Counter())
        return Traced(
            tool="DFTracer",
            version=next((part.version for part in self._parts if part.version), ""),
            command=next((str(p.command).split(";") for p in self._ordered if p.command), []),
            begin=datetime.fromtimestamp(begin / 1e9, UTC),
            duration_ns=end - begin,
            ranks=len(self._ordered),
            batches={"io": self._io(records, begin)},
            tables={"file": self._file_table(), "process": self._process_table(begin)},
            damage=[text for part in self._parts for text in _damage(part)],
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


def _damage(part: Part) -> list[str]:
    found = []
    if part.last_is_bad and part.bad_lines == 1:
        found.append(f"{part.name}: line {part.first_bad[0]}, the last, is cut off")
    elif part.bad_lines:
        line, said = part.first_bad
        count = (
            "1 line is left out"
            if part.bad_lines == 1
            else f"{part.bad_lines:,} lines are left out"
        )
        found.append(f"{part.name}: {count}, the first is line {line}: {said}")
    if part.damage:
        found.append(f"{part.name}: {part.damage}")
    return found
