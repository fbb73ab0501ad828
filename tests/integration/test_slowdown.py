"""What ranks of a node cost each other: the time of computation grows by the machine's factor."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc
import pytest
from tests.processors import needs_processors

from sesame.datasets import DataSet

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


@pytest.fixture
def beside(compiled, simulate, tmp_path_factory):
    """Runs with copies: the answer, and how many runs of the program began."""
    program = compiled("tests/programs/model/copies.c")
    log = tmp_path_factory.mktemp("outside") / "runs"  # of the simulated file systems

    def run(*options: str, compute: str = "measured:2") -> tuple[Any, int]:
        log.unlink(missing_ok=True)
        words = ("-n", 2, *NODES, "--compute", compute, *options)
        done = simulate(*words, "--", program, log)
        return done, len(log.read_text().splitlines())

    return run


@needs_processors(2)
def test_copies_of_the_run_compute_beside_it(beside):
    done, runs = beside()
    assert done.status == 0, done.stderr
    assert runs >= 2
    assert done.stdout.count("one run") == 1
    assert "failed" not in done.stderr


@needs_processors(2)
def test_what_copies_cost_is_not_counted_twice(beside, simulate):
    done, _ = beside("-o", "shared.sesame")
    assert done.status == 0, done.stderr
    alone, _ = beside("--json", compute="recorded:shared.sesame")
    again, _ = beside(*TABLE, "--json", compute="recorded:shared.sesame")
    assert again.json["predicted_time_s"] == alone.json["predicted_time_s"]


def test_there_are_no_more_copies_than_processors(simulate, compiled):
    program = compiled("tests/programs/model/copies.c")
    done = simulate("-n", 2, *NODES, "--compute", "measured:100000", "--", program, "runs")
    assert done.status == 2
    assert "--compute measured:100000: expected at most" in done.stderr


@needs_processors(2)
def test_copies_and_kept_files_are_refused(simulate, compiled):
    program = compiled("tests/programs/model/copies.c")
    words = ("-n", 2, "--machine", "pfssim", "--files", "kept", "--compute", "measured:2")
    done = simulate(*words, "--", program, "runs")
    assert done.status == 2
    assert "runs copies of it" in done.stderr


@needs_processors(2)
@pytest.mark.parametrize("at_once", [("--ranks-as", "processes"), ("--workers", 2)])
def test_what_ranks_that_compute_at_once_cost_is_not_counted_twice(
    compiled, simulate, tmp_path, at_once
):
    """Two ranks of a node that compute at once slow each other down while they are measured."""
    program = compiled("tests/programs/model/compute_only.c")
    node = ("--set", "node.cores=2", "--set", "node.slowdown=[1.0, 3.0]")

    def factor(*options: object) -> float:
        """Predicted computation over that of the host."""
        words = ("-n", 4, *NODES, *node, *options)
        done = simulate(*words, "-o", "run.sesame", "--force", "--", program)
        assert done.status == 0, done.stderr
        data_set = DataSet(tmp_path / "run.sesame")
        before = data_set.table("call", ["compute_before_ps"]).column(0)
        predicted, after = data_set.table("rank", ["compute_s", "compute_after_calls_ps"]).columns
        measured = pc.sum(before).as_py() + pc.sum(after).as_py()
        return float(pc.sum(predicted).as_py() / (measured * 1e-12))

    assert factor() == pytest.approx(3, rel=1e-3)
    assert factor("--compute", "recorded:run.sesame") == pytest.approx(3, rel=1e-3)
    assert factor(*at_once) == pytest.approx(1, rel=1e-3)
    # Also when it is recorded, and recorded again.
    for _ in range(2):
        assert factor("--compute", "recorded:run.sesame") == pytest.approx(1, rel=1e-3)
