"""What a simulated, traced, imported or replayed run shows: calls, messages, files, I/O nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sesame.analysis.calls import (
    CLASS_COLOURS,
    CLASS_NAMES,
    COMPUTE,
    FILE_ACCESS,
    call_class,
)
from sesame.analysis.timeline import rank_spans
from sesame.datasets import DataSet, Kind
from sesame.datasets.traced import IoFlag, MpiFlag
from sesame.repository.playback.arrows import Arrows
from sesame.repository.playback.frames import Clock, FieldOfFrames, Light, Shown, Spans, Sums
from sesame.repository.playback.units import Units
from sesame.traced.calls import is_send

Array = np.ndarray[Any, Any]
ROWS = 1 << 20  # of a batch
CLASSES = len(CLASS_NAMES)
SHARES = (
    ("compute", "computation"),
    ("point_to_point", "in point-to-point calls"),
    ("wait", "in wait and test calls"),
    ("collective", "in collective calls"),
    ("file", "in calls on files"),
    ("other", "in other calls"),
)


@dataclass(frozen=True)
class Spanned:
    """Columns of some records; times in seconds."""

    rank: Array
    begin_s: Array
    end_s: Array
    kind: Array  # class of the call
    bytes: Array


def seconds_of(data_set: DataSet) -> float:
    """How long the run took."""
    if data_set.kind == Kind.SIMULATED:
        return float(rank_spans(data_set)[1].max(initial=0.0))
    ends = data_set.table("process", ["end_ns"]).column("end_ns").to_numpy()
    return float(ends.max(initial=0)) * 1e-9


def shown_of(data_set: DataSet, units: Units, clock: Clock, arrows: Arrows) -> Shown:
    """All fields of the run; its messages are added to `arrows`."""
    shown = Shown()
    calls = Spans(CLASSES * units.count, clock)
    moved = Sums(units.count, clock)
    for batch in _calls(data_set):
        unit = units.unit_of_ranks(batch.rank)
        known = (unit >= 0) & (batch.end_s > batch.begin_s)
        row = batch.kind[known] * units.count + unit[known]
        calls.add(row, batch.begin_s[known], batch.end_s[known])
        files = known & (batch.kind == FILE_ACCESS)
        moved.add(unit[files], batch.begin_s[files], batch.bytes[files].astype(float))
    _add_shares(shown, data_set, units, clock, calls)
    sent = _add_messages(shown, data_set, units, clock, arrows)
    if moved.sums().any():
        title = "data read and written by calls on files"
        shown.fields.append(_of(units, "file_bytes", title, "B/s", moved.rates()))
    _add_devices(shown, data_set, units, clock)
    _add_lights(shown, sent=sent)
    return shown


def _add_shares(shown: Shown, data_set: DataSet, units: Units, clock: Clock, calls: Spans) -> None:
    """Shares of the time of a unit's ranks by class of call, and the class with most of it."""
    alive = Spans(units.count, clock)
    begin, end, rank = _lives(data_set)
    unit = units.unit_of_ranks(rank)
    alive.add(unit[unit >= 0], begin[unit >= 0], end[unit >= 0])
    living = alive.cells()
    time = calls.cells().reshape(CLASSES, units.count, clock.bins)
    time[COMPUTE] = np.maximum(living - time[1:].sum(axis=0), 0)
    is_there = living > 1e-9
    shares = np.where(is_there, time / np.where(is_there, living, 1), np.nan)
    activity = np.where(is_there, time.argmax(axis=0), np.nan)
    classes = list(zip(CLASS_NAMES, CLASS_COLOURS, strict=True))
    shown.fields.append(FieldOfFrames("activity", "activity", "", activity.T, classes))
    for kind, (key, title) in enumerate(SHARES):
        values = np.minimum(shares[kind], 1.0)
        if kind == COMPUTE or np.nanmax(values, initial=0.0) > 0:
            shown.fields.append(FieldOfFrames(key, title, "", values.T))
    shown.processor = [("compute", "green")]
    shown.phase = "activity"


def _lives(data_set: DataSet) -> tuple[Array, Array, Array]:
    """Begin, end and number of each rank."""
    if data_set.kind == Kind.SIMULATED:
        begin, end = rank_spans(data_set)
        return begin, end, np.arange(len(end))
    table = data_set.table("process", ["rank", "begin_ns", "end_ns"])
    begin, end = (table.column(name).to_numpy() * 1e-9 for name in ("begin_ns", "end_ns"))
    return begin, end, table.column("rank").to_numpy().astype(np.int64)


def _calls(data_set: DataSet) -> Iterator[Spanned]:
    """Calls of the program itself, not those that others made inside."""
    if data_set.kind == Kind.SIMULATED:
        if data_set.has("call"):
            yield from _spanned(data_set, "call", ["begin_ps", "end_ps"], 0)
        if data_set.has("io"):
            times = ["begin_ns", "duration_ns"]
            yield from _spanned(data_set, "io", times, IoFlag.NESTED, "MPI_")
        return
    if data_set.has("mpi"):
        yield from _spanned(data_set, "mpi", ["begin_ns", "duration_ns"], MpiFlag.NESTED)
    if data_set.has("io"):
        yield from _spanned(data_set, "io", ["begin_ns", "duration_ns"], IoFlag.NESTED)


def _spanned(
    data_set: DataSet, table: str, times: list[str], without: int, but: str = "\0"
) -> Iterator[Spanned]:
    """Records of a table without those with the flag `without`, or a name that begins with `but`.
    All records of the table io are calls on files."""
    tick = 1e-12 if times[0].endswith("_ps") else 1e-9
    columns = ["rank", "call", *times, "bytes", "flags"]
    for batch in data_set.batches(table, columns, rows=ROWS):
        names = batch.column("call").dictionary.to_pylist() or [""]
        classes = np.array([FILE_ACCESS if table == "io" else call_class(name) for name in names])
        index = batch.column("call").indices.to_numpy()
        begin, other = (batch.column(name).to_numpy() for name in times)
        end = other if times[1].startswith("end") else begin + other
        kept = (batch.column("flags").to_numpy() & without) == 0
        kept &= ~np.array([name.startswith(but) for name in names])[index]
        yield Spanned(
            batch.column("rank").to_numpy()[kept].astype(np.int64),
            begin[kept] * tick,
            end[kept] * tick,
            classes[index][kept],
            batch.column("bytes").to_numpy()[kept],
        )


def _add_messages(
    shown: Shown, data_set: DataSet, units: Units, clock: Clock, arrows: Arrows
) -> bool:
    """Data sent and received, and how many messages are in flight. Returns whether that is known
    (of simulated runs)."""
    sent, received = Sums(units.count, clock), Sums(units.count, clock)
    flight = Spans(units.count, clock)
    is_simulated = data_set.has("message")
    found = False
    for source, to, begin, end, size in _messages(data_set):
        found = True
        unit, other = units.unit_of_ranks(source), units.unit_of_ranks(to)
        a, b = unit >= 0, other >= 0
        sent.add(unit[a], begin[a], size[a].astype(float))
        received.add(other[b], end[b], size[b].astype(float))
        arrows.add(unit, other, begin, end, size)
        if is_simulated:
            flight.add(unit[a], begin[a], end[a])
            flight.add(other[b], begin[b], end[b])
    if not found:
        return False
    shown.fields.append(_of(units, "sent", "data sent", "B/s", sent.rates()))
    if is_simulated:
        shown.fields.append(_of(units, "received", "data received", "B/s", received.rates()))
        values = flight.cells().T
        shown.fields.append(_of(units, "flight", "messages in flight", "messages", values))
    return is_simulated


def _messages(data_set: DataSet) -> Iterator[tuple[Array, Array, Array, Array, Array]]:
    """Source, destination, begin and end (s), and bytes of messages. Of a traced run a message is
    its send, since it does not say when the data travelled."""
    if data_set.has("message"):
        names = ["source", "destination", "send_ps", "receive_complete_ps", "bytes"]
        for batch in data_set.batches("message", names, rows=ROWS):
            source, to, begin, end, size = (batch.column(name).to_numpy() for name in names)
            yield source, to, begin * 1e-12, end * 1e-12, size
    elif data_set.has("mpi"):
        names = ["rank", "peer", "begin_ns", "duration_ns", "bytes"]
        for batch in data_set.batches("mpi", [*names, "call", "flags"], rows=ROWS):
            calls = batch.column("call").dictionary.to_pylist() or [""]
            kept = np.array([is_send(name) for name in calls])[batch.column("call").indices]
            kept &= (batch.column("flags").to_numpy() & MpiFlag.NESTED) == 0
            rank, peer, begin, length, size = (batch.column(n).to_numpy()[kept] for n in names)
            begin, end = begin * 1e-9, (begin + length) * 1e-9
            yield rank.astype(np.int64), peer.astype(np.int64), begin, end, size


def _add_devices(shown: Shown, data_set: DataSet, units: Units, clock: Clock) -> None:
    """How busy the device of each I/O node was, or of a node's own file system."""
    if not data_set.has("storage_activity") or units.word != "node":
        return
    table = data_set.table("storage_activity")
    system, node, number = (table.column(name).to_pylist() for name in ("system", "node", "ionode"))
    unit = np.array(
        [
            units.of_node.get(str(at), -1)
            if name == "node.storage"
            else (units.io[i] if i < len(units.io) else -1)
            for name, at, i in zip(system, node, number, strict=True)
        ],
        np.int64,
    )
    begin, length, busy = (
        table.column(name).to_numpy() for name in ("begin_s", "length_s", "busy_s")
    )
    kept = (unit >= 0) & (length > 0)
    spans = Spans(units.count, clock)
    spans.add(
        unit[kept], begin[kept], (begin + length)[kept], (busy / np.maximum(length, 1e-30))[kept]
    )
    values = np.minimum(spans.cells().T, 1.0)
    has_device = np.zeros(units.count, bool)
    has_device[unit[kept]] = True
    has_device[list(units.io)] = True
    values = np.where(has_device, values, np.nan)
    shown.fields.append(FieldOfFrames("device", "device busy", "", values))


def _add_lights(shown: Shown, *, sent: bool) -> None:
    keys = {one.key for one in shown.fields}
    time = {one.key: one for one in shown.fields}
    in_calls = [key for key in ("point_to_point", "wait", "collective") if key in keys]
    if in_calls:
        values = np.sum([np.nan_to_num(time[key].values) for key in in_calls], axis=0)
        values = np.where(np.isnan(time[in_calls[0]].values), np.nan, np.minimum(values, 1.0))
        shown.fields.append(FieldOfFrames("messaging", "in calls for messages", "", values))
        shown.lights.append(Light("messages", "program", "blue", "messaging"))
    if sent:
        shown.lights.append(Light("messages", "system", "sky", "flight"))
    if "file" in keys:
        shown.lights.append(Light("I/O", "program", "orange", "file"))
    if "device" in keys:
        shown.lights.append(Light("I/O", "system", "vermillion", "device"))


def _of(units: Units, key: str, title: str, unit: str, values: Array) -> FieldOfFrames:
    """A field of nodes that compute; I/O nodes have no value."""
    values = values.astype(float)
    values[:, list(units.io)] = np.nan
    return FieldOfFrames(key, title, unit, values)
