"""How runs end when a rank's process does, while others compute."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command_line import Outcome

# One rank ends when the others compute, before it has called.
SCRIPT = """#!/bin/sh
if mkdir first 2> /dev/null; then
  sleep 1
  kill -9 $$
fi
while [ ! -d first ]; do :; done
exec {program}
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_process_ends_the_run_though_all_processors_compute(
    simulate: Callable[..., Outcome], compiled: Callable[..., Path], tmp_path: Path, workers: int
) -> None:
    program = compiled("tests/programs/processes/computes_long.c", "debian")
    script = tmp_path / "run.sh"
    script.write_text(SCRIPT.format(program=program))
    script.chmod(0o755)
    ranks = 2 * len(os.sched_getaffinity(0)) + 2
    machine = ("--machine", "infiniband", "--placement", "cyclic", "--compute", "none")
    begin = time.monotonic()
    outcome = simulate("-n", ranks, *machine, "--workers", workers, "--", script)
    assert time.monotonic() - begin < 300  # all others compute for ten minutes
    assert outcome.status == 137
    assert "ended by signal 9" in outcome.stderr
