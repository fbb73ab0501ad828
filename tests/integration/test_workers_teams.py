"""Receives from any source, probes and tests among ranks of one worker: they need no
synchronisation, and the data set is that of one process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.orders import differences

from sesame.simulation.settings import PROTOCOLS

TEAMS = "tests/programs/model/teams.c"
COMMON = ("--compute", "fixed:1us", "--machine", "infiniband", "--set", "network.sharing=none")
# One rank on each node, and several.
PLACEMENTS = {
    "cyclic": ("--placement", "cyclic"),
    "nodes of two": ("--set", "node.cores=2"),
}


@pytest.fixture
def run(compiled: Callable, simulate: Callable, tmp_path: Path) -> Callable[..., Path]:
    """run(ranks, placement, arguments, options): the data set."""

    def simulated(ranks: int, placement: str, arguments: tuple, *options: object) -> Path:
        output = tmp_path / f"{len(list(tmp_path.glob('*.sesame')))}.sesame"
        given = (*COMMON, *PLACEMENTS[placement], "-n", ranks, *options)
        done = simulate("-o", output, *given, "--", compiled(TEAMS), *arguments)
        assert done.status == 0, done.stderr[:2000]
        return output

    return simulated


@pytest.mark.every_case
@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("seed", range(1, 5))
def test_random_teams_give_the_data_of_one_process(seed, placement, run):
    ranks = 6 + seed
    arguments = (seed, 3)
    alone = run(ranks, placement, arguments)
    found = {
        options: differences(alone, run(ranks, placement, arguments, *options))
        for options in (
            ("--workers", 2),
            ("--workers", 3, "--shuffle", 1),
            ("--workers", 4),
            ("--workers", 3, "--protocol", PROTOCOLS[1 + seed % 3]),
        )
    }
    assert not any(found.values()), found


@pytest.mark.long
@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("seed", range(10, 60))
def test_fifty_random_programs_of_teams(seed, placement, run):
    test_random_teams_give_the_data_of_one_process(seed, placement, run)


def parallel_of(directory: Path) -> dict:
    return json.loads((directory / "info.json").read_text())["result"]["parallel"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_teams_of_one_worker_each_need_no_synchronisation(protocol, run):
    """The teams are the halves of the ranks; with three workers one team has ranks of two."""
    arguments = (1, 4, "quiet")
    found = {
        workers: parallel_of(
            run(8, "cyclic", arguments, "--workers", workers, "--protocol", protocol)
        )
        for workers in (2, 3)
    }
    assert found[2]["rounds"] <= 1
    assert sum(found[2]["null_messages"]) == 0
    assert found[3]["rounds"] > 10 or sum(found[3]["null_messages"]) > 10
