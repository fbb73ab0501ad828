"""Section 8.2 of the SESAME report: collective I/O, caching policies, and numbers of I/O nodes.

The report prints numbers only in Table 8-3; of its figures it says in words what they show.
Workloads are ours: BTIO (bt), `requests` for the synthetic benchmark, oocmm for the multiplication
of matrices. What the report does not say (sizes of files, matrices, blocks) is chosen so that what
it describes can happen, and stands in machine.toml and here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from sesame.reproduction.experiment import Case, Experiment, Finding, Panel, Results, Row

SOURCE = "SESAME report, section 8.2"
POLICIES = {
    "base": "base",
    "greedy": "greedy forwarding",
    "coordinated": "80 % centrally coordinated",
    "global": "globally managed",
}
IONODES = (1, 2, 4, 8, 16)
BTIO_RANKS = (4, 9, 16)
STRATEGIES = {"barrier": "global barrier", "grouping": "node grouping", "two-phase": "two-phase"}
# Experiments 8.2.3 used "a simple disk model": seek, rotation, transfer. The HP 97560's figures.
SIMPLE_DISK = (
    "storage.device.kind=disk",
    "storage.device.cylinders=1962",
    "storage.device.single_cylinder_seek=3.64ms",
    "storage.device.full_seek=23.7ms",
    "storage.device.rotations_per_minute=4002",
    "storage.device.sectors_per_track=72",
    "storage.device.heads=19",
)
# The I/O lists of the report's simulator: an element for each item of the file type, and one
# without bytes for each of its bounds.
LITERAL = ("storage.collective.io_list=literal", "storage.collective.sieving=false")


# ---- Collective I/O (8.2.3)


def btio(ranks: int, strategy: str, *overrides: str, compute: str = "none") -> Case:
    chosen = (
        f"storage.collective.strategy={strategy}",
        f"storage.collective.cb_nodes={ranks}",
        "storage.collective.group_size=2",  # a choice: with 4 ranks more than one group
    )
    return Case(
        "bt",
        ("--class", "S", "--io", "full", "--io-file", "btio.out"),
        ranks,
        (*chosen, *LITERAL, *overrides),
        compute=compute,
    )


def counted(strategy: str, ranks: int, theirs_seeks: str, theirs_writes: str) -> list[Row]:
    case = btio(ranks, strategy, *SIMPLE_DISK)
    name = f"{STRATEGIES[strategy]}, {ranks} ranks"
    return [
        Row(f"{name}: seeks", theirs_seeks, lambda results: f"{results[case].write_seeks:,}"),
        Row(f"{name}: writes", theirs_writes, lambda results: f"{results[case].writes:,}"),
    ]


# As printed.
TABLE_8_3 = {
    ("barrier", 4): (20_976, 20_736),
    ("barrier", 9): (21_492, 20_736),
    ("barrier", 16): (22_464, 20_736),
    ("two-phase", 4): (48, 48),
    ("two-phase", 9): (108, 108),
    ("two-phase", 16): (684, 684),
}


def matches(strategy: str, ranks: int) -> Callable[[Results], bool]:
    case = btio(ranks, strategy, *SIMPLE_DISK)
    expected = TABLE_8_3[strategy, ranks]
    return lambda results: (results[case].write_seeks, results[case].writes) == expected


TABLE = Experiment(
    "table-8-3",
    "Seeks and writes of BTIO full, class S",
    f"{SOURCE}.3, Table 8-3",
    rows=[
        row
        for (strategy, ranks), (seeks, writes) in TABLE_8_3.items()
        for row in counted(strategy, ranks, f"{seeks:,}", f"{writes:,}")
    ],
    findings=[
        Finding(
            f"The counts of {STRATEGIES[strategy]} on {ranks} ranks are those of the table.",
            matches(strategy, ranks),
            "The report's 684 is 57 for each of the 12 calls, where its other counts are one for "
            "each rank and call, as ours is."
            if (strategy, ranks) == ("two-phase", 16)
            else "",
        )
        for strategy, ranks in TABLE_8_3
    ],
    more_cases=[btio(ranks, strategy, *SIMPLE_DISK) for strategy, ranks in TABLE_8_3],
)


def slower(results: Results, slow: Iterable[Case], fast: Iterable[Case]) -> bool:
    return all(results[a].time_s >= results[b].time_s for a, b in zip(slow, fast, strict=True))


def btio_cases(strategy: str) -> list[Case]:
    return [btio(ranks, strategy, *SIMPLE_DISK) for ranks in BTIO_RANKS]


COLLECTIVE = Experiment(
    "figure-8-8",
    "BTIO full under three collective strategies",
    f"{SOURCE}.3, Figure 8.8",
    panels=[
        Panel(
            "Predicted time of BTIO full, class S",
            "ranks",
            "time_s",
            {
                name: [(ranks, btio(ranks, key, *SIMPLE_DISK)) for ranks in BTIO_RANKS]
                for key, name in STRATEGIES.items()
            },
        )
    ],
    findings=[
        Finding(
            "Two-phase is far ahead of the others: less than half of their time on every number of "
            "ranks.",
            lambda results: all(
                2 * results[fast].time_s < results[slow].time_s
                for other in ("barrier", "grouping")
                for fast, slow in zip(btio_cases("two-phase"), btio_cases(other), strict=True)
            ),
        ),
        Finding(
            "Node grouping does not pay: it is never faster than the global barrier.",
            lambda results: slower(results, btio_cases("grouping"), btio_cases("barrier")),
        ),
    ],
)


# ---- Caching policies, random requests (8.2.4)

REQUESTS = 5000
FILE_BLOCKS = 2048  # a choice: more than all caches of four compute nodes and one I/O node


def synthetic(ranks: int, ionodes: int, cache_blocks: int, policy: str) -> Case:
    def options(measured: int) -> tuple[str, ...]:
        counts = ("--requests", str(measured), "--warmup", str(REQUESTS))
        return (*counts, "--blocks", str(FILE_BLOCKS))

    return Case(
        "requests",
        options(REQUESTS),
        ranks,
        (
            f"storage.ionodes={ionodes}",
            f"storage.cache.ionode.size={cache_blocks * 4} KiB",
            f"storage.cache.policy={policy}",
        ),
        before=options(1),
    )


# The title of a panel, compute nodes, and the blocks of an I/O node's cache by their number.
CONFIGURATIONS: list[tuple[str, int, Callable[[int], int]]] = [
    ("512 blocks of I/O node cache in all, 4 compute nodes", 4, lambda ionodes: 512 // ionodes),
    ("512 blocks of I/O node cache in all, 8 compute nodes", 8, lambda ionodes: 512 // ionodes),
    ("128 blocks of cache at each I/O node, 4 compute nodes", 4, lambda ionodes: 128),
    ("128 blocks of cache at each I/O node, 8 compute nodes", 8, lambda ionodes: 128),
]


def synthetic_panels(quantity: str) -> list[Panel]:
    return [
        Panel(
            title,
            "I/O nodes",
            "time_s" if quantity == "time_s" else "blocks_read",
            {
                name: [(n, synthetic(ranks, n, blocks_of(n), policy)) for n in IONODES]
                for policy, name in POLICIES.items()
            },
        )
        for title, ranks, blocks_of in CONFIGURATIONS
    ]


def falls_with_cooperation(panels: Sequence[Panel]) -> Callable[[Results], bool]:
    """Each policy is at most as high as the one before it, summed along the axis."""

    def holds(results: Results) -> bool:
        for panel in panels:
            sums = [sum(panel.values(results, name)) for name in POLICIES.values()]
            if any(after > before for before, after in pairwise(sums)):
                return False
        return True

    return holds


def falls_with_ionodes(panels: Sequence[Panel]) -> Callable[[Results], bool]:
    return lambda results: all(
        panel.values(results, name)[-1] < panel.values(results, name)[0]
        for panel in panels
        for name in panel.curves
    )


SYNTHETIC_TIME = synthetic_panels("time_s")
SYNTHETIC_READS = synthetic_panels("blocks_read")
COOPERATION = "falls as caches co-operate more: base, greedy, coordinated, globally managed"

POLICY_TIME = Experiment(
    "figure-8-9",
    "Random requests: time by caching policy and number of I/O nodes",
    f"{SOURCE}.4, Figure 8.9",
    panels=SYNTHETIC_TIME,
    findings=[
        Finding(f"Time {COOPERATION}.", falls_with_cooperation(SYNTHETIC_TIME)),
        Finding("Time falls with more I/O nodes.", falls_with_ionodes(SYNTHETIC_TIME)),
    ],
)
POLICY_READS = Experiment(
    "figure-8-10",
    "Random requests: blocks read from disks by caching policy and number of I/O nodes",
    f"{SOURCE}.4, Figure 8.10",
    panels=SYNTHETIC_READS,
    findings=[
        Finding(
            f"The number of blocks read {COOPERATION}.", falls_with_cooperation(SYNTHETIC_READS)
        )
    ],
)


# ---- Caching policies and collective I/O, multiplication of matrices (8.2.4, 8.2.5)

# Blocks of 512 bytes and 128 of them in each cache, so that the second matrix (8 bytes an element)
# goes from half of a cache to more than all that are coordinated (128 + 4 * 0.8 * 128 = 537).
MATRIX_BLOCK = 512
MATRIX_CACHE = f"{128 * MATRIX_BLOCK} B"
ORDERS = (64, 80, 96, 128, 160, 192)
MATRIX_RANKS = 4


def multiplication(order: int, policy: str, access: str, strategy: str | None = None) -> Case:
    # Memory for one row of the first matrix, one of the product and one column.
    options = ("--order", str(order), "--memory", f"{3 * 8 * order}", "--access", access)
    collective = ("--interface", "mpi", "--collective") if strategy else ()
    return Case(
        "oocmm",
        (*options, *collective),
        MATRIX_RANKS,
        (
            "storage.ionodes=1",
            f"storage.stripe={MATRIX_BLOCK}",
            f"storage.cache.cnode.size={MATRIX_CACHE}",
            f"storage.cache.ionode.size={MATRIX_CACHE}",
            f"storage.cache.policy={policy}",
            "storage.collective.sieving=false",
            *((f"storage.collective.strategy={strategy}",) if strategy else ()),
        ),
        block_bytes=MATRIX_BLOCK,
    )


def matrix_panels(access: str, strategy: str | None = None) -> list[Panel]:
    def curves() -> dict[str, list[tuple[int, Case]]]:
        return {
            name: [(n, multiplication(n, policy, access, strategy)) for n in ORDERS]
            for policy, name in POLICIES.items()
        }

    return [
        Panel("Predicted time", "order of the matrices", "time_s", curves()),
        Panel("Blocks read from the disk", "order of the matrices", "blocks_read", curves()),
    ]


def reads(access: str, policy: str, order: int, strategy: str | None = None) -> Case:
    return multiplication(order, policy, access, strategy)


def least_reads_when_outgrown(results: Results, access: str) -> bool:
    """Coordination wins where the second matrix has outgrown one cache and still fits all."""
    return all(
        results[reads(access, "coordinated", order)].blocks_read
        < 0.5 * results[reads(access, other, order)].blocks_read
        for order in (128, 160)
        for other in ("base", "greedy", "global")
    )


STAGGERED = Experiment(
    "figure-8-11",
    "Multiplication of matrices, each rank begins at another column",
    f"{SOURCE}.4, Figure 8.11",
    panels=matrix_panels("staggered"),
    findings=[
        Finding(
            "While the matrix fits a cache, base caching reads about as much as the others.",
            lambda results: (
                results[reads("staggered", "base", ORDERS[0])].blocks_read
                <= 1.5 * results[reads("staggered", "coordinated", ORDERS[0])].blocks_read
            ),
        ),
        Finding(
            "Once it has outgrown a cache, central coordination reads far less than all others, "
            "the globally managed policy among them.",
            lambda results: least_reads_when_outgrown(results, "staggered"),
        ),
        Finding(
            "When it has outgrown the coordinated caches too, coordination is as poor as the rest.",
            lambda results: (
                results[reads("staggered", "coordinated", ORDERS[-1])].blocks_read
                > 0.5 * results[reads("staggered", "base", ORDERS[-1])].blocks_read
            ),
        ),
    ],
)
TOGETHER = Experiment(
    "figure-8-12",
    "Multiplication of matrices, all ranks begin at column 0",
    f"{SOURCE}.5, Figure 8.12",
    panels=matrix_panels("together"),
    findings=[
        Finding(
            "All ranks want the same data at the same time: base caching is no faster than with "
            "the first pattern.",
            lambda results: all(
                results[reads("together", "base", order)].time_s
                >= 0.98 * results[reads("staggered", "base", order)].time_s
                for order in ORDERS
            ),
        )
    ],
    more_cases=[reads("staggered", "base", order) for order in ORDERS],
)
BARRIER = Experiment(
    "figure-8-13",
    "Multiplication of matrices, collective reads with a global barrier",
    f"{SOURCE}.5, Figure 8.13",
    panels=matrix_panels("together", "barrier"),
    findings=[
        Finding(
            "The barrier removes no reads: as many requests as without collective calls.",
            lambda results: all(
                results[reads("together", "base", n, "barrier")].reads
                >= results[reads("together", "base", n)].reads
                for n in ORDERS
            ),
        )
    ],
    more_cases=[reads("together", "base", order) for order in ORDERS],
)
TWO_PHASE = Experiment(
    "figure-8-14",
    "Multiplication of matrices, collective reads in two phases",
    f"{SOURCE}.5, Figure 8.14",
    panels=matrix_panels("together", "two-phase"),
    findings=[
        Finding(
            "Two-phase removes almost all redundant reads: time is well below half of that with a "
            "barrier, for every policy and order.",
            lambda results: all(
                2 * results[reads("together", policy, n, "two-phase")].time_s
                < results[reads("together", policy, n, "barrier")].time_s
                for policy in POLICIES
                for n in ORDERS
            ),
        ),
        Finding(
            "For small matrices all policies read the same blocks, and coordination takes longest.",
            lambda results: all(
                results[reads("together", "coordinated", ORDERS[0], "two-phase")].time_s
                >= results[reads("together", policy, ORDERS[0], "two-phase")].time_s
                for policy in POLICIES
            ),
        ),
    ],
    more_cases=[reads("together", policy, n, "barrier") for policy in POLICIES for n in ORDERS],
)


# ---- Numbers of compute and I/O nodes (8.2.6)

NODE_RANKS = (1, 4, 9, 16)
# Of 17 nodes: compute nodes and I/O nodes, from worst to best as the report has it.
OF_17_NODES = ((1, 16), (16, 1), (4, 13), (9, 8))


def balance(ranks: int, ionodes: int) -> Case:
    return btio(ranks, "barrier", f"storage.ionodes={ionodes}", compute="fixed:20us")


def balance_times(results: Results) -> list[float]:
    return [results[balance(ranks, ionodes)].time_s for ranks, ionodes in OF_17_NODES]


NODES = Experiment(
    "figure-8-15",
    "BTIO full by numbers of compute and I/O nodes",
    f"{SOURCE}.6, Figure 8.15",
    panels=[
        Panel(
            "Predicted time of BTIO full, class S, base caching",
            "I/O nodes",
            "time_s",
            {f"{n} ranks": [(k, balance(n, k)) for k in IONODES] for n in NODE_RANKS},
        )
    ],
    findings=[
        Finding(
            "One rank gains nothing from more I/O nodes (less than 10 %).",
            lambda results: (
                results[balance(1, IONODES[-1])].time_s > 0.9 * results[balance(1, 1)].time_s
            ),
        ),
        Finding(
            "Several ranks do: the time falls with every doubling up to 8 I/O nodes.",
            lambda results: all(
                results[balance(n, after)].time_s < results[balance(n, before)].time_s
                for n in NODE_RANKS[1:]
                for before, after in ((1, 2), (2, 4), (4, 8))
            ),
        ),
        Finding(
            "Of 17 nodes, from worst to best: 1 compute and 16 I/O nodes; 16 and 1; 4 and 13; 9 "
            "and 8.",
            lambda results: balance_times(results) == sorted(balance_times(results), reverse=True),
        ),
    ],
    more_cases=[balance(ranks, ionodes) for ranks, ionodes in OF_17_NODES],
)

EXPERIMENTS = [
    TABLE,
    COLLECTIVE,
    POLICY_TIME,
    POLICY_READS,
    STAGGERED,
    TOGETHER,
    BARRIER,
    TWO_PHASE,
    NODES,
]
