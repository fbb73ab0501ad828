"""Figure 8.6 of the SESAME report: speed-up of the simulator by its number of hosts, from a model.

Several hosts are not used. What a simulation does is counted, with workers of this host, and each
part has a cost; docs/models/parallel.md has the formula and what it assumes. The figure's numbers
are not legible: what is compared is what the report says of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from sesame.reproduction.counting import Counting, Setup, Variant
from sesame.reproduction.outcome import Diagram, Judgement, Outcome, Table
from sesame.reproduction.schedule import Costs, Program, program_of, schedule

SOURCE = "SESAME report, section 8.1.5"
# Of the machine `sp2`, on which the report ran target and simulator. Of a message's latency, all
# but the switch's 0.5 us is processor time of sender and receiver.
LATENCY_S = 40e-6
OVERHEADS_S = 2 * 19.75e-6
TARGETS = (4, 9, 16)  # ranks of BT, class S, as in the report
LARGE_RANKS = 256
# Class S has too few cells for 256 ranks; all steps are alike.
LARGE = Variant("large", ("--steps", "10"), problem="W")
HOSTS = (2, 16, 256)
LEAST_SHARE = 0.8  # of the smaller in the larger of two speed-ups, for one to tell of the other


@dataclass(frozen=True)
class Load:
    """What a simulation does. Times are those of one host's processor, s."""

    program: Program
    message_s: float  # what the simulator itself needs for a message

    @property
    def alone_s(self) -> float:
        return self.program.computed_s + len(self.program.receivers) * self.message_s


@dataclass(frozen=True)
class Traffic:
    """Between the hosts."""

    frames: int = 0  # messages of the program
    rounds: float = 0  # of the protocol, for each host


@dataclass(frozen=True)
class Point:
    """A number of hosts for one target. Times: s."""

    hosts: int
    alone_s: float  # with one host
    bound_s: float  # if messages between hosts and synchronisation took no time
    own: float  # the speed-up of the program itself, executed by these hosts
    end_s: float  # without rounds of a protocol
    idle_share: float  # of the time of all hosts until then
    with_shortcut: Traffic
    without: Traffic | None  # None: not counted

    @property
    def bound(self) -> float:
        return self.alone_s / self.bound_s

    def speed_up_with(self, traffic: Traffic) -> float:
        steps = (self.hosts - 1).bit_length()  # of a tree, for a round of all hosts
        return self.alone_s / (self.end_s + traffic.rounds * steps * LATENCY_S)

    @property
    def speed_up(self) -> float:
        return self.speed_up_with(self.with_shortcut)

    @property
    def share_of_own(self) -> float:
        return self.speed_up / self.own


def point_of(load: Load, hosts: int, with_shortcut: Traffic, without: Traffic | None) -> Point:
    free = schedule(load.program, hosts, Costs(load.message_s))
    real = schedule(load.program, hosts, Costs(load.message_s, OVERHEADS_S, LATENCY_S))
    own = schedule(load.program, hosts, Costs(0.0, OVERHEADS_S, LATENCY_S))
    return Point(
        hosts,
        load.alone_s,
        free.end_s,
        load.program.computed_s / own.end_s,
        real.end_s,
        real.idle_share,
        with_shortcut,
        without,
    )


def load_of(counting: Counting, ranks: int, variant: Variant, ratio: float) -> Load:
    """`ratio`: how much slower the report's processor is than this one."""
    result = counting.alone("bt", ranks, variant).result
    # Processor time, which other load of this host disturbs less than elapsed time.
    computed_s = sum(result["rank_table"]["compute_s"]) / ratio
    simulator_s = result["host_process"]["cpu_time_s"] - computed_s
    return Load(
        program_of(counting.recorded("bt", ranks, variant), ratio),
        max(simulator_s, 0.0) * ratio / result["messages"],
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
    ranks = len(load.program.steps)
    shortcut = counting.count("bt", ranks, Setup(hosts))
    without = counting.count("bt", ranks, Setup(hosts, shortcut=False))
    return point_of(
        load,
        hosts,
        Traffic(shortcut.frames, shortcut.rounds),
        Traffic(without.frames, without.rounds),
    )


def _large(counting: Counting, load: Load, hosts: int) -> Point:
    """With a rank on each host all messages are between hosts, and BT needs no synchronisation."""
    if hosts == LARGE_RANKS:
        return point_of(load, hosts, Traffic(len(load.program.receivers)), None)
    count = counting.count("bt", LARGE_RANKS, Setup(hosts, variant=LARGE))
    return point_of(load, hosts, Traffic(count.frames, count.rounds), None)


def outcome_of(points: dict[int, list[Point]]) -> Outcome:
    """`points`: by number of ranks."""
    last = {ranks: points[ranks][-1] for ranks in TARGETS}
    return Outcome(
        "figure-8-6",
        "Figure 8.6: speed-up of simulating BT by number of hosts, from a model of the protocol",
        SOURCE,
        [
            Judgement(
                "Speed-ups are characteristic of the application itself: with a rank on each host "
                f"{100 * LEAST_SHARE:.0f} to {100 / LEAST_SHARE:.0f} % of the program's own on the "
                "same hosts.",
                all(
                    LEAST_SHARE <= point.share_of_own <= 1 / LEAST_SHARE for point in last.values()
                ),
                seen=", ".join(
                    f"{ranks} hosts: {point.speed_up:.2f} of {point.own:.2f}"
                    for ranks, point in last.items()
                ),
            )
        ],
        [
            Table(
                "BT on hosts like the report's; class S, with 256 ranks class W",
                [
                    "ranks",
                    "hosts",
                    "bound",
                    "program itself",
                    "messages between hosts",
                    "idle",
                    "speed-up",
                    "no shortcut",
                ],
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
        f"{point.bound:.2f}",
        f"{point.own:.2f}",
        f"{point.with_shortcut.frames:,}",
        f"{100 * point.idle_share:.0f} %",
        f"{point.speed_up:.2f}",
        "" if without is None else f"{point.speed_up_with(without):.2f}",
    ]
