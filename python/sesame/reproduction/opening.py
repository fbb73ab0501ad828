"""Section 7.3 of the SESAME report: the time to open and synchronise a file, as measured by the
application and by the kernel, in one time line.

A shared file is opened with MPI-IO, written, and synchronised with the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sesame.reproduction.busy import Spans, activity_of
from sesame.reproduction.observed import (
    Array,
    Call,
    Laboratory,
    Observation,
    Observed,
    events_of,
)
from sesame.reproduction.outcome import Bar, Diagram, Judgement, Lanes, Outcome, Table

NAME = "sesame-7.3"
TITLE = "The time to open and synchronise a file, application and kernel in one time line"
SOURCE = "SESAME report, section 7.3"
RANKS = (1, 2, 4)
LISTED_RANKS = 2
LISTED = 70
REPEATS = 10
# Write two records of 64 KiB, then synchronise.
OPTIONS = (
    *("--interface", "mpi", "--mode", "write", "--sync", "end"),
    *("--size", "64KiB", "--operations", "2"),
)
TRACE = (
    *(f"fs.{point}" for point in ("read", "write", "sync", "open")),
    "block.issue",
    "block.complete",
    "sched.wait",
    "sched.run",
    "task.create",
)
OPEN, SYNC = "MPI_File_open", "MPI_File_sync"
PARTS = (
    "in calls on files, running",
    "in calls on files, not",
    "in the library, running",
    "in the library, ready",
    "in the library, waiting",
)


@dataclass(frozen=True)
class OpeningRun:
    """A run that opens, writes and synchronises a file several times."""

    observed: Observed

    @cached_property
    def calls(self) -> list[Call]:
        """Calls on files, of MPI and of the system, by time."""
        own = [call for call in self.observed.calls("io") if call.end_ns > call.begin_ns]
        return sorted(own, key=lambda call: call.begin_ns)

    def of(self, name: str) -> list[Call]:
        """The calls of this name, without each rank's first, which includes loading parts of the
        library."""
        by_rank: dict[int, list[Call]] = {}
        for call in self.calls:
            if call.name == name:
                by_rank.setdefault(call.rank, []).append(call)
        return [call for calls in by_rank.values() for call in calls[1:]]

    def mean_ms(self, name: str) -> float:
        return float(np.mean([1e-6 * (call.end_ns - call.begin_ns) for call in self.of(name)]))

    @cached_property
    def _files(self) -> dict[str, Array]:
        return events_of(self.observed.kernel, subsystem="fs")

    def parts(self, name: str) -> Array:
        """The mean time in each of PARTS in ms; their sum is the mean time of the call."""
        sums = np.zeros(len(PARTS))
        calls = self.of(name)
        for process in {call.process for call in calls}:
            begin, end = np.array([(c.begin_ns, c.end_ns) for c in calls if c.process == process]).T
            mine = self._files["pid"] == process
            files = Spans.of_events({key: column[mine] for key, column in self._files.items()})
            activity = activity_of(self.observed.kernel, process)

            def inside(spans: Spans, begin: Array = begin, end: Array = end) -> float:
                return float(spans.within(begin, end).sum())

            in_files, running, ready = (
                inside(spans) for spans in (files, activity.running, activity.ready)
            )
            both, ready_in_files = (
                inside(files.and_(spans)) for spans in (activity.running, activity.ready)
            )
            outside = [running - both, ready - ready_in_files]
            rest = float((end - begin).sum()) - in_files - sum(outside)
            sums += [both, in_files - both, *outside, rest]
        return 1e-6 * sums / max(len(calls), 1)

    def moved(self, name: str, point: str) -> tuple[float, float]:
        """The mean number of file system events in a call of a rank, and of their bytes."""
        calls = self.of(name)
        events = {key: column[self._files["point"] == point] for key, column in self._files.items()}
        count = size = 0
        for call in calls:
            mine = (events["pid"] == call.process) & (events["time_ns"] >= call.begin_ns)
            mine &= events["time_ns"] <= call.end_ns
            count += int(mine.sum())
            size += int(events["bytes"][mine].sum())
        return count / len(calls), size / len(calls)


Runs = dict[int, OpeningRun]


def observe(laboratory: Laboratory, say: Callable[[str], None]) -> Outcome:
    runs: Runs = {}
    options = [*OPTIONS, "--repeat", str(REPEATS)]
    for ranks in RANKS:
        say(f"{REPEATS} files on {ranks} ranks")
        runs[ranks] = OpeningRun(laboratory.run("iow", options, ranks, trace=TRACE, is_traced=True))
    listed = runs[LISTED_RANKS]
    first = _first(listed)
    return Outcome(
        NAME,
        TITLE,
        SOURCE,
        judgements=_judge(runs),
        tables=[
            _times(runs),
            *(_spent(runs, name) for name in (OPEN, SYNC)),
            _trace(listed, *first),
        ],
        diagrams=[_drawn(listed, *first), _curves(runs)],
        commands=[opening.observed.command for opening in runs.values()],
    )


def _times(runs: Runs) -> Table:
    rows = [
        [
            str(ranks),
            str(len(opening.of(OPEN))),
            *(
                f"{value:.2f}"
                for name in (OPEN, SYNC)
                for value in (opening.mean_ms(name), opening.mean_ms(name) / ranks)
            ),
        ]
        for ranks, opening in runs.items()
    ]
    columns = ("ranks", "calls", "open, ms", "for each rank", "sync, ms", "for each rank")
    return Table("Mean times to open a shared file and to synchronise it", columns, rows)


def _spent(runs: Runs, name: str) -> Table:
    rows = []
    for ranks, opening in runs.items():
        parts = opening.parts(name)
        rows.append([str(ranks), *(f"{part:.3f}" for part in parts), f"{parts.sum():.3f}"])
    return Table(f"Where the time of {name} goes, ms of a call", ["ranks", *PARTS, "sum"], rows)


def _first(opening: OpeningRun) -> tuple[int, int]:
    """Begin and end of one file: from the first rank's open to the last one's synchronisation."""
    ranks = {call.rank for call in opening.calls}
    syncs = [next(call for call in opening.of(SYNC) if call.rank == rank) for rank in ranks]
    opens = [
        max(c.begin_ns for c in opening.of(OPEN) if c.rank == s.rank and c.begin_ns < s.begin_ns)
        for s in syncs
    ]
    return min(opens), max(sync.end_ns for sync in syncs)


def _trace(opening: OpeningRun, begin: int, end: int) -> Table:
    """The calls of ranks and the events of the kernel, merged by time."""
    rows: list[tuple[int, tuple[str, ...]]] = []
    names_of = {call.process: f"rank {call.rank}" for call in opening.calls}

    def add(time: int, *words: str) -> None:
        if begin <= time <= end:
            rows.append((time, words))

    for call in opening.calls:
        who = f"rank {call.rank}"
        if not call.is_nested:
            add(call.begin_ns, who, f"{call.name} …", "", "")
            length = f"{1e-3 * (call.end_ns - call.begin_ns):,.1f}"
            add(call.end_ns, who, f"… {call.name}", str(call.bytes or ""), length)
    for subsystem in ("fs", "block"):
        events = events_of(opening.observed.kernel, subsystem=subsystem)
        names = ("time_ns", "pid", "point", "class", "bytes", "duration_ns", "command")
        for time, pid, point, class_, size, duration, command in zip(
            *(events[name].tolist() for name in names), strict=True
        ):
            if class_ == "discard" or (subsystem == "fs" and pid not in names_of):
                continue
            # A device may complete a request while any process runs.
            who = "device" if point == "complete" else f"kernel, {names_of.get(pid, command)}"
            length = f"{1e-3 * duration:,.1f}" if duration else ""
            add(time, who, f"{subsystem}.{point} {class_}", str(size), length)
    rows.sort(key=lambda row: row[0])
    shown = [[f"{1e-3 * (time - begin):,.1f}", *words] for time, words in rows[:LISTED]]
    return Table(
        f"One file on {LISTED_RANKS} ranks: the first {len(shown)} of {len(rows)} records, in µs "
        "since it is opened; of the kernel at their ends",
        ["time", "who", "what", "bytes", "took"],
        shown,
    )


def _drawn(opening: OpeningRun, begin: int, end: int) -> Lanes:
    ranks = dict(sorted((call.rank, call.process) for call in opening.calls))
    bars = [
        Bar(f"rank {call.rank}", *_ms(call, begin), call.name, call.name)
        for call in opening.calls
        if not call.is_nested and begin <= call.begin_ns <= end
    ]
    for lane, wanted in (
        ("kernel", {"subsystem": "fs"}),
        ("processor", {"subsystem": "sched", "point": "run"}),
    ):
        events = events_of(opening.observed.kernel, **wanted)
        for rank, process in ranks.items():
            mine = (events["pid"] == process) & (events["time_ns"] >= begin)
            mine &= events["time_ns"] <= end
            bars += [
                Bar(
                    f"{lane}, rank {rank}",
                    1e-6 * (time - took - begin),
                    1e-6 * (time - begin),
                    what,
                )
                for time, took, what in zip(
                    *(events[name][mine].tolist() for name in ("time_ns", "duration_ns", "point")),
                    strict=True,
                )
            ]
    lanes = [f"{lane}rank {rank}" for rank in ranks for lane in ("", "kernel, ", "processor, ")]
    return Lanes(f"One file on {len(ranks)} ranks", "ms", lanes, bars)


def _ms(call: Call, zero: int) -> tuple[float, float]:
    return 1e-6 * (call.begin_ns - zero), 1e-6 * (call.end_ns - zero)


def _curves(runs: Runs) -> Diagram:
    return Diagram(
        "Mean time to open and to synchronise",
        "ranks",
        "ms",
        {
            name: [(ranks, opening.mean_ms(name)) for ranks, opening in runs.items()]
            for name in (OPEN, SYNC)
        },
    )


def _share(parts: Iterable[float], chosen: slice) -> float:
    values = np.array(list(parts))
    return float(values[chosen].sum() / values.sum())


def _judge(runs: Runs) -> list[Judgement]:
    alone, most = runs[RANKS[0]], runs[RANKS[-1]]
    opened = [opening.mean_ms(OPEN) for opening in runs.values()]
    each = [time / ranks for time, ranks in zip(opened, runs, strict=True)]
    reads = most.moved(OPEN, "read")
    asked = most.moved(OPEN, "open")
    library = _share(most.parts(OPEN), slice(2, None))
    device = _share(alone.parts(SYNC), slice(1, 2))
    spread = max(each) / min(each)
    return [
        Judgement(
            "The mean time to open and synchronise grows with the number of nodes, in proportion.",
            spread < 1.5,
            "Ranks here share processors, and one of them opens the file first while the others "
            "wait.",
            "to open: "
            + ", ".join(f"{t:.2f} ms on {n}" for t, n in zip(opened, runs, strict=True)),
        ),
        Judgement(
            "An opening reads a little from a file system (a page was asked for, 104 bytes came).",
            reads[0] >= 1,
            "The kernel has the location of the file in memory.",
            f"in each rank's opening {asked[0]:.1f} files are opened and there are {reads[0]:.1f} "
            f"reads of {reads[1]:.0f} bytes together",
        ),
        Judgement(
            "Most of the time of an opening is spent between the nodes, not in file systems.",
            library > 0.5,
            "",
            f"on {RANKS[-1]} ranks {library:.1%} of it is outside calls on files: in the library, "
            "which waits for other ranks",
        ),
        Judgement(
            "What the application cannot see: to synchronise is to wait for the device, not to "
            "talk with others.",
            device > 0.5,
            "",
            f"on one rank {device:.1%} of the time of {SYNC} is in calls on files without the "
            "processor",
        ),
    ]


OBSERVATION = Observation(NAME, TITLE, SOURCE, observe)
