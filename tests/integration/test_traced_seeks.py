"""Offsets of accesses through MPI's file pointers, after each kind of seek."""

from __future__ import annotations

import re
import shutil

import pytest
from tests.command_line import SESAME, run
from tests.integration.traced_mpi import AS_ROOT, MPIS, PROGRAMS, find_compiler

from sesame.datasets import DataSet

UNKNOWN = -1


@pytest.mark.parametrize("mpi", MPIS)
def test_offsets_follow_seeks_of_each_kind(mpi, tmp_path, monkeypatch):
    compiler = find_compiler(mpi)
    if shutil.which(MPIS[mpi].starter[0]) is None:
        pytest.skip(f"{MPIS[mpi].starter[0]} is not installed")
    for name, value in AS_ROOT.items():
        monkeypatch.setenv(name, value)
    built = run([compiler, "-w", str(PROGRAMS / "mpi_seeks.c"), "-o", "seeks"], tmp_path)
    assert built.status == 0, built.stderr
    starter = [*MPIS[mpi].starter, "-n", "1"]
    command = ["trace", "-o", "run.sesame", "--", *starter, "./seeks", str(tmp_path / "data")]
    outcome = run([*SESAME, *command], tmp_path)
    assert outcome.status == 0, outcome.stderr
    expected = [int(offset) for offset in re.findall(r"offset (\d+)", outcome.stdout)]
    assert expected == [80, 104, 96, 372]

    rows = DataSet(tmp_path / "run.sesame").table("io").to_pylist()

    def offsets(call: str) -> list[int]:
        return [row["offset"] for row in rows if row["call"] == call]

    assert offsets("MPI_File_seek") == expected
    assert offsets("MPI_File_read") == expected
    assert offsets("MPI_File_seek_shared") == [64, UNKNOWN]
    assert offsets("MPI_File_write") == [0, UNKNOWN, UNKNOWN]  # the last two at the end of the file
