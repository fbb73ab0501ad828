"""When a traced process begins: what the tracer takes to make itself ready is not the program's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.integration.traced_mpi import Bench

from sesame.datasets import DataSet


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_the_tracers_own_beginning_is_left_out(mpi, tmp_path: Path):
    """Its look-ups take 200 ms here, the program itself computes for 1 ms before MPI_Init. It says
    how long it took without them, which is longer on a busy machine."""
    bench = Bench(tmp_path)
    outcome = bench.trace(mpi, 1, bench.compile("slow_ready.c", mpi, "-rdynamic"))
    [(sleeps, without_sleep_ns)] = re.findall(r"slept (\d+) (\d+)\n", outcome.stdout)
    assert sleeps == "1"
    found = DataSet(tmp_path / "run.sesame")
    (init,) = (r for r in found.table("mpi").to_pylist() if r["call"] == "MPI_Init")
    (process,) = (r for r in found.table("process").to_pylist() if r["mpi_rank"] == 0)
    assert init["begin_ns"] - process["begin_ns"] >= 1e6
    end_ns = init["begin_ns"] + init["duration_ns"] - process["begin_ns"]
    assert end_ns < int(without_sleep_ns) + 1e6  # the tracer's clock is a line through the kernel's
