"""Imports the block traces of Microsoft Research Cambridge, and others of the same format.

A line is `timestamp,host,disk,type,offset,size,response time`. Both times are in units of 100 ns;
the timestamp counts from 1601. SNIA's I/O trace repository has the traces (Narayanan, Donnelly and
Rowstron, Write Off-Loading, 2008); the format is written here from memory of its page there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from sesame.datasets.block import SECTOR_BYTES
from sesame.errors import InputError
from sesame.exchange.block_events import (
    CHUNK_BYTES,
    READ,
    WRITE,
    BlockTrace,
    event,
    first_lines,
    open_text,
    text_chunks,
)
from sesame.exchange.record_file import Scratch
from sesame.exchange.traced import Traced
from sesame.traced.block_requests import Events

TICK_NS = 100
TYPES = {
    "time": pa.int64(),
    "host": pa.dictionary(pa.int32(), pa.string()),
    "disk": pa.dictionary(pa.int32(), pa.string()),
    "type": pa.dictionary(pa.int32(), pa.string()),
    "offset": pa.int64(),
    "size": pa.int64(),
    "response": pa.int64(),
}
LINE = re.compile(rb"\d+,[^,]+,\d+,(?i:read|write),\d+,\d+,\d+\r?")
HEADER = re.compile(rb"(?i)timestamp,host.*")


def recognises(path: Path) -> bool:
    lines = first_lines(path) if path.is_file() else []
    lines = lines[1:] if lines and HEADER.match(lines[0]) else lines
    return bool(lines) and LINE.fullmatch(lines[0]) is not None


def read(path: Path, _scratch: Scratch) -> Traced:
    if path.is_dir():
        raise InputError("a directory, expected a file of comma-separated values", path=str(path))
    trace = BlockTrace("MSR Cambridge")
    return trace.of_requests(_requests(path, trace))


def _requests(path: Path, trace: BlockTrace) -> Iterator[Events]:
    has_header = bool((lines := first_lines(path)) and HEADER.match(lines[0]))
    try:
        with open_text(path) as file:
            reader = pa.csv.open_csv(
                file,
                pa.csv.ReadOptions(
                    column_names=list(TYPES),
                    skip_rows=int(has_header),
                    block_size=CHUNK_BYTES,
                    use_threads=False,
                ),
                convert_options=pa.csv.ConvertOptions(column_types=TYPES),
            )
            for batch in reader:
                yield _columns(batch, trace)
    except (pa.ArrowException, EOFError, ValueError) as error:
        _say_what_is_wrong(path, has_header)
        raise InputError(f"cannot be read: {error}", path=str(path)) from error


def _columns(batch: pa.RecordBatch, trace: BlockTrace) -> Events:
    host, disk, kind = (batch.column(name) for name in ("host", "disk", "type"))
    words = [str(word).lower() for word in kind.dictionary.to_pylist()]
    if not set(words) <= {"read", "write"}:
        raise ValueError("a request that is neither Read nor Write")
    writes = np.array([word == "write" for word in words])[kind.indices.to_numpy()]
    disks = disk.indices.to_numpy().astype(np.int64)
    both = host.indices.to_numpy().astype(np.int64) * len(disk.dictionary) + disks
    code = np.zeros(len(host.dictionary) * len(disk.dictionary), np.int64)
    for place in np.unique(both).tolist():
        of_host, of_disk = divmod(place, len(disk.dictionary))
        code[place] = trace.devices.number(f"{host.dictionary[of_host]}.{disk.dictionary[of_disk]}")
    rows = len(both)
    return event(
        time_ns=_from_zero(batch.column("time").to_numpy()) * TICK_NS,
        device=code[both],
        sector=batch.column("offset").to_numpy() // SECTOR_BYTES,
        bytes=batch.column("size").to_numpy(),
        operation=np.where(writes, WRITE, READ),
        latency_ns=batch.column("response").to_numpy() * TICK_NS,
        pid=np.full(rows, -1),
        command=np.zeros(rows),
    )


def _from_zero(
    ticks: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Times since 1970 instead of 1601, whose nanoseconds do not fit into 64 bits."""
    return np.where(ticks > 116_444_736_000_000_000, ticks - 116_444_736_000_000_000, ticks)


def _say_what_is_wrong(path: Path, has_header: bool) -> None:
    for first, chunk in text_chunks(path):
        for number, line in enumerate(chunk.splitlines(), first):
            if not LINE.fullmatch(line) and not (has_header and number == 1) and line.strip():
                shown = line[:60].decode(errors="replace")
                raise InputError(
                    f"{shown!r}, expected timestamp,host,disk,Read or Write,offset,size,response",
                    path=str(path),
                    line=number,
                )
