"""The result of a replay: its figures, and a data set with the records at their new times."""

from __future__ import annotations

import os
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from sesame.datasets import (
    DataSet,
    DataSetWriter,
    HostMachine,
    Info,
    Instrument,
    Kind,
    record_type,
)
from sesame.replaying import calls
from sesame.replaying.player import Played
from sesame.replaying.records import Table, Trace
from sesame.replaying.schedule import Schedule, Style
from sesame.traced.groups import Array

COMPUTED_NS = 100_000  # an operation after a gap at least this long counts as after computation
MOST_DIFFERING = 20
ASYNCHRONOUS = {"aio_read", "aio_write", "aio_wait"}
INT64_MAX = np.iinfo(np.int64).max


def figures(schedule: Schedule, played: Played) -> dict[str, Any]:
    """The figures of a replay, which `--json` prints."""
    operations, io = schedule.operations, schedule.trace.io
    done = played.operations
    issued = np.flatnonzero((operations.source >= 0) & (done["begin_ns"] >= 0))
    rows = operations.source[issued]
    names = list(calls.call_numbers())
    counts = np.bincount(schedule.issued.call[rows], minlength=len(names))
    moved = done["bytes"][issued]
    lateness = done["lateness_ns"][issued] * 1e-9
    after_compute = lateness[_after_compute(schedule)[issued]]
    answer: dict[str, Any] = {
        "recorded_time_s": schedule.trace.recorded_ns * 1e-9,
        "replayed_time_s": played.end_ns * 1e-9,
        "scheduled_time_s": played.scheduled_end_ns * 1e-9,
        "preempted_time_s": played.preempted_ns * 1e-9,
        "complete": played.failure is None,
        **_quantiles("lateness", lateness),
        **_quantiles("lateness_after_compute", after_compute),
        "io_recorded_s": float(io["duration_ns"][rows].sum() * 1e-9),
        "io_replayed_s": float(done["duration_ns"][issued].sum() * 1e-9),
        "operations": len(issued),
        "calls": {name: int(count) for name, count in zip(names, counts, strict=True) if count},
        "bytes_read": int(moved[_is_one_of(schedule, rows, calls.reads())].sum()),
        "bytes_written": int(moved[_is_one_of(schedule, rows, calls.writes())].sum()),
        "not_issued": schedule.issued.left_out,
        "differing": _counted(schedule, played, issued[_differs(schedule, played, issued)]),
        "failed_data": _counted(schedule, played, issued[_fails(schedule, played, issued)]),
        "not_aligned": played.not_aligned,
        "wake_up_median_s": played.wake_up_median_ns * 1e-9,
        "wake_up_latest_s": played.wake_up_latest_ns * 1e-9,
    }
    answer["failed_data_calls"] = int(_fails(schedule, played, issued).sum())
    if schedule.messages is not None:
        found = schedule.messages
        answer["messages"] = found.messages
        answer["unmatched_messages"] = found.sends_alone + found.receives_alone
        answer["rendezvous_bytes"] = found.rendezvous_bytes
    if schedule.collectives is not None:
        answer["collectives"] = schedule.collectives.calls
        answer["incomplete_collectives"] = schedule.collectives.incomplete
    if played.failure is not None:
        answer["failure"] = describe_failure(schedule, played)
    return answer


def _quantiles(name: str, values: Array) -> dict[str, float]:
    if len(values) == 0:
        return {f"{name}_p50_s": 0.0, f"{name}_p99_s": 0.0, f"{name}_max_s": 0.0}
    return {
        f"{name}_p50_s": float(np.quantile(values, 0.5)),
        f"{name}_p99_s": float(np.quantile(values, 0.99)),
        f"{name}_max_s": float(values.max()),
    }


def _after_compute(schedule: Schedule) -> Array:
    operations = schedule.operations
    waits = np.zeros(len(operations.source), bool)
    waits[operations.link_operation] = True
    return np.asarray((operations.gap >= COMPUTED_NS) & ~waits)


def _is_one_of(schedule: Schedule, rows: Array, names: set[str]) -> Array:
    numbers = [calls.call_numbers()[name] for name in sorted(names)]
    return np.asarray(np.isin(schedule.issued.call[rows], numbers))


def _differs(schedule: Schedule, played: Played, issued: Array) -> Array:
    """Whether each operation ended with another result than recorded."""
    io, rows = schedule.trace.io, schedule.operations.source[issued]
    done = played.operations[issued]
    data = _is_one_of(schedule, rows, calls.reads() | calls.writes())
    wrong = (done["error"] != io["error"][rows]) | (data & (done["bytes"] != io["bytes"][rows]))
    # The result of an asynchronous transfer is known only later, in another record.
    return np.asarray(wrong & ~_is_one_of(schedule, rows, ASYNCHRONOUS))


def _fails(schedule: Schedule, played: Played, issued: Array) -> Array:
    """Whether each operation moved data when recorded but failed or moved nothing in the replay:
    such operations are not replayed."""
    io, rows = schedule.trace.io, schedule.operations.source[issued]
    done = played.operations[issued]
    data = _is_one_of(schedule, rows, calls.reads() | calls.writes() | ASYNCHRONOUS)
    nothing = (done["bytes"] == 0) & (io["bytes"][rows] > 0)
    nothing &= ~_is_one_of(schedule, rows, ASYNCHRONOUS)
    return np.asarray(data & (io["error"][rows] == 0) & ((done["error"] != 0) | nothing))


def _counted(schedule: Schedule, played: Played, which: Array) -> list[dict[str, Any]]:
    """Counts operations by call, file and result; the most frequent first."""
    trace, io = schedule.trace, schedule.trace.io
    kinds: Counter[tuple[str, str, str]] = Counter()
    for operation in which.tolist():
        row, done = schedule.operations.source[operation], played.operations[operation]
        recorded = _outcome(int(io["error"][row]), int(io["bytes"][row]))
        replayed = _outcome(int(done["error"]), int(done["bytes"]))
        file = trace.files[io["file"][row]].path if io["file"][row] >= 0 else ""
        kinds[io.names[io["call"][row]], file, f"{recorded}, now {replayed}"] += 1
    return [
        {"call": call, "file": file, "how": how, "count": count}
        for (call, file, how), count in kinds.most_common(MOST_DIFFERING)
    ]


def _outcome(error: int, moved: int) -> str:
    return os.strerror(error) if error else f"{moved} bytes"


def describe_failure(schedule: Schedule, played: Played) -> str:
    failure = played.failure
    assert failure is not None
    trace, order = schedule.trace, schedule.order
    rank, thread = order.streams[int(schedule.operations.stream[failure.operation])]
    row = int(schedule.operations.source[failure.operation])
    call, file = trace.io.names[trace.io["call"][row]], int(trace.io["file"][row])
    place = schedule.issued.path[file] if file >= 0 else None
    of_thread = f", thread {thread}" if thread else ""
    return f"rank {rank}{of_thread}: {call} of {place or 'no file'}: {failure.reason}"


def write_records(writer: DataSetWriter, schedule: Schedule, played: Played, style: Style) -> None:
    """Writes each operation, and the calls of the traced run at their new times."""
    trace = schedule.trace
    source = DataSet(trace.path)
    _write_replayed(writer, schedule, played)
    warp = _Warp(schedule, played, 0.0 if style.as_fast_as_possible else style.scale_compute)
    numbers = np.arange(len(trace.io) + len(trace.mpi))
    for name, table, mine in (
        ("io", trace.io, numbers[: len(trace.io)]),
        ("mpi", trace.mpi, numbers[len(trace.io) :]),
    ):
        _write_warped(writer, name, table, warp, mine)
    writer.write_table("process", _moved_processes(source.table("process"), schedule, warp))
    if "communicator" in source.record_types:
        writer.write_table("communicator", source.table("communicator"))
    if "file" in source.record_types:
        table = source.table("file")
        moved = [
            schedule.issued.path[index] or path if 0 <= index < len(schedule.issued.path) else path
            for index, path in zip(
                table["index"].to_pylist(), table["path"].to_pylist(), strict=True
            )
        ]
        at = table.schema.get_field_index("path")
        field = table.schema.field(at)
        writer.write_table("file", table.set_column(at, field, pa.array(moved, pa.string())))


def _write_replayed(writer: DataSetWriter, schedule: Schedule, played: Played) -> None:
    operations, io = schedule.operations, schedule.trace.io
    at = np.flatnonzero((operations.source >= 0) & (played.operations["begin_ns"] >= 0))
    rows, done = operations.source[at], played.operations[at]
    kind = record_type("replayed").arrow_schema().field("call").type
    call = pa.DictionaryArray.from_arrays(
        pa.array(io["call"][rows], pa.int32()), pa.array(io.names, pa.string())
    )
    writer.write_records(
        "replayed",
        {
            "rank": io["rank"][rows],
            "thread": io["thread"][rows],
            "call": call.cast(kind),
            "file": io["file"][rows],
            "recorded_begin_ns": io["begin_ns"][rows],
            "recorded_duration_ns": io["duration_ns"][rows],
            "begin_ns": done["begin_ns"],
            "duration_ns": done["duration_ns"],
            "lateness_ns": done["lateness_ns"],
            "bytes": done["bytes"],
            "error": done["error"],
        },
    )


def _reached_before(stream: Array, end: Array) -> Array:
    """The latest end of all earlier operations of the same stream; 0 for the first."""
    if len(end) == 0:
        return end
    far = int(end.max()) + 1
    latest = np.maximum.accumulate(end + stream * far) - stream * far
    before = np.concatenate([[0], latest[:-1]])
    before[np.flatnonzero(np.diff(stream, prepend=-1))] = 0
    return np.asarray(before)


class _Warp:
    """Converts times of the recording to times of the replay: times between two operations of a
    thread move with them."""

    def __init__(self, schedule: Schedule, played: Played, scale: float) -> None:
        operations, done = schedule.operations, played.operations
        kept = done["begin_ns"] >= 0
        self._order = schedule.order
        self._scale = scale
        self._far = int(self._order.end.max(initial=0)) + 1
        self._stream = operations.stream[kept]
        self._begin, self._end = operations.begin[kept], operations.end[kept]
        new_begin = done["begin_ns"][kept]
        new_end = new_begin + done["duration_ns"][kept]
        # Communication has the times at which it was due, but I/O before it may have been late.
        self._new_begin = np.maximum(new_begin, _reached_before(self._stream, new_end))
        self._new_end = np.maximum(new_end, self._new_begin)
        stopped = np.full(len(self._order.streams), INT64_MAX)
        np.minimum.at(stopped, operations.stream[~kept], operations.begin[~kept])
        self._stopped = stopped
        # If a failure ended the replay, nothing is later than its end.
        complete = played.failure is None
        self._stop = INT64_MAX if complete else max(played.end_ns, int(new_end.max(initial=0)))

    def reached(self, numbers: Array) -> Array:
        """Whether the replay reached each record before it ended."""
        begin = self._order.begin[numbers]
        return np.asarray(begin < self._stopped[self._order.stream[numbers]])

    def scaled(self, times: Array) -> Array:
        """Times of a process without records."""
        return np.asarray(np.minimum((times * self._scale).astype(np.int64), self._stop))

    def times(self, numbers: Array, times: Array) -> Array:
        return self.times_of(self._order.stream[numbers], times)

    def times_of(self, stream: Array, times: Array) -> Array:
        return np.asarray(np.minimum(self._moved(stream, times), self._stop))

    def _moved(self, stream: Array, times: Array) -> Array:
        key = self._stream * self._far + self._begin
        if not len(key):
            return self.scaled(times)
        behind = np.searchsorted(key, stream * self._far + times, "right")
        at = behind - 1
        known = (at >= 0) & (self._stream[at] == stream)
        at = np.where(known, at, 0)
        begin, end = self._begin[at], self._end[at]
        new_begin, new_end = self._new_begin[at], self._new_end[at]
        inside = (times - begin) / np.maximum(end - begin, 1) * (new_end - new_begin)
        moved = np.where(times < end, new_begin + inside, new_end + (times - end) * self._scale)
        moved = np.where(known, moved, times * self._scale).astype(np.int64)
        # An operation that was late shortens the pause before it.
        behind = np.minimum(behind, len(key) - 1)
        is_next = (self._stream[behind] == stream) & (self._begin[behind] > times)
        return np.where(is_next, np.minimum(moved, self._new_begin[behind]), moved)


def _moved_processes(table: pa.Table, schedule: Schedule, warp: _Warp) -> pa.Table:
    """The processes with their new begin and end, which follow their threads with records."""
    processes = schedule.trace.processes
    old = np.array([(one.begin_ns, one.end_ns) for one in processes], np.int64)
    new = warp.scaled(old)
    ranks = np.array([rank for rank, _ in schedule.order.streams], np.int64)
    for at, process in enumerate(processes):
        streams = np.flatnonzero(ranks == process.rank)
        if len(streams):
            begins, ends = (warp.times_of(streams, np.full(len(streams), t)) for t in old[at])
            new[at] = begins.min(), ends.max()
    for name, times in (("begin_ns", new[:, 0]), ("end_ns", new[:, 1])):
        at = table.schema.get_field_index(name)
        field = table.schema.field(at)
        table = table.set_column(at, field, pa.array(times, field.type))
    return table


def _write_warped(
    writer: DataSetWriter, name: str, table: Table, warp: _Warp, numbers: Array
) -> None:
    schema = record_type(name).arrow_schema()
    kept = warp.reached(numbers)
    begin = warp.times(numbers, table["begin_ns"])
    end = warp.times(numbers, table.end)
    columns: dict[str, Any] = {}
    for field in schema:
        if pa.types.is_dictionary(field.type):
            codes = pa.array(table[field.name][kept], pa.int32())
            columns[field.name] = pa.DictionaryArray.from_arrays(
                codes, pa.array(table.names, pa.string())
            )
        else:
            columns[field.name] = pa.array(table[field.name][kept], field.type)
    columns["begin_ns"] = pa.array(begin[kept])
    columns["duration_ns"] = pa.array(np.maximum(end - begin, 0)[kept])
    writer.write_table(name, pa.Table.from_pydict(columns, schema=schema))


def info_of(trace: Trace, answer: dict[str, Any], begin: datetime) -> Info:
    """The description of a replay of `trace` that began at `begin`, with its figures."""
    source = DataSet(trace.path)
    return Info(
        kind=Kind.REPLAYED,
        title=f"replay of {source.info.title or source.path.name}",
        description="A traced run, replayed on a real file system. I/O was done here; times of "
        "communication follow from the order of the recording.",
        instrument=Instrument.ours("sesame replay"),
        host=HostMachine.here(),
        ranks=source.info.ranks or 0,
        begin_time=begin.astimezone(UTC).isoformat(timespec="seconds"),
        command=source.info.command,
        result={**answer, "outcome": "completed" if answer["complete"] else "incomplete"},
    )
