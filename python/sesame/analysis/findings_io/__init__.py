"""Says in words what the totals of a traced run mean. Each rule is a function from Evidence to
findings.

A rule returns nothing if its evidence is weak. docs/models/findings.md has every rule with its
threshold and the source of that. In the rules, "ours" marks a threshold that we chose.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sesame.analysis.findings_io import (
    alignment,
    amount,
    collective,
    contention,
    durability,
    metadata,
    random_access,
    redundancy,
    small_requests,
    waiting,
    who,
)
from sesame.analysis.findings_io.found import Evidence, Finding

__all__ = ["RULES", "Evidence", "Finding", "Rule", "find"]

Rule = Callable[[Evidence], list[Finding]]

RULES: tuple[Rule, ...] = (
    amount.little_io,
    who.one_rank,
    who.imbalance,
    waiting.waiting_behind_io,
    waiting.late_to_collective_io,
    small_requests.small_requests,
    small_requests.tiny_stdio,
    alignment.unaligned,
    random_access.random_access,
    metadata.metadata_storm,
    metadata.slow_metadata,
    metadata.failing_calls,
    metadata.reopening,
    metadata.seeks,
    durability.sync_after_write,
    contention.shared_blocks,
    collective.no_collective_io,
    collective.independent_mpi_io,
    redundancy.redundant_reads,
    redundancy.reading_again,
    redundancy.read_after_write,
)


def find(evidence: Evidence) -> list[Finding]:
    """The findings of all rules: first those about the whole run, then by the time they concern."""
    found = [finding for rule in RULES for finding in rule(evidence)]
    return sorted(found, key=lambda f: -math.inf if f.seconds is None else -f.seconds)
