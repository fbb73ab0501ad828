"""What grows with the number of ranks: memory, memory mappings, and a stack for each."""

from __future__ import annotations

import functools
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command_line import SESAME, run
from tests.integration.installations import ROOT

ON = ("--machine", "infiniband", "--compute", "none", "--no-records")

OVERFLOW = """
#include <mpi.h>
static int descend(int depth) {
  volatile char frame[1000];
  frame[depth % 1000] = 1;
  return depth < 0 ? 0 : descend(depth + 1) + frame[depth % 1000];
}
int main(int argc, char **argv) {
  int rank, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) sum = descend(0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return sum != 0;
}
"""

PAGE_TABLES = """
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
  int rank, kib = -1;
  char line[256];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  FILE *file = rank == 0 ? fopen("/proc/self/status", "r") : NULL;
  while (file && fgets(line, sizeof line, file)) sscanf(line, "VmPTE: %d", &kib);
  if (rank == 0) printf("%d\\n", kib);
  MPI_Finalize();
  return 0;
}
"""


@pytest.fixture(scope="module")
def startup(tmp_path_factory) -> Path:
    program = tmp_path_factory.mktemp("startup") / "startup"
    source = ROOT / "bench/programs/startup.c"
    subprocess.run(["mpicc.mpich", "-w", "-O2", str(source), "-o", str(program)], check=True)
    return program


@pytest.fixture(scope="module")
def kib_a_rank(startup, tmp_path_factory) -> Callable[[str, int], float]:
    """kib_a_rank(call, ranks): what the call adds to the memory of a run with so many ranks."""
    directory = tmp_path_factory.mktemp("runs")

    @functools.cache
    def peak(call: str, ranks: int) -> int:
        command = [*SESAME, "simulate", "-n", str(ranks), *ON, "--json", "--", str(startup), call]
        return run(command, directory).json["peak_rss_bytes"]

    return lambda call, ranks: (peak(call, ranks) - peak("none", ranks)) / ranks / 1024


@pytest.mark.few_cases(2)
@pytest.mark.parametrize("call", ["split", "window", "cart", "inter", "group"])
def test_memory_grows_with_the_number_of_ranks_and_not_with_its_square(call, kib_a_rank):
    # The pools of the simulator's objects grow by whole huge pages.
    assert kib_a_rank(call, 4000) < 1.5 * kib_a_rank(call, 1000) + 4


def test_the_overflow_of_a_stack_is_reported_with_its_rank(tmp_path, simulate):
    source = tmp_path / "overflow.c"
    source.write_text(OVERFLOW)
    program = tmp_path / "overflow"
    subprocess.run(["mpicc.mpich", "-w", "-O0", str(source), "-o", str(program)], check=True)
    outcome = simulate("-n", 3, *ON, "--stack-size", "256KiB", "--", program)
    assert "rank 1 overflowed its stack of 256 kB" in outcome.stderr
    assert "--stack-size" in outcome.stderr
    assert outcome.status == 128 + 11


def test_a_rank_takes_two_memory_mappings_where_the_kernel_marks_guards(startup, simulate):
    limit = int(Path("/proc/sys/vm/max_map_count").read_text())
    release = run(["uname", "-r"], Path.cwd()).stdout
    version = tuple(int(number) for number in re.findall(r"\d+", release)[:2])
    outcome = simulate("-n", limit, *ON, "--", startup)
    assert outcome.status == 2
    assert "sysctl -w vm.max_map_count=" in outcome.stderr
    said = re.search(r"enough for (\d+) ranks", outcome.stderr)
    assert said is not None, outcome.stderr
    assert int(said[1]) == (limit - 1000) // (2 if version >= (6, 13) else 4)
    workers = -(-limit // int(said[1]))
    assert f"use --workers {workers}, which divides the ranks; or, as root:" in outcome.stderr


def test_ranks_on_too_few_nodes_are_not_divided_to_have_fewer_mappings(startup, simulate):
    limit = int(Path("/proc/sys/vm/max_map_count").read_text())
    outcome = simulate("-n", limit, *ON, "--set", f"node.cores={limit}", "--", startup)
    assert "hint: as root: sysctl -w vm.max_map_count=" in outcome.stderr


def test_a_worker_has_stacks_for_its_own_ranks_only(tmp_path, simulate):
    """A page table for the guard of each other stack would be memory for workers times ranks."""
    (tmp_path / "page_tables.c").write_text(PAGE_TABLES)
    command = ["mpicc.mpich", "-w", "-O2", "page_tables.c", "-o", "page_tables"]
    subprocess.run(command, cwd=tmp_path, check=True)
    ranks = 4096
    outcome = simulate("-n", ranks, *ON, "--workers", 8, "--", tmp_path / "page_tables")
    assert outcome.status == 0, outcome.stderr
    assert 0 < int(outcome.stdout) < 3 * ranks  # KiB; a page table takes 4


STACK = """
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  size_t bytes = rank == 1000 ? (size_t)atol(argv[1]) : 1;
  char frame[bytes];
  memset(frame, 1, bytes);
  MPI_Finalize();
  return frame[bytes - 1] - 1;
}
"""


def test_smaller_stacks_are_advised_where_no_rank_needs_large_ones(tmp_path, simulate):
    (tmp_path / "stack.c").write_text(STACK)
    command = ["mpicc.mpich", "-w", "-O1", "stack.c", "-o", "stack"]
    subprocess.run(command, cwd=tmp_path, check=True)

    def advised(*options: object, deepest: int) -> str | None:
        done = simulate("-n", 2048, *ON, *options, "--", tmp_path / "stack", deepest)
        assert done.status == 0, done.stderr
        found = re.search(r"with --stack-size (\S+) the ranks' page tables", done.stderr)
        return found and found[1]

    assert advised(deepest=1) == "64KiB"
    assert advised(deepest=40_000) == "256KiB"  # one rank decides
    assert advised(deepest=150_000) is None
    assert advised("--stack-size", "64KiB", deepest=1) is None


@pytest.mark.long
def test_workers_simulate_more_ranks_than_one_process_can_map(startup, simulate):
    limit = int(Path("/proc/sys/vm/max_map_count").read_text())
    if limit > 100_000:
        pytest.skip(f"vm.max_map_count is {limit}")
    outcome = simulate("-n", limit, *ON, "--workers", 4, "--json", "--", startup)
    assert outcome.status == 0, outcome.stderr
    assert json.loads(outcome.stdout)["ranks"] == limit
