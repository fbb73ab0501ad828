"""Offsets of accesses through MPI's file pointers, after each kind of seek."""

from __future__ import annotations

import re

import pytest
from tests.integration.traced_mpi import MPIS, Bench

from sesame.datasets import DataSet

UNKNOWN = -1


@pytest.mark.parametrize("mpi", MPIS)
def test_offsets_follow_seeks_of_each_kind(mpi, tmp_path):
    bench = Bench(tmp_path)
    outcome = bench.trace(mpi, 1, bench.compile("mpi_seeks.c", mpi), tmp_path / "data")
    expected = [int(offset) for offset in re.findall(r"offset (\d+)", outcome.stdout)]
    assert expected == [80, 104, 96, 372]

    rows = DataSet(tmp_path / "run.sesame").table("io").to_pylist()

    def offsets(call: str) -> list[int]:
        return [row["offset"] for row in rows if row["call"] == call]

    assert offsets("MPI_File_seek") == expected
    assert offsets("MPI_File_read") == expected
    assert offsets("MPI_File_seek_shared") == [64, UNKNOWN]
    assert offsets("MPI_File_write") == [0, UNKNOWN, UNKNOWN]  # the last two at the end of the file
