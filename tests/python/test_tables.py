"""Tables that Sesame's own encoder writes are read back by Arrow as they were given."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sesame import native
from sesame.datasets.fields import Field, RecordType, arrow_types

BITS = {"int64": 64, "int32": 32, "uint64": 64, "uint32": 32, "uint16": 16, "uint8": 8}
SIGNED = {"int64", "int32"}
# Around the encodings' blocks of 128 numbers and pages of 16,384 rows.
LENGTHS = (0, 1, 2, 31, 32, 33, 127, 128, 129, 130, 257, 1000, 16384, 16385, 40000)


def limits(kind: str) -> tuple[int, int]:
    bits = BITS[kind]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if kind in SIGNED else (0, (1 << bits) - 1)


def write(path, record: RecordType, values: list[list[Any]]) -> pa.Table:
    columns = [(f.name, f.type, f.unit, f.meaning) for f in record.fields]
    native.write_table(str(path), record.name, record.meaning, record.complete, columns, values)
    return pq.read_table(path)


def check(path, kinds: list[str], values: list[list[Any]], *, complete: bool = False) -> None:
    fields = (Field(f"column{i}", kind, "ps", f"the {i}th") for i, kind in enumerate(kinds))
    record = RecordType("thing", "A thing", tuple(fields), complete=complete)
    table = write(path, record, values)
    assert table.schema.equals(record.arrow_schema(), check_metadata=True)
    for column, expected in zip(table.columns, values, strict=True):
        assert column.to_pylist() == expected


def integers(kind: str, count: int, chance: random.Random) -> list[int]:
    """Of one of the manners in which columns run: steps, walks, noise, extremes."""
    low, high = limits(kind)
    manner = chance.choice(["constant", "rising", "walk", "noise", "extremes", "few", "periodic"])
    step = chance.choice([1, 7, 1 << chance.randrange(BITS[kind])])
    if manner == "constant":
        return [chance.randint(low, high)] * count
    if manner == "rising":
        return [(i * step) % (high + 1) for i in range(count)]
    if manner == "walk":
        value, walk = 0, []
        for _ in range(count):
            value = min(max(value + chance.randint(-step, step), low), high)
            walk.append(value)
        return walk
    if manner == "extremes":
        return [chance.choice([low, high, 0, high - 1]) for _ in range(count)]
    if manner == "few":
        few = [chance.randint(low, high) for _ in range(3)]
        return [chance.choice(few) for _ in range(count)]
    if manner == "periodic":
        period = [chance.randint(low, high) for _ in range(chance.randint(2, 40))]
        return [period[i % len(period)] for i in range(count)]
    return [chance.randint(low, high) for _ in range(count)]


def column(kind: str, count: int, chance: random.Random) -> list[Any]:
    if kind in BITS:
        return integers(kind, count, chance)
    if kind == "float64":
        special = [0.0, -0.0, float("inf"), 5e-324, 1.7976931348623157e308]
        return [chance.choice([*special, chance.gauss(0, 1)]) for _ in range(count)]
    words = ["", "MPI_Send", "é中\U0001f600", "x" * 300, *map(str, range(chance.randint(1, 400)))]
    return [chance.choice(words) for _ in range(count)]


@pytest.mark.few_cases(6)
@pytest.mark.parametrize("count", LENGTHS)
@pytest.mark.parametrize("seed", range(3))
def test_random_columns_are_read_as_written(tmp_path, count, seed):
    chance = random.Random(seed * 1_000_003 + count)
    kinds = [*arrow_types(), *chance.choices(list(BITS), k=4)]
    values = [column(kind, count, chance) for kind in kinds]
    check(tmp_path / "a.parquet", kinds, values, complete=True)
    check(tmp_path / "b.parquet", kinds, values)
    for share in (0.01, 0.5, 1):
        holes = [[None if chance.random() < share else v for v in values_] for values_ in values]
        check(tmp_path / "c.parquet", kinds, holes)


@pytest.mark.parametrize("kind", list(BITS))
def test_steps_that_overflow_the_type_are_read_as_written(tmp_path, kind):
    low, high = limits(kind)
    values = [low, high, low, low, high, high, 0, *([low, high] * 100)]
    check(tmp_path / "a.parquet", [kind], [values])


def test_all_lengths_around_a_block(tmp_path):
    for count in range(300):
        values = [i * i % 1009 for i in range(count)]
        names = [f"name {i % 5}" for i in range(count)]
        check(tmp_path / "a.parquet", ["int64", "uint32", "name"], [values, values, names])


@pytest.mark.parametrize("width", range(65))
def test_differences_of_every_width(tmp_path, width):
    chance = random.Random(width)
    value, values = 0, []
    for _ in range(500):
        value = (value + chance.getrandbits(width) if width else value) % (1 << 64)
        values.append(value)
    check(tmp_path / "a.parquet", ["uint64"], [values])
    if width <= 32:
        check(tmp_path / "a.parquet", ["uint32"], [[v % (1 << 32) for v in values]])


def test_more_rows_than_a_group_holds(tmp_path):
    numbers = np.random.default_rng(1).integers(0, 1000, (1 << 20) + 5).cumsum().tolist()
    check(tmp_path / "a.parquet", ["int64"], [numbers])
    assert pq.ParquetFile(tmp_path / "a.parquet").num_row_groups == 2


def test_wrong_values_are_refused(tmp_path):
    record = RecordType("thing", "A thing", (Field("size", "uint16", "B", "its size"),))
    for value in (-1, 1 << 16, "x", 1.5):
        with pytest.raises(ValueError, match=r"table thing, column size: .* does not fit its type"):
            write(tmp_path / "a.parquet", record, [[0, value]])
    whole = RecordType("thing", "A thing", record.fields, complete=True)
    with pytest.raises(ValueError, match="a value is missing"):
        write(tmp_path / "a.parquet", whole, [[None]])


@pytest.mark.parametrize("reader", ["polars", "duckdb"])
def test_other_readers_read_the_tables(tmp_path, reader):
    module = pytest.importorskip(reader)
    chance = random.Random(3)
    kinds = [kind for kind in arrow_types() if kind != "float64"]
    path = tmp_path / "a.parquet"
    for share in (0, 0.3):
        values = [
            [None if chance.random() < share else v for v in column(kind, 20_000, chance)]
            for kind in kinds
        ]
        check(path, kinds, values)
        if reader == "polars":
            found = [series.to_list() for series in module.read_parquet(path)]
        else:
            rows = module.sql(f"select * from '{path}'").fetchall()
            found = [list(part) for part in zip(*rows, strict=True)]
        assert found == values
