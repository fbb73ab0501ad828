"""Makes the files of quick looks at import: `index.json` describes the record types, `bins-N.zst`
has the sums of record type N by node and time. docs/formats/looks.md describes both."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sesame.datasets import DataSet
from sesame.errors import InputError
from sesame.repository.looks.bins import Adding, Grid, added
from sesame.repository.looks.described import (
    DURATION,
    MOST_NAMES,
    MOST_NODES,
    OTHERS,
    WORDS,
    Nodes,
    ShownField,
    Table,
    describe,
    to_json,
)
from sesame.repository.looks.scan import Selection, scan

Array = np.ndarray[Any, Any]
VERSION = 1
INDEX = "index.json"
CELLS, LEAST_BINS, MOST_BINS = 1 << 18, 64, 2048  # of a record type
MOST_MEASURES = 10  # fields of a record type that are added up at import
MOST_TABLES = 64
MOST_DISTINCT = 100_000  # names of a field that are counted
# What columns of other types or values than info.json says may raise.
WRONG_RECORDS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    NotImplementedError,
    TypeError,
    ValueError,
)


def prepare(data_set_path: Path, out: Path) -> None:
    """Writes the files into `out`. A record type that cannot be read is left out. Raises InputError
    if none can."""
    data_set = DataSet(data_set_path)
    names = [name for name in data_set.tables if data_set.has(name)][:MOST_TABLES]
    tables: list[dict[str, Any]] = []
    wrong = ""
    for name in names:
        try:
            tables.append(_prepared(data_set, name, out / f"bins-{len(tables)}.zst"))
        except (*WRONG_RECORDS, InputError) as error:
            wrong = f"{name}: {error}"
    if wrong and not tables:
        raise InputError(wrong)
    text = json.dumps({"version": VERSION, "tables": tables}, separators=(",", ":"))
    (out / INDEX).write_text(text, encoding="utf-8")


def _prepared(data_set: DataSet, name: str, file: Path) -> dict[str, Any]:
    table = surveyed(data_set, describe(data_set, name))
    if not table.when:
        return {"table": to_json(table), "file": "", "blocks": []}
    bins = int(np.clip(CELLS // table.nodes.count, LEAST_BINS, MOST_BINS))
    grid = Grid.over(table.begin, table.end, 1 << (bins.bit_length() - 1), table.nodes.count)
    measures = table.amounts[:MOST_MEASURES]
    blocks = _write(file, added(data_set, table, measures, Selection(), grid), measures)
    return {"table": to_json(table), "file": file.name, "bins": grid.bins, "blocks": blocks}


def _write(file: Path, adding: Adding, measures: Sequence[ShownField]) -> list[dict[str, Any]]:
    """One compressed array after the other; returns where each is."""
    import pyarrow as pa

    arrays = [("", "counts", adding.counts())]
    for i, one in enumerate(measures):
        amounts = adding.amounts(i)
        arrays += [(one.name, "sums", amounts.sums), (one.name, "most", amounts.most)]
    blocks, offset = [], 0
    with file.open("wb") as stream:
        for name, kind, array in arrays:
            raw = np.ascontiguousarray(array.astype("<f8")).tobytes()
            packed = pa.compress(raw, codec="zstd", asbytes=True)
            blocks.append({"field": name, "kind": kind, "offset": offset, "size": len(packed)})
            stream.write(packed)
            offset += len(packed)
    return blocks


# ---- What only the records say ----


@dataclass
class _Range:
    least: float = np.inf
    most: float = -np.inf
    positive: float = np.inf

    def add(self, values: Array) -> None:
        values = values[np.isfinite(values)]
        if len(values):
            self.least = min(self.least, float(values.min()))
            self.most = max(self.most, float(values.max()))
            above = values[values > 0]
            self.positive = min(self.positive, float(above.min(initial=np.inf)))


@dataclass
class _Survey:
    time: _Range = field(default_factory=_Range)
    ranges: dict[str, _Range] = field(default_factory=dict)
    names: dict[str, Counter[str]] = field(default_factory=dict)


def surveyed(data_set: DataSet, table: Table) -> Table:
    """The table with its time range, its nodes, and the ranges and names of its fields."""
    survey = _Survey()
    numbers, named = table.numbers, table.names
    is_named = {one.name for one in named}
    for batch in scan(data_set, replace(table, where=""), numbers, Selection()):
        for one, values in zip(numbers, batch.values, strict=True):
            survey.ranges.setdefault(one.name, _Range()).add(values)
        if batch.begin is not None:
            survey.time.add(batch.begin)
            survey.time.add(_ends(table, numbers, batch.begin, batch.values))
    for found in data_set.batches(table.name, [one.name for one in named]) if named else ():
        for one in named:
            _count(survey.names.setdefault(one.name, Counter()), found.column(one.name))
    nodes = _nodes(table, survey, is_named)
    begin, end = survey.time.least, survey.time.most
    if not begin <= end:
        table, begin, end = replace(table, when=""), 0.0, 1.0
    made = _with_range(ShownField(DURATION, "number", "s", ""), survey)
    return replace(
        table,
        fields=tuple(_with_range(one, survey) for one in table.fields),
        nodes=nodes,
        begin=begin,
        end=max(end, begin + _least_span(begin)),
        durations=(made.least, made.most, made.positive),
    )


def _least_span(begin: float) -> float:
    """A time range that is more than rounding."""
    return max(1e-9, abs(begin) * 1e-9)


def _ends(
    table: Table, numbers: Sequence[ShownField], begin: Array, values: Sequence[Array]
) -> Array:
    by_name = {one.name: found for one, found in zip(numbers, values, strict=True)}
    if table.until:
        return by_name[table.until]
    return begin + by_name[table.length] if table.length else begin


def _count(counter: Counter[str], column: Any) -> None:
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    counted = column.value_counts()
    for one in counted.to_pylist() if len(counter) < MOST_DISTINCT else ():
        if one["values"] is not None:
            counter[str(one["values"])] += one["counts"]


def _nodes(table: Table, survey: _Survey, is_named: set[str]) -> Nodes:
    if not table.where:
        return Nodes(1)
    word = WORDS.get(table.where, table.where)
    if table.where in is_named:
        names = sorted(survey.names[table.where], key=_natural)
        if len(names) > MOST_NODES:
            names = [*names[: MOST_NODES - 1], OTHERS]
        return Nodes(max(len(names), 1), word, values=tuple(names) or ("",))
    found = survey.ranges[table.where]
    if not found.least <= found.most:
        return Nodes(1)
    first, last = int(found.least), int(found.most)
    each = -(-(last - first + 1) // MOST_NODES)
    return Nodes(-(-(last - first + 1) // each), word, first, each)


def _natural(name: str) -> list[Any]:
    """Texts and numbers by turns: node2 is before node10."""
    parts = re.split(r"(\d+)", name)
    return [int(part[:18]) if at % 2 else part for at, part in enumerate(parts)]


def _with_range(one: ShownField, survey: _Survey) -> ShownField:
    if one.kind == "name":
        common = survey.names.get(one.name, Counter()).most_common(MOST_NAMES)
        return replace(one, values=tuple(name for name, _ in common))
    found = survey.ranges.get(one.name)
    if found is None or not found.least <= found.most:
        return one
    positive = found.positive if np.isfinite(found.positive) else 1.0
    return replace(one, least=found.least, most=found.most, positive=positive)
