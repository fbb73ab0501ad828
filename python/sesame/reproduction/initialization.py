"""Section 7.2 of the SESAME report: what MPI_Init does on n ranks, message by message.

The report's nodes sent each other messages of zero and four bytes. Today a process manager connects
the ranks: mpiexec starts a proxy on each node, and ranks exchange messages with it through sockets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from sesame.reproduction.observed import Laboratory, Observation, Observed, events_of
from sesame.reproduction.outcome import Arrow, Bar, Diagram, Judgement, Lanes, Outcome, Table

NAME = "sesame-7.2"
TITLE = "What MPI_Init does, message by message"
SOURCE = "SESAME report, section 7.2"
RANKS = (1, 2, 4, 8)
DRAWN = 4
LISTED = 40
TRACE = ("ipc.send", "ipc.receive", "task.create")
INITS = ("MPI_Init", "MPI_Init_thread")
MANAGERS = ("mpiexec", "proxy")


@dataclass(frozen=True)
class Message:
    """A message through a socket. Times are those of the kernel's records."""

    source: str
    destination: str
    bytes: int
    sent_ns: int
    received_ns: int


@dataclass(frozen=True)
class Start:
    """A run that does little but MPI_Init."""

    observed: Observed

    @cached_property
    def inits(self) -> dict[int, tuple[int, int]]:
        """Begin and end of MPI_Init by rank."""
        calls = self.observed.calls("mpi")
        return {one.rank: (one.begin_ns, one.end_ns) for one in calls if one.name in INITS}

    @property
    def begin_ns(self) -> int:
        return min(begin for begin, _ in self.inits.values())

    @property
    def end_ns(self) -> int:
        return max(end for _, end in self.inits.values())

    @cached_property
    def names(self) -> dict[int, str]:
        """The names of the processes that take part, by process id."""
        names = {one.process: f"rank {one.rank}" for one in self.observed.calls("mpi")}
        events = events_of(self.observed.kernel, subsystem="ipc")
        mine = self.observed.processes()
        for process, command in set(zip(events["process"], events["command"], strict=True)):
            if int(process) in mine and int(process) not in names:
                names[int(process)] = MANAGERS[0 if "mpi" in command[:4] else 1]
        return names

    @cached_property
    def messages(self) -> list[Message]:
        """Messages from the first rank's entry into MPI_Init to the last one's return, by time."""
        events = events_of(self.observed.kernel, subsystem="ipc")
        mine = np.isin(events["process"], list(self.names))
        mine &= events["where"] != 0
        rows = zip(
            *(events[name][mine].tolist() for name in ("where", "process", "point")),
            *(events[name][mine].tolist() for name in ("time_ns", "bytes")),
            strict=True,
        )
        ends: dict[tuple[int, int, str], list[tuple[int, int]]] = {}
        for where, process, point, time, size in rows:
            ends.setdefault((where, process, point), []).append((time, size))
        found = [
            message
            for (where, process, point), sent in ends.items()
            if point == "send"
            for other in {p for w, p, _ in ends if w == where and p != process}
            for message in self._matched(process, other, sent, ends.get((where, other, "receive")))
        ]
        inside = [one for one in found if self.begin_ns <= one.sent_ns <= self.end_ns]
        return sorted(inside, key=lambda message: message.sent_ns)

    def _matched(
        self,
        source: int,
        destination: int,
        sent: list[tuple[int, int]],
        received: list[tuple[int, int]] | None,
    ) -> list[Message]:
        """Matches the sends and receives of a socket by the number of bytes, since a socket keeps
        their order.

        The kernel records a call when it ends. If the receive ended before the send did, the
        message is taken to be sent when it was received.
        """
        times, sizes = np.array(received or [(0, 0)]).T
        place = np.searchsorted(np.cumsum(sizes), np.cumsum([size for _, size in sent]))
        names = (self.names[source], self.names[destination])
        return [
            Message(*names, size, min(time, int(times[at])), int(times[at]))
            for (time, size), at in zip(sent, place.tolist(), strict=True)
            if at < len(times)
        ]

    def asked_kernel(self) -> int:
        """The number of messages from ranks to the kernel (netlink): sends without a peer."""
        sent = events_of(self.observed.kernel, subsystem="ipc", point="send")
        time = sent["time_ns"]
        mine = np.isin(sent["process"], [p for p, name in self.names.items() if "rank" in name])
        inside = (time >= self.begin_ns) & (time <= self.end_ns)
        return int((mine & inside & (sent["where"] == 0)).sum())

    def kinds(self) -> Counter[str]:
        return Counter(_kind(one) for one in self.messages)


def _kind(message: Message) -> str:
    ends = (message.source, message.destination)
    source, destination = ("rank" if name.startswith("rank") else name for name in ends)
    return f"{source} to {destination}"


KINDS = (
    "rank to rank",
    "rank to proxy",
    "proxy to mpiexec",
    "mpiexec to proxy",
    "proxy to rank",
)
Starts = dict[int, Start]


def observe(laboratory: Laboratory, say: Callable[[str], None]) -> Outcome:
    starts: Starts = {}
    for ranks in RANKS:
        say(f"MPI_Init on {ranks}")
        options = ("--count", str(100 * ranks))
        starts[ranks] = Start(
            laboratory.run("sesame-sort", options, ranks, trace=TRACE, is_traced=True)
        )
    return Outcome(
        NAME,
        TITLE,
        SOURCE,
        judgements=_judge(starts),
        tables=[_growth(starts), _rounds(starts), _listed(starts[2])],
        diagrams=[_drawn(starts[DRAWN]), _curves(starts)],
        commands=[start.observed.command for start in starts.values()],
    )


def _growth(starts: Starts) -> Table:
    rows = []
    for kind in KINDS:
        rows.append([kind, *(f"{start.kinds()[kind]:,}" for start in starts.values())])
    every = [start.messages for start in starts.values()]
    rows.append(
        ["rank to the kernel (netlink)", *(str(one.asked_kernel()) for one in starts.values())]
    )
    rows.append(["messages", *(f"{len(messages):,}" for messages in every)])
    rows.append(["bytes", *(f"{sum(one.bytes for one in messages):,}" for messages in every)])
    times = [1e-6 * (start.end_ns - start.begin_ns) for start in starts.values()]
    rows.append(["time of MPI_Init, ms", *(f"{time:.1f}" for time in times)])
    return Table(
        "Messages between the first rank's entry into MPI_Init and the last one's return, by ranks",
        ["", *(str(ranks) for ranks in starts)],
        rows,
    )


def _rounds(starts: Starts) -> Table:
    """The rounds of MPI_Init. In each, ranks wait until the proxy has an answer from mpiexec."""
    rows = []
    for ranks, start in starts.items():
        gaps = _gaps(start)
        rows.append([str(ranks), str(len(gaps)), ", ".join(f"{gap:.2f}" for gap in gaps)])
    return Table(
        "Rounds: the proxy reports to mpiexec that all of its ranks have arrived, and may continue",
        ["ranks", "rounds", "from round to round, ms"],
        rows,
    )


def _round_ends(start: Start) -> list[int]:
    """The times of mpiexec's answers: its first message after one of the proxy."""
    between = [one for one in start.messages if set(MANAGERS) == {one.source, one.destination}]
    return [
        answer.sent_ns
        for asked, answer in pairwise(between)
        if asked.source == "proxy" and answer.source == "mpiexec"
    ]


def _gaps(start: Start) -> list[float]:
    gaps: list[float] = (1e-6 * np.diff([start.begin_ns, *_round_ends(start)])).tolist()
    return gaps


def _arrived(start: Start) -> list[int]:
    """The number of ranks that have sent a message in each round before its end."""
    ends = _round_ends(start)
    return [
        len(
            {
                one.source
                for one in start.messages
                if _kind(one) == "rank to proxy" and begin < one.sent_ns < end
            }
        )
        for begin, end in pairwise([start.begin_ns, *ends])
    ]


def _listed(start: Start) -> Table:
    rows = [
        [
            one.source,
            one.destination,
            str(one.bytes),
            f"{1e-3 * (one.sent_ns - start.begin_ns):,.1f}",
            f"{1e-3 * (one.received_ns - start.begin_ns):,.1f}",
        ]
        for one in start.messages[:LISTED]
    ]
    return Table(
        f"The first {len(rows)} messages on 2 ranks; times in µs since MPI_Init was entered",
        ["from", "to", "bytes", "sent", "received"],
        rows,
    )


def _drawn(start: Start) -> Lanes:
    zero = start.begin_ns
    ranks = [f"rank {rank}" for rank in sorted(start.inits)]
    return Lanes(
        f"MPI_Init on {len(ranks)} ranks",
        "ms",
        [*MANAGERS, *ranks],
        [
            Bar(f"rank {rank}", 1e-6 * (begin - zero), 1e-6 * (end - zero), "MPI_Init", "MPI_Init")
            for rank, (begin, end) in start.inits.items()
        ],
        [
            Arrow(
                one.source,
                1e-6 * (one.sent_ns - zero),
                one.destination,
                1e-6 * (one.received_ns - zero),
                f"{one.bytes} bytes from {one.source} to {one.destination}",
            )
            for one in start.messages
        ],
    )


def _curves(starts: Starts) -> Diagram:
    return Diagram(
        "Messages of MPI_Init by number of ranks",
        "ranks",
        "messages",
        {kind: [(ranks, start.kinds()[kind]) for ranks, start in starts.items()] for kind in KINDS},
    )


def _judge(starts: Starts) -> list[Judgement]:
    between = sum(start.kinds()["rank to rank"] for start in starts.values())
    asked = {ranks: start.kinds()["rank to proxy"] for ranks, start in starts.items()}
    # Messages of each rank to the proxy, on few and on many ranks; a single rank is left out.
    few, many = (asked[ranks] / ranks for ranks in (RANKS[1], RANKS[-1]))
    largest = starts[RANKS[-1]]
    paths = [start.kinds() for start in starts.values()]
    times = [start.end_ns - start.begin_ns for start in starts.values()]
    return [
        Judgement(
            "Each node sends a message to each other node.",
            between > 0,
            "Ranks of one node find each other in shared memory, which the proxy named; no "
            "socket is between them.",
            f"{between} messages from rank to rank",
        ),
        Judgement(
            "Messages go along a hierarchy to one process, and an answer comes back the same way.",
            all(path[kind] > 0 for path in paths for kind in KINDS[1:]),
            "",
            f"on {RANKS[-1]} ranks "
            + ", ".join(f"{kind}: {largest.kinds()[kind]}" for kind in KINDS[1:]),
        ),
        Judgement(
            "It works in phases, and no rank continues before the last one has arrived.",
            all(n == len(start.inits) for start in starts.values() for n in _arrived(start)),
            "",
            f"{len(_arrived(largest))} rounds on {RANKS[-1]} ranks; before mpiexec lets the proxy "
            f"continue in each, of {RANKS[-1]} ranks "
            + ", ".join(map(str, _arrived(largest)))
            + " have sent a message",
        ),
        Judgement(
            "The number of messages grows with the square of the number of nodes.",
            many > 2 * few,
            "On one node the messages of each rank do not depend on the number of ranks: the first "
            "gives its address to the process manager, all others to each other in memory. Only "
            "more nodes would need more messages.",
            "ranks ask the proxy "
            + ", ".join(f"{count} times on {ranks}" for ranks, count in asked.items())
            + f": {few:g} times each on {RANKS[1]}, {many:g} on {RANKS[-1]}",
        ),
        Judgement(
            "Its time does not visibly depend on the number of nodes.",
            max(times) < 1.5 * min(times),
            "Here there are more ranks than processors, so the work of ranks is serialized.",
            ", ".join(f"{n}: {1e-6 * time:.1f} ms" for n, time in zip(starts, times, strict=True)),
        ),
    ]


OBSERVATION = Observation(NAME, TITLE, SOURCE, observe)
