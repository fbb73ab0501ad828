"""Random programs give the same data set with several workers: shared cards, buffered sends,
one-sided communication, collectives of the network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.installations import ROOT
from tests.integration.orders import assert_same_in_any_order, differences

MACHINE_FILES = ROOT / "python/sesame/machines"
COMMON = ("--compute", "none", "--placement", "cyclic")
# A machine, and what is set in it.
MACHINES = {
    "nothing shared": ("infiniband",),
    "cards": ("csd3",),
    "two cards and memory": (
        *("csd3", "--set", "node.network.total_bandwidth=10GB/s"),
        *("--set", "network.card.number=2"),
    ),
    "slow cards": (
        *("sp2", "--set", "network.sharing=interface", "--set", "node.cores=2"),
        *("--set", "node.network.latency=1us", "--set", "node.network.bandwidth=1GB/s"),
    ),
}


@pytest.fixture
def same(simulate: Callable, tmp_path: Path) -> Callable[..., None]:
    """same(ranks, command): the data sets and the output with 2, 3 and 4 workers are those of one,
    also with random delays."""

    def check(ranks: int, machine: tuple[str, ...], *command: object) -> None:
        runs = []
        counts = [count for count in (2, 3, 4) if count <= ranks]
        for workers in ((), *(("--workers", n) for n in counts), ("--workers", 2, "--shuffle", 1)):
            output = tmp_path / f"{len(runs)}.sesame"
            options = ("--machine", *machine, *COMMON, "-n", ranks, *workers)
            done = simulate("-o", output, *options, "--", *command)
            assert done.status == 0, done.stderr[:2000]
            runs.append((output, sorted(done.stdout.splitlines())))
        for output, printed in runs[1:]:
            assert differences(runs[0][0], output) == []
            assert printed == runs[0][1]

    return check


@pytest.mark.parametrize("machine", MACHINES)
def test_random_programs_of_messages(machine, compiled, same):
    seed = 400 + list(MACHINES).index(machine)
    same(6, MACHINES[machine], compiled("tests/programs/model/schedule.c"), seed, 16)


@pytest.mark.parametrize("machine", MACHINES)
def test_random_programs_of_one_sided_communication(machine, compiled, same):
    seed = 500 + list(MACHINES).index(machine)
    same(5, MACHINES[machine], compiled("tests/programs/model/windows.c"), seed, 20)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(600, 615))
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("program", ["schedule", "windows"])
def test_many_random_programs(program, machine, seed, compiled, same):
    made = compiled(f"tests/programs/model/{program}.c")
    same(3 + seed % 6, MACHINES[machine], made, seed, 20)


HARDWARE = """
[collectives.hardware]
latency = "1 us"
bandwidth = "1 GB/s"

[[collectives.allreduce]]
algorithm = "hardware"

[[collectives.barrier]]
algorithm = "hardware"
"""


@pytest.mark.parametrize("machine", ["infiniband", "csd3"])
def test_collectives_of_the_network(machine, compiled, same, tmp_path):
    file = tmp_path / "machine.toml"
    file.write_text((MACHINE_FILES / f"{machine}.toml").read_text() + HARDWARE)
    same(7, (str(file),), compiled("tests/programs/model/reductions.c"))


def test_random_one_sided_programs_give_the_same_data_in_any_order(compiled, simulate, tmp_path):
    program = compiled("tests/programs/model/windows.c")
    options = (*COMMON, "--machine", "csd3", "-n", 5)
    assert_same_in_any_order(simulate, tmp_path, 2, *options, "--", program, 700, 20)
