"""Who occupied the processors, how long and how often: from stays on processors to requests.

A stay is the time from when a thread got a processor until it left it. A request is what the thread
needed between two waits: one stay, or several if the kernel preempted it in between. All times are
in nanoseconds until `Lengths`, which has seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sesame.datasets.describe import count_of
from sesame.errors import InputError
from sesame.overhead.waits import FILE, MESSAGE, OTHER, Events, events_of, ints_of
from sesame.trust import Doubt, Reason

if TYPE_CHECKING:
    from sesame.datasets import DataSet

Ints = NDArray[np.int64]
Array = NDArray[np.float64]
CPU, NETWORK, DISK, PAUSE, INTERARRIVAL = "cpu", "network", "disk", "pause", "interarrival"
QUANTITIES = (CPU, NETWORK, DISK, PAUSE, INTERARRIVAL)
APPLICATION, DAEMON, MAIN, OTHERS = "application", "daemon", "main", "other processes"
# Names of threads of our own daemon and recorder.
DAEMON_NAMES = ("sesamed*", "sesame*")
PREEMPTED = "preempted"
# A thread of the application counts as a process if, while it exists, it uses the processor at
# this share of the rate at which the threads do that have most of the work.
COUNTED_SHARE = 0.01
# Threads of which more than this share exist at a time, in the mean, exist all the time: they start
# and end with the job, one a little later than another.
ALL_SHARE = 0.9
# Threads of a daemon that work within this time after each other work for the same sample: one
# reads, another sends. The shortest period of ours is 50 ms.
SAME_SAMPLE_NS = 3_000_000


@dataclass(frozen=True)
class Stays:
    """Stays on processors in any order. `wait_ns`: how long the thread was ready before; 0 where
    that is unknown. `names`: the thread's name at the time, an index into `commands`."""

    begin_ns: Ints
    length_ns: Ints
    wait_ns: Ints
    thread: Ints
    names: Ints
    is_preempted: NDArray[np.bool_]
    commands: tuple[str, ...]
    processors: int
    events: Events | None = None  # from which is seen what threads waited for

    @property
    def span_ns(self) -> int:
        ends = self.begin_ns + self.length_ns
        return int(ends.max() - self.begin_ns.min()) if len(ends) else 0


@dataclass
class Lengths:
    """Measured lengths in seconds, in order of time: by class, then by quantity."""

    classes: dict[str, dict[str, Array]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)  # processes of closed classes at a time
    doubts: list[Doubt] = field(default_factory=list)
    # Network and disk lengths are times that threads waited, queueing included.
    has_waits: bool = False
    processors: int = 1
    seconds: float = 0.0
    # Processor time by command, s, the largest first.
    commands: dict[str, float] = field(default_factory=dict)


def stays_of(data_set: DataSet) -> Stays:
    """The stays in a kernel trace of the points sched.run and, if it has it, sched.wait. Raises
    InputError if there are none."""
    path = str(data_set.path)
    missing = "`sesame measure run --trace sched -o NAME.sesame -- COMMAND` records them"
    if not data_set.has("kernel_event"):
        raise InputError("no events of the scheduler in it", path=path, hint=missing)
    columns = ["time_ns", "duration_ns", "subsystem", "point", "class", "pid", "cpu", "command"]
    table = data_set.table("kernel_event", columns)
    import pyarrow.compute as pc

    ours = table.filter(pc.equal(table["subsystem"].cast("string"), "sched"))
    run = ours.filter(pc.equal(ours["point"].cast("string"), "run"))
    run = run.filter(pc.greater(run["duration_ns"], 0))
    if not len(run):
        raise InputError("no event sched.run with a duration in it", path=path, hint=missing)
    end, length, thread = (ints_of(run[name]) for name in ("time_ns", "duration_ns", "pid"))
    names = run["command"].cast("string").combine_chunks().dictionary_encode()
    wait = ours.filter(pc.equal(ours["point"].cast("string"), "wait"))
    begin = end - length
    waits = _waits(begin, thread, *(ints_of(wait[n]) for n in ("time_ns", "pid", "duration_ns")))
    is_preempted = run["class"].cast("string").to_numpy() == PREEMPTED
    processors = data_set.info.host.processors or int(ints_of(table["cpu"]).max()) + 1
    return Stays(
        begin,
        length,
        waits,
        thread,
        names.indices.to_numpy(zero_copy_only=False).astype(np.int64),
        is_preempted,
        tuple(names.dictionary.to_pylist()),
        processors,
        events_of(table),
    )


def _waits(begin: Ints, thread: Ints, got_at: Ints, who: Ints, waited: Ints) -> Ints:
    """How long each stay's thread waited for it: the wait of that thread that ended when the stay
    began. The kernel takes one time for both; a microsecond is allowed for rounding."""
    if not len(got_at):
        return np.zeros(len(begin), np.int64)
    order = np.lexsort((got_at, who))
    got_at, who, waited = got_at[order], who[order], waited[order]
    found = np.zeros(len(begin), np.int64)
    for one in np.unique(thread):
        own = np.flatnonzero(thread == one)
        low, high = np.searchsorted(who, [one, one + 1])
        if low == high:
            continue
        places = np.searchsorted(got_at[low:high], begin[own] + 1000, side="right") - 1
        near = (places >= 0) & (np.abs(got_at[low:high][places] - begin[own]) <= 1000)
        found[own[near]] = waited[low:high][places[near]]
    return found


def lengths_of(stays: Stays, application: str | None = None, daemon: str | None = None) -> Lengths:
    """The requests by class. `application` and `daemon` are patterns (`*`) of thread names; without
    them the application is the command with the most processor time, and the daemon is ours.
    Raises InputError if no thread has such a name."""
    totals = np.bincount(stays.names, stays.length_ns, len(stays.commands)) * 1e-9
    order = np.argsort(-totals, kind="stable")
    commands = {stays.commands[number]: float(totals[number]) for number in order}
    known = list(commands)
    daemons = _matching(known, (daemon,) if daemon else DAEMON_NAMES, daemon, "daemon")
    rest = [name for name in known if name not in daemons and not _is_idle(name)]
    if application is not None:
        chosen = _matching(rest, (application,), application, "application")
    else:
        chosen = rest[:1]
    others = [name for name in rest if name not in chosen]
    found = Lengths(
        has_waits=stays.events is not None,
        processors=stays.processors,
        seconds=stays.span_ns * 1e-9,
        commands=commands,
    )
    for name, members in ((APPLICATION, chosen), (DAEMON, daemons), (OTHERS, others)):
        requests = _Requests(stays, members)
        if requests.count == 0:
            continue
        is_closed = name == APPLICATION
        if is_closed:
            found.classes[name] = requests.closed()
        else:
            found.classes[name] = requests.open(SAME_SAMPLE_NS if name == DAEMON else 0)
        if is_closed:
            found.counts[name], threads = requests.processes()
            if threads > found.counts[name]:
                found.doubts.append(_not_at_once(name, threads, found.counts[name]))
    return found


def _not_at_once(name: str, threads: int, count: int) -> Doubt:
    text = f"{name}: {threads} threads ran, but {count} at a time in the mean"
    hint = f"the model has {count_of(count, 'process')} at all times: write another count into it"
    return Doubt(Reason.MODEL_LIMIT, text, hint)


def _seconds(nanoseconds: Ints) -> Array:
    return np.asarray(nanoseconds, np.float64) * 1e-9


def _is_idle(command: str) -> bool:
    return command.startswith("swapper")


def _matching(
    known: list[str], patterns: tuple[str, ...], given: str | None, what: str
) -> list[str]:
    found = [name for name in known if any(fnmatchcase(name, one) for one in patterns)]
    if given is not None and not found:
        most = ", ".join(known[:8])
        raise InputError(f'--{what} {given}: no thread has this name, there are "{most}"')
    return found


class _Requests:
    """The requests of the threads with some names, in order of their arrival."""

    def __init__(self, stays: Stays, commands: list[str]) -> None:
        wanted = [stays.commands.index(name) for name in commands]
        own = np.flatnonzero(np.isin(stays.names, wanted))
        own = own[np.lexsort((stays.begin_ns[own], stays.thread[own]))]
        thread, length = stays.thread[own], stays.length_ns[own]
        begin = stays.begin_ns[own]
        # A request begins with a thread's first stay and after each stay that it ended itself.
        first = np.ones(len(own), bool)
        first[1:] = (thread[1:] != thread[:-1]) | ~stays.is_preempted[own][:-1]
        starts = np.flatnonzero(first)
        lasts = np.append(starts[1:], len(own))[: len(starts)] - 1
        self._events = stays.events
        self.thread = thread[starts]
        self.arrival = begin[starts] - stays.wait_ns[own][starts]
        self.length = np.add.reduceat(length, starts) if len(starts) else np.zeros(0, np.int64)
        self.end = begin[lasts] + length[lasts]
        self.count = len(starts)

    def processes(self) -> tuple[int, int]:
        """How many threads existed at a time, in the mean while there was any, and how many in all.
        A thread exists from its first request to the end of its last."""
        order = np.argsort(self.thread, kind="stable")
        starts = np.flatnonzero(np.diff(self.thread[order], prepend=self.thread.min() - 1))
        begin = np.minimum.reduceat(self.arrival[order], starts)
        end = np.maximum.reduceat(self.end[order], starts)
        busy = np.add.reduceat(self.length[order], starts)
        rate = busy / (end - begin)
        is_counted = rate >= COUNTED_SHARE * np.average(rate, weights=busy)
        begin, end = begin[is_counted], end[is_counted]
        mean = float((end - begin).sum() / covered(begin, end))
        return len(begin) if mean > ALL_SHARE * len(begin) else max(1, round(mean)), len(begin)

    def closed(self) -> dict[str, Array]:
        """Lengths, and the pauses between requests of the same thread. Those in which it waited
        for a message or a file are network and disk requests; each has a length of 0 in cycles
        that waited for something else."""
        same = self.thread[1:] == self.thread[:-1]
        pauses = np.maximum(self.arrival[1:] - self.end[:-1], 0)[same]
        order = np.argsort(self.arrival, kind="stable")
        found = {CPU: _seconds(self.length[order])}
        reasons = self._reasons(same)
        for quantity, reason in ((NETWORK, MESSAGE), (DISK, FILE), (PAUSE, OTHER)):
            lengths = np.where(reasons == reason, pauses, 0)
            if (lengths > 0).any():
                found[quantity] = _seconds(lengths)
        return found

    def _reasons(self, same: NDArray[np.bool_]) -> Ints:
        """Why each pause was made. Threads come one after the other."""
        if self._events is None:
            return np.full(int(same.sum()), OTHER)
        before, after = np.flatnonzero(same), np.flatnonzero(same) + 1
        threads = self.thread[before]
        found = [
            self._events.reasons(
                int(one), self.end[before[own]], self.arrival[after[own]], self.end[after[own]]
            )
            for one in np.unique(threads)
            for own in [threads == one]
        ]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def open(self, same_ns: int = 0) -> dict[str, Array]:
        """Lengths, and the intervals between arrivals of any of the threads. Requests that follow
        each other within `same_ns` count as one."""
        order = np.argsort(self.arrival, kind="stable")
        arrival, length = self.arrival[order], self.length[order]
        if same_ns:
            ends = np.maximum.accumulate(self.end[order])
            begins = np.flatnonzero(np.append(True, arrival[1:] - ends[:-1] > same_ns))
            arrival, length = arrival[begins], np.add.reduceat(length, begins)
        return {CPU: _seconds(length), INTERARRIVAL: _seconds(np.diff(arrival))}


def covered(begin: Ints, end: Ints) -> int:
    """The length of the union of some intervals, none of which is empty."""
    order = np.argsort(begin)
    begin, end = begin[order], np.maximum.accumulate(end[order])
    gaps = np.maximum(begin[1:] - end[:-1], 0)
    return int(end[-1] - begin[0] - gaps.sum())
