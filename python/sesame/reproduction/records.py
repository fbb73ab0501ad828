"""Section 7.4 of the SESAME report: regions of record sizes, and undocumented buffers.

The same records are timed by the application and by the kernel. If the kernel sees other requests
than the application makes, there is a buffer between them. If a request takes less time than any
device needs, there is a buffer below the kernel's call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sesame.reproduction.observed import Array, Laboratory, Observation, Observed, events_of
from sesame.reproduction.outcome import Diagram, Judgement, Outcome, Table
from sesame.tracing.filesystems import FileSystems

NAME = "sesame-7.4"
TITLE = "Regions of record sizes, and hidden buffers found by the kernel's times"
SOURCE = "SESAME report, section 7.4"
SIZES = "64:4MiB"
WRITES = ("pwrite", "fwrite")  # of iow, by interface
KIB, MIB = 1 << 10, 1 << 20
SMALL, FLAT, LARGEST = KIB, 64 * KIB, 4 * MIB  # limits of the report's regions
TRACE = ("fs.write", "fs.sync", "block.issue", "block.complete", "task.create")
# By name: options of iow.
WAYS = {
    "each record to the disk": ("--sync", "each", "--operations", "24"),
    "into the kernel's memory": ("--sync", "none"),
    "through stdio": ("--interface", "stdio", "--sync", "none"),
}
DISK, MEMORY, STDIO = WAYS
RECORD = 128 * KIB  # of Table 7-6
RECORDS = 128
LISTED = 32
STREAMED = 64  # size of records through stdio in bytes
STREAM_RECORDS = 1024
# Groups of records. The median of the groups' means includes stdio's rare, long records but no
# accidental delays.
GROUPS = 8


@dataclass(frozen=True)
class Written:
    """Files written in records of one size after the other, by one rank."""

    observed: Observed

    @cached_property
    def sizes(self) -> Array:
        """The size of each record in bytes, in the order of writing."""
        return np.array(self.observed.report["tables"]["write_record"]["size"]["values"], np.int64)

    @cached_property
    def times_us(self) -> Array:
        """The time of each record as the application measured it."""
        return np.array(self.observed.report["tables"]["write_record"]["time"]["values"])

    @cached_property
    def calls(self) -> dict[str, Array]:
        """The kernel's write calls for these records. The added column `record` is the number of
        the record in which a call ends."""
        events = events_of(self.observed.kernel, subsystem="fs", point="write", command="iow")
        file_system = FileSystems().type_of(str(self.observed.kernel.path))
        types = [name.partition(" ")[0] for name in events["class"]]  # "ext4 /"
        mine = np.array([file_system.startswith(name) for name in types], bool)
        # Leave out writes of libraries before the first record, and writes of the tracer.
        mine &= events["time_ns"] >= min(
            call.begin_ns
            for call in self.observed.calls("io")
            if call.name in WRITES and call.bytes == self.sizes[0]
        )
        mine &= (
            events["where"] == np.bincount(events["where"][mine], events["bytes"][mine]).argmax()
        )
        reached = np.cumsum(events["bytes"][mine].astype(np.int64))
        ends = np.cumsum(self.sizes)
        of_records = reached <= ends[-1]
        found = {name: column[mine][of_records] for name, column in events.items()}
        found["record"] = np.searchsorted(ends, reached[of_records])
        return found

    def record_us(self, size: int) -> float:
        return self._typical(self.times_us, size)

    def kernel_us(self, size: int) -> float:
        """The part of a record's time in the kernel's calls."""
        took = np.bincount(self.calls["record"], self.calls["duration_ns"], len(self.sizes))
        return 1e-3 * self._typical(took, size)

    def _typical(self, times: Array, size: int) -> float:
        groups = np.array_split(times[self.sizes == size], GROUPS)
        return float(np.median([group.mean() for group in groups if len(group)]))

    def rate(self, size: int) -> float:
        """MB/s"""
        return size / self.record_us(size)

    def calls_of(self, size: int) -> dict[str, Array]:
        mine = self.sizes[self.calls["record"]] == size
        return {name: column[mine] for name, column in self.calls.items()}

    def to_device(self) -> dict[str, Array]:
        """Write requests of the whole machine to devices, in the order of their ends."""
        events = events_of(self.observed.kernel, subsystem="block", point="complete")
        writes = events["class"] == "write"
        return {name: column[writes] for name, column in events.items()}


def observe(laboratory: Laboratory, say: Callable[[str], None]) -> Outcome:
    def write(name: str, *options: str) -> Written:
        say(name)
        every = ("--mode", "write", "--repeat", "1", *options)
        return Written(laboratory.run("iow", every, 1, trace=TRACE, is_traced=True))

    sweeps = {name: write(name, "--size", SIZES, *options) for name, options in WAYS.items()}
    large = write(
        "records of 128 KiB", "--size", str(RECORD), "--operations", str(RECORDS), "--sync", "end"
    )
    count = ("--operations", str(STREAM_RECORDS))
    stream = write(
        f"{STREAMED} bytes through stdio", "--interface", "stdio", "--size", str(STREAMED), *count
    )
    every = [*sweeps.values(), large, stream]
    return Outcome(
        NAME,
        TITLE,
        SOURCE,
        judgements=[*_judge_regions(sweeps), *_judge_memory(large), *_judge_stream(stream, sweeps)],
        tables=[_by_size(sweeps), _seen(sweeps), _listed(large)],
        diagrams=[
            _rates(sweeps),
            _both_times(large, "Records of 128 KiB", RECORDS),
            _both_times(stream, f"Records of {STREAMED} bytes through stdio", 4 * KIB // 8),
        ],
        commands=[written.observed.command for written in every],
    )


def _all_sizes(sweeps: dict[str, Written]) -> list[int]:
    sizes: list[int] = np.unique(sweeps[MEMORY].sizes).tolist()
    return sizes


def _named(size: int) -> str:
    if size >= MIB:
        return f"{size // MIB} MiB"
    return f"{size // KIB} KiB" if size >= KIB else f"{size} B"


def _by_size(sweeps: dict[str, Written]) -> Table:
    rows = [
        [
            _named(size),
            *(
                f"{value:,.1f}"
                for written in sweeps.values()
                for value in (written.record_us(size), written.rate(size))
            ),
        ]
        for size in _all_sizes(sweeps)
    ]
    names = [f"{name}: {unit}" for name in sweeps for unit in ("µs", "MB/s")]
    return Table("Time of a record, and rate", ["record", *names], rows)


def _seen(sweeps: dict[str, Written]) -> Table:
    rows = []
    for size in _all_sizes(sweeps):
        row = [_named(size)]
        for name in (MEMORY, STDIO):
            written = sweeps[name]
            calls = written.calls_of(size)
            records = int((written.sizes == size).sum())
            row += [
                f"{len(calls['bytes']) / records:.3g}",
                f"{calls['bytes'].mean():,.0f}" if len(calls["bytes"]) else "",
                f"{written.record_us(size):,.2f}",
                f"{written.kernel_us(size):,.2f}",
            ]
        rows.append(row)
    columns = ("calls a record", "bytes a call", "application, µs", "kernel, µs")
    names = [f"{name}: {column}" for name in ("memory", "stdio") for column in columns]
    return Table(
        "The same records as the kernel sees them: its calls that write, and its part of a "
        "record's time",
        ["record", *names],
        rows,
    )


def _listed(large: Written) -> Table:
    calls = large.calls
    device = large.to_device()
    done = np.cumsum(device["bytes"])
    rows = []
    for record in range(min(LISTED, len(calls["record"]))):
        there = int(np.searchsorted(device["time_ns"], calls["time_ns"][record], "right"))
        rows.append(
            [
                str(record),
                f"{1e-3 * large.times_us[record]:.3f}",
                f"{1e-6 * calls['duration_ns'][record]:.3f}",
                f"{(record + 1) * RECORD:,}",
                f"{int(done[there - 1]) if there else 0:,}",
            ]
        )
    columns = ("record", "application, ms", "kernel, ms", "bytes written", "by all, on the device")
    return Table("The first records of 128 KiB (Table 7-6)", columns, rows)


def _rates(sweeps: dict[str, Written]) -> Diagram:
    return Diagram(
        "Rate by size of the records",
        "bytes of a record",
        "MB/s",
        {
            name: [(size, written.rate(size)) for size in _all_sizes(sweeps)]
            for name, written in sweeps.items()
        },
        is_logarithmic=True,
    )


def _both_times(written: Written, title: str, most: int) -> Diagram:
    calls = written.calls
    kernel = [
        (int(record), 1e-3 * float(took))
        for record, took in zip(calls["record"], calls["duration_ns"], strict=True)
        if record < most
    ]
    times = written.times_us[:most].tolist()
    return Diagram(
        f"{title}: each of the first {len(times)}",
        "record",
        "µs",
        {"application": list(enumerate(times)), "kernel": kernel},
        has_lines=False,
    )


# ---- What the report found


def _judge_regions(sweeps: dict[str, Written]) -> list[Judgement]:
    disk, memory = sweeps[DISK], sweeps[MEMORY]
    small = [disk.record_us(size) for size in _all_sizes(sweeps) if size <= SMALL]
    rates = {size: disk.rate(size) for size in _all_sizes(sweeps)}
    best = max(rates, key=rates.__getitem__)
    cached = {size: memory.rate(size) for size in _all_sizes(sweeps)}
    top = max(cached, key=cached.__getitem__)
    return [
        Judgement(
            "Up to records of 1 KB a record takes a fixed time, whatever its size.",
            max(small) < 2 * min(small),
            "",
            f"with a sync after each, {min(small):,.0f} to {max(small):,.0f} µs",
        ),
        Judgement(
            "The rate rises with the size then, and is flat from 64 KB on, the size of a stripe.",
            rates[FLAT] > 2 * rates[4 * KIB] and rates[MIB] < 1.5 * rates[FLAT],
            "This device has no stripes: a synchronised write takes long, whatever its size.",
            f"{rates[4 * KIB]:.1f} MB/s at 4 KiB, {rates[FLAT]:.1f} at 64 KiB, {rates[MIB]:.1f} "
            f"at 1 MiB; the best is {rates[best]:.1f} at {_named(best)}",
        ),
        Judgement(
            "Above some size, which depends on the system, it falls again.",
            cached[LARGEST] < 0.8 * cached[top],
            "",
            f"into memory {cached[top]:,.0f} MB/s at {_named(top)}, {cached[LARGEST]:,.0f} at "
            f"{_named(LARGEST)}",
        ),
    ]


def _judge_memory(large: Written) -> list[Judgement]:
    """Judges where the data is when the application's write has returned."""
    calls, device = large.calls, large.to_device()
    last = int(calls["time_ns"][-1])
    rate = RECORD / float(np.median(large.times_us))
    after = device["time_ns"] > last
    syncing = max(int(device["time_ns"][-1]) - last, 1) if after.any() else 1
    slow = 1e3 * float(device["bytes"][after].sum()) / syncing
    early = int(device["bytes"][~after].sum())
    kernel = 1e-3 * float(np.median(calls["duration_ns"]))
    app = float(np.median(large.times_us))
    return [
        Judgement(
            "Records of 128 KB are written faster than the device can: data is buffered.",
            rate > 2 * slow,
            "",
            f"{rate:,.0f} MB/s by the application's times; the device then wrote the rest at "
            f"{slow:,.0f} MB/s",
        ),
        Judgement(
            "The kernel's own time of the write is as short: the buffer is below the call.",
            kernel < 1.1 * app and kernel > 0.5 * app,
            "",
            f"median {app:.1f} µs for the application, of which {kernel:.1f} µs in the kernel",
        ),
        Judgement(
            "It lies below the operating system proper, in or near the driver of the device.",
            early > 0.5 * RECORD * len(calls["record"]),
            "It is the kernel's memory for files, and documented: the device has been given hardly "
            "anything when the last record is written.",
            f"{early:,} of {RECORD * len(calls['record']):,} bytes had reached the device, those "
            "of other programs among them",
        ),
    ]


def _judge_stream(stream: Written, sweeps: dict[str, Written]) -> list[Judgement]:
    """Judges the buffer above the kernel, which sees other requests than the application makes."""
    calls = stream.calls
    each = int(np.median(calls["bytes"]))
    cycle = each // STREAMED
    long = np.flatnonzero(stream.times_us > 3 * np.median(stream.times_us))
    place = np.bincount(long % cycle, minlength=cycle)
    share = place.max() / max(len(long), 1)
    hits = place.max() / (len(stream.times_us) / cycle)
    median = 1e3 * float(np.median(stream.times_us))
    limit = sweeps[STDIO].calls_of(64 * KIB)
    return [
        Judgement(
            "Records whose size does not divide the buffer flow in cycles (132 KB: of 16 records).",
            hits > 0.8 and cycle > 1,
            "",
            f"of records of {STREAMED} bytes through stdio each {cycle}th is long ({hits:.0%} of "
            f"those at that place, which are {share:.0%} of the long ones)",
        ),
        Judgement(
            "The application's times alone would not have shown where the buffer is; the kernel's "
            "do.",
            each > STREAMED and float(np.median(limit["bytes"])) > each,
            "",
            f"the kernel sees calls of {each:,} bytes where the application writes {STREAMED} "
            f"({median:.0f} ns each), so that buffer is the C library's; from {each:,} bytes on "
            "it passes records through as they are",
        ),
    ]


OBSERVATION = Observation(NAME, TITLE, SOURCE, observe)
