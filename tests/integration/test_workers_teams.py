"""Receives from any source and probes among ranks of one worker need no synchronisation with
`--sources members`, and the data set is that of one process: also where polls take in what ranks of
other workers put, and where receives are cancelled."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.orders import differences

from sesame.simulation.settings import PROTOCOLS

TEAMS = "tests/programs/model/teams.c"
# One rank on each node, and several.
PLACEMENTS = {
    "cyclic": ("--placement", "cyclic"),
    "nodes of two": ("--set", "node.cores=2"),
}
# Of random programs: network.sharing, the program's last argument, and protocols.
KINDS = {
    "messages": ("none", (), PROTOCOLS),
    "windows": ("none", ("windows",), ("quantum", "conditional")),
}
MEMBERS = ("--sources", "members")


@pytest.fixture
def run(compiled: Callable, simulate: Callable, tmp_path: Path) -> Callable[..., Path]:
    """run(ranks, placement, sharing, arguments, options): the data set."""

    def simulated(
        ranks: int, placement: str, sharing: str, arguments: tuple, *options: object
    ) -> Path:
        output = tmp_path / f"{len(list(tmp_path.glob('*.sesame')))}.sesame"
        given = ("--compute", "fixed:1us", "--set", f"network.sharing={sharing}", "-n", ranks)
        given = (*given, *PLACEMENTS[placement], "--machine", "infiniband", *options)
        done = simulate("-o", output, *given, "--", compiled(TEAMS), *arguments)
        assert done.status == 0, done.stderr[:2000]
        return output

    return simulated


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [1, 2])
def test_random_teams_give_the_data_of_one_process(seed, kind, run):
    sharing, more, protocols = KINDS[kind]
    arguments = (seed, 3, *more)
    placed = (6 + seed % 4, list(PLACEMENTS)[seed % 2], sharing, arguments)
    alone = run(*placed)
    found = {
        options: differences(alone, run(*placed, *MEMBERS, *options))
        for options in (
            ("--workers", 2),
            ("--workers", 3, "--shuffle", 1),
            ("--workers", 4 if seed % 2 == 0 else 3),
            ("--workers", 3, "--protocol", protocols[seed % len(protocols)]),
        )
    }
    assert not any(found.values()), found


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(10, 35))
def test_a_hundred_random_programs_of_teams(seed, kind, run):
    test_random_teams_give_the_data_of_one_process(seed, kind, run)


def parallel_of(directory: Path) -> dict:
    return json.loads((directory / "info.json").read_text())["result"]["parallel"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_teams_of_one_worker_each_need_no_synchronisation(protocol, run):
    """The teams are the halves of the ranks; with three workers one team has ranks of two. No rank
    polls, which needs synchronisation: some thousand null messages."""
    found = {
        workers: parallel_of(
            run(
                *(8, "cyclic", "none", (1, 4, "quiet"), *MEMBERS),
                *("--workers", workers, "--protocol", protocol),
            )
        )
        for workers in (2, 3)
    }
    assert found[2]["rounds"] <= 1
    # One worker may ask while the other one starts.
    assert sum(found[2]["null_messages"]) < 10
    assert found[3]["rounds"] > 10 or sum(found[3]["null_messages"]) > 10
