"""Several workers whose ranks are processes: the data set of one process whose ranks are fibers,
byte for byte, and clean ends."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.integration.installations import ROOT
from tests.integration.orders import differences
from tests.integration.process_trees import children, endless_runs, exists, wait_until

PROGRAMS = ROOT / "tests/programs/processes"
COMMON = ("--compute", "none", "--placement", "cyclic")
NOT_PIE = ("-no-pie", "-fno-pie")
THREADS = ("-fopenmp", "-pthread")
INPUTS = tuple(f"input{i}" for i in range(4))


@pytest.fixture
def runs_alike(simulate: Callable, tmp_path: Path) -> Callable[..., None]:
    """runs_alike(ranks, options, command, *ways): each way, options of its own, gives the data set
    and the output of the first one."""

    def check(ranks: int, options: tuple, command: tuple, *ways: tuple) -> None:
        runs = []
        for number, way in enumerate(ways):
            working = tmp_path / "work"  # tables may hold its name
            working.mkdir()
            for i, name in enumerate(INPUTS):
                (working / name).write_bytes(bytes(10_000 * (i + 1)))
            output = tmp_path / f"{number}.sesame"
            done = simulate(
                "-o", output, *COMMON, *options, "-n", ranks, *way, "--", *command, cwd=working
            )
            assert done.status == 0, done.stderr[:2000]
            runs.append((output, sorted(done.stdout.splitlines())))
            working.rename(tmp_path / f"work{number}")
        for output, printed in runs[1:]:
            assert differences(runs[0][0], output) == []
            assert printed == runs[0][1]

    return check


# Ranks, program, machine, arguments, the ways of parallel runs.
CASES = {
    "pairs and collectives": (
        4, "tests/programs/processes/calls.c", ("infiniband",), (),
        ((2, "quantum"), (3, "null+conditional")),
    ),
    "one-sided": (
        4, "tests/programs/model/windows.c", ("infiniband",), (500, 12),
        ((2, "quantum"), (3, "conditional")),
    ),
    "files and messages": (
        4, "tests/programs/model/files_and_messages.c", ("pfssim",), (3,),
        ((2, "quantum"), (3, "quantum")),
    ),
    "wildcards and probes": (
        5, "tests/programs/model/schedule.c", ("infiniband",), (7, 12),
        ((2, "quantum"), (3, "conditional")),
    ),
    "reductions": (
        5, "tests/programs/model/reductions.c", ("infiniband",), (),
        ((2, "null+conditional"), (3, "quantum")),
    ),
    "deferred calls": (
        3, "tests/programs/processes/deferred.c", ("infiniband",), (),
        ((2, "null"), (3, "conditional")),
    ),
    "own files": (
        3, "tests/programs/model/own_files.c", ("pfssim",), (6,),
        ((2, "quantum"),),
    ),
    "shared cards": (
        5, "tests/programs/model/schedule.c", ("csd3",), (8, 10),
        ((3, "quantum"),),
    ),
}  # fmt: skip


@pytest.mark.few_cases(6)  # the last two have the programs or files of others again
@pytest.mark.parametrize("case", CASES)
def test_workers_whose_ranks_are_processes_give_the_same_data(case, compiled, runs_alike):
    ranks, source, machine, arguments, parallel = CASES[case]
    ways = [("--ranks-as", "fibers")]
    for workers, protocol in parallel:
        ways.append(("--ranks-as", "processes", "--workers", workers, "--protocol", protocol))
    ways.append((*ways[-1], "--shuffle", 1))  # with random delays
    runs_alike(ranks, ("--machine", *machine), (compiled(source), *arguments), *ways)


def test_scripts_and_fixed_addresses_have_workers(compiled, runs_alike, tmp_path):
    program = compiled("tests/programs/processes/calls.c", "debian", NOT_PIE)
    script = tmp_path / "start.sh"
    script.write_text(f"#!/bin/sh\n{program}\n")
    script.chmod(0o755)
    runs_alike(3, ("--machine", "infiniband"), (script,), (), ("--workers", 2))


def test_python_has_workers(runs_alike):
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed: pip install mpi4py")
    protocols = (("--workers", 2), ("--workers", 3, "--protocol", "conditional"))
    runs_alike(
        4, ("--machine", "infiniband"), (sys.executable, PROGRAMS / "app.py"), (), *protocols
    )


@pytest.mark.parametrize("mpi", ["openmpi", "wheel-abi"])
def test_the_mpi_of_the_processes_is_known(mpi, compiled, simulate):
    """The first one that connects tells it, and the result says whose collectives were taken."""
    program = compiled("tests/programs/processes/calls.c", mpi)
    options = (*COMMON, "-n", 4, "--machine", "infiniband", "--ranks-as", "processes", "--json")
    alone, several = (
        simulate(*options, "--workers", count, "--", "/bin/sh", "-c", str(program))
        for count in (1, 2)
    )
    assert several.status == 0, several.stderr
    assert several.json["collectives"] == alone.json["collectives"]
    assert several.json["predicted_time_s"] == alone.json["predicted_time_s"]


def test_threads_that_call_have_workers(compiled, simulate, mpiexec):
    """The run begins again, with processes, when a rank asks for MPI_THREAD_MULTIPLE."""
    program = compiled("tests/programs/processes/threads_call.c", "debian", THREADS)
    command = (program, "pthreads", "3", "60", "1")
    options = (*COMMON, "-n", 3, "--machine", "infiniband")
    expected = mpiexec(3, *command)
    for protocol in ("quantum", "conditional"):
        done = simulate(*options, "--workers", 2, "--protocol", protocol, "--", *command)
        assert done.status == 0, done.stderr
        assert sorted(done.stdout.splitlines()) == sorted(expected.stdout.splitlines())
        assert "MPI_THREAD_MULTIPLE" in done.stderr


def test_the_first_rank_of_a_worker_begins_the_run_again(compiled, simulate):
    """With one worker rank 0 would be the first of all (docs/loading.md)."""
    program = compiled("tests/programs/processes/some_ask.c", "openmpi", ("-pthread",))
    options = (*COMMON, "-n", 2, "--machine", "infiniband", "--workers", 2)
    done = simulate(*options, "--", program, "1")
    assert done.status == 0, done.stderr
    assert set(done.stdout.splitlines()) == {"0: level 0", "1: level 3"}


def test_no_rank_makes_the_shared_memory_smaller(compiled, simulate):
    """The simulator would be ended by a signal at its next access."""
    program = compiled("tests/programs/processes/shrinks_slots.c")
    options = (*COMMON, "-n", 1, "--machine", "infiniband", "--ranks-as", "processes")
    done = simulate(*options, "--", program)
    assert done.status == 0, done.stderr
    assert done.stdout == "refused\n"


def test_threads_wait_for_the_other_workers(compiled, simulate):
    """A thread that sleeps outside of MPI calls while its worker waits for the other one."""
    program = compiled("tests/programs/processes/first_calls.c", "debian", THREADS)
    options = (*COMMON, "-n", 2, "--machine", "infiniband", "--ranks-as", "processes")
    done = simulate(*options, "--workers", 2, "--", program, "sleeps")
    assert done.status == 0, done.stderr
    assert done.stdout == "received from 0 at 0\n"


def test_threads_are_refused_with_null_messages(compiled, simulate):
    program = compiled("tests/programs/processes/threads_call.c", "debian", THREADS)
    options = (*COMMON, "-n", 3, "--machine", "infiniband", "--workers", 2, "--protocol", "null")
    done = simulate(*options, "--", program, "pthreads", "3", "60", "1")
    done.assert_refused("calls from several threads are not simulated with null messages yet")


def test_spawning_is_refused(compiled, simulate):
    program = compiled("tests/programs/answers/spawn.c")
    options = (*COMMON, "-n", 2, "--machine", "infiniband", "--workers", 2)
    done = simulate(*options, "--ranks-as", "processes", "--", program)
    done.assert_refused("MPI_Comm_spawn is not simulated with several workers yet")


def test_several_hosts_are_refused(compiled, simulate):
    program = compiled("tests/programs/processes/calls.c")
    options = (*COMMON, "-n", 2, "--machine", "infiniband", "--ranks-as", "processes")
    hosts = ("--workers", 2, "--hosts", "b", "--launcher", "env")
    done = simulate(*options, *hosts, "--", program)
    done.assert_refused("a program whose ranks are processes is not simulated by several hosts yet")
    assert "leave out --hosts" in done.stderr


WAYS = [
    ("killed", 137, "rank 1 ended by signal 9 (Killed)"),
    ("exit", 1, "rank 1 has ended without calling MPI_Finalize"),
    ("abort", 5, "rank 0 called MPI_Abort with code 5"),  # while the other worker's rank computes
    ("window", 139, "rank 1: the simulator cannot write its buffer at 0x10: Bad address"),
]


@pytest.mark.parametrize(("way", "status", "message"), WAYS)
def test_the_way_a_rank_of_a_worker_ended_is_reported(compiled, simulate, way, status, message):
    program = compiled("tests/programs/processes/ends.c", "debian", NOT_PIE)
    options = (*COMMON, "-n", 3, "--machine", "infiniband", "--workers", 2)
    done = simulate(*options, "--", program, way)
    assert done.status == status
    assert message in done.stderr


def test_workers_take_the_measured_computation_of_processes(compiled, simulate):
    program = compiled("tests/programs/model/compute_only.c")
    options = ("--machine", "infiniband", "--placement", "cyclic", "-n", 4, "--json")
    alone, several = (
        simulate(*options, "--ranks-as", "processes", "--workers", count, "--", program)
        for count in (1, 2)
    )
    counts = [
        [done.json["measuring"][name] for name in ("samples", "regions")]
        for done in (alone, several)
    ]
    assert counts[0] == counts[1]
    assert several.json["measuring"]["compute_share"] > 0.5


def test_a_deadlock_is_that_of_all_workers(compiled, simulate):
    program = compiled("tests/programs/model/endings.c")
    options = (*COMMON, "-n", 4, "--machine", "infiniband", "--ranks-as", "processes")
    alone, several = (
        simulate(*options, "--workers", count, "--", program, "deadlock") for count in (1, 2)
    )
    assert alone.status == several.status != 0
    explained = [done.stderr[done.stderr.index("deadlock") :] for done in (alone, several)]
    assert explained[0].splitlines()[:5] == explained[1].splitlines()[:5]


@pytest.fixture
def endless(compiled: Callable, tmp_path: Path) -> Iterator[Callable]:
    """A run that does not end, of a script that has started a further program in each rank, and its
    processes: the simulator, two workers, and of each rank a shell, a sleep and the program."""
    program = compiled("tests/programs/processes/ends.c", "debian", NOT_PIE)
    script = tmp_path / "start.sh"
    script.write_text(f"#!/bin/sh\nsleep 1000 &\n{program} loop\n")
    script.chmod(0o755)
    options = [*COMMON, "-n", "2", "--machine", "infiniband", "--workers", "2"]
    with endless_runs(tmp_path, [*options, "-o", "run.sesame", "--", str(script)], 9) as start:
        yield start


def workers_of(process: subprocess.Popen) -> list[int]:
    (simulator,) = children(process.pid, deep=False)
    return children(simulator, deep=False)


def test_a_killed_worker_ends_the_processes_of_all_ranks(endless):
    process, others = endless()
    os.kill(workers_of(process)[1], signal.SIGKILL)
    _, text = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "worker 1 (ranks 1 to 1) was ended by signal 9" in text
    wait_until(lambda: not any(map(exists, others)))


def test_a_killed_supervisor_leaves_no_process_of_a_rank(endless):
    process, others = endless()
    (simulator,) = children(process.pid, deep=False)
    os.kill(simulator, signal.SIGKILL)
    process.communicate(timeout=60)
    wait_until(lambda: not any(map(exists, others)))


@pytest.mark.few_cases(2)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_process_of_a_rank_outlives_the_command(number, endless):
    process, others = endless()
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # Ctrl-C
    else:
        process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == (-number if number == signal.SIGKILL else 130)
    wait_until(lambda: not any(map(exists, others)))
