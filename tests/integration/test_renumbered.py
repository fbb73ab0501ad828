"""Ranks with other numbers take the same times where all nodes and their ways are alike."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.installations import ROOT

HEADER = ROOT / "tests/programs/model/renumbered.h"
# A node for each rank, on a network in which all ways take the same time.
MACHINE = ("--machine", "ethernet", "--placement", "cyclic", "--compute", "none")
# Each rank begins within a nanosecond of its time, and what follows from it is as near.
NEAR = 5e-9


@pytest.fixture
def ends(simulate: Callable, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[int, float]]:
    """ends(numbers, *options_and_program): when each rank of the program ended, s, where the rank
    i of MPI_COMM_WORLD has the number numbers[i] in it."""

    def run(numbers: list[int], *command: object) -> dict[int, float]:
        monkeypatch.setenv("RENUMBERED", ",".join(map(str, numbers)))
        done = simulate("-n", len(numbers), *MACHINE, *command)
        assert done.status == 0, done.stdout + done.stderr
        found = re.findall(r"rank (\d+): (\d+\.\d+) (\d+\.\d+)", done.stderr)
        times = {int(rank): (float(begin), float(end)) for rank, begin, end in found}
        assert sorted(times) == list(range(len(numbers)))
        # They did not begin at the same time, and each had something to do.
        assert len({begin for begin, _ in times.values()}) > 1
        assert all(end - begin > 1e-6 for begin, end in times.values())
        return {rank: end for rank, (_, end) in times.items()}

    return run


def assert_same_when_renumbered(ends: Callable, ranks: int, *command: object) -> None:
    in_order = ends(list(range(ranks)), *command)
    numbers = list(range(ranks))
    for seed in (1, 2):
        random.Random(seed).shuffle(numbers)
        assert ends(numbers, *command) == pytest.approx(in_order, rel=0, abs=NEAR)


@pytest.mark.parametrize(
    "run",
    [
        "examples/heat.c 8 -- 96 20",
        "examples/samplesort.c 7 -- 500",
        "examples/heat.c 6 --set network.sharing=interface -- 96 20",
    ],
)
def test_renumbered_examples_take_the_same_times(run, compiled, ends):
    source, ranks, *rest = run.split()
    end = rest.index("--")
    built = compiled(source, flags=("-include", str(HEADER)))
    assert_same_when_renumbered(ends, int(ranks), *rest[: end + 1], built, *rest[end + 1 :])


# Files of the last two are real ones, which take no time: a simulated file system
# serves requests of the same time in the order of ranks.
WORKLOADS = """
ep 7
is 8
is 6
cg 8
mg 8
ft 8
bt 9 --steps 3
sp 9 --steps 3
lu 8 --steps 3
wavelet 8 --size 32 --scratch messages --dir elsewhere
ppm 8 --width 48 --height 64 --steps 4 --every 2 --dir elsewhere
"""


@pytest.fixture(scope="session")
def renumbered_workload(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """renumbered_workload(name): the workload, built with the header in front of each file."""
    directory = tmp_path_factory.mktemp("workloads")
    configure = ["cmake", "-S", str(ROOT / "workloads"), "-B", str(directory), "-G", "Ninja"]
    configure += ["-DCMAKE_CXX_COMPILER=mpicxx.mpich", f"-DCMAKE_CXX_FLAGS=-include {HEADER}"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)

    def build(name: str) -> Path:
        command = ["cmake", "--build", str(directory), "--target", name]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return directory / name

    return build


@pytest.mark.long
@pytest.mark.parametrize("run", WORKLOADS.strip().splitlines())
def test_renumbered_workloads_take_the_same_times(run, renumbered_workload, ends, tmp_path_factory):
    elsewhere = str(tmp_path_factory.mktemp("elsewhere"))
    name, ranks, *arguments = (elsewhere if w == "elsewhere" else w for w in run.split())
    assert_same_when_renumbered(ends, int(ranks), "--", renumbered_workload(name), *arguments)
