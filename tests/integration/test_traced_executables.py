"""`sesame trace` of Python, executables at a fixed address, scripts, and threads that call MPI."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command_line import SESAME, Outcome, run
from tests.integration.installations import MPIS, OPEN_MPI, ROOT, unless_sigpipe

from sesame.datasets import DataSet

PROGRAMS = ROOT / "tests/programs/processes"
NOT_PIE = ("-no-pie", "-fno-pie")
Compiled = Callable[..., Path]
Trace = Callable[..., Outcome]

PYTHON = """
import sys
from mpi4py import MPI
import numpy
world = MPI.COMM_WORLD
values = numpy.full(1000, world.rank + 1.0)
sums = numpy.zeros(1000)
world.Allreduce(values, sums)
world.send({"from": world.rank}, dest=(world.rank + 1) % world.size)
sys.stdout.write(f"{world.recv()} {sums[0]}\\n")  # one write: lines of ranks do not mix
"""


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """trace(mpi, *command): two ranks."""

    def start(mpi: str, *command: object) -> Outcome:
        starter = [*SESAME, "trace", "-o", "run.sesame", "--", MPIS[mpi].mpiexec, "-n", "2"]
        arguments = [*starter, *map(str, command)]
        outcome = unless_sigpipe(lambda: run(arguments, tmp_path, env=os.environ | OPEN_MPI))
        assert outcome.status == 0, outcome.stderr
        assert "0 lost" in outcome.stderr
        return outcome

    return start


def calls_of(tmp_path: Path, *columns: str) -> Counter[tuple[object, ...]]:
    """How often each call was made, by its columns."""
    table = DataSet(tmp_path / "run.sesame").table("mpi", list(columns)).to_pydict()
    return Counter(zip(*(table[column] for column in columns), strict=True))


def of_both(**calls: int) -> dict[tuple[int, str], int]:
    return {(rank, f"MPI_{name}"): count for name, count in calls.items() for rank in (0, 1)}


PYTHONS = {"wheel": sys.executable, "openmpi": "/usr/bin/python3"}


@pytest.mark.parametrize("mpi", PYTHONS)
def test_python_with_mpi4py_is_traced(trace: Trace, tmp_path: Path, mpi: str) -> None:
    python = PYTHONS[mpi]
    if run([python, "-c", "import mpi4py, numpy"], tmp_path).status != 0:
        pytest.skip(f"{python} has no mpi4py and NumPy")
    (tmp_path / "app.py").write_text(PYTHON)
    outcome = trace(mpi, python, "app.py")
    assert sorted(outcome.stdout.splitlines()) == ["{'from': 0} 3.0", "{'from': 1} 3.0"]
    calls = calls_of(tmp_path, "rank", "call")
    assert calls == of_both(Init_thread=1, Allreduce=1, Send=1, Mprobe=1, Mrecv=1, Finalize=1)


@pytest.mark.parametrize("mpi", ["debian", "openmpi", "wheel-abi"])
@pytest.mark.parametrize("by_script", [False, True])
def test_an_executable_at_a_fixed_address_is_traced(
    trace: Trace, compiled: Compiled, tmp_path: Path, mpi: str, by_script: bool
) -> None:
    program = compiled("tests/programs/processes/ends.c", mpi, NOT_PIE)
    script = tmp_path / "start.sh"
    script.write_text(f'#!/bin/sh\necho "starts"\n{program} "$1"\necho "ended: $?"\n')
    script.chmod(0o755)
    outcome = trace(mpi, script if by_script else program, "nothing")
    expected = ["ended: 0", "ended: 0", "starts", "starts"] if by_script else []
    assert sorted(outcome.stdout.splitlines()) == expected
    calls = calls_of(tmp_path, "rank", "call")
    assert {of: count for of, count in calls.items() if of[1] != "MPI_Comm_rank"} == of_both(
        Init=1, Barrier=1, Finalize=1
    )


@pytest.mark.parametrize("mpi", ["debian", "openmpi"])
@pytest.mark.parametrize("kind", ["pthreads", "openmp"])
def test_threads_that_call_mpi_are_traced(
    trace: Trace, compiled: Compiled, tmp_path: Path, mpi: str, kind: str
) -> None:
    program = compiled("tests/programs/processes/threads_call.c", mpi, ("-fopenmp", "-pthread"))
    trace(mpi, program, kind, "3", "60", "1")
    calls = calls_of(tmp_path, "call")
    assert calls[("MPI_Isend",)] == calls[("MPI_Recv",)] == 60
    by_thread = calls_of(tmp_path, "rank", "thread", "call")
    each_once = [of for of in by_thread if of[2] == "MPI_Waitall"]
    assert len(each_once) == 6
    assert {by_thread[of] for of in each_once} == {1}
