"""Exports a data set as Chrome Trace Events, which Perfetto and chrome://tracing show.

Calls become slices on the track of their thread, messages become arrows from the sending call to
the call that completed the receive. Times are microseconds with three decimals. Kernel events
recorded at the same time can be added (chrome_kernel).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sesame.analysis.messages import match_messages
from sesame.analysis.traced.load import MpiRecords, load_run
from sesame.datasets import DataSet
from sesame.errors import InputError
from sesame.exchange.chrome_kernel import kernel_events, microseconds
from sesame.exchange.output import whole_file

Array = np.ndarray[Any, Any]
IO_ARGUMENTS = ("offset", "size", "bytes", "handle", "error", "flags")
MPI_ARGUMENTS = ("comm", "peer", "tag", "bytes", "flags")
CALL_ARGUMENTS = ("bytes", "peer", "tag", "context", "flags")
PS_PER_NS = 1000


def write(
    data_set: DataSet, destination: Path, *, force: bool, kernel: DataSet | None = None
) -> int:
    """Writes the file; returns the number of calls, plus kernel events if `kernel` is given."""
    names = [name for name in ("io", "mpi", "call") if data_set.has(name)]
    if not names:
        raise InputError("there are no records of calls in it", path=str(data_set.path))
    with whole_file(destination, force=force) as file:
        out = _Events(file)
        out.add(_process_names(data_set))
        for name in names:
            out.add(_slices(data_set, name))
        out.add(_traced_arrows(data_set) if "mpi" in names else ())
        out.add(_simulated_arrows(data_set) if data_set.has("message") else ())
        if kernel is not None:
            out.add(kernel_events(kernel, data_set))
        out.end(data_set)
    records = sum(int(data_set.record_types[name]["rows"]) for name in names)
    return records + (int(kernel.record_types["kernel_event"]["rows"]) if kernel else 0)


class _Events:
    """Writes the JSON object and its list of events, one event a line."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._before = b'{"traceEvents": [\n'

    def add(self, events: Iterable[str]) -> None:
        for event in events:
            self._file.write(self._before + event.encode())
            self._before = b",\n"

    def end(self, data_set: DataSet) -> None:
        info = data_set.info
        other = {key: info[key] for key in ("title", "command", "begin_time") if key in info}
        tail = {"displayTimeUnit": "ns", "otherData": other}
        self._file.write(b"\n], " + json.dumps(tail)[1:].encode() + b"\n")


def _process_names(data_set: DataSet) -> Iterator[str]:
    if data_set.has("process"):
        table = data_set.table("process", ["rank", "host"]).to_pydict()
        rows = list(zip(table["rank"], table["host"], strict=True))
    else:
        rows = [(rank, "") for rank in range(int(data_set.info.get("ranks", 0)))]
    for rank, host in rows:
        name = f"rank {rank} on {host}" if host else f"rank {rank}"
        for kind, arguments in (("name", {"name": name}), ("sort_index", {"sort_index": rank})):
            event = {"ph": "M", "name": f"process_{kind}", "pid": rank, "args": arguments}
            yield json.dumps(event)


def _slices(data_set: DataSet, name: str) -> Iterator[str]:
    wanted = {"io": IO_ARGUMENTS, "mpi": MPI_ARGUMENTS, "call": CALL_ARGUMENTS}[name]
    paths = _paths(data_set) if name == "io" else []
    for batch in data_set.batches(name):
        columns = {field: batch.column(field) for field in batch.schema.names}
        begin, end = _times(columns)
        calls = [json.dumps(call) for call in columns["call"].dictionary.to_pylist()]
        call = columns["call"].indices.to_pylist()
        rank = columns["rank"].to_pylist()
        thread = columns["thread"].to_pylist() if "thread" in columns else [0] * len(rank)
        file = columns["file"].to_pylist() if name == "io" else ()
        values = list(zip(*(columns[field].to_pylist() for field in wanted), strict=True))
        begin_us, duration_us = microseconds(begin), microseconds(end - begin)
        for i, row in enumerate(values):
            arguments = ",".join(f'"{k}":{v}' for k, v in zip(wanted, row, strict=True))
            if name == "io" and file[i] >= 0:
                arguments = f'"file":{paths[file[i]]},{arguments}'
            yield (
                f'{{"ph":"X","cat":"{name}","name":{calls[call[i]]},"pid":{rank[i]},'
                f'"tid":{thread[i]},"ts":{begin_us[i]},"dur":{duration_us[i]},'
                f'"args":{{{arguments}}}}}'
            )


def _paths(data_set: DataSet) -> list[str]:
    """The paths of files by index, as JSON."""
    if not data_set.has("file"):
        return []
    table = data_set.table("file", ["index", "path"]).to_pydict()
    paths = dict(zip(table["index"], table["path"], strict=True))
    return [json.dumps(paths.get(index, "")) for index in range(max(paths) + 1)]


def _times(columns: dict[str, Any]) -> tuple[Array, Array]:
    """Begin and end in ns. Simulated times, which are in ps, are rounded down."""
    if "begin_ns" in columns:
        begin = columns["begin_ns"].to_numpy()
        return begin, begin + columns["duration_ns"].to_numpy()
    begin, end = (columns[name].to_numpy() // PS_PER_NS for name in ("begin_ps", "end_ps"))
    return begin, end


def _traced_arrows(data_set: DataSet) -> Iterator[str]:
    """Arrows from the start of each send to the end of the call that completed its receive."""
    mpi: MpiRecords = load_run(data_set).mpi
    matched = match_messages(mpi)
    done = matched.receive + np.maximum(mpi.completion[matched.receive], 0)
    done = np.minimum(done, len(mpi) - 1)
    return _arrows(
        (mpi.rank[matched.send], mpi.thread[matched.send], mpi.begin[matched.send]),
        (mpi.rank[done], mpi.thread[done], _inside(mpi.begin[done], mpi.end[done])),
    )


def _simulated_arrows(data_set: DataSet) -> Iterator[str]:
    """Arrows of simulated messages. If a receive completed outside any call, its arrow ends at the
    receiver's next call."""
    calls = data_set.table("call", ["rank", "begin_ps", "end_ps"])
    rank, begin, end = (calls.column(name).to_numpy() for name in calls.schema.names)
    order = np.lexsort((begin, rank))
    rank, begin, end = rank[order].astype(np.int64), begin[order], end[order]
    table = data_set.table("message", ["source", "destination", "send_ps", "receive_complete_ps"])
    source, destination, sent, complete = (
        table.column(name).to_numpy() for name in table.schema.names
    )
    span = int(max(end.max(initial=0), complete.max(initial=0))) + 1
    if span > np.iinfo(np.int64).max // (int(rank.max(initial=0)) + 2):
        raise InputError("the run is too long for arrows", path=str(data_set.path))
    # The first call of the destination that ends when the receive completes, or later.
    place = np.searchsorted(rank * span + end, destination.astype(np.int64) * span + complete)
    place = np.minimum(place, len(rank) - 1)
    at = np.maximum(begin[place], np.minimum(complete, end[place])) // PS_PER_NS
    zero = np.zeros(len(source), np.int64)
    inside = np.minimum(at, _inside(begin[place] // PS_PER_NS, end[place] // PS_PER_NS))
    return _arrows((source, zero, sent // PS_PER_NS), (destination, zero, inside))


def _inside(begin: Array, end: Array) -> Array:
    """The last ns inside a slice: viewers attach an arrow's end only to a slice around it."""
    last: Array = np.maximum(end - 1, begin)
    return last


def _arrows(tails: tuple[Array, ...], heads: tuple[Array, ...]) -> Iterator[str]:
    for phase, ends in (("s", tails), ("f", heads)):
        rank, thread, ns = ends
        times = microseconds(ns)
        binding = ',"bp":"e"' if phase == "f" else ""
        for i, (pid, tid) in enumerate(zip(rank.tolist(), thread.tolist(), strict=True)):
            yield (
                f'{{"ph":"{phase}","cat":"message","name":"message","id":{i},"pid":{pid},'
                f'"tid":{tid},"ts":{times[i]}{binding}}}'
            )
