"""File views as they are recorded, against what MPI itself says of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.integration.traced_mpi import MPIS, Bench

from sesame.analysis.traced.views import FileViews
from sesame.datasets import DataSet

EVERY_MPI = pytest.mark.parametrize("mpi", MPIS)
RANKS = 4
VIEWS = 11 + 2 + 18  # of mpi_view_places.c


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.few_cases(3)  # one of each binary interface
@EVERY_MPI
def test_data_of_a_view_are_where_mpi_says(mpi, bench, tmp_path):
    """MPI_File_get_byte_offset of each etype, and the fragments of an access to all of them."""
    program = bench.compile("mpi_view_places.c", mpi)
    (tmp_path / "data").write_bytes(b"")
    bench.trace(mpi, RANKS, program, "data")
    texts = [(tmp_path / f"data.{rank}").read_text() for rank in range(RANKS)]
    said = [[[int(word) for word in line.split()] for line in text.splitlines()] for text in texts]
    assert [len(lines) for lines in said] == [VIEWS] * RANKS
    table = DataSet(tmp_path / "run.sesame").table("file_view").to_pydict()
    assert len(table["rank"]) == RANKS * VIEWS
    views = FileViews(table)
    for row, rank in enumerate(table["rank"]):
        etype, *places = said[rank].pop(0)
        size = np.array([len(places) * etype])
        fragments = views.fragments(np.array([row]), np.array(places[:1]), size)
        found = [
            at + step
            for at, length in zip(fragments.offset, fragments.bytes, strict=True)
            for step in range(0, length, etype)
        ]
        assert found == places, table["runs"][row]
