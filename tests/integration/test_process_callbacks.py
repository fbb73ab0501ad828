"""Ranks that are processes: functions of the program that MPI calls and that misbehave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command_line import Outcome

DIRECTORY = "tests/programs/processes"
ON_INFINIBAND = ("-n", 1, "--machine", "infiniband", "--compute", "none")
AS_PROCESSES = (*ON_INFINIBAND, "--ranks-as", "processes")
Simulate = Callable[..., Outcome]
Compiled = Callable[..., Path]


@pytest.mark.every_case
@pytest.mark.parametrize("ranks", ["fibers", "processes"])
@pytest.mark.parametrize(
    ("changes_at", "extent", "expected"),
    [
        (2, 40, ["write: done", "read: done"]),
        (2, 100_000, ["write: done", "read: done"]),
        (1, -4, ["write: not converted", "read: not converted"]),
        (1, 1 << 40, ["write: not converted", "read: not converted"]),
        (1, 1 << 62, ["write: not converted", "read: not converted"]),
    ],
)
def test_sizes_in_the_file_that_change_or_are_impossible_do_no_harm(
    simulate: Simulate,
    compiled: Compiled,
    tmp_path: Path,
    ranks: str,
    changes_at: int,
    extent: int,
    expected: list[str],
) -> None:
    program = compiled(f"{DIRECTORY}/odd_sizes.c")
    options = (*ON_INFINIBAND, "--ranks-as", ranks)
    outcome = simulate(*options, "--", program, tmp_path / "file", changes_at, extent)
    assert outcome.status == 0, outcome.stderr
    assert outcome.stdout.splitlines() == expected


@pytest.fixture
def nested(simulate: Simulate, compiled: Compiled) -> Callable[[str, int], Outcome]:
    """Runs nested.c with these arguments."""

    def run(way: str, times: int) -> Outcome:
        program = compiled(f"{DIRECTORY}/nested.c")
        return simulate(*AS_PROCESSES, "--", program, way, times)

    return run


def test_functions_that_mpi_calls_may_be_nested(nested: Callable[[str, int], Outcome]) -> None:
    outcome = nested("returns", 100)
    assert outcome.status == 0, outcome.stderr
    assert outcome.stdout == "100 times\n"


@pytest.mark.parametrize("way", ["returns", "jumps"])
def test_too_many_functions_that_have_not_returned_end_the_job_with_a_message(
    nested: Callable[[str, int], Outcome], way: str
) -> None:
    outcome = nested(way, 1000)
    assert outcome.status == 2
    assert "rank 0 is in 100 functions that MPI has called" in outcome.stderr
    assert "longjmp() or an exception" in outcome.stderr


def test_a_function_that_was_left_is_named_at_the_end(
    nested: Callable[[str, int], Outcome],
) -> None:
    outcome = nested("jumps", 1)
    assert outcome.status == 2
    assert "rank 0 ended in a function that MPI had called, or that was left by" in outcome.stderr
