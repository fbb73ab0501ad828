"""Any numeric field of any record type that says when and where, as a field of the play-back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sesame.datasets import DataSet
from sesame.datasets.frames import TICKS_PER_SECOND
from sesame.errors import InputError
from sesame.repository.playback.frames import Clock, FieldOfFrames, Sums
from sesame.repository.playback.units import Units

Array = np.ndarray[Any, Any]
WHEN = ("begin_ps", "begin_ns", "begin_s", "time_ns", "send_ps")
WHERE = ("rank", "node", "source")
NUMBERS = ("int", "uint", "float")
# Of these only the difference to another field means something, or they number things.
NOT_SHOWN = (*WHEN, *WHERE, "end_ps", "end_ns", "end_s", "arrival_ps", "receive_complete_ps")
MEAN, RATE = "mean", "rate"
COUNT = "records"


@dataclass(frozen=True)
class Column:
    """A field of a record type, and how its values in one bin become one."""

    table: str
    name: str  # COUNT: the records themselves
    how: str
    unit: str
    where: str
    when: str

    @property
    def key(self) -> str:
        return f"{self.table}.{self.name}:{self.how}"

    @property
    def title(self) -> str:
        if self.name == COUNT:
            return f"{self.table}: records a second"
        return f"{self.table}.{self.name}, {'mean' if self.how == MEAN else 'sum a second'}"


def columns_of(data_set: DataSet) -> dict[str, Column]:
    """All columns that can be shown, by key."""
    found = {}
    for table, described in data_set.record_types.items():
        fields = {one["name"]: one for one in described.get("fields", [])}
        when = next((name for name in WHEN if name in fields), None)
        where = next((name for name in WHERE if name in fields), None)
        if when is None or where is None or not described.get("rows"):
            continue
        for column in _columns(table, fields, where, when):
            found[column.key] = column
    return found


def _columns(
    table: str, fields: Mapping[str, Mapping[str, str]], where: str, when: str
) -> list[Column]:
    found = [Column(table, COUNT, RATE, "1/s", where, when)]
    for name, one in fields.items():
        if name in NOT_SHOWN or not one["type"].startswith(NUMBERS):
            continue
        unit = "s" if name[-3:] in TICKS_PER_SECOND else one.get("unit") or "1"
        found.append(Column(table, name, MEAN, unit, where, when))
        found.append(Column(table, name, RATE, f"{unit}/s" if unit != "1" else "1/s", where, when))
    return found


def frames_of(data_set: DataSet, key: str, units: Units, clock: Clock) -> FieldOfFrames:
    """The values of a column. Raises InputError if there is no such column."""
    column = columns_of(data_set).get(key)
    if column is None:
        known = ", ".join(list(columns_of(data_set))[:8])
        raise InputError(f"no field {key!r} to show", hint=f"there are: {known}, …")
    sums, counts = Sums(units.count, clock), Sums(units.count, clock)
    names = [column.when, column.where, *([] if column.name == COUNT else [column.name])]
    tick = 1.0 / TICKS_PER_SECOND.get(column.when[-3:], 1)
    scale = 1.0 / TICKS_PER_SECOND.get(column.name[-3:], 1)
    for batch in data_set.batches(column.table, names, rows=1 << 20):
        unit = _units(units, batch.column(column.where), column.where)
        at = batch.column(column.when).to_numpy() * tick
        kept = unit >= 0
        counts.add(unit[kept], at[kept])
        if column.name != COUNT:
            values = batch.column(column.name).to_numpy(zero_copy_only=False)
            sums.add(unit[kept], at[kept], values[kept].astype(float) * scale)
    if column.name == COUNT:
        values = counts.rates()
    elif column.how == RATE:
        values = sums.rates()
    else:
        number = counts.sums()
        values = np.where(number > 0, sums.sums() / np.maximum(number, 1), np.nan)
    return FieldOfFrames(key, column.title, column.unit, values)


def _units(units: Units, column: Any, where: str) -> Array:
    import pyarrow as pa

    if where != "node":
        return units.unit_of_ranks(column.to_numpy().astype(np.int64))
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    of_node = units.unit_of_nodes(np.array(column.dictionary.to_pylist() or [""], object))
    found: Array = of_node[column.indices.to_numpy(zero_copy_only=False)]
    return found
