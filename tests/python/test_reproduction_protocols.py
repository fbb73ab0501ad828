"""What is concluded from counts of protocols of parallel simulation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sesame.reproduction import find_experiments
from sesame.reproduction.counting import Count
from sesame.reproduction.protocols import (
    BENCHMARKS,
    BTIO,
    BTIO_RANKS,
    MODES,
    SECTION,
    TABLE_8_2,
    Counts,
    outcome_of_files,
    outcome_of_rounds,
)

# Shares of the quantum's synchronisations, as the report has them in words for BT at 9 ranks.
SHARES = {
    "null messages": 0.6,
    "conditional events": 0.15,
    "both": 0.1,
    "both, shortcut": 0.0,
}


def count(rounds: int) -> Count:
    """Of a run of 1,000 look-aheads of 10 us, whose 4 ranks execute 250 between two receives."""
    return Count(
        predicted_s=0.01,
        wall_s=1.0,
        memory_bytes=1 << 20,
        look_ahead_s=1e-5,
        null_messages=0.0,
        agreements=rounds,
        queries=0.0,
        messages=16,
        busy_s=0.04,
    )


@pytest.fixture
def printed() -> dict[tuple[str, int, str], Count]:
    """Counts that are just what the report says."""
    counts = {
        (name, ranks, mode): count(round(1000 * SHARES[mode]))
        for name, all_ranks in BENCHMARKS.items()
        for ranks in all_ranks
        for mode in MODES
    }
    return counts | {("mg", 16, "both"): count(900)}


def judgements(counts: Counts) -> list[bool]:
    return [one.is_reproduced for one in outcome_of_rounds(counts, TABLE_8_2).judgements]


def test_the_findings_of_the_report_hold_for_its_own_counts(printed):
    assert judgements(printed) == [True] * 5


@pytest.mark.parametrize(
    ("which", "rounds", "finding"),
    [
        (("bt", 9, "conditional events"), 210, 0),
        (("bt", 9, "null messages"), 100, 1),
        (("mg", 16, "both"), 400, 2),
        (("sp", 4, "both, shortcut"), 1, 3),
        (("lu", 8, "both, shortcut"), 1, 4),
    ],
)
def test_a_finding_fails_with_other_counts(printed, which, rounds, finding):
    printed[which] = count(rounds)
    assert [i for i, holds in enumerate(judgements(printed)) if not holds] == [finding]


def test_rounds_are_null_messages_and_agreements_and_the_duration_is_in_look_aheads(printed):
    one = replace(count(3), null_messages=2.5)
    assert one.rounds == 5.5
    assert one.quantum_rounds == pytest.approx(1000)
    assert one.uninterrupted == pytest.approx(250)
    table = outcome_of_rounds(printed, TABLE_8_2).tables[1]
    assert table.rows[0] == ["LU", "16", "8.74 L", "8.74 L"]


@pytest.fixture
def of_files() -> dict[tuple[str, int, int], Count]:
    return {
        (name, ranks, workers): count(100 if name == "full, two-phase" else 1000)
        for name in BTIO
        for ranks in BTIO_RANKS
        for workers in (1, ranks)
    }


def test_the_findings_of_files_hold(of_files):
    outcome = outcome_of_files(of_files)
    assert [one.is_reproduced for one in outcome.judgements] == [True, True]
    assert outcome.tables[0].rows[0] == ["simple", "4", "1,000", "16"]


@pytest.mark.parametrize(
    ("which", "changed", "finding"),
    [
        (("full, two-phase", 9, 9), count(501), 0),
        (("full, node grouping", 16, 16), count(200), 0),
        (("simple", 4, 4), replace(count(1000), predicted_s=0.02), 1),
    ],
)
def test_a_finding_of_files_fails_with_other_counts(of_files, which, changed, finding):
    of_files[which] = changed
    judged = outcome_of_files(of_files).judgements
    assert [i for i, one in enumerate(judged) if not one.is_reproduced] == [finding]


def test_the_section_has_its_experiments():
    found = find_experiments(SECTION)
    assert [one.name for one in found] == ["figure-8-1", "figure-8-2", "figure-8-6", "figure-8-7"]
