"""The clocks of ranks that are processes, of real, of processor and of simulated time."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command_line import Outcome


@pytest.mark.parametrize("mpi", ["debian", "openmpi"])
def test_all_clocks_show_what_they_show_with_fibers(
    simulate: Callable[..., Outcome], compiled: Callable[..., Path], mpi: str
) -> None:
    program = compiled("tests/programs/loader/clocks.c", mpi)
    options = ("-n", 2, "--machine", "infiniband", "--compute", "fixed:30ms")
    said = []
    for way in ("fibers", "processes"):
        done = simulate(*options, "--ranks-as", way, "--", program)
        assert done.status == 0, done.stderr
        said.append(sorted(done.stdout.splitlines()))
    assert said[0] == said[1]
    assert all(" cpu 0.0600 0.0600 0.0600 ticks " in line for line in said[0])


def test_simulated_time_advances_for_others_while_a_rank_computes(
    simulate: Callable[..., Outcome], compiled: Callable[..., Path]
) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one processor: ranks compute one after another")
    program = compiled("tests/programs/processes/spins.c", "debian")
    machine = ("--machine", "infiniband", "--placement", "block", "--compute", "measured")
    options = (*machine, "--ranks-as", "processes", "--", program)
    outcome = simulate("-n", 3, *options)
    assert (outcome.status, outcome.stdout) == (0, "rank 0 saw 10\n"), outcome.stderr
