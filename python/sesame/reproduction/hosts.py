"""Figure 8.6 of the SESAME report: speed-up of the simulator by its number of hosts, from a model.

Several hosts are not used. What a simulation does is counted, with workers of this host, and each
part has a cost; docs/models/parallel.md has the formula and what it assumes. The figure's numbers
are not legible: what is compared is what the report says of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sesame.reproduction.counting import Counting, Setup, Variant
from sesame.reproduction.outcome import Diagram, Judgement, Outcome, Table

SOURCE = "SESAME report, section 8.1.5"
# Of the machine `sp2`, on which the report ran target and simulator. Of a message's latency, all
# but the switch's 0.5 us is processor time of sender and receiver.
LATENCY_S = 40e-6
OVERHEADS_S = 2 * 19.75e-6
TARGETS = (4, 9, 16)  # ranks of BT, class S, as in the report
LARGE_RANKS = 256
LARGE = Variant("large", problem="W")  # class S has too few cells for 256 ranks
HOSTS = (2, 16, 256)
LEAST_SHARE = 0.8  # of the speed-up without a protocol, that counts as a small overhead


@dataclass(frozen=True)
class Load:
    """What a simulation does. Times are those of one host's processor, s."""

    computed_s: Sequence[float]  # by rank
    messages: int
    message_s: float  # what the simulator itself needs for a message
    predicted_s: float  # the program on as many hosts as it has ranks

    @property
    def alone_s(self) -> float:
        return sum(self.computed_s) + self.messages * self.message_s

    def share(self, hosts: int) -> float:
        """Of all work, that of the host with the most: ranks are divided in blocks."""
        ranks = len(self.computed_s)
        each_s = self.messages * self.message_s / ranks
        work_s = [0.0] * hosts
        for rank, computed_s in enumerate(self.computed_s):
            work_s[rank * hosts // ranks] += computed_s + each_s
        return max(work_s) / self.alone_s

    def bound(self, hosts: int) -> float:
        """The speed-up if messages between hosts and synchronisation took no time."""
        return self.alone_s / max(self.share(hosts) * self.alone_s, self.predicted_s)


@dataclass(frozen=True)
class Traffic:
    """Between the hosts."""

    frames: int = 0  # messages of the program
    rounds: float = 0  # of the protocol, for each host


def speed_up(load: Load, hosts: int, traffic: Traffic) -> float:
    steps = (hosts - 1).bit_length()  # of a tree, for a round of all hosts
    protocol_s = traffic.frames / hosts * OVERHEADS_S + traffic.rounds * steps * LATENCY_S
    return load.alone_s / (load.alone_s / load.bound(hosts) + protocol_s)


@dataclass(frozen=True)
class Point:
    """A number of hosts for one target."""

    hosts: int
    load: Load
    with_shortcut: Traffic
    without: Traffic | None  # None: not counted

    @property
    def speed_up(self) -> float:
        return speed_up(self.load, self.hosts, self.with_shortcut)

    @property
    def share_of_bound(self) -> float:
        return self.speed_up / self.load.bound(self.hosts)


def load_of(counting: Counting, ranks: int, variant: Variant, ratio: float) -> Load:
    """`ratio`: how much slower the report's processor is than this one."""
    result = counting.alone("bt", ranks, variant).result
    computed_s = tuple(result["rank_table"]["compute_s"])
    # Processor time, which other load of this host disturbs less than elapsed time.
    simulator_s = result["host_process"]["cpu_time_s"] - sum(computed_s) / ratio
    return Load(
        computed_s,
        result["messages"],
        max(simulator_s, 0.0) * ratio / result["messages"],
        result["predicted_time_s"],
    )


def calculate(counting: Counting) -> Outcome:
    ratio = counting.fit("bt", 9, 24.81)  # look-aheads of uninterrupted execution, Table 8-2
    points: dict[int, list[Point]] = {}
    for ranks in TARGETS:
        load = load_of(counting, ranks, Variant(), ratio)
        points[ranks] = [
            _counted(counting, load, hosts)
            for hosts in (2, 4, 8, 9, 16)
            if hosts == ranks or (hosts < ranks and hosts != 9)
        ]
    large = load_of(counting, LARGE_RANKS, LARGE, ratio)
    points[LARGE_RANKS] = [_large(counting, large, hosts) for hosts in HOSTS]
    return outcome_of(points)


def _counted(counting: Counting, load: Load, hosts: int) -> Point:
    ranks = len(load.computed_s)
    shortcut = counting.count("bt", ranks, Setup(hosts))
    without = counting.count("bt", ranks, Setup(hosts, shortcut=False))
    return Point(
        hosts,
        load,
        Traffic(shortcut.frames, shortcut.rounds),
        Traffic(without.frames, without.rounds),
    )


def _large(counting: Counting, load: Load, hosts: int) -> Point:
    """With a rank on each host all messages are between hosts, and BT needs no synchronisation."""
    if hosts == LARGE_RANKS:
        return Point(hosts, load, Traffic(load.messages), None)
    count = counting.count("bt", LARGE_RANKS, Setup(hosts, variant=LARGE))
    return Point(hosts, load, Traffic(count.frames, count.rounds), None)


def outcome_of(points: dict[int, list[Point]]) -> Outcome:
    """`points`: by number of ranks."""
    last = {ranks: points[ranks][-1] for ranks in TARGETS}
    return Outcome(
        "figure-8-6",
        "Figure 8.6: speed-up of simulating BT by number of hosts, from a model of the protocol",
        SOURCE,
        [
            Judgement(
                "The protocol takes little of the speed-up: with a rank on each host at least "
                f"{100 * LEAST_SHARE:.0f} % of what computing and simulating messages allow.",
                all(point.share_of_bound >= LEAST_SHARE for point in last.values()),
                seen=", ".join(
                    f"{ranks} hosts: {point.speed_up:.2f} of {point.load.bound(ranks):.2f}"
                    for ranks, point in last.items()
                ),
            )
        ],
        [
            Table(
                "BT on hosts like the report's; class S, with 256 ranks class W",
                ["ranks", "hosts", "bound", "messages between hosts", "speed-up", "no shortcut"],
                [_row(ranks, point) for ranks, of_ranks in points.items() for point in of_ranks],
            )
        ],
        [
            Diagram(
                "Speed-up for BT",
                "hosts",
                "speed-up",
                {
                    f"{ranks} ranks": [(1.0, 1.0), *((p.hosts, p.speed_up) for p in of_ranks)]
                    for ranks, of_ranks in points.items()
                },
                is_logarithmic=True,
            )
        ],
        [f"bt -n {ranks}, {p.hosts} workers" for ranks, all_ in points.items() for p in all_],
    )


def _row(ranks: int, point: Point) -> list[str]:
    without = point.without
    return [
        str(ranks),
        str(point.hosts),
        f"{point.load.bound(point.hosts):.2f}",
        f"{point.with_shortcut.frames:,}",
        f"{point.speed_up:.2f}",
        "" if without is None else f"{speed_up(point.load, point.hosts, without):.2f}",
    ]
