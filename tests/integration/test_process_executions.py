"""Programs that execute another one in their place, execve(2)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command_line import Outcome

WAYS = ["execl", "execle", "execlp", "execv", "execve", "execvp", "execvpe", "fexecve", "execveat"]
MACHINE = ("-n", 3, "--machine", "infiniband", "--compute", "none")


@pytest.fixture
def program(compiled: Callable[..., Path]) -> Path:
    return compiled("tests/programs/processes/itself.c", "debian")


@pytest.mark.parametrize("way", ["execlp", "execv", "execveat"])
def test_a_process_may_execute_itself_before_it_initialises_mpi(
    simulate: Callable[..., Outcome], program: Path, way: str
) -> None:
    done = simulate(*MACHINE, "--ranks-as", "processes", "--", program, way)
    assert done.status == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"rank {rank}, sum 3" for rank in range(3)]


def test_a_process_that_executes_itself_later_is_refused(
    simulate: Callable[..., Outcome], program: Path
) -> None:
    done = simulate(*MACHINE, "--ranks-as", "processes", "--", program, "late")
    assert done.status == 2
    assert "was executed in place of one that has called MPI_Init" in done.stderr


@pytest.mark.parametrize("way", [*WAYS, "here", "late"])
def test_a_copy_that_executes_another_program_ends_the_job(
    simulate: Callable[..., Outcome], program: Path, way: str
) -> None:
    done = simulate(*MACHINE, "--ranks-as", "fibers", "--", program, way)
    assert (done.status, done.stdout.count("rank")) == (2, 0)
    assert "in place of its program" in done.stderr
    assert "hint: use --ranks-as processes" in done.stderr
