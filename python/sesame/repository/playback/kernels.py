"""What a measurement inside the kernel shows: processors, page faults, messages, I/O, phases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sesame.datasets import DataSet
from sesame.repository.playback.frames import Clock, FieldOfFrames, Light, Shown, Spans, Sums
from sesame.repository.playback.units import KERNEL_TABLES, Units

Array = np.ndarray[Any, Any]
# cpu_time: which of its columns are the system's work. `iowait` and `idle` are no work.
USER, SYSTEM = ("user_ns", "nice_ns"), ("system_ns", "irq_ns", "softirq_ns")
SUBSYSTEMS = {
    "vm": "virtual memory events",
    "ipc": "message events in the kernel",
    "fs": "file events in the kernel",
    "block": "requests to disks",
    "sched": "waits for a processor",
    "task": "starts and ends of processes",
}
PHASE_COLOURS = ("green", "purple", "orange", "sky", "blue", "vermillion", "yellow", "grey")
MOST_PHASES = 64


def seconds_of(data_set: DataSet) -> float:
    """The end of the last record."""
    last = 0
    for table in KERNEL_TABLES:
        if data_set.has(table):
            name = "time_ns" if table == "kernel_event" else "end_ns"
            for batch in data_set.batches(table, [name]):
                last = max(last, int(batch.column(name).to_numpy().max(initial=0)))
    return last * 1e-9


def shown_of(data_set: DataSet, units: Units, clock: Clock) -> Shown:
    """All fields of the kernels of the nodes."""
    shown = Shown()
    if data_set.has("cpu_time"):
        _add_processors(shown, data_set, units, clock)
    events = _events(data_set, units, clock)
    for subsystem, values in sorted(events.items()):
        title = SUBSYSTEMS.get(subsystem, f"events of {subsystem}")
        shown.fields.append(FieldOfFrames(f"kernel_{subsystem}", title, "1/s", values))
    if "vm" in events:
        shown.memory = "kernel_vm"
    if "ipc" in events:
        shown.lights.append(Light("messages", "system", "sky", "kernel_ipc"))
    disks = "block" if "block" in events else "fs" if "fs" in events else None
    if disks is not None:
        shown.lights.append(Light("I/O", "system", "vermillion", f"kernel_{disks}"))
    if data_set.has("kernel_phase"):
        _add_phases(shown, data_set, units, clock)
    return shown


def _add_processors(shown: Shown, data_set: DataSet, units: Units, clock: Clock) -> None:
    """Shares of the time of all CPUs of a node. The kernel counts in its own ticks, so the parts
    are taken relative to their sum."""
    parts = {name: Spans(units.count, clock) for name in ("user", "system", "idle")}
    idle = ("idle_ns", "iowait_ns", "steal_ns")
    names = ["begin_ns", "end_ns", "node", *USER, *SYSTEM, *idle]
    for batch in data_set.batches("cpu_time", names):
        of = {name: batch.column(name).to_numpy(zero_copy_only=False) for name in names}
        unit = units.unit_of_nodes(of["node"])
        begin, end = of["begin_ns"] * 1e-9, of["end_ns"] * 1e-9
        kept = (unit >= 0) & (end > begin)
        length = np.maximum(end - begin, 1e-12)
        for name, columns in (("user", USER), ("system", SYSTEM), ("idle", idle)):
            share = np.sum([of[column] for column in columns], axis=0) * 1e-9 / length
            parts[name].add(unit[kept], begin[kept], end[kept], share[kept])
    times = {name: spans.cells().T for name, spans in parts.items()}
    whole = np.sum(list(times.values()), axis=0)
    for name, title in (("user", "processors: programs"), ("system", "processors: the kernel")):
        values = np.where(whole > 1e-9, times[name] / np.where(whole > 1e-9, whole, 1), np.nan)
        shown.fields.append(FieldOfFrames(f"cpu_{name}", title, "", values))
    shown.processor = [("cpu_user", "green"), ("cpu_system", "vermillion")]


def _events(data_set: DataSet, units: Units, clock: Clock) -> dict[str, Array]:
    """Events a second by subsystem; from the records of single events where there are any."""
    found: dict[str, Array] = {}
    for subsystem, spans in _summaries(data_set, units, clock).items():
        found[subsystem] = spans.cells().T
    for subsystem, sums in _single(data_set, units, clock).items():
        found[subsystem] = sums.rates()
    is_measured = np.zeros(units.count, bool)
    is_measured[[unit for unit in units.of_node.values() if unit not in units.io]] = True
    return {name: np.where(is_measured, values, np.nan) for name, values in found.items()}


def _summaries(data_set: DataSet, units: Units, clock: Clock) -> dict[str, Spans]:
    """From counters of pull intervals: their events are spread evenly over the interval."""
    found: dict[str, Spans] = {}
    if not data_set.has("kernel_summary"):
        return found
    names = ["begin_ns", "end_ns", "node", "subsystem", "count"]
    for batch in data_set.batches("kernel_summary", names):
        begin_ns, end_ns, node, subsystem, count = (
            batch.column(name).to_numpy(zero_copy_only=False) for name in names
        )
        unit = units.unit_of_nodes(node)
        begin, end = begin_ns * 1e-9, end_ns * 1e-9
        for name in np.unique(subsystem.astype(str)):
            kept = (subsystem == name) & (unit >= 0) & (end > begin)
            spans = found.setdefault(str(name), Spans(units.count, clock))
            rate = count[kept] / (end - begin)[kept]
            spans.add(unit[kept], begin[kept], end[kept], rate)
    return found


def _single(data_set: DataSet, units: Units, clock: Clock) -> dict[str, Sums]:
    found: dict[str, Sums] = {}
    if not data_set.has("kernel_event"):
        return found
    for batch in data_set.batches("kernel_event", ["time_ns", "node", "subsystem"]):
        time = batch.column("time_ns").to_numpy() * 1e-9
        nodes, subsystems = batch.column("node"), batch.column("subsystem")
        of_node = units.unit_of_nodes(np.array(nodes.dictionary.to_pylist() or [""]))
        unit = of_node[nodes.indices.to_numpy()]
        for i, name in enumerate(subsystems.dictionary.to_pylist()):
            kept = (subsystems.indices.to_numpy() == i) & (unit >= 0)
            if not kept.any():
                continue
            sums = found.setdefault(str(name), Sums(units.count, clock))
            sums.add(unit[kept], time[kept])
    return found


def _add_phases(shown: Shown, data_set: DataSet, units: Units, clock: Clock) -> None:
    """The phase with most of the time of each bin, by the name that the program gave it."""
    rows = list(_phases(data_set))
    names = list(dict.fromkeys(name for *_, name in rows))[:MOST_PHASES]
    number = {name: i for i, name in enumerate(names)}
    spans = Spans(len(names) * units.count, clock)
    kept = [row for row in rows if row[3] in number and row[0] in units.of_node]
    if not kept:
        return
    unit = np.array([units.of_node[node] for node, *_ in kept])
    row = np.array([number[name] for *_, name in kept]) * units.count + unit
    spans.add(row, np.array([one[1] for one in kept]), np.array([one[2] for one in kept]))
    time = spans.cells().reshape(len(names), units.count, clock.bins)
    phase = np.where(time.max(axis=0) > 0, time.argmax(axis=0), np.nan)
    colours = [PHASE_COLOURS[i % len(PHASE_COLOURS)] for i in range(len(names))]
    classes = list(zip(names, colours, strict=True))
    shown.fields.append(FieldOfFrames("phase", "phase of the program", "", phase.T, classes))
    shown.phase = "phase"


def _phases(data_set: DataSet) -> Iterator[tuple[str, float, float, str]]:
    for row in data_set.table("kernel_phase").to_pylist():
        yield str(row["node"]), row["begin_ns"] * 1e-9, row["end_ns"] * 1e-9, str(row["name"])
