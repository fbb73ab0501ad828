"""When a traced process begins: what the tracer takes to make itself ready is not the program's."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.traced_mpi import Bench

from sesame.datasets import DataSet


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_the_tracers_own_beginning_is_left_out(mpi, tmp_path: Path):
    """Its look-ups take 200 ms here, the program itself computes for 1 ms before MPI_Init."""
    bench = Bench(tmp_path)
    outcome = bench.trace(mpi, 1, bench.compile("slow_ready.c", mpi, "-rdynamic"))
    assert "slept 1\n" in outcome.stdout
    found = DataSet(tmp_path / "run.sesame")
    (init,) = (r for r in found.table("mpi").to_pylist() if r["call"] == "MPI_Init")
    (process,) = (r for r in found.table("process").to_pylist() if r["mpi_rank"] == 0)
    assert 1e6 <= init["begin_ns"] - process["begin_ns"] < 100e6
