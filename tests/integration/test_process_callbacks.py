"""Ranks that are processes: functions of the program that MPI calls and that misbehave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command_line import Outcome

DIRECTORY = "tests/programs/processes"
ON_INFINIBAND = ("-n", 1, "--machine", "infiniband", "--compute", "none")
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
