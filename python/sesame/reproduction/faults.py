"""Section 7.5 of the SESAME report: page faults by the size of a sort, and the use of processor and
virtual memory in its phases.

The report's nodes had 16 MB of memory each; here a control group limits a single rank to as much.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from sesame.errors import InputError, WorkloadError
from sesame.measurement import subsystems
from sesame.reproduction.busy import activity_of, spans_of
from sesame.reproduction.limits import swap_space
from sesame.reproduction.observed import (
    Array,
    Laboratory,
    Observation,
    Observed,
    Phase,
    events_of,
)
from sesame.reproduction.outcome import Band, Diagram, Judgement, Outcome, Table
from sesame.settings import setting

NAME = "sesame-7.5"
TITLE = "Page faults by the size of a sort; processor and faults by its phases"
SOURCE = "SESAME report, section 7.5"
PROGRAM = "sesame-sort"
MB = 1 << 20
MEMORY_BYTES = 16 * MB  # as a compute node of the report had
SWAP_BYTES = 256 * MB
SIZES_MB = (1, 2, 4, 6, 8, 9, 10, 11, 12, 13, 14)  # of a rank
RANKS = (1, 2, 4)
EDGE_MB = 10  # where the report's counts rise
PAGE = 4096
TRACE = ("vm.total", "sched.wait", "sched.run", "task.create")
ACTIVITIES = ("page-in", "copy-on-write", "reactivation", "zero-fill", "protection")
CLASSES = ("executable", "file", "internal")
INTERVALS = 120  # intervals of a plot


@dataclass(frozen=True)
class Sort:
    """One sort, from each rank's first stamp to its last."""

    size_mb: int
    observed: Observed

    @cached_property
    def phases(self) -> dict[int, list[Phase]]:
        """Phases by process, in the order of ranks."""
        found: dict[int, list[Phase]] = {}
        for phase in self.observed.phases():
            found.setdefault(phase.process, []).append(phase)
        return found

    @cached_property
    def faults(self) -> dict[str, Array]:
        events = events_of(self.observed.kernel, subsystem="vm", point="total")
        inside = np.zeros(len(events["time_ns"]), bool)
        for process, phases in self.phases.items():
            after = events["time_ns"] >= phases[0].begin_ns
            before = events["time_ns"] <= phases[-1].end_ns
            inside |= (events["process"] == process) & after & before
        return {name: column[inside] for name, column in events.items()}

    @property
    def fault_count(self) -> int:
        return len(self.faults["time_ns"])

    @cached_property
    def kinds(self) -> Counter[tuple[str, str]]:
        """Faults by activity and class.

        A zero-fill of a page that the process had before is counted as a reactivation: the page
        waited to be written out and came back.
        """
        names = np.array([point.name for point in subsystems()["vm"].points], object)
        activity = names[self.faults["what"].astype(int)]
        pages = np.stack([self.faults["process"].astype(np.uint64), self.faults["where"] // PAGE])
        is_first = np.zeros(len(activity), bool)
        is_first[np.unique(pages, axis=1, return_index=True)[1]] = True
        activity[~is_first & (activity == "zero-fill")] = "reactivation"
        return Counter(zip(activity.tolist(), self.faults["class"].tolist(), strict=True))

    def paged_out(self) -> int:
        """Pages that the whole machine wrote out during the run. They cannot be assigned to
        processes, since the kernel writes them."""
        table = self.observed.kernel.table("kernel_summary").to_pylist()
        return sum(row["count"] for row in table if row["point"] == "page-out")


Sorts = dict[int, Sort]  # by size


def observe(laboratory: Laboratory, say: Callable[[str], None]) -> Outcome:
    free: dict[int, Sorts] = {ranks: {} for ranks in RANKS}
    limited: Sorts = {}
    for ranks, sorts in free.items():
        for size in SIZES_MB:
            say(f"{_ranks(ranks)}, {size} MB each")
            sorts[size] = _sort(laboratory, ranks, size, None)
    with swap_space(SWAP_BYTES):
        for size in SIZES_MB:
            say(f"1 rank with 16 MB of memory, {size} MB")
            try:
                limited[size] = _sort(laboratory, 1, size, MEMORY_BYTES)
            except WorkloadError:  # killed: out of memory
                break
    if EDGE_MB not in limited:
        raise InputError(
            f"with {MEMORY_BYTES // MB} MB of memory no sort beyond {max(limited, default=0)} "
            f"MB was completed, expected sorts of {EDGE_MB} MB or more",
            hint=f"another MPI library may need less memory: {setting('mpi', 'WRAPPER')}",
        )
    curves = {_ranks(ranks): sorts for ranks, sorts in free.items()}
    curves["1 rank with 16 MB of memory"] = limited
    plotted = (limited[EDGE_MB], free[RANKS[-1]][SIZES_MB[-1]])
    return Outcome(
        NAME,
        TITLE,
        SOURCE,
        judgements=[*_judge_counts(free, limited), _judge_totals(curves), *_judge_phases(*plotted)],
        tables=[
            _counts(curves),
            *(_breakdown(limited[size]) for size in (EDGE_MB - 1, max(limited))),
            *(_by_phase(sort) for sort in plotted),
        ],
        diagrams=[
            Diagram(
                "Page faults by size of the sort",
                "MB of numbers, each rank",
                "page faults",
                {
                    name: [(size, sort.fault_count) for size, sort in sorts.items()]
                    for name, sorts in curves.items()
                },
            ),
            *(_load(sort) for sort in plotted),
        ],
        commands=[sort.observed.command for sorts in curves.values() for sort in sorts.values()],
    )


def _sort(laboratory: Laboratory, ranks: int, size: int, limit: int | None) -> Sort:
    options = ("--count", str(ranks * size * MB // 8))
    return Sort(size, laboratory.run(PROGRAM, options, ranks, trace=TRACE, limit_bytes=limit))


# ---- Counts (7.5.1)


def _counts(curves: dict[str, Sorts]) -> Table:
    rows = [
        [
            str(size),
            *(
                f"{sorts[size].fault_count:,}" if size in sorts else "killed"
                for sorts in curves.values()
            ),
        ]
        for size in SIZES_MB
    ]
    return Table("Page faults by MB of numbers, each rank", ["MB", *curves], rows)


def _ranks(number: int) -> str:
    return "1 rank" if number == 1 else f"{number} ranks"


def _breakdown(sort: Sort) -> Table:
    rows = [
        [class_, *(f"{sort.kinds[activity, class_]:,}" for activity in ACTIVITIES)]
        for class_ in CLASSES
    ]
    sums = [sum(sort.kinds[activity, c] for c in CLASSES) for activity in ACTIVITIES]
    rows.append(["sum", *(f"{count:,}" for count in sums)])
    return Table(
        f"Faults by type, one rank, {sort.size_mb} MB, 16 MB of memory: {sum(sums):,} in all, "
        f"and {sort.paged_out():,} pages out of the machine's memory",
        ["", *ACTIVITIES],
        rows,
    )


def _explained(sorts: Sorts) -> tuple[float, float]:
    """The share of the variance that a line explains, and that an exponential explains."""
    x = np.array(list(sorts), float)
    y = np.array([sort.fault_count for sort in sorts.values()], float)
    line = np.polyval(np.polyfit(x, y, 1), x)
    exponential = np.exp(np.polyval(np.polyfit(x, np.log(y), 1), x))
    variance = float(((y - y.mean()) ** 2).sum())
    return 1 - ((y - line) ** 2).sum() / variance, 1 - ((y - exponential) ** 2).sum() / variance


def _judge_counts(free: dict[int, Sorts], limited: Sorts) -> list[Judgement]:
    by_ranks = [[sorts[size].fault_count for sorts in free.values()] for size in SIZES_MB]
    by_size = [[sort.fault_count for sort in sorts.values()] for sorts in free.values()]
    line, exponential = _explained(free[RANKS[1]])
    beyond = max(limited)
    below = [size for size in SIZES_MB if size < EDGE_MB]
    fit = np.polyfit(below, [limited[size].fault_count for size in below], 1)
    ratio = limited[beyond].fault_count / float(np.polyval(fit, beyond))
    before, after = (limited[size].kinds for size in (EDGE_MB - 1, beyond))
    new = sum(after.values()) - sum(before.values())
    swapping = sum(
        after[name, "internal"] - before[name, "internal"] for name in ("page-in", "reactivation")
    )
    out = [limited[size].paged_out() for size in (EDGE_MB - 1, beyond)]
    return [
        Judgement(
            "The count rises with the size of the sort and with the number of nodes.",
            all(a < b for curve in (*by_ranks, *by_size) for a, b in pairwise(curve)),
        ),
        Judgement(
            "It grows exponentially with the size: for three nodes that explains over 99 % of the "
            "variance.",
            exponential > max(0.99, line),
            "Where memory suffices each page has one fault, so the count grows linearly. A node of "
            "the report ran short of memory long before its edge.",
            f"on {_ranks(RANKS[1])} a line explains {100 * line:.2f} % of the variance, an "
            f"exponential {100 * exponential:.2f} %",
        ),
        Judgement(
            f"Near the end of a node's 16 MB, from {EDGE_MB} MB on, it leaves the curve; for one "
            "node it is several times what it was.",
            ratio > 2,
            "How much of the 16 MB is left for numbers depends on the system and its libraries.",
            f"at {beyond} MB {ratio:.1f} times what the line through sorts below {EDGE_MB} MB "
            "has there",
        ),
        Judgement(
            "What is new there belongs to swapping: internal page-ins, page-outs, reactivations.",
            2 * swapping > new > 0 and out[1] > out[0],
            "",
            f"from {EDGE_MB - 1} to {beyond} MB {swapping / max(new, 1):.0%} of the new faults "
            f"are internal page-ins and reactivations; pages out go from {out[0]:,} to {out[1]:,}",
        ),
    ]


def _judge_totals(curves: dict[str, Sorts]) -> Judgement:
    """Checks that the types of faults add up to the total; in the report they were more.

    The total is also compared with the kernel's accounting of the processes, which includes faults
    of exec that no instruction of the program causes.
    """
    worst_sum, worst_account = 0, 0.0
    for sort in (sort for sorts in curves.values() for sort in sorts.values()):
        summary = sort.observed.kernel.table("kernel_summary").to_pylist()
        faults = [row for row in summary if row["subsystem"] == "vm" and row["point"] != "page-out"]
        total = sum(row["count"] for row in faults if row["point"] == "total")
        parts = sum(row["count"] for row in faults if row["point"] != "total")
        worst_sum = max(worst_sum, abs(parts - total))
        mine = sort.observed.faults_traced()
        worst_account = max(worst_account, abs(mine / sort.observed.faults - 1))
    return Judgement(
        "What the report wanted and did not have: the types of faults add up to the total.",
        worst_sum == 0 and worst_account < 0.02,
        "",
        f"in all runs the parts differ from the total by {worst_sum}, and what was traced of all "
        f"processes from what the kernel charges them with by at most {100 * worst_account:.2f} %",
    )


# ---- Phases (7.5.2)


@dataclass(frozen=True)
class Busy:
    """The time of one rank by activity, in ns."""

    time: int  # all of it
    running: int
    ready: int  # ready to run, but another thread had the processor
    faulting: int  # in page faults

    @property
    def wanted(self) -> float:
        """Share of the time in which the rank had or wanted the processor."""
        return (self.running + self.ready) / max(self.time, 1)


def _top_rank(sort: Sort) -> tuple[int, list[Phase]]:
    return list(sort.phases.items())[-1]


def _busy(sort: Sort) -> dict[str, Busy]:
    """The activities of the highest rank by phase."""
    process, phases = _top_rank(sort)
    kernel = sort.observed.kernel
    activity = activity_of(kernel, process)
    faulting = spans_of(kernel, process, "vm", "total")
    found: dict[str, Busy] = {}
    for name in dict.fromkeys(phase.name for phase in phases):
        begin, end = np.array([(p.begin_ns, p.end_ns) for p in phases if p.name == name]).T
        found[name] = Busy(
            int((end - begin).sum()),
            *(
                int(spans.within(begin, end).sum())
                for spans in (activity.running, activity.ready, faulting)
            ),
        )
    return found


def _by_phase(sort: Sort) -> Table:
    busy = _busy(sort)
    parts = list(busy.values())
    whole = Busy(*(sum(getattr(part, name) for part in parts) for name in Busy.__annotations__))
    rows = [
        [
            name,
            *(f"{1e-6 * getattr(one, key):.2f}" for key in Busy.__annotations__),
            f"{one.running / max(one.time, 1):.0%}",
            f"{one.faulting / max(one.time, 1):.1%}",
        ]
        for name, one in (*busy.items(), ("sum", whole))
    ]
    columns = ("phase", "time, ms", "running, ms", "ready, ms", "in faults, ms", "CPU", "VM")
    return Table(f"The highest rank by phase: {_what(sort)}", columns, rows)


def _what(sort: Sort) -> str:
    return f"{_ranks(len(sort.phases))}, {sort.size_mb} MB each"


def _load(sort: Sort) -> Diagram:
    """The use of processor and faults over time. Faults are divided at the ends of intervals, so
    that no interval has more time in faults than its length."""
    process, phases = _top_rank(sort)
    zero, end = phases[0].begin_ns, phases[-1].end_ns
    edges = np.linspace(zero, end, INTERVALS + 1).astype(np.int64)
    length = np.diff(edges)
    activity = activity_of(sort.observed.kernel, process)
    spans = {
        "processor: running": activity.running,
        "processor: wanted, and not had": activity.ready,
        "page faults": spans_of(sort.observed.kernel, process, "vm", "total"),
    }
    middle = 1e-9 * (edges[:-1] + length / 2 - zero)
    return Diagram(
        f"Processor and faults of the highest rank by phase: {_what(sort)}",
        "s since its first stamp",
        "share of the time",
        {
            name: list(zip(middle, one.within(edges[:-1], edges[1:]) / length, strict=True))
            for name, one in spans.items()
        },
        bands=[Band(1e-9 * (p.begin_ns - zero), 1e-9 * (p.end_ns - zero), p.name) for p in phases],
    )


def _judge_phases(limited: Sort, free: Sort) -> list[Judgement]:
    busy = _busy(free)
    sort, wait = busy["sort"], busy["donewait"]
    files = [busy[name] for name in ("read", "write")]
    file_wanted = sum(one.running + one.ready for one in files) / sum(one.time for one in files)
    peaks = [max(share for _, share in curve) for curve in _load(limited).curves.values()]
    return [
        Judgement(
            "The processor is very busy while sorting.",
            sort.wanted > 0.95,
            "",
            f"{sort.wanted:.1%} of the time the rank ran or was ready to",
        ),
        Judgement(
            "It is moderately busy in I/O.",
            file_wanted < 0.8,
            "Files of this size stay in the kernel's memory: to read or write them is to copy, "
            "and the processor does that.",
            f"{file_wanted:.1%}",
        ),
        Judgement(
            "It is fully busy while the rank only waits for others (donewait): the MPI library "
            "polls.",
            wait.wanted > 0.95,
            "",
            f"{wait.wanted:.1%} of {1e-6 * wait.time:.0f} ms",
        ),
        Judgement(
            "What the report wanted and did not have: no interval spends more than its length in "
            "faults.",
            max(peaks) <= 1,
            "",
            f"the most is {max(peaks):.1%}",
        ),
    ]


OBSERVATION = Observation(NAME, TITLE, SOURCE, observe)
