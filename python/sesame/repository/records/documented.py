"""The documentation of record types: meaning, fields, joins, and what takes them.

Types that Sesame knows are described by its schema. Others, as the tables of a workload or of
another tool, by the data sets that have them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sesame.datasets import Kind, all_record_types
from sesame.datasets.relations import JOINS, TABLES, Join


@dataclass(frozen=True)
class Documented:
    """`own`: described by Sesame's schema, not by a data set."""

    name: str
    meaning: str
    fields: Sequence[Mapping[str, str]]  # name, type, unit, meaning
    own: bool
    kinds: Sequence[str] = ()  # kinds of data sets that have it
    joins: Sequence[Join] = ()


def documented(name: str, recorded: Mapping[str, Any] | None) -> Documented | None:
    """`recorded`: what a data set says of it, for a type that the schema lacks. None if neither
    knows it."""
    known = all_record_types().get(name)
    if known is None and recorded is None:
        return None
    described = recorded if known is None else known.to_json()
    assert described is not None
    kinds = [str(kind) for kind in Kind if name in (*TABLES[kind].always, *TABLES[kind].sometimes)]
    joins = [join for join in JOINS if name in (join.table, join.to_table)]
    meaning, fields = str(described.get("meaning", "")), described.get("fields", [])
    return Documented(name, meaning, fields, known is not None, kinds, joins)


@dataclass(frozen=True)
class Analysis:
    """Something that takes a record type: a view, a page or a command."""

    name: str
    about: str
    address: str = ""  # on the newest data set that has the type
    command: str = ""


def views_with(
    kind: str, views: Sequence[Mapping[str, Any]], record_type: str
) -> list[tuple[str, str]]:
    """Name and sentence of the `views` of a data set, as its summary lists them, that take the
    type: those that need it, and those of a kind that does not say what it needs."""
    if kind not in set(Kind):
        return []
    return [(one["name"], one["about"]) for one in views if _takes(one, Kind(kind), record_type)]


def _takes(view: Mapping[str, Any], kind: Kind, record_type: str) -> bool:
    if view["needs"]:
        return record_type in view["needs"]
    return record_type in _READ_BY_VIEWS.get((kind, view["name"]), _all_of(kind))


# Views of traced runs come from one study, and do not say which tables they need.
_READ_BY_VIEWS: dict[tuple[Kind, str], frozenset[str]] = {
    (kind, name): types
    for kind in (Kind.TRACED, Kind.IMPORTED, Kind.REPLAYED)
    for name, types in (
        ("time line", frozenset({"io", "mpi", "process"})),
        ("I/O over time", frozenset({"io", "file_total", "process"})),
        ("ranks", frozenset({"io", "mpi", "process"})),
    )
}


@cache
def _all_of(kind: Kind) -> frozenset[str]:
    """Types that a view of this kind takes, as far as is known: the tables of the kind; of kinds
    with tables of their own, `point` of a series, or all that the schema does not know."""
    tables = TABLES[kind]
    return frozenset({*tables.always, *tables.sometimes, *(("point",) if tables.has_own else ())})
