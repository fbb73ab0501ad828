"""`MPI_Cancel` of a receive that names its source cancels it unless a message for it has arrived by
then, whatever the order of execution, the workers and their protocol (decision 0060)."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.installations import ROOT
from tests.integration.orders import differences

from sesame.simulation.settings import PROTOCOLS

CANCELS = "tests/programs/model/cancels.c"
COMMON = ("--compute", "none", "--placement", "cyclic", "--machine", "infiniband")
BEFORE, AFTER = "-200 ns: cancelled", "+200 ns: received"
TIMES = [
    f"{size} bytes, {case}" for size in (100, 200_000) for case in (BEFORE, AFTER, AFTER, BEFORE)
]
ORDERS = (
    (),
    ("--shuffle", 1),
    ("--shuffle", 2),
    *(("--workers", 2, "--protocol", protocol) for protocol in PROTOCOLS),
)
PROCESSES = ("--ranks-as", "processes")


@pytest.mark.parametrize("mpi", ["debian", "openmpi"])
@pytest.mark.parametrize("ranks_as", [(), PROCESSES], ids=["fibers", "processes"])
def test_a_receive_is_cancelled_unless_its_message_has_arrived(ranks_as, mpi, compiled, simulate):
    program = compiled(CANCELS, mpi=mpi)
    for order in ORDERS:
        done = simulate(*COMMON, "-n", 2, *ranks_as, *order, "--", program, "times")
        assert done.status == 0, done.stderr
        assert done.stdout.splitlines() == TIMES, order


def test_so_it_is_behind_a_receive_of_a_later_message(compiled, simulate):
    for order in ORDERS:
        done = simulate(*COMMON, "-n", 2, *order, "--", compiled(CANCELS), "behind")
        assert done.status == 0, done.stderr
        assert done.stdout.splitlines() == TIMES, order


def test_so_it_is_where_another_thread_cancels(compiled, simulate):
    program = compiled(CANCELS)
    for order in ((), ("--shuffle", 1), ("--workers", 2)):
        done = simulate(*COMMON, "-n", 2, *PROCESSES, *order, "--", program, "threads")
        assert done.status == 0, done.stderr
        assert done.stdout.splitlines() == [TIMES[0], TIMES[0], TIMES[1]], order


@pytest.mark.parametrize("mpi", ["debian", "openmpi"])
@pytest.mark.parametrize("module", ["mpi", "mpi_f08"])
def test_so_it_is_in_fortran(module, mpi, compiled, simulate):
    flags = ("-cpp", "-DF08") if module == "mpi_f08" else ("-cpp",)
    program = compiled("tests/programs/model/cancels.f90", mpi=mpi, flags=flags)
    for order in ((), ("--shuffle", 1), ("--workers", 2)):
        done = simulate(*COMMON, "-n", 2, *order, "--", program)
        assert done.status == 0, done.stderr
        assert [line.rstrip() for line in done.stdout.splitlines()] == TIMES, order


def test_so_it_is_where_the_program_looks_the_function_up(compiled, simulate):
    program = compiled(CANCELS, flags=("-DLOOKED_UP",))
    for order in ((), ("--shuffle", 1), ("--workers", 2)):
        done = simulate(*COMMON, "-n", 2, *order, "--", program, "times")
        assert done.stdout.splitlines() == TIMES, order


def test_so_it_is_in_python(simulate):
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed: pip install mpi4py")
    script = ROOT / "tests/programs/processes/cancels.py"
    for order in ((), ("--shuffle", 1), ("--workers", 2)):
        done = simulate(*COMMON, "-n", 2, *order, "--", sys.executable, script)
        assert done.stdout.splitlines() == TIMES, (order, done.stderr)


@pytest.fixture
def run(compiled: Callable, simulate: Callable, tmp_path: Path) -> Callable[..., tuple]:
    """run(ranks, options, arguments): the data set, and what ranks printed."""

    def simulated(ranks: int, options: tuple, *arguments: object) -> tuple[Path, list[str]]:
        output = tmp_path / f"{len(list(tmp_path.glob('*.sesame')))}.sesame"
        command = ("--", compiled(CANCELS), *arguments)
        done = simulate("-o", output, *COMMON, "-n", ranks, *options, *command)
        assert done.status == 0, done.stderr[:2000]
        return output, sorted(done.stdout.splitlines())

    return simulated


# network.sharing, and further ways to run the program.
KINDS = {
    "alone": (
        "none",
        (
            ("--shuffle", 1),
            ("--workers", 2),
            ("--workers", 3, "--shuffle", 2, "--protocol", "null+conditional"),
            ("--workers", 3, "--protocol", "null"),
            ("--workers", 2, "--sources", "members"),
            PROCESSES,
        ),
    ),
    "shared cards": (
        "interface",
        (
            ("--shuffle", 1),
            ("--workers", 3, "--shuffle", 2),
            ("--workers", 2, "--protocol", "conditional"),
            (*PROCESSES, "--workers", 2),
        ),
    ),
}


@pytest.mark.every_case
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [1])
def test_random_programs_that_cancel_give_the_same_data_in_any_order(seed, kind, run):
    sharing, ways = KINDS[kind]
    machine = ("--set", f"network.sharing={sharing}")
    arguments = ("random", seed, 30)
    ranks = 5 + seed % 4
    first, printed = run(ranks, machine, *arguments)
    found = {}
    for way in ways:
        output, lines = run(ranks, (*machine, *way), *arguments)
        found[way] = differences(first, output) + ([] if lines == printed else ["other output"])
    assert not any(found.values()), found


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2, 52))
def test_a_hundred_random_programs_that_cancel(seed, kind, run):
    test_random_programs_that_cancel_give_the_same_data_in_any_order(seed, kind, run)


def test_receives_that_are_waited_for_need_no_synchronisation(run):
    """Although the program may cancel them: in MPI_Waitall it cannot."""
    output, _ = run(8, ("--workers", 2), "waits", 20)
    parallel = json.loads((output / "info.json").read_text())["result"]["parallel"]
    assert parallel["rounds"] <= 1
