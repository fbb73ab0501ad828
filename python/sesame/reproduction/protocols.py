"""Section 8.1 of the SESAME report: what protocols of parallel simulation need.

The report prints numbers only in Table 8-2 and in words; its figures are not legible. Rounds are
counted with one rank a worker, as the report's logical processes; that needs no processor for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from sesame.reproduction import hosts
from sesame.reproduction.calculation import Calculation, Show
from sesame.reproduction.counting import Count, Counting, Setup, Variant
from sesame.reproduction.outcome import Diagram, Judgement, Outcome, Table

SECTION = "sesame-8.1"
SOURCE = "SESAME report, section 8.1"
# Target processors, as in the report's Table 8-1.
BENCHMARKS = {"sp": (4, 9, 16), "bt": (4, 9, 16), "mg": (4, 8, 16), "lu": (4, 8, 16)}
FIGURES = {"sp": "8.2", "bt": "8.3", "mg": "8.4", "lu": "8.5"}
MODES = {
    "null messages": ("null", False),
    "conditional events": ("conditional", False),
    "both": ("null+conditional", False),
    "both, shortcut": ("null+conditional", True),
}
# Table 8-2: average uninterrupted execution time in look-aheads.
TABLE_8_2 = {
    ("lu", 16): 8.74, ("lu", 8): 11.77,
    ("mg", 16): 2.79, ("mg", 8): 4.03,
    ("bt", 16): 12.33, ("bt", 9): 24.81,
    ("sp", 16): 4.61, ("sp", 9): 9.29,
}  # fmt: skip
Counts = Mapping[tuple[str, int, str], Count]  # by benchmark, ranks and mode
BTIO_RANKS = (4, 9, 16)
STRATEGIES = {"barrier": "global barrier", "grouping": "node grouping", "two-phase": "two-phase"}
BTIO = {"simple": Variant("simple", ("--io", "simple"))} | {
    f"full, {name}": Variant(
        strategy,
        ("--io", "full"),
        (f"storage.collective.strategy={strategy}", "storage.collective.group_size=2"),
    )
    for strategy, name in STRATEGIES.items()
}
BtioCounts = Mapping[tuple[str, int, int], Count]  # by name in BTIO, ranks and workers


def with_counting(work: Callable[[Counting], Outcome]) -> Callable[[Show], Outcome]:
    def calculate(show: Show) -> Outcome:
        with TemporaryDirectory(prefix="sesame-") as directory:
            return work(Counting(Path(directory), show))

    return calculate


def count_rounds(counting: Counting) -> Outcome:
    # One constant is fitted to one row of Table 8-2; the other rows are compared.
    counting.fit("bt", 9, TABLE_8_2["bt", 9])
    durations = {
        (name, ranks): counting.count(name, ranks, Setup(2)).uninterrupted
        for name, ranks in TABLE_8_2
    }
    # How much a protocol removes depends on this duration. So that protocols are compared and not
    # processors, rounds are counted where each benchmark has that of the report.
    counts: dict[tuple[str, int, str], Count] = {}
    for name, all_ranks in BENCHMARKS.items():
        for ranks in reversed(all_ranks):
            if (name, ranks) in TABLE_8_2:  # the report has none for 4 ranks: the last one stays
                counting.fit(name, ranks, TABLE_8_2[name, ranks])
            for mode in MODES:
                counts[name, ranks, mode] = counting.count(name, ranks, Setup(ranks, *MODES[mode]))
    return outcome_of_rounds(counts, durations)


def share(counts: Counts, benchmark: str, ranks: int, mode: str) -> float:
    """Rounds of the mode over the global synchronisations of the quantum protocol."""
    count = counts[benchmark, ranks, mode]
    return count.rounds / count.quantum_rounds


def outcome_of_rounds(counts: Counts, durations_here: Mapping[tuple[str, int], float]) -> Outcome:
    rounds = Table(
        "Rounds of protocol messages for each worker, one rank each, and of them for each of the "
        "quantum's global synchronisations",
        ["", "ranks", "quantum", *MODES],
        [
            _row(counts, name, ranks)
            for name, all_ranks in BENCHMARKS.items()
            for ranks in all_ranks
        ],
    )
    durations = Table(
        "Table 8-2: average uninterrupted execution time in look-aheads, BT at 9 ranks fitted",
        ["", "ranks", "the report", "here"],
        [
            [name.upper(), str(ranks), f"{theirs} L", f"{durations_here[name, ranks]:.2f} L"]
            for (name, ranks), theirs in TABLE_8_2.items()
        ],
    )
    diagrams = [
        Diagram(
            f"Figure {FIGURES[name]}: {name.upper()}",
            "ranks",
            "rounds / global synchronisations of the quantum",
            {
                mode: [(ranks, share(counts, name, ranks, mode)) for ranks in all_ranks]
                for mode in MODES
            },
        )
        for name, all_ranks in BENCHMARKS.items()
    ]
    return Outcome(
        "figure-8-2",
        "Figures 8.2 to 8.5, Table 8-2: rounds of SP, BT, MG and LU, class S, by protocol",
        f"{SOURCE}.4",
        _judge(counts),
        [rounds, durations],
        diagrams,
        [f"{name} -n {ranks}, {ranks} workers, {mode}" for name, ranks, mode in counts],
    )


def _row(counts: Counts, name: str, ranks: int) -> list[str]:
    cells = [
        f"{counts[name, ranks, mode].rounds:,.0f} ({100 * share(counts, name, ranks, mode):.1f} %)"
        for mode in MODES
    ]
    quantum = counts[name, ranks, "both"].quantum_rounds
    return [name.upper(), str(ranks), f"{quantum:,.0f}", *cells]


def _judge(counts: Counts) -> list[Judgement]:
    bt = {mode: share(counts, "bt", 9, mode) for mode in MODES}
    mg = share(counts, "mg", 16, "both")
    left = {
        name: max(counts[name, ranks, "both, shortcut"].rounds for ranks in all_ranks)
        for name, all_ranks in BENCHMARKS.items()
    }

    def removed(mode: str) -> str:
        return f"{100 * (1 - bt[mode]):.0f} % removed"

    return [
        Judgement(
            "BT, 9 ranks: conditional events remove more than 80 % of the quantum's "
            "synchronisations.",
            bt["conditional events"] < 0.2,
            seen=removed("conditional events"),
        ),
        Judgement(
            "BT, 9 ranks: null messages remove clearly fewer, 40 %: at most 70 % here.",
            bt["null messages"] >= max(0.3, 1.5 * bt["conditional events"]),
            seen=removed("null messages"),
        ),
        Judgement(
            "MG, 16 ranks: both together remove little: less than half.",
            mg > 0.5,
            seen=f"{100 * (1 - mg):.0f} % removed",
        ),
        Judgement(
            "BT and SP need no synchronisation with the deterministic shortcut.",
            left["bt"] == left["sp"] == 0,
            seen=f"at most {left['bt']:g} and {left['sp']:g} rounds",
        ),
        Judgement(
            "MG and LU neither (in the report only with changes by hand).",
            left["mg"] == left["lu"] == 0,
            seen=f"at most {left['mg']:g} and {left['lu']:g} rounds",
        ),
    ]


def predict(counting: Counting) -> Outcome:
    """Figure 8.1 and Table 8-1."""
    counts = {
        (name, ranks, workers): counting.count(name, ranks, Setup(workers))
        for name, all_ranks in BENCHMARKS.items()
        for ranks in all_ranks
        for workers in (1, 2, 4, ranks)
        if workers <= ranks
    }
    different = [
        f"{name} -n {ranks}, {workers} workers"
        for (name, ranks, workers), count in counts.items()
        if count.predicted_s != counts[name, ranks, 1].predicted_s
    ]
    rows = [
        [name.upper(), str(ranks), str(workers), f"{count.predicted_s:.6g}", _mebibytes(count)]
        for (name, ranks, workers), count in counts.items()
    ]
    return Outcome(
        "figure-8-1",
        "Figure 8.1, Table 8-1: predicted time and memory by number of workers",
        f"{SOURCE}.2",
        [
            Judgement(
                "The prediction is the same for every number of workers (in the report nearly "
                "identical).",
                not different,
                seen="not " + ", ".join(different) if different else f"{len(counts)} runs",
            )
        ],
        [
            Table(
                "Class S, both protocols, shortcut; memory of all processes of the simulator",
                ["", "ranks", "workers", "predicted time (s)", "memory (MiB)"],
                rows,
            )
        ],
        [
            Diagram(
                name.upper(),
                "ranks",
                "predicted time (s)",
                {
                    "1 worker": [(r, counts[name, r, 1].predicted_s) for r in all_ranks],
                    "one worker a rank": [(r, counts[name, r, r].predicted_s) for r in all_ranks],
                },
            )
            for name, all_ranks in BENCHMARKS.items()
        ],
        [f"{name} -n {ranks}, {workers} workers" for name, ranks, workers in counts],
    )


def count_files(counting: Counting) -> Outcome:
    counts = {
        (name, ranks, workers): counting.count("bt", ranks, Setup(workers, "quantum", True, one))
        for name, one in BTIO.items()
        for ranks in BTIO_RANKS
        for workers in (1, 2, ranks)
    }
    return outcome_of_files(counts)


def outcome_of_files(counts: BtioCounts) -> Outcome:
    """Of runs with 1 worker and with one a rank at least."""
    different = [
        f"{name} -n {ranks}, {workers} workers"
        for (name, ranks, workers), count in counts.items()
        if count.predicted_s != counts[name, ranks, 1].predicted_s
    ]
    all_on_own = {
        name: [(ranks, float(counts[name, ranks, ranks].agreements)) for ranks in BTIO_RANKS]
        for name in BTIO
    }
    two_phase = [rounds for _, rounds in all_on_own["full, two-phase"]]
    others = [
        min(all_on_own[name][i][1] for name in ("full, global barrier", "full, node grouping"))
        for i in range(len(BTIO_RANKS))
    ]
    rows = [
        [name, str(ranks), f"{rounds:,.0f}", f"{counts[name, ranks, ranks].messages:,}"]
        for name, of_ranks in all_on_own.items()
        for ranks, rounds in of_ranks
    ]
    return Outcome(
        "figure-8-7",
        "Figure 8.7: rounds of BTIO, simple and full, by collective strategy",
        "SESAME report, section 8.2.2",
        [
            Judgement(
                "Two-phase I/O gains most from parallel simulation: with it there is more "
                "computation between synchronisations, less than half as many here.",
                all(2 * few < many for few, many in zip(two_phase, others, strict=True)),
                seen=f"{100 * max(a / b for a, b in zip(two_phase, others, strict=True)):.1f} % "
                "of the rounds of the others at most",
            ),
            Judgement(
                "The prediction is the same for every number of workers.",
                not different,
                seen="not " + ", ".join(different) if different else f"{len(counts)} runs",
            ),
        ],
        [
            Table(
                "Class S, quantum, one rank a worker",
                ["", "ranks", "rounds", "messages between ranks"],
                rows,
            )
        ],
        [Diagram("BTIO", "ranks", "rounds of the quantum protocol", all_on_own)],
        [f"BTIO {name} -n {ranks}, {workers} workers" for name, ranks, workers in counts],
    )


def _mebibytes(count: Count) -> str:
    return f"{count.memory_bytes / 2**20:.0f}"


CALCULATIONS = [
    Calculation(
        "figure-8-1",
        "Predicted time and memory of four NAS benchmarks by number of workers",
        f"{SOURCE}, Figure 8.1 and Table 8-1",
        with_counting(predict),
    ),
    Calculation(
        "figure-8-2",
        "Rounds of protocols of four NAS benchmarks, beside the quantum's synchronisations",
        f"{SOURCE}, Figures 8.2 to 8.5 and Table 8-2",
        with_counting(count_rounds),
    ),
    Calculation(
        "figure-8-6",
        "Speed-up of simulating BT on several hosts, from a model of the protocol",
        f"{SOURCE}, Figure 8.6",
        with_counting(hosts.calculate),
    ),
    Calculation(
        "figure-8-7",
        "Rounds of BTIO with files, by collective strategy",
        "SESAME report, section 8.2.2, Figure 8.7",
        with_counting(count_files),
    ),
]
