"""Workloads, examples and other programs give the same data set in any order (decision 0015)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.installations import ROOT
from tests.integration.orders import assert_same_in_any_order

from sesame.workloads import all_workloads

# Each line: a program, ranks, a machine, options of the simulator, "--" and arguments.
FAST = """
is 8 infiniband --
cg 4 sp2 --compute fixed:1us --
oocmm 5 paragon -- --order 20 --access together --collective
requests 7 pfssim -- --requests 200 --warmup 20 --interface mpi
bt 4 pfssim -- --steps 2 --io epio
sparse 4 paragon --compute fixed:1us -- --order 50 --nonzeros 500 --work dynamic
sesame-sort 5 paragon -- --count 1000
wavelet 4 ethernet -- --size 32 --scratch files
examples/samplesort.c 7 ethernet -- 500
tests/programs/answers/one_sided.c 4 infiniband --placement block --
tests/programs/files/data.c 4 sp2 -- file
tests/programs/files/whole.c 4 paragon -- file
"""
LONG = """
ep 7 ethernet --
is 16 paragon --compute fixed:1us --
cg 16 paragon --
mg 8 ethernet --
mg 16 sp2 --compute fixed:1us --
ft 8 infiniband --
ft 16 paragon --
bt 9 infiniband -- --steps 3
bt 4 paragon -- --steps 3 --io posix
bt 9 sp2 -- --steps 3 --io full
bt 4 pfssim -- --steps 3 --io simple
bt 16 pfssim -- --steps 3 --io epio
sp 9 ethernet -- --steps 3
sp 4 paragon --compute fixed:1us -- --steps 3
lu 8 infiniband -- --steps 3
lu 16 sp2 -- --steps 3
sesame-sort 16 infiniband -- --count 5000 --portion 0.01
iow 4 paragon -- --size 64:4096 --operations 16 --repeat 2
iow 7 pfssim -- --size 64:4096 --operations 16 --repeat 2 --interface mpi --map cyclic --sync each
iow 16 infiniband -- --size 64:4096 --operations 16 --repeat 2 --files each --sync end
nht1 4 paragon -- --repeat 1 --steps 5 --bytes 262144 --record 65536
nht1 9 pfssim -- --repeat 1 --steps 5 --bytes 262144 --record 65536 --io full
sparse 4 paragon -- --order 100 --mode sync
sparse 16 pfssim -- --order 100 --mode global
sparse 8 paragon -- --order 100 --mode log --interface mpi
sparse 5 ethernet -- --order 100 --mode record
sparse 6 infiniband -- --order 100 --mode async
sparse 9 sp2 -- --order 100 --work both --interface mpi
oocmm 16 infiniband -- --order 40
oocmm 8 sp2 -- --order 40 --access together --interface mpi --collective
requests 16 paragon -- --requests 500 --warmup 50 --file own
requests 4 infiniband -- --requests 500 --warmup 50 --offsets hot --think 50
cachestudy 2 infiniband -- --self-check
messages 5 paragon -- --most 65536 --repeat 1
messages 2 infiniband --compute fixed:1us -- --most 65536 --repeat 1
memory 2 sp2 --compute fixed:1us -- --pages 64 --most 65536
wavelet 8 paragon -- --size 64 --scratch messages
wavelet 16 pfssim -- --size 64 --scratch files
ppm 8 paragon -- --width 48 --height 64 --steps 4 --every 2
ppm 16 infiniband --compute fixed:1us -- --width 48 --height 64 --steps 4 --every 2
nbody 8 ethernet -- --bodies 120 --steps 10
nbody 5 paragon -- --bodies 120 --steps 10
examples/checkpoint.c 8 ethernet --
examples/heat.c 8 ethernet -- 96 100
examples/nbody.cc 16 sp2 -- 256 3
examples/samplesort.c 16 infiniband --compute fixed:1us -- 2000
examples/cg.f90 8 paragon -- 64 30
examples/transpose.f90 9 infiniband -- 12
tests/programs/answers/callbacks.c 4 sp2 --
tests/programs/answers/communicators.c 7 ethernet --
tests/programs/answers/cxx_bindings.cc 4 infiniband --
tests/programs/answers/mpif.f90 4 paragon --
tests/programs/answers/one_sided.c 8 ethernet --placement block --compute fixed:1us --
tests/programs/answers/ports.c 5 ethernet --
tests/programs/answers/spawn.c 3 infiniband --
tests/programs/answers/topologies.c 8 sp2 --
tests/programs/answers/wildcards.c 8 ethernet --
tests/programs/answers/wildcards.c 16 infiniband --
tests/programs/datatypes/random_types.c 2 ethernet --
tests/programs/files/data.c 8 pfssim --collective two-phase -- file
tests/programs/files/data.c 5 paragon --collective disk-directed -- file
tests/programs/files/data.c 8 infiniband --collective barrier -- file
tests/programs/files/forms.c 4 paragon -- file
tests/programs/files/forms.c 6 pfssim -- file
tests/programs/files/views.c 8 pfssim --collective grouping -- file
tests/programs/files/views.c 4 infiniband -- file
tests/programs/files/whole.c 8 sp2 --compute fixed:1us -- file
tests/programs/files/posix.c 4 paragon --
tests/programs/files/f08.f90 4 pfssim -- file
tests/programs/model/late.c 2 paragon -- 8 65536 100
tests/programs/model/polling.c 2 infiniband --placement block -- loads set
tests/programs/spawn/cases.c 2 ethernet -- files file
tests/programs/trace/mpi_files.c 8 paragon -- file
tests/programs/trace/mpi_coverage.c 2 infiniband --compute fixed:1us -- connect
"""


def cases(lines: str) -> list:
    return [pytest.param(line.split(), id=line) for line in lines.strip().splitlines()]


@pytest.fixture
def in_any_order(
    program: Callable, compiled: Callable, simulate: Callable, tmp_path: Path
) -> Callable[[list[str]], None]:
    """in_any_order([name, ranks, machine, …]): two random orders give what the default one does."""

    def check(case: list[str]) -> None:
        name, ranks, machine, *rest = case
        end = rest.index("--")
        made = compiled(name) if "/" in name else program(name)
        # Computation has to take the same time in all runs; the last --compute counts.
        options = ["--compute", "none", "--placement", "cyclic", *rest[:end]]
        command = ["-n", ranks, "--machine", machine, *options, "--", made, *rest[end + 1 :]]
        assert_same_in_any_order(simulate, tmp_path, 2, *command)

    return check


@pytest.mark.parametrize("case", cases(FAST))
def test_some_programs_give_the_same_data_in_any_order(case, in_any_order):
    in_any_order(case)


@pytest.mark.long
@pytest.mark.parametrize("case", cases(LONG))
def test_all_programs_give_the_same_data_in_any_order(case, in_any_order):
    in_any_order(case)


@pytest.mark.parametrize("machine", ["paragon", "pfssim"])
def test_files_of_each_rank_lie_where_they_do_in_any_order(machine, compiled, simulate, tmp_path):
    """The position of a file and its attributes do not depend on which rank asked first."""
    program = compiled("tests/programs/model/own_files.c")
    options = ("--compute", "fixed:10us", "--placement", "cyclic")
    command = ["-n", 6, "--machine", machine, *options, "--", program, 10]
    assert_same_in_any_order(simulate, tmp_path, 3, *command, inputs=4)


def test_all_workloads_and_examples_have_a_case():
    examples = {f"examples/{path.name}" for path in ROOT.glob("examples/*.*")}
    sources = {name for name in examples if Path(name).suffix in (".c", ".cc", ".f90")}
    ipc = {"ipc"}  # it starts a process of its own and refuses the simulator
    wanted = (all_workloads().keys() - ipc) | sources
    assert (
        wanted - {name for case in (*cases(FAST), *cases(LONG)) for name in case.values[0]} == set()
    )
