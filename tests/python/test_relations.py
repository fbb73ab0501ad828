"""Which tables data sets of each kind have, and how they join."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.python.every_kind import write_every_kind
from tests.some_info import some_info

import sesame
from sesame.datasets import DataSet, DataSetWriter, Kind, all_record_types
from sesame.datasets.relations import JOINS, TABLES


@pytest.fixture(scope="module")
def of_every_kind(fake_bin, tmp_path_factory) -> dict[str, Path]:
    return write_every_kind(tmp_path_factory.mktemp("relations"), fake_bin)


@pytest.fixture(scope="module")
def with_every_table(tmp_path_factory) -> sesame.DataSet:
    """Every record type with one row, of zeros and empty texts."""
    path = tmp_path_factory.mktemp("joins") / "all.sesame"
    with DataSetWriter(path) as made:
        for name, record in all_record_types().items():
            made.write_records(
                name,
                {field.name: [_zero(field.type)] for field in record.fields},
            )
        made.finish(some_info("traced"))
    found = sesame.open(path)
    assert isinstance(found, sesame.DataSet)
    return found


def _zero(kind: str) -> object:
    return "" if kind in ("text", "name") else 0


def test_every_kind_says_which_tables_it_has():
    assert set(TABLES) == set(Kind)
    types = all_record_types()
    for tables in TABLES.values():
        assert set(tables.always) | set(tables.sometimes) <= set(types)
        assert not set(tables.always) & set(tables.sometimes)
    placed = {name for tables in TABLES.values() for name in tables.always + tables.sometimes}
    assert placed == set(types)


def test_data_sets_have_the_tables_of_their_kind(of_every_kind):
    for name, path in of_every_kind.items():
        if name.endswith("no tables"):
            continue
        data_set = DataSet(path)
        tables, found = TABLES[data_set.kind], set(data_set.record_types)
        assert set(tables.always) <= found, name
        if not tables.has_own:
            assert found <= set(tables.always) | set(tables.sometimes), name


@pytest.mark.parametrize("join", JOINS, ids=str)
def test_both_sides_of_a_join_exist_in_a_kind(join):
    types = all_record_types()
    assert join.column in {field.name for field in types[join.table].fields}
    assert join.to_column in {field.name for field in types[join.to_table].fields}
    assert any(
        {join.table, join.to_table} <= {*tables.always, *tables.sometimes}
        for tables in TABLES.values()
    )


@pytest.mark.few_cases(6)
@pytest.mark.parametrize("join", JOINS, ids=str)
def test_the_example_of_a_join_runs(with_every_table, join):
    query = " ".join(join.query.split())
    assert join.column in query and f"join {join.to_table}" in query
    rows = with_every_table.sql(join.query).fetchall()
    # The rows of zeros match each other; one query asks for views with holes, which are not there.
    assert len(rows) == (0 if "data_bytes < extent" in query else 1)


@pytest.mark.few_cases(6)
@pytest.mark.parametrize("join", JOINS, ids=str)
def test_joins_run_on_the_kinds_that_have_both_tables(of_every_kind, join):
    ran = 0
    for name, path in of_every_kind.items():
        data_set = sesame.open(path)
        if {join.table, join.to_table} <= set(data_set.tables):
            data_set.sql(join.query).fetchall()
            ran += 1
            # Calls of files and processes that are in the data set: the join has rows.
            if name == "traced" and join.table == "io" and join.column in ("file", "rank"):
                assert data_set.sql(join.query).fetchall()
    assert ran or join.table in (
        "file_view",
        "preempted",
        "message",
        "call",
        "replayed",
        "critical_path",
    )
