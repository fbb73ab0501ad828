"""Caching policies in section 8.2 of the SESAME report: random requests, multiplied matrices.

The report describes its figures in words. Sesame's own workloads are used: `requests` for the
synthetic benchmark, oocmm for the multiplication of matrices. Sizes of files, matrices and blocks
that the report does not give are chosen so that the described effects can occur; they are in the
machine model pfssim and here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

from sesame.reproduction.experiment import (
    BLOCK_BYTES,
    IONODES,
    SOURCE,
    Case,
    Experiment,
    Finding,
    Panel,
    Quantity,
    Results,
)

POLICIES = {
    "base": "base",
    "greedy": "greedy forwarding",
    "coordinated": "80 % centrally coordinated",
    "global": "globally managed",
}


# ---- Caching policies, random requests (8.2.4)

REQUESTS = 5000
# A choice: more than all caches hold together (3,072 blocks with 8 compute and 16 I/O nodes). A
# file that fits would be read from disks only after writes have invalidated cached blocks.
FILE_BLOCKS = 4096


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
            f"storage.cache.ionode.size={cache_blocks * BLOCK_BYTES} B",
            f"storage.cache.policy={policy}",
        ),
        before=options(1),
    )


# The title of a panel, the number of compute nodes, and the blocks of an I/O node's cache as a
# function of the number of I/O nodes.
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
    """Tests that each policy's sum along the axis is at most that of the policy before it."""

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

# A row lies within one block "except when a row happens to cross a disk block boundary" (8.2.5),
# so a row in a block of 4 KiB has at most 512 elements. Caches of 16 blocks are a choice that keeps
# the matrices, and so the runs, small. The second matrix has 8, 12.5, 18, 32, 40.5, 50, 60.5 and 72
# blocks: from fewer than one cache holds to more than the I/O node's and the coordinated caches
# hold together (16 + 4 * 13 = 68).
MATRIX_CACHE = f"{16 * BLOCK_BYTES} B"
ORDERS = (64, 80, 96, 128, 144, 160, 176, 192)
ONE_CACHE = ORDERS[:2]  # the matrix fits the cache of a compute node or of the I/O node
OUTGROWN = ORDERS[2:-1]  # it fits neither, but the coordinated caches together
# It is larger than the caches of the last reader and the I/O node together, where the globally
# managed policy leaves blocks.
CLUMPED = ORDERS[4:-1]
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
            f"storage.cache.cnode.size={MATRIX_CACHE}",
            f"storage.cache.ionode.size={MATRIX_CACHE}",
            f"storage.cache.policy={policy}",
            "storage.collective.sieving=false",
            *((f"storage.collective.strategy={strategy}",) if strategy else ()),
        ),
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


def blocks(results: Results, access: str, policy: str, order: int, strategy: str | None) -> float:
    return results[reads(access, policy, order, strategy)].blocks_read


def sum_over_orders(
    results: Results, quantity: Quantity, access: str, policy: str, strategy: str | None = None
) -> float:
    """The sum of the values of one curve."""
    return sum(
        float(getattr(results[reads(access, policy, order, strategy)], quantity))
        for order in ORDERS
    )


def coordination_wins(results: Results, other: str, orders: Sequence[int]) -> bool:
    """Whether coordination reads less than half of the blocks, with the first access pattern."""
    return all(
        blocks(results, "staggered", "coordinated", order, None)
        < 0.5 * blocks(results, "staggered", other, order, None)
        for order in orders
    )


def of_three_matrices(order: int) -> int:
    """Blocks of both factors, and of the product, which is read to check it."""
    return 3 * -(-8 * order * order // BLOCK_BYTES)


STAGGERED = Experiment(
    "figure-8-11",
    "Multiplication of matrices, each rank begins at another column",
    f"{SOURCE}.4, Figure 8.11",
    panels=matrix_panels("staggered"),
    findings=[
        Finding(
            "While the matrix fits a cache, base caching reads about as much as the others.",
            lambda results: all(
                blocks(results, "staggered", "base", order, None)
                <= 1.5 * blocks(results, "staggered", "coordinated", order, None)
                for order in ONE_CACHE
            ),
        ),
        Finding(
            "Once it has outgrown a cache, base caching and greedy forwarding become ineffective: "
            "central coordination reads less than half of what they do.",
            lambda results: (
                coordination_wins(results, "base", OUTGROWN)
                and coordination_wins(results, "greedy", OUTGROWN)
            ),
        ),
        Finding(
            "With central coordination there are compulsory misses only, as long as the matrix "
            "fits the coordinated caches.",
            lambda results: all(
                blocks(results, "staggered", "coordinated", order, None)
                <= 1.1 * of_three_matrices(order)
                for order in OUTGROWN
            ),
        ),
        Finding(
            "The globally managed policy is poor: blocks clump in the last reader's cache, and "
            "once this and the I/O node's are full it reads more than twice as much as "
            "coordination.",
            lambda results: coordination_wins(results, "global", CLUMPED),
        ),
        Finding(
            "When it has outgrown the coordinated caches too, coordination is as poor as the rest.",
            lambda results: (
                blocks(results, "staggered", "coordinated", ORDERS[-1], None)
                > 0.5 * blocks(results, "staggered", "base", ORDERS[-1], None)
            ),
        ),
    ],
)


def worse_together(policy: str, results: Results) -> bool:
    """Whether all ranks together read at least half as many blocks again as when staggered."""
    return sum_over_orders(results, "blocks_read", "together", policy) > 1.5 * sum_over_orders(
        results, "blocks_read", "staggered", policy
    )


# Rows of four blocks, so that each of the four ranks begins in a block of its own. The matrix
# of 256 blocks fits every cache.
WIDE_ORDER = 64
WIDE_BLOCK = 128
WIDE_CACHE = 320  # blocks


def wide_rows(policy: str, access: str, merges: bool) -> Case:
    """A run in which a row has as many blocks as there are ranks.

    `merges`: whether misses of the same block are merged to one read.
    """
    size = f"{WIDE_CACHE * WIDE_BLOCK} B"
    changed = {
        "storage.block": f"{WIDE_BLOCK} B",
        "storage.stripe": f"{WIDE_BLOCK} B",
        "storage.cache.cnode.size": size,
        "storage.cache.ionode.size": size,
        "storage.cache.merge_misses": "true" if merges else "false",
    }
    case = multiplication(WIDE_ORDER, policy, access)
    kept = [one for one in case.overrides if one.partition("=")[0] not in changed]
    return replace(case, overrides=(*kept, *(f"{key}={value}" for key, value in changed.items())))


def worse_on_wide_rows(merges: bool, results: Results) -> bool:
    return all(
        results[wide_rows(policy, "together", merges)].blocks_read
        > 1.5 * results[wide_rows(policy, "staggered", merges)].blocks_read
        for policy in POLICIES
    )


TOGETHER = Experiment(
    "figure-8-12",
    "Multiplication of matrices, all ranks begin at column 0",
    f"{SOURCE}.5, Figure 8.12",
    panels=matrix_panels("together"),
    findings=[
        Finding(
            f"Cache performance is significantly worse than with the first pattern: {name}.",
            partial(worse_together, policy),
            "A row lies in one block, so that the ranks want the same blocks in the same order, "
            "whichever column each is at. The next finding shows a setting that reproduces it.",
        )
        for policy, name in POLICIES.items()
    ]
    + [
        Finding(
            "Where a row is four blocks, and ranks that miss a block at the same time read it each "
            "for itself, the second pattern is significantly worse for every policy.",
            partial(worse_on_wide_rows, False),
        ),
        Finding(
            "Where they share one read, it is not, with the same rows.",
            lambda results: not worse_on_wide_rows(True, results),
        ),
    ],
    more_cases=[
        *(reads("staggered", policy, order) for policy in POLICIES for order in ORDERS),
        *(
            wide_rows(policy, access, merges)
            for policy in POLICIES
            for access in ("staggered", "together")
            for merges in (True, False)
        ),
    ],
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
        ),
        Finding(
            "It performs much like that: time is the same within a quarter, for every policy.",
            lambda results: all(
                0.75
                < sum_over_orders(results, "time_s", "together", policy, "barrier")
                / sum_over_orders(results, "time_s", "together", policy)
                < 1.25
                for policy in POLICIES
            ),
        ),
    ],
    more_cases=[reads("together", policy, n) for policy in POLICIES for n in ORDERS],
)


def halved(results: Results, quantity: Quantity, policy: str, order: int) -> bool:
    """Whether two-phase takes less than half of what the barrier takes."""

    def value(strategy: str) -> float:
        return float(getattr(results[reads("together", policy, order, strategy)], quantity))

    return 2 * value("two-phase") < value("barrier")


def coordination_takes_longest(results: Results) -> bool:
    """Whether coordination takes longest where all policies read as many blocks within 10 %."""
    same = 0
    for order in ORDERS:
        runs = {
            policy: results[reads("together", policy, order, "two-phase")] for policy in POLICIES
        }
        read = [run.blocks_read for run in runs.values()]
        if max(read) > 1.1 * min(read):
            continue
        same += 1
        if runs["coordinated"].time_s < max(run.time_s for run in runs.values()):
            return False
    return same > 0


TWO_PHASE = Experiment(
    "figure-8-14",
    "Multiplication of matrices, collective reads in two phases",
    f"{SOURCE}.5, Figure 8.14",
    panels=matrix_panels("together", "two-phase"),
    findings=[
        Finding(
            "Once the matrix has outgrown a cache two-phase drastically reduces time: less than "
            "half of that with a barrier, for every policy.",
            lambda results: all(
                halved(results, "time_s", policy, order)
                for policy in POLICIES
                for order in OUTGROWN
            ),
        ),
        Finding(
            "It drastically reduces what is read from disks by base caching and greedy forwarding.",
            lambda results: all(
                halved(results, "blocks_read", policy, order)
                for policy in ("base", "greedy")
                for order in OUTGROWN
            ),
        ),
        Finding(
            "It reduces both for the largest matrix too.",
            lambda results: all(
                halved(results, quantity, policy, ORDERS[-1])
                for quantity in ("time_s", "blocks_read")
                for policy in POLICIES
            ),
            "A quarter of the largest matrix does not fit the cache of the rank that reads it, and "
            "then four ranks read the disk at four places. With misses that are not merged "
            "two-phase reads a quarter of what the barrier does here, in a tenth less time. The "
            "report excepts its largest matrix from what simple policies do well.",
        ),
        Finding(
            "Simple policies do well for all but the largest matrix: base caching takes at most "
            "half as long again as coordination, but for the largest reads more than twice the "
            "matrices.",
            lambda results: (
                all(
                    results[reads("together", "base", order, "two-phase")].time_s
                    <= 1.5 * results[reads("together", "coordinated", order, "two-phase")].time_s
                    for order in ORDERS[:-1]
                )
                and blocks(results, "together", "base", ORDERS[-1], "two-phase")
                > 2 * of_three_matrices(ORDERS[-1])
            ),
        ),
        Finding(
            "Where all policies read the same blocks coordination takes longest.",
            coordination_takes_longest,
        ),
    ],
    more_cases=[reads("together", policy, n, "barrier") for policy in POLICIES for n in ORDERS],
)

EXPERIMENTS = [POLICY_TIME, POLICY_READS, STAGGERED, TOGETHER, BARRIER, TWO_PHASE]
