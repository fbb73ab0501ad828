"""What quick looks know of a record type: which of its fields say when, until when and where, which
are amounts, which are names. Made at import, kept as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sesame.datasets import DataSet
from sesame.datasets.frames import TICKS_PER_SECOND
from sesame.errors import InputError

Array = np.ndarray[Any, Any]
WHEN = ("begin_ps", "begin_ns", "begin_s", "time_ns", "send_ps", "time_s")
UNTIL = ("end_ps", "end_ns", "end_s", "receive_complete_ps")
NO_AMOUNTS = (*WHEN, *UNTIL, "arrival_ps")
LENGTH = ("duration_ns", "duration_s", "length_s")
WHERE = ("node", "rank", "source", "cpu")
# Records of these count what happened in an interval: it is spread evenly over it.
COUNTERS = ("kernel_summary", "cpu_time", "measurement_cost", "storage_activity")
NUMBERS, NAMES = ("int", "uint", "float"), ("name", "text")
DURATION, NUMBER = "duration", "record"  # fields that every record has: made, not stored
MOST_NODES = 1024  # nodes with bins of their own; more ranks share them
MOST_NAMES = 200  # values of a field to choose from
WORDS = {"source": "rank", "cpu": "CPU"}  # what a node is called, if not as its column
OTHERS = "others"
NODE_RANGE = re.compile(r"(\d{1,15})(?:-(\d{1,15}))?")


@dataclass(frozen=True)
class ShownField:
    """`kind` is number, name or array. Numbers are in `unit`; times are seconds."""

    name: str
    kind: str
    unit: str
    meaning: str
    scale: float = 1.0
    values: tuple[str, ...] = ()  # of names, the most frequent first; some if there are many
    least: float = 0.0  # of numbers
    most: float = 1.0
    positive: float = 1.0  # the least above 0

    @property
    def stem(self) -> str:
        """The name without the unit that values had in the file."""
        return self.name[:-3] if self.name[-3:] in TICKS_PER_SECOND else self.name

    @property
    def title(self) -> str:
        return f"{self.stem} ({self.unit})" if self.unit else self.stem


@dataclass(frozen=True)
class Nodes:
    """The nodes of a record type. `first` and `each`: whole numbers from `first` on, `each` of them
    a node; else `values` are the nodes."""

    count: int
    word: str = ""
    first: int = 0
    each: int = 0
    values: tuple[str, ...] = ()

    def name(self, number: int) -> str:
        if self.each == 0:
            return self.values[number] if self.values else "all"
        low = self.first + number * self.each
        if self.each == 1:
            return f"{self.word} {low}"
        return f"{self.word}s {low} to {low + self.each - 1}"

    def key(self, number: int) -> str:
        """What an address calls it."""
        if self.each:
            return str(self.first + number * self.each)
        name = self.values[number] if self.values else ""
        return name if name and "," not in name else str(number)

    def numbers(self, column: Any) -> Array:
        """The node of each record."""
        import pyarrow as pa

        if self.each:
            values = column.to_numpy(zero_copy_only=False).astype(np.int64)
            numbers: Array = np.clip((values - self.first) // self.each, 0, self.count - 1)
            return numbers
        if not self.values:
            return np.zeros(len(column), np.int64)
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        known = {name: number for number, name in enumerate(self.values)}
        of_name = [known.get(str(name), self.count - 1) for name in column.dictionary.to_pylist()]
        indices = column.indices.fill_null(len(of_name)).to_numpy(zero_copy_only=False)
        found: Array = np.array([*of_name, self.count - 1], np.int64)[indices]
        return found

    def chosen(self, text: str) -> list[int]:
        """The numbers of nodes that `0-7,12` or their names name; of an empty text all. Raises
        InputError."""
        if not text:
            return list(range(self.count))
        found: dict[int, None] = {}
        for part in text.split(","):
            found |= dict.fromkeys(self._of(part.strip()))
        return list(found)

    def _of(self, part: str) -> Sequence[int]:
        if part in self.values:
            return [self.values.index(part)]
        if match := NODE_RANGE.fullmatch(part):
            first = self._number(int(match[1]))
            last = self._number(int(match[2] or match[1]))
            if 0 <= first <= last < self.count:
                return range(first, last + 1)
        known = [self.name(number) for number in range(min(self.count, 4))]
        known += ["…"] if self.count > len(known) else []
        raise InputError(f"there is no node {part}, there are {self.count}: {', '.join(known)}")

    def _number(self, given: int) -> int:
        return (given - self.first) // self.each if self.each else given


@dataclass(frozen=True)
class Table:
    """A record type. `when`, `until`, `length` and `where` are names of its columns, or empty."""

    name: str
    rows: int
    meaning: str
    fields: tuple[ShownField, ...]
    when: str = ""
    until: str = ""
    length: str = ""
    where: str = ""
    begin: float = 0.0  # of the first record, in seconds
    end: float = 1.0
    nodes: Nodes = field(default_factory=lambda: Nodes(1))
    durations: tuple[float, float, float] = (0.0, 1.0, 1.0)  # least, most, least above 0

    @property
    def is_counter(self) -> bool:
        return self.name in COUNTERS and bool(self.until or self.length)

    @property
    def numbers(self) -> list[ShownField]:
        """The fields that can be an axis."""
        found = [one for one in self.fields if one.kind == "number"]
        if self.when and self.until and not self.length:
            about = "from its begin to its end"
            found.insert(0, ShownField(DURATION, "number", "s", about, 1.0, (), *self.durations))
        about, last = "number of the record in its file", max(self.rows - 1, 1)
        return [*found, ShownField(NUMBER, "number", "", about, 1.0, (), 0.0, last, 1.0)]

    @property
    def amounts(self) -> list[ShownField]:
        """The fields that can be added up."""
        found = [one for one in self.numbers if one.name not in (self.where, NUMBER, *NO_AMOUNTS)]
        return [one for one in found if one.unit not in ("bits", "rank")]

    @property
    def names(self) -> list[ShownField]:
        return [one for one in self.fields if one.kind == "name"]

    @property
    def arrays(self) -> list[ShownField]:
        return [one for one in self.fields if one.kind == "array"]

    def get(self, name: str, among: Sequence[ShownField] | None = None) -> ShownField:
        """Raises InputError."""
        found = among if among is not None else [*self.numbers, *self.names, *self.arrays]
        for one in found:
            if one.name == name:
                return one
        known = ", ".join(one.name for one in found[:12]) or "none"
        raise InputError(f"{self.name} has no field {name} to show here, there are: {known}")


def describe(data_set: DataSet, name: str) -> Table:
    """From info.json alone; `prepare` adds what only the records say."""
    described = data_set.record_types[name]
    types = {one["name"]: str(one["type"]) for one in described.get("fields", [])}
    found = tuple(_shown(one) for one in described.get("fields", []))
    numbers = {one.name for one in found if one.kind == "number"}
    whole_or_name = [one for one, kind in types.items() if not kind.startswith("float")]
    return Table(
        name,
        int(described.get("rows", 0)),
        str(described.get("meaning", "")),
        tuple(one for one in found if one.kind),
        when=_first(WHEN, numbers),
        until=_first(UNTIL, numbers),
        length=_first(LENGTH, numbers),
        where=_first(WHERE, [one for one in whole_or_name if not types[one].endswith("[]")]),
    )


def _first(wanted: Sequence[str], there: Any) -> str:
    return next((one for one in wanted if one in there), "")


def _shown(described: Mapping[str, Any]) -> ShownField:
    name, kind = str(described["name"]), str(described["type"])
    ticks = TICKS_PER_SECOND.get(name[-3:])
    unit = "s" if ticks else str(described.get("unit") or "")
    what = "array" if kind.endswith("[]") else "number" if kind.startswith(NUMBERS) else ""
    what = what or ("name" if kind in NAMES else "")
    return ShownField(name, what, unit, str(described.get("meaning", "")), 1.0 / (ticks or 1))


def to_json(table: Table) -> dict[str, Any]:
    fields = [vars(one) for one in table.fields]
    return {**vars(table), "fields": fields, "nodes": vars(table.nodes)}


def from_json(found: Mapping[str, Any]) -> Table:
    fields = tuple(ShownField(**{**one, "values": tuple(one["values"])}) for one in found["fields"])
    nodes = Nodes(**{**found["nodes"], "values": tuple(found["nodes"]["values"])})
    durations = tuple(found["durations"])
    return Table(**{**found, "fields": fields, "nodes": nodes, "durations": durations})
