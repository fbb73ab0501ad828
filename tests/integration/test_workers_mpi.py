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
    "cards beside busy cores": (
        *("csd3", "--set", "network.card.slowdown=[2,4]", "--set", "nodes=4"),
        *("--compute", "fixed:3us"),
    ),
}


# Of random programs. `make test` has two runs beside that of one process, one with random delays.
WORKERS = pytest.mark.parametrize("workers", [(3,), pytest.param((2, 4), marks=pytest.mark.long)])


@pytest.fixture
def same(simulate: Callable, tmp_path: Path) -> Callable[..., None]:
    """same(ranks, machine, command): the data sets and the output with so many workers are those of
    one, also with random delays."""

    def check(
        ranks: int,
        machine: tuple[str, ...],
        *command: object,
        workers: tuple[int, ...] = (2, 3, 4),
    ) -> None:
        runs = []
        counts = [count for count in workers if count <= ranks]
        for chosen in ((), *(("--workers", n) for n in counts), ("--workers", 2, "--shuffle", 1)):
            output = tmp_path / f"{len(runs)}.sesame"
            options = (*COMMON, "--machine", *machine, "-n", ranks, *chosen)
            done = simulate("-o", output, *options, "--", *command)
            assert done.status == 0, done.stderr[:2000]
            runs.append((output, sorted(done.stdout.splitlines())))
        for output, printed in runs[1:]:
            assert differences(runs[0][0], output) == []
            assert printed == runs[0][1]

    return check


@pytest.mark.few_cases(1)
@WORKERS
@pytest.mark.parametrize("machine", MACHINES)
def test_random_programs_of_messages(machine, workers, compiled, same):
    seed = 400 + list(MACHINES).index(machine)
    program = compiled("tests/programs/model/schedule.c")
    same(6, MACHINES[machine], program, seed, 16, workers=workers)


@pytest.mark.few_cases(1)
@WORKERS
@pytest.mark.parametrize("machine", MACHINES)
def test_random_programs_of_one_sided_communication(machine, workers, compiled, same):
    seed = 500 + list(MACHINES).index(machine)
    program = compiled("tests/programs/model/windows.c")
    same(5, MACHINES[machine], program, seed, 20, workers=workers)


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


@pytest.fixture
def with_collectives(tmp_path: Path) -> Callable[[str], Path]:
    """with_collectives(machine): a file of it with collectives of the network."""

    def write(machine: str) -> Path:
        file = tmp_path / "machine.toml"
        file.write_text((MACHINE_FILES / f"{machine}.toml").read_text() + HARDWARE)
        return file

    return write


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("machine", ["infiniband", "azure-hb"])
def test_collectives_of_the_network(machine, compiled, same, with_collectives):
    same(7, (str(with_collectives(machine)),), compiled("tests/programs/model/reductions.c"))


TWO_LEVELS = tuple(
    argument
    for collective in ("allreduce", "barrier", "bcast", "reduce")
    for argument in ("--set", f"collectives.{collective}.0.algorithm=two-level")
)


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("nodes", [4, 5])
def test_collectives_within_nodes_and_between_them(nodes, compiled, same):
    machine = ("infiniband", *TWO_LEVELS, "--set", f"nodes={nodes}")
    same(11, machine, compiled("tests/programs/model/reductions.c"))


def test_unequal_counts_end_a_collective_of_the_network(compiled, simulate, with_collectives):
    """Whichever worker the ranks are in."""
    program = compiled("tests/programs/model/endings.c")
    options = ("--machine", with_collectives("infiniband"), *COMMON, "--placement", "block")
    options = (*options, "--set", "node.cores=2", "-n", 4)
    for workers in (1, 2):
        done = simulate("--workers", workers, *options, "--", program, "counts")
        assert done.status != 0
        assert "the ranks pass different amounts of data" in done.stderr
        assert "rank 0 4 bytes" in done.stderr


def test_operations_of_the_program_inside_one_worker(compiled, same, with_collectives):
    """The network does no reduction among several workers by an operation of the program."""
    program = compiled("tests/programs/model/endings.c")
    same(4, (str(with_collectives("infiniband")),), program, "own operation")


def test_random_one_sided_programs_give_the_same_data_in_any_order(compiled, simulate, tmp_path):
    program = compiled("tests/programs/model/windows.c")
    options = (*COMMON, "--machine", "csd3", "-n", 5)
    assert_same_in_any_order(simulate, tmp_path, 2, *options, "--", program, 700, 20)
