"""Imports a Darshan log: the counters of each file and, if DXT was on, every read and write."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt

from sesame.datasets.traced import IoFlag
from sesame.errors import InputError
from sesame.exchange.darshan_log import Log, read_log
from sesame.exchange.darshan_reader import HEAD, TRACES
from sesame.exchange.darshan_totals import LAYERS, Counters, file_totals, read_counters
from sesame.exchange.record_file import Scratch
from sesame.exchange.traced import Columns, Traced, call_order, mark_nested, names

MAGIC = 6567223
MOST_PROCESSES = 1 << 26
MOST_SECONDS = 1e9
SEGMENT = [("offset", "<i8"), ("length", "<i8"), ("begin_s", "<f8"), ("end_s", "<f8")]
FIRST_WITH_THREADS = {"DXT_MPIIO": 3, "DXT_POSIX": 2}
# DXT records the layer and the direction, not the function: these names stand for all of a kind.
CALLS = (
    *("MPI_File_read_at", "MPI_File_write_at"),
    *("pread", "pwrite"),
    *("MPI_File_read_at_all", "MPI_File_write_at_all"),
)
FIRST_COLLECTIVE = 4
KNOWN_MODULES = {*LAYERS, *TRACES, "HEATMAP"}  # others are listed as lost; HEATMAP repeats DXT


def recognises(path: Path) -> bool:
    """Whether the magic number follows the eight characters of the version, in either byte
    order."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        number = file.read(16)[8:]
    return MAGIC in (int.from_bytes(number, "little"), int.from_bytes(number, "big"))


def read(path: Path, _: Scratch) -> Traced:
    log = read_log(path)
    processes = log.job["processes"]
    counters = {name: read_counters(log, name) for name in LAYERS if name in log.records}
    segments = {name: _read_segments(log, name) for name in TRACES if name in log.records}
    _check(path, processes, counters, segments)
    ids = _ids(counters, segments)
    io = _io(segments, counters, ids)
    duration_ns = max(_run_time_ns(log.job), _last_end(io))
    return Traced(
        tool="Darshan",
        version=_version(log.metadata),
        command=_words(log.command),
        begin=datetime.fromtimestamp(log.job["start_s"], UTC),
        duration_ns=duration_ns,
        ranks=processes,
        tables={
            "file": _files(log, counters, ids),
            "process": _processes(log, io, duration_ns),
            "io": io,
            "file_total": file_totals(counters, lambda some: _index(ids, some), processes),
        },
        damage=[
            f"module {name}: Darshan ran out of memory, records are missing"
            for name, module in log.modules.items()
            if module.partial
        ],
        lost=sorted(set(log.modules) - KNOWN_MODULES),
    )


def _check(
    path: Path,
    processes: int,
    counters: dict[str, Counters],
    segments: dict[str, npt.NDArray[Any]],
) -> None:
    """Checks for damage that Darshan's library does not detect."""
    if not 1 <= processes <= MOST_PROCESSES:
        wrong = f"a log of {processes} processes, expected 1 to {MOST_PROCESSES}"
        raise InputError(wrong, path=str(path))
    ranks = [c.ranks for c in counters.values()] + [some["rank"] for some in segments.values()]
    most = max((int(some.max()) for some in ranks if len(some)), default=0)
    if most >= processes:
        wrong = f"a log of {processes} processes with records of rank {most}"
        raise InputError(wrong, path=str(path))
    for some in segments.values():
        times = np.stack([some["begin_s"], some["end_s"]])
        if not np.all(np.abs(times) < MOST_SECONDS):
            wrong = f"a DXT segment with a wrong time, expected less than {MOST_SECONDS:.0f} s"
            raise InputError(wrong, path=str(path))


def _read_segments(log: Log, name: str) -> npt.NDArray[Any]:
    """All segments of a trace, each with its file, rank, direction and thread."""
    layout = [*SEGMENT, ("thread", "<u8")] if log.segments_have_threads else SEGMENT
    records = log.records[name]
    heads = [HEAD.unpack_from(record) for record in records]
    data = b"".join(record[HEAD.size :] for record in records)
    found = np.frombuffer(data, layout)
    counts = np.array([(writes, reads) for *_, writes, reads in heads], np.int64).reshape(-1, 2)
    each = counts.sum(axis=1)
    segments = np.zeros(
        len(found), [("id", "u8"), ("rank", "i8"), ("write", "?"), ("thread", "u8"), *SEGMENT]
    )
    for field, _ in SEGMENT:
        segments[field] = found[field]
    segments["id"] = np.repeat(np.array([head[0] for head in heads], np.uint64), each)
    segments["rank"] = np.repeat(np.array([max(head[1], 0) for head in heads], np.int64), each)
    segments["write"] = np.repeat(np.tile([True, False], len(heads)), counts.ravel())
    # In logs without thread numbers this field is uninitialised memory.
    if log.segments_have_threads and log.modules[name].version >= FIRST_WITH_THREADS[name]:
        segments["thread"] = found["thread"]
    return segments


def _hosts(log: Log) -> dict[int, str]:
    """The host of each rank, where a DXT trace names it."""
    hosts = {}
    for name in TRACES:
        for record in log.records.get(name, ()):
            _, rank, _, host, *_ = HEAD.unpack_from(record)
            hosts[max(rank, 0)] = host.split(b"\0")[0].decode(errors="replace")
    return hosts


def _ids(
    counters: dict[str, Counters], segments: dict[str, npt.NDArray[Any]]
) -> npt.NDArray[np.uint64]:
    """The record ids of all files, sorted; the position of an id is the file's index."""
    parts = [c.ids for c in counters.values()]
    parts += [some["id"] for some in segments.values()]
    return np.unique(np.concatenate([np.zeros(0, np.uint64), *parts]))


def _index(
    ids: npt.NDArray[np.uint64], some: npt.NDArray[np.uint64]
) -> npt.NDArray[np.signedinteger[Any]]:
    return np.searchsorted(ids, some)


def _io(
    traces: dict[str, npt.NDArray[Any]],
    counters: dict[str, Counters],
    ids: npt.NDArray[np.uint64],
) -> Columns:
    """The columns of record type io; none without a trace."""
    if not traces:
        return {}
    layers = [TRACES.index(name) for name in traces]
    segments = np.concatenate(list(traces.values()))
    layer = np.repeat(layers, [len(part) for part in traces.values()])
    begin = np.rint(segments["begin_s"] * 1e9).astype(np.int64)
    end = np.rint(segments["end_s"] * 1e9).astype(np.int64)
    call = 2 * layer + segments["write"]
    collective = (layer == 0) & np.isin(segments["id"], _collective_files(counters))
    columns: Columns = {
        "rank": segments["rank"],
        "thread": _thread_numbers(segments),
        "begin_ns": begin,
        "duration_ns": np.maximum(end - begin, 0),
        "call": np.where(collective, call + FIRST_COLLECTIVE, call),
        "file": _index(ids, segments["id"]),
        "handle": _opens(segments["rank"], segments["id"], layer),
        "offset": segments["offset"],
        "size": segments["length"],
        "bytes": segments["length"],
        "flags": np.where(collective, int(IoFlag.COLLECTIVE), 0),
    }
    order = call_order(columns, layer)
    columns = {key: column[order] for key, column in columns.items()}
    mark_nested(columns, layer[order])
    columns["call"] = names(CALLS, columns["call"])
    return columns


def _opens(
    rank: npt.NDArray[np.int64], file: npt.NDArray[np.uint64], layer: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Handle numbers. DXT does not record which open a segment belongs to, so each process has one
    handle for each file and layer, numbered from 0 in each process."""
    keys = np.rec.fromarrays([rank, layer, file])
    known, place = np.unique(keys, return_inverse=True)
    ranks = known["f0"]
    numbers = np.arange(len(known)) - np.searchsorted(ranks, ranks)
    return np.asarray(numbers[place.ravel()], np.int64)


def _collective_files(counters: dict[str, Counters]) -> npt.NDArray[np.uint64]:
    """Files whose counters show no independent read or write through MPI-IO."""
    if "MPI-IO" not in counters:
        return np.zeros(0, np.uint64)
    c = counters["MPI-IO"]
    alone = c.count("INDEP_READS", "INDEP_WRITES", "NB_READS", "NB_WRITES") > 0
    return np.setdiff1d(c.ids, c.ids[alone])


def _thread_numbers(segments: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The threads of a process, numbered in the order of their first access."""
    known, thread = np.unique(segments["thread"], return_inverse=True)
    if len(known) < 2:
        return np.zeros(len(segments), np.int64)
    keys, place = np.unique(segments["rank"] * len(known) + thread, return_inverse=True)
    first = np.full(len(keys), np.inf)
    np.minimum.at(first, place, segments["begin_s"])
    ranks = keys // len(known)
    order = np.lexsort((first, ranks))
    numbers = np.empty(len(keys), np.int64)
    numbers[order] = np.arange(len(keys)) - np.searchsorted(ranks[order], ranks[order])
    return numbers[place]


def _files(log: Log, counters: dict[str, Counters], ids: npt.NDArray[np.uint64]) -> Columns:
    mounts = sorted(log.mounts, key=lambda mount: len(mount[0]), reverse=True)

    @cache
    def filesystem(directory: str) -> str:
        inside = (kind for at, kind in mounts if (directory + "/").startswith(at.rstrip("/") + "/"))
        return next(inside, "")

    paths = [log.names.get(number, f"record {number}") for number in ids.tolist()]
    block_size = np.zeros(len(ids), np.int64)
    if "POSIX" in counters:
        c = counters["POSIX"]
        np.maximum.at(block_size, _index(ids, c.ids), c.count("FILE_ALIGNMENT"))
    return {
        "index": np.arange(len(ids)),
        "path": paths,
        # Darshan does not record the kind; entries without a path are streams such as <STDOUT>.
        "kind": ["regular" if path.startswith("/") else "unknown" for path in paths],
        "block_size": block_size,
        "filesystem": [
            filesystem(str(PurePosixPath(path).parent)) if path.startswith("/") else ""
            for path in paths
        ],
    }


def _processes(log: Log, io: Columns, duration_ns: int) -> Columns:
    count = log.job["processes"]
    hosts = _hosts(log)
    ranks = np.arange(count)
    threads = np.ones(count, np.int64)
    if io:
        np.maximum.at(threads, io["rank"], io["thread"] + 1)
    return {
        "rank": ranks,
        "mpi_rank": ranks,
        "host": [hosts.get(rank, "") for rank in range(count)],
        "command": [log.command] * count,
        "end_ns": np.full(count, duration_ns),
        "threads": threads,
        "records": np.bincount(io["rank"], minlength=count) if io else np.zeros(count, np.int64),
    }


def _last_end(io: Columns) -> int:
    return int((io["begin_ns"] + io["duration_ns"]).max()) if io and len(io["rank"]) else 0


def _run_time_ns(job: dict[str, int]) -> int:
    """Logs older than 3.4.1 have whole seconds: 1 s is added, since the run may be that longer."""
    exact = job["start_ns"] or job["end_ns"]
    seconds = job["end_s"] - job["start_s"] + (0 if exact else 1)
    return max(seconds * 10**9 + job["end_ns"] - job["start_ns"], 0)


def _version(metadata: str) -> str:
    lines = metadata.splitlines()
    return next((line[len("lib_ver=") :] for line in lines if line.startswith("lib_ver=")), "")


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()
