"""What ranks of a node cost each other: the time of computation grows by the machine's factor."""

from __future__ import annotations

import pytest

NODES = ("--machine", "ethernet", "--set", "nodes=8", "--set", "node.cores=4")


@pytest.fixture
def computing(compiled, simulate):
    """Predicted times of ranks that only compute, all runs with the same measured computation."""
    program = compiled("tests/programs/model/compute_only.c")
    ranks = ("-n", 4)
    measured = simulate(*ranks, *NODES, "-o", "measured.sesame", "--", program)
    assert measured.status == 0, measured.stderr

    def time(*options: str, compute: str = "recorded:measured.sesame") -> float:
        run = simulate(*ranks, *NODES, "--compute", compute, *options, "--json", "--", program)
        assert run.status == 0, run.stderr
        return float(run.json["predicted_time_s"])

    return time


TABLE = ("--set", "node.slowdown=[1.0, 1.25, 1.5]")


def test_computation_takes_as_much_longer_as_the_table_says(computing):
    no_messages = ("--set", "network.latency=1ps", "--set", "node.network.latency=1ps")
    alone = computing(*no_messages)
    for placement, factor in (("cyclic", 1.0), ("block", 1.5)):
        shared = computing(*no_messages, *TABLE, "--placement", placement)
        assert shared == pytest.approx(factor * alone, rel=1e-4)


def test_each_rank_has_the_factor_of_its_own_node(computing, tmp_path):
    """Rank 3, the slowest, shares its node with rank 0."""
    (tmp_path / "places").write_text("0\n1\n2\n0\n")
    alone = computing()
    assert computing(*TABLE, "--placement", "places") == pytest.approx(1.25 * alone, rel=1e-2)


def test_a_time_that_is_given_stays(computing):
    assert computing(*TABLE, compute="fixed:1us") == computing(compute="fixed:1us")
