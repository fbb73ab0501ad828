"""A data set in words, for `sesame info` and reports."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sesame.datasets.reader import DataSet


def count_of(count: int, noun: str) -> str:
    """`1 rank`, `1,024 ranks`"""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def facts(data_set: DataSet) -> list[tuple[str, str]]:
    """What a reader wants to know first, as (name, value); empty values are left out."""
    info = data_set.info
    target = info.get("target_system", {})
    instrument = info.get("instrument", {})
    pairs = [
        ("title", info.get("title")),
        ("kind", info.get("kind")),
        ("description", info.get("description")),
        ("contact", info.get("contact")),
        ("instrument", " ".join(str(part) for part in instrument.values())),
        ("target system", target.get("name")),
        ("host", info.get("host", {}).get("name")),
        ("processes" if _is_without_mpi(data_set) else "ranks", info.get("ranks")),
        ("command", shlex.join(info.get("command", []))),
        ("compute time", info.get("compute")),
        ("seed", info.get("seed")),
        ("started", info.get("begin_time")),
        ("outcome", info.get("result", {}).get("outcome")),
        ("records lost", info.get("raw", {}).get("discarded") or None),
        *(("doubt", text) for text in doubts_of(info)),
        ("size", f"{data_set.size_bytes():,} bytes"),
    ]
    return [(name, str(value)) for name, value in pairs if value not in (None, "")]


def doubts_of(info: Mapping[str, Any]) -> list[str]:
    """The doubts that a data set states, as `reason: what was seen`."""
    found = [*(info.get("doubts") or []), *(info.get("result", {}).get("doubts") or [])]
    return list(dict.fromkeys(f"{doubt['reason']}: {doubt['text']}" for doubt in found))


def _is_without_mpi(data_set: DataSet) -> bool:
    """Whether this is a traced run, and none of its processes has a rank."""
    if not data_set.has("process"):
        return False
    ranks = data_set.table("process", ["mpi_rank"]).column("mpi_rank").to_pylist()
    return max(ranks, default=-1) < 0


def record_counts(data_set: DataSet) -> list[tuple[str, int, str]]:
    """(record type, number of records, meaning)"""
    return [
        (name, described["rows"], described["meaning"])
        for name, described in data_set.record_types.items()
    ]


def field_lines(data_set: DataSet, name: str) -> list[tuple[str, str, str, str]]:
    """(field, type, unit, meaning) of one record type."""
    fields: list[dict[str, Any]] = data_set.record_types[name]["fields"]
    return [(f["name"], f["type"], f["unit"], f["meaning"]) for f in fields]
