"""Tables as pandas and Polars data frames and in SQL, with times in seconds.

Data sets store times as integers of nanoseconds or picoseconds, which add and compare exactly.
Here a column `begin_ns` or `begin_ps` is `begin_s`, a float64 of seconds: its 53 bits tell apart
picoseconds up to 2.5 hours, and nanoseconds up to 104 days. `exact=True` keeps the integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from sesame.errors import InputError
from sesame.extras import require

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl

    from sesame.datasets.reader import DataSet

TICKS_PER_SECOND = {"_ns": 10**9, "_ps": 10**12}


def in_seconds(table: pa.Table) -> pa.Table:
    """The table with its integer times as seconds; other columns as they are."""
    arrays, names = [], []
    for name, column in zip(table.column_names, table.columns, strict=True):
        ticks = TICKS_PER_SECOND.get(name[-3:])
        if ticks is not None:
            column = pc.divide(pc.cast(column, pa.float64()), float(ticks))
        arrays.append(column)
        names.append(_renamed(name))
    return pa.Table.from_arrays(arrays, names=names)


def to_pandas(data_set: DataSet, name: str, *, exact: bool = False) -> pd.DataFrame:
    require("notebook", "to_pandas()", "pandas")
    table = data_set.table(name)
    return (table if exact else in_seconds(table)).to_pandas()


def to_polars(data_set: DataSet, name: str, *, exact: bool = False) -> pl.DataFrame:
    require("notebook", "to_polars()", "polars")
    import polars as pl

    table = data_set.table(name)
    frame = pl.from_arrow(table if exact else in_seconds(table))
    assert isinstance(frame, pl.DataFrame)
    return frame


def run_sql(data_set: DataSet, query: str, *, exact: bool = False) -> duckdb.DuckDBPyRelation:
    """Runs a query. Each table of the data set is a view of its Parquet file. Raises InputError."""
    require("sql", "sql()", "duckdb")
    import duckdb

    connection = duckdb.connect()
    for name in data_set.tables:
        file = str(data_set.file(name).resolve()).replace("'", "''")
        columns = ", ".join(_selected(column, exact) for column in data_set.schema(name).names)
        connection.execute(
            f"CREATE VIEW {_quoted(name)} AS SELECT {columns} FROM read_parquet('{file}')"
        )
    try:
        relation = connection.sql(query)
    except duckdb.Error as error:
        message = str(error).strip()
        raise InputError(
            f"cannot run this query: {message}",
            hint=f"tables: {', '.join(data_set.tables)}",
        ) from error
    if relation is None:
        raise InputError("this query returns no rows: expected a SELECT", hint=f"got {query!r}")
    return relation


def _selected(column: str, exact: bool) -> str:
    ticks = TICKS_PER_SECOND.get(column[-3:])
    if exact or ticks is None:
        return _quoted(column)
    return f"{_quoted(column)} / {ticks}.0::DOUBLE AS {_quoted(_renamed(column))}"


def _renamed(column: str) -> str:
    return f"{column[:-3]}_s" if column[-3:] in TICKS_PER_SECOND else column


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
