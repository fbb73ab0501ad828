"""Data sets of random records for tests of quick looks, and what DuckDB counts in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from tests.some_info import some_info

from sesame.datasets import DataSet, DataSetWriter, Field, RecordType

EVENT = RecordType(
    "event",
    "Something that happened",
    (
        Field("rank", "uint32", "rank", "who did it"),
        Field("begin_ns", "int64", "ns", "its begin"),
        Field("end_ns", "int64", "ns", "its end"),
        Field("what", "name", "", "what it was"),
        Field("bytes", "uint64", "B", "its size"),
        Field("ratio", "float64", "", "a ratio, which may be negative"),
        Field("times", "float64[]", "s", "the times of its parts"),
    ),
)
COUNTER = RecordType(
    "kernel_summary",
    "Events of an interval",
    (
        Field("begin_ns", "int64", "ns", "its begin"),
        Field("end_ns", "int64", "ns", "its end"),
        Field("node", "text", "", "where"),
        Field("subsystem", "text", "", "of what"),
        Field("count", "uint64", "", "events"),
    ),
)
WHAT = ("read, a file", "write", 'say "hello"')


def write_events(
    path: Path, rows: int, ranks: int, seconds: float = 10.0, title: str = "events"
) -> DataSet:
    """Events at random times, some of the same nanosecond, the last at the very end."""
    rng = np.random.default_rng(rows)
    begin = rng.integers(0, int(seconds * 1e9), rows)
    end = begin + rng.exponential(1e6, rows).astype(np.int64)
    begin[-1] = end[-1] = end.max()
    parts = rng.integers(0, 4, rows)
    columns: dict[str, Any] = {
        "rank": rng.integers(0, ranks, rows).tolist(),
        "begin_ns": begin.tolist(),
        "end_ns": end.tolist(),
        "what": [WHAT[i] for i in rng.integers(0, len(WHAT), rows)],
        "bytes": (2 ** rng.integers(0, 20, rows)).tolist(),
        "ratio": rng.normal(0, 1, rows).tolist(),
        "times": [[float(i) / 4 for i in range(n)] for n in parts],
    }
    with DataSetWriter(path) as writer:
        writer.write_described_batches(EVENT, [columns])
        writer.finish(some_info("traced", title=title))
    return DataSet(path)


def write_counters(path: Path) -> DataSet:
    """Two nodes that count: a interval of 2 s with 100 events, two of 1 s with 10 and 30."""
    columns = {
        "begin_ns": [0, 2 * 10**9, 3 * 10**9],
        "end_ns": [2 * 10**9, 3 * 10**9, 4 * 10**9],
        "node": ["n2", "n10", "n10"],
        "subsystem": ["vm", "vm", "fs"],
        "count": [100, 10, 30],
    }
    with DataSetWriter(path) as writer:
        writer.write_described(COUNTER, columns)
        writer.finish(some_info("measured", title="counters"))
    return DataSet(path)


def asked(data_set: DataSet, query: str) -> list[tuple[Any, ...]]:
    """What DuckDB finds in the events, `event` in the query."""
    file = str(data_set.file("event"))
    return duckdb.execute(query.replace("event", f"read_parquet('{file}')")).fetchall()


def cells_of(found: list[tuple[Any, ...]], shape: tuple[int, int], column: int) -> Any:
    """Rows of (line, column, value …) as an array of values."""
    cells = np.zeros(shape)
    for row in found:
        cells[int(row[0]), int(row[1])] = row[column]
    return cells
