"""Small runs of workloads, examples and other programs, for tests that simulate each in several
ways and compare the data sets.

Each line: in which tests of random orders the run is (fast or long), in which tests of workers
(fast, long, or - where workers do not simulate it), then a program, ranks, a machine, options of
the simulator, "--" and arguments.

`make test` has only the first fast runs of a test: those that differ most.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

RUNS = """
fast fast is 8 infiniband --
fast fast bt 4 pfssim -- --steps 2 --io epio
long fast tests/programs/answers/wildcards.c 8 ethernet --
long fast tests/programs/model/files_and_messages.c 4 pfssim -- 1
fast fast tests/programs/model/windows_and_files.c 4 pfssim -- 1
fast fast tests/programs/model/directed_and_messages.c 6 pfssim --collective disk-directed -- 1
fast -    tests/programs/answers/one_sided.c 4 infiniband --placement block --
fast fast tests/programs/files/mapped.c 4 pfssim -- file
fast fast cg 4 sp2 --compute fixed:1us --
fast long tests/programs/files/data.c 4 sp2 -- file
fast long oocmm 5 paragon -- --order 20 --access together --collective
fast long requests 7 pfssim -- --requests 200 --warmup 20 --interface mpi
fast long sparse 4 paragon --compute fixed:1us -- --order 50 --nonzeros 500 --work dynamic
fast long sesame-sort 5 paragon -- --count 1000
fast long wavelet 4 ethernet -- --size 32 --scratch files
fast fast examples/samplesort.c 7 ethernet -- 500
fast fast examples/heat.c 8 ethernet -- 96 20
fast fast tests/programs/files/whole.c 4 paragon -- file
long long ep 7 ethernet --
long long is 16 paragon --compute fixed:1us --
long long cg 16 paragon --
long long mg 8 ethernet --
long long mg 16 sp2 --compute fixed:1us --
long fast ft 8 infiniband --
long long ft 16 paragon --
long long bt 9 infiniband -- --steps 3
long long bt 4 paragon -- --steps 3 --io posix
long long bt 9 sp2 -- --steps 3 --io full
long long bt 4 pfssim -- --steps 3 --io simple
long long bt 16 pfssim -- --steps 3 --io epio
long long sp 9 ethernet -- --steps 3
long long sp 4 paragon --compute fixed:1us -- --steps 3
long long lu 8 infiniband -- --steps 3
long long lu 16 sp2 -- --steps 3
long long sesame-sort 16 infiniband -- --count 5000 --portion 0.01
long long iow 4 paragon -- --size 64:4096 --operations 16 --repeat 2
long long iow 7 pfssim -- --size 64:4096 --operations 16 --repeat 2 --interface mpi --map \
cyclic --sync each
long long iow 16 infiniband -- --size 64:4096 --operations 16 --repeat 2 --files each --sync end
long long nht1 4 paragon -- --repeat 1 --steps 5 --bytes 262144 --record 65536
long long nht1 9 pfssim -- --repeat 1 --steps 5 --bytes 262144 --record 65536 --io full
long long sparse 4 paragon -- --order 100 --mode sync
long long sparse 16 pfssim -- --order 100 --mode global
long long sparse 8 paragon -- --order 100 --mode log --interface mpi
long long sparse 5 ethernet -- --order 100 --mode record
long long sparse 6 infiniband -- --order 100 --mode async
long long sparse 9 sp2 -- --order 100 --work both --interface mpi
long long oocmm 16 infiniband -- --order 40
long long oocmm 8 sp2 -- --order 40 --access together --interface mpi --collective
long long requests 16 paragon -- --requests 500 --warmup 50 --file own
long long requests 4 infiniband -- --requests 500 --warmup 50 --offsets hot --think 50
long long cachestudy 2 infiniband -- --self-check
long long messages 5 paragon -- --most 65536 --repeat 1
long long messages 2 infiniband --compute fixed:1us -- --most 65536 --repeat 1
long long memory 2 sp2 --compute fixed:1us -- --pages 64 --most 65536
long long wavelet 8 paragon -- --size 64 --scratch messages
long long wavelet 16 pfssim -- --size 64 --scratch files
long long ppm 8 paragon -- --width 48 --height 64 --steps 4 --every 2
long long ppm 16 infiniband --compute fixed:1us -- --width 48 --height 64 --steps 4 --every 2
long long nbody 8 ethernet -- --bodies 120 --steps 10
long long nbody 5 paragon -- --bodies 120 --steps 10
long long examples/checkpoint.c 8 ethernet --
long long examples/heat.c 8 ethernet -- 96 100
long long examples/nbody.cc 16 sp2 -- 256 3
long long examples/samplesort.c 16 infiniband --compute fixed:1us -- 2000
long long examples/cg.f90 8 paragon -- 64 30
long long examples/transpose.f90 9 infiniband -- 12
long long tests/programs/answers/callbacks.c 4 sp2 --
long fast tests/programs/answers/communicators.c 7 ethernet --
long long tests/programs/answers/cxx_bindings.cc 4 infiniband --
long long tests/programs/answers/mpif.f90 4 paragon --
long -    tests/programs/answers/one_sided.c 8 ethernet --placement block --compute fixed:1us --
long -    tests/programs/answers/ports.c 5 ethernet --
long -    tests/programs/answers/spawn.c 3 infiniband --
long long tests/programs/answers/topologies.c 8 sp2 --
long long tests/programs/answers/wildcards.c 16 infiniband --
long long tests/programs/datatypes/random_types.c 2 ethernet --
long long tests/programs/files/data.c 8 pfssim --collective two-phase -- file
long long tests/programs/files/data.c 5 paragon --collective disk-directed -- file
long long tests/programs/files/data.c 8 infiniband --collective barrier -- file
long long tests/programs/files/forms.c 4 paragon -- file
long long tests/programs/files/forms.c 6 pfssim -- file
long long tests/programs/files/views.c 8 pfssim --collective grouping -- file
long long tests/programs/files/views.c 4 infiniband -- file
long long tests/programs/files/whole.c 8 sp2 --compute fixed:1us -- file
long long tests/programs/files/posix.c 4 paragon --
long long tests/programs/files/f08.f90 4 pfssim -- file
long long tests/programs/model/late.c 2 paragon -- 8 65536 100
long -    tests/programs/model/polling.c 2 infiniband --placement block -- loads set
long -    tests/programs/spawn/cases.c 2 ethernet -- files file
long long tests/programs/trace/mpi_files.c 8 paragon -- file
long -    tests/programs/trace/mpi_coverage.c 2 infiniband --compute fixed:1us -- connect
long fast requests 7 pfssim -- --requests 50 --warmup 5 --interface mpi
long fast tests/programs/model/files_and_messages.c 5 paragon -- 2
long long tests/programs/model/directed_and_messages.c 8 paragon --collective disk-directed -- 2
long long bt 16 pfssim --collective two-phase -- --steps 3 --io full
long long bt 16 pfssim --collective disk-directed -- --steps 3 --io full
long long bt 16 pfssim --collective grouping -- --steps 3 --io full
long long tests/programs/model/files_and_messages.c 8 sp2 -- 3
long long tests/programs/model/files_and_messages.c 6 infiniband -- 4
long long tests/programs/model/files_and_messages.c 7 pfssim -- 5
long long tests/programs/model/files_and_messages.c 8 paragon -- 6
long long tests/programs/model/own_files.c 6 pfssim -- 10 new
long long tests/programs/model/windows_and_files.c 5 paragon -- 2
long long tests/programs/model/windows_and_files.c 8 infiniband -- 3
long long tests/programs/model/windows_and_files.c 6 sp2 --compute fixed:1us -- 4
"""
ORDER, WORKERS = 0, 1  # columns


def small_runs(column: int, *durations: str) -> list:
    """The parameters of a test: words of the runs whose ORDER or WORKERS is one of `durations`."""
    lines = [line.split() for line in RUNS.strip().splitlines()]
    runs = [words[2:] for words in lines if words[column] in durations]
    return [pytest.param(run, id=" ".join(run)) for run in runs]


def arguments_of(
    run: list[str], common: tuple[str, ...], program: Callable, compiled: Callable
) -> list:
    """What follows `sesame simulate`, with options `common` in front of the run's own. The program
    is built by the fixtures `program` (workloads) and `compiled` (files)."""
    name, ranks, machine, *rest = run
    end = rest.index("--")
    made: Path = compiled(name) if "/" in name else program(name)
    options = ["-n", ranks, "--machine", machine, *common, *rest[:end]]
    return [*options, "--", made, *rest[end + 1 :]]
