"""Polls that find nothing, one right after the other, become one record that counts them."""

from __future__ import annotations

import pytest
from tests.integration.traced_mpi import MPIS, Bench

from sesame.analysis.report.traced_tables import call_columns
from sesame.analysis.study import study_run
from sesame.datasets import DataSet
from sesame.datasets.traced import MpiFlag


@pytest.mark.few_cases(3)  # one of each binary interface
@pytest.mark.parametrize("mpi", MPIS)
def test_polls_in_a_row_are_few_records_with_their_number(mpi, tmp_path):
    bench = Bench(tmp_path)
    outcome = bench.trace(mpi, 2, bench.compile("mpi_polls.c", mpi))
    polled = [line.split() for line in outcome.stdout.splitlines()]
    assert len(polled) == 6

    data_set = DataSet(tmp_path / "run.sesame")
    rows = data_set.table("mpi").to_pylist()
    table = call_columns(study_run(data_set))
    calls = dict(zip(table["function"], table["calls"], strict=True))
    polls = [row for row in rows if row["flags"] & MpiFlag.POLL]
    assert all(row["calls"] == 1 for row in rows if not row["flags"] & MpiFlag.POLL)
    for name, count, polled_us in polled:
        records = [row for row in polls if row["call"] == name]
        assert sum(row["calls"] for row in records) == int(count)
        succeeded = [row for row in rows if row["call"] == name and row not in records]
        assert calls[name] == int(count) + len(succeeded)
        assert sum(row["duration_ns"] for row in records) < 1000 * float(polled_us)
    # Where a rank yields its processor, some polls are further apart than a record bridges.
    assert len(polls) < sum(int(count) for _, count, _ in polled) // 2
