"""Kernel events as Chrome Trace Events, for the time line of a traced run (see `chrome`).

An event is shown under its process: under the rank, if the process is one, else under the command's
name. Events of one thread and subsystem share a track. Device requests, which may overlap, and
events without duration become instant events.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from sesame.datasets import DataSet
from sesame.traced.clocks import kernel_shift_ns

Array = np.ndarray[Any, Any]
OTHERS = 1 << 23  # added to the number of a process that is not a rank; larger than any rank
FIRST_TRACK = 1 << 16  # larger than the number of any thread of a run
COLUMNS = ("time_ns", "duration_ns", "where", "bytes", "what", "pid", "cpu", "process")
NAMES = ("subsystem", "point", "class", "command")


def microseconds(ns: Array) -> list[str]:
    """Microseconds as exact decimal text."""
    sign = np.where(ns < 0, "-", "")
    whole, rest = np.divmod(np.abs(ns), 1000)
    parts = zip(sign.tolist(), whole.tolist(), rest.tolist(), strict=True)
    return [f"{s}{w}.{r:03}" for s, w, r in parts]


def kernel_events(kernel: DataSet, run: DataSet) -> Iterator[str]:
    """Trace events of `kernel`, with times relative to the start of `run`."""
    shift = kernel_shift_ns(run, kernel)
    known = run.table("process", ["rank", "pid"]).to_pylist()
    ranks = {one["pid"]: one["rank"] for one in known}
    # Number and command of each track, by process, thread and subsystem.
    tracks: dict[tuple[int, int, str], tuple[int, str]] = {}
    for batch in kernel.batches("kernel_event", [*COLUMNS, *NAMES]):
        columns = {name: batch.column(name).to_numpy(False).tolist() for name in COLUMNS}
        names = {name: batch.column(name).to_pylist() for name in NAMES}
        duration = np.array(columns["duration_ns"], np.int64)
        begin = microseconds(np.array(columns["time_ns"], np.int64) - duration + shift)
        length = microseconds(duration)
        for i, process in enumerate(columns["process"]):
            subsystem, thread = names["subsystem"][i], columns["pid"][i]
            pid = ranks.get(process, OTHERS + process)
            track, _ = tracks.setdefault(
                (pid, thread, subsystem), (FIRST_TRACK + len(tracks), names["command"][i])
            )
            is_mark = duration[i] == 0 or subsystem == "block"
            kind = '"ph":"i","s":"t"' if is_mark else f'"ph":"X","dur":{length[i]}'
            arguments = {name: columns[name][i] for name in ("where", "bytes", "what", "cpu")}
            name = f"{subsystem}.{names['point'][i]}"
            yield (
                f'{{{kind},"cat":"kernel","name":"{name}","pid":{pid},"tid":{track},'
                f'"ts":{begin[i]},"args":{json.dumps(arguments | {"class": names["class"][i]})}}}'
            )
    yield from _track_names(tracks, set(ranks.values()))


def _track_names(
    tracks: dict[tuple[int, int, str], tuple[int, str]], named: set[int]
) -> Iterator[str]:
    for (pid, thread, subsystem), (track, command) in tracks.items():
        label = {"name": f"kernel: {subsystem}, thread {thread}"}
        event = {"ph": "M", "name": "thread_name", "pid": pid, "tid": track, "args": label}
        yield json.dumps(event)
        if pid not in named:
            named.add(pid)
            event = {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": command}}
            yield json.dumps(event)
