"""Reads the records that a view shows, a batch at a time, as arrays of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sesame.datasets import DataSet
from sesame.repository.looks.described import DURATION, NUMBER, OTHERS, Nodes, ShownField, Table
from sesame.repository.looks.view import View

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]
ROWS = 1 << 19  # of a batch


@dataclass(frozen=True)
class Selection:
    """Which records: those that begin in [begin, end) seconds, of these nodes, with these values;
    None or empty: all. Counters are in it if their interval is in part."""

    begin: float | None = None
    end: float | None = None
    nodes: tuple[int, ...] | None = None
    only: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def of_view(table: Table, view: View) -> Selection:
        """Raises InputError for nodes and fields that the records do not have."""
        nodes = table.nodes.chosen(view.node or view.nodes)
        stored = [one for one in table.fields if one.kind != "array"]
        return Selection(
            view.begin,
            view.end,
            None if len(nodes) == table.nodes.count else tuple(nodes),
            tuple((table.get(name, stored).name, text) for name, text in view.only),
        )

    @staticmethod
    def of(given: Mapping[str, Any]) -> Selection:
        """From its variables, as JSON has them."""
        nodes = None if given["nodes"] is None else tuple(given["nodes"])
        only = tuple((str(name), str(text)) for name, text in given["only"])
        return Selection(given["begin"], given["end"], nodes, only)


@dataclass(frozen=True)
class Batch:
    """Records, with arrays of the same length. Times are in seconds."""

    node: Array
    begin: Array | None
    end: Array | None  # of counters
    values: tuple[Array, ...]  # of the fields asked for, as floats


def scan(
    data_set: DataSet, table: Table, fields: Sequence[ShownField], selection: Selection
) -> Iterator[Batch]:
    """The selected records. Row groups that are outside of the time range are not read."""
    columns = _columns(table, fields, selection)
    with data_set.parquet(table.name) as file:
        first = 0
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if _may_have(file, group, table, selection):
                yield from _of_group(file, group, first, columns, table, fields, selection)
            first += rows


def selected(
    data_set: DataSet, table: Table, names: Sequence[str], selection: Selection
) -> Iterator[pa.RecordBatch]:
    """The selected records as stored, with the columns `names`."""
    columns = list(dict.fromkeys([*names, *_columns(table, [], selection)]))
    with data_set.parquet(table.name) as file:
        for group in range(file.num_row_groups):
            if not _may_have(file, group, table, selection):
                continue
            for found in file.iter_batches(batch_size=ROWS, row_groups=[group], columns=columns):
                kept = _selected(found, _batch(found, 0, table, []), table, selection)
                yield found if kept is None else found.filter(kept)


def _columns(table: Table, fields: Sequence[ShownField], selection: Selection) -> list[str]:
    stored = [one.name for one in fields if one.name not in (DURATION, NUMBER)]
    needed = [table.where, table.when, *stored, *(name for name, _ in selection.only)]
    if table.is_counter or any(one.name == DURATION for one in fields):
        needed += [table.until, table.length]
    found = [one for one in dict.fromkeys(needed) if one]
    return found or [table.fields[0].name]  # something, to know how many there are


def _may_have(file: Any, group: int, table: Table, selection: Selection) -> bool:
    """Whether a row group may have records in the time range, as its statistics say."""
    if not table.when or (selection.begin is None and selection.end is None):
        return True
    low, high = _range_of(file, group, table, table.when)
    if table.is_counter:
        high = _range_of(file, group, table, table.until)[1] if table.until else np.inf
    before = selection.end is not None and low >= selection.end
    after = selection.begin is not None and high < selection.begin
    return not (before or after)


def _range_of(file: Any, group: int, table: Table, name: str) -> tuple[float, float]:
    described = file.metadata.row_group(group)
    for i in range(described.num_columns):
        column = described.column(i)
        if column.path_in_schema == name and column.is_stats_set and column.statistics.has_min_max:
            scale = table.get(name).scale
            return float(column.statistics.min) * scale, float(column.statistics.max) * scale
    return -np.inf, np.inf


def _of_group(
    file: Any,
    group: int,
    first: int,
    columns: list[str],
    table: Table,
    fields: Sequence[ShownField],
    selection: Selection,
) -> Iterator[Batch]:
    for found in file.iter_batches(batch_size=ROWS, row_groups=[group], columns=columns):
        batch = _batch(found, first, table, fields)
        kept = _selected(found, batch, table, selection)
        first += len(found)
        yield batch if kept is None else _only(batch, kept)


def _batch(found: pa.RecordBatch, first: int, table: Table, fields: Sequence[ShownField]) -> Batch:
    node = (
        table.nodes.numbers(found.column(table.where))
        if table.where
        else np.zeros(len(found), np.int64)
    )
    begin = _numbers(found, table, table.when) if table.when else None
    end = _end(found, table, begin) if table.is_counter else None
    values = tuple(_values(found, first, table, one, begin) for one in fields)
    return Batch(node, begin, end, values)


def _values(
    found: pa.RecordBatch, first: int, table: Table, field: ShownField, begin: Array | None
) -> Array:
    if field.name == NUMBER:
        return np.arange(first, first + len(found), dtype=float)
    if field.name == DURATION:
        return _durations(found, table, begin)
    if field.kind == "name":
        return _numbers_of_names(found, field)
    return _numbers(found, table, field.name)


def _durations(found: pa.RecordBatch, table: Table, begin: Array | None) -> Array:
    """Exact where times are whole numbers of the same unit."""
    scale = table.get(table.when).scale
    if table.until and table.get(table.until).scale == scale:
        first, last = (
            found.column(one).to_numpy(zero_copy_only=False) for one in (table.when, table.until)
        )
        exact: Array = (last - first).astype(float) * scale
        return exact
    rounded: Array = _end(found, table, begin) - begin
    return rounded


def _numbers_of_names(found: pa.RecordBatch, field: ShownField) -> Array:
    """The number of each name among the field's values; NaN for one that is not among them."""
    nodes = Nodes(len(field.values) + 1, values=(*field.values, OTHERS))
    numbers = nodes.numbers(found.column(field.name)).astype(float)
    return np.where(numbers < len(field.values), numbers, np.nan)


def _end(found: pa.RecordBatch, table: Table, begin: Array | None) -> Any:
    if table.until:
        return _numbers(found, table, table.until)
    return begin + _numbers(found, table, table.length)


def _numbers(found: pa.RecordBatch, table: Table, name: str) -> Array:
    values: Array = found.column(name).to_numpy(zero_copy_only=False).astype(float, copy=False)
    scale = table.get(name).scale
    return values if scale == 1.0 else values * scale


def _selected(
    found: pa.RecordBatch, batch: Batch, table: Table, selection: Selection
) -> Array | None:
    """Which records of a batch are selected; None: all."""
    conditions = []
    if batch.begin is not None and selection.end is not None:
        conditions.append(batch.begin < selection.end)
    if batch.begin is not None and selection.begin is not None:
        reaches = batch.end > selection.begin if batch.end is not None else None
        conditions.append(batch.begin >= selection.begin if reaches is None else reaches)
    if selection.nodes is not None:
        is_chosen = np.zeros(table.nodes.count, bool)
        is_chosen[list(selection.nodes)] = True
        conditions.append(is_chosen[batch.node])
    conditions += [_has(found.column(name), text) for name, text in selection.only]
    return np.logical_and.reduce(conditions) if conditions else None


def _has(column: pa.Array, text: str) -> Array:
    import pyarrow as pa

    if pa.types.is_string(column.type):
        column = column.dictionary_encode()
    if pa.types.is_dictionary(column.type):
        named = [str(name) == text for name in column.dictionary.to_pylist()]
        indices = column.indices.fill_null(len(named)).to_numpy(zero_copy_only=False)
        has: Array = np.array([*named, False])[indices]
        return has
    try:
        wanted = float(text)
    except ValueError:
        wanted = np.nan
    return np.asarray(column.to_numpy(zero_copy_only=False).astype(float) == wanted)


def _only(batch: Batch, kept: Array) -> Batch:
    def chosen(values: Array | None) -> Array | None:
        return None if values is None else values[kept]

    return Batch(
        batch.node[kept],
        chosen(batch.begin),
        chosen(batch.end),
        tuple(one[kept] for one in batch.values),
    )
