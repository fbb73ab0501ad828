"""What is searched of a data set: made from its info.json, once, when it is uploaded."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sesame.datasets import DataSet, Info
from sesame.repository.search.query import normal

FILE = "search.json"  # beside the version, with its derived files
MOST_TEXT = 20_000  # characters of one entry
MOST_NUMBERS = 500
MOST_NAMES = 2_000  # record types and fields
MOST_DEPTH = 4  # of figures inside figures


@dataclass(frozen=True)
class Content:
    """What a search finds a data set by."""

    text: str = ""
    system: str = ""
    instrument: str = ""
    program: str = ""
    person: str = ""  # its contact
    started: str = ""  # ISO date and time
    records: list[tuple[str, str]] = field(default_factory=list)  # type and field; "" for the type
    numbers: dict[str, float] = field(default_factory=dict)


def prepare(data_set_path: Path, out_directory: Path) -> None:
    """Writes the figures of a data set's table `figure`: a derived file of its version."""
    data_set = DataSet(data_set_path)
    found: dict[str, float] = {}
    if data_set.has("figure"):
        for batch in data_set.batches("figure", ["name", "value"], rows=MOST_NUMBERS):
            for row in batch.to_pylist():
                if row["value"] is not None:
                    found.setdefault(normal(str(row["name"])), float(row["value"]))
            break
    finite = {name: value for name, value in found.items() if name and math.isfinite(value)}
    (out_directory / FILE).write_text(json.dumps(finite), encoding="utf-8")


def figures_in(derived: Path) -> dict[str, float]:
    """What `prepare` wrote, if it did."""
    try:
        found = json.loads((derived / FILE).read_text(encoding="utf-8"))
        return {str(name)[:80]: float(value) for name, value in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def content_of(found: Mapping[str, Any]) -> Content:
    """What is searched of a data set, from the content of its info.json. That was uploaded: no
    value needs to be of the type that it should be of."""
    try:
        info = Info.from_json(found)
    except (AttributeError, KeyError, TypeError, ValueError):
        return Content()
    target = info.target_system if isinstance(info.target_system, Mapping) else {}
    systems = [info.host.name, target.get("name", ""), info.host.system]
    command = [str(word) for word in info.command]
    result = info.result if isinstance(info.result, Mapping) else {}
    workload = str(result.get("workload", ""))
    tables = [f"{name}: {one.get('meaning', '')}" for name, one in _tables(info)]
    parts = [info.title, info.description, workload, " ".join(command), *_findings(result), *tables]
    program = command[0].rsplit("/", 1)[-1] if command else workload
    return Content(
        text="\n".join(map(str, parts))[:MOST_TEXT],
        system=" ".join(str(one) for one in systems if one)[:300],
        instrument=f"{info.instrument.name} {info.instrument.version}".strip()[:200],
        program=program[:200],
        person=str(info.contact)[:200],
        started=str(info.begin_time or "")[:40],
        records=_records(info),
        numbers=_numbers(info, result),
    )


def _tables(info: Info) -> list[tuple[str, Mapping[str, Any]]]:
    found = info.record_types
    tables = found.items() if isinstance(found, Mapping) else ()
    return [(str(name)[:80], one) for name, one in tables if isinstance(one, Mapping)]


def _findings(result: Mapping[str, Any]) -> list[str]:
    found = result.get("findings")
    if not isinstance(found, list):
        return []
    return [str(one.get("text", "") if isinstance(one, Mapping) else one) for one in found]


def _records(info: Info) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, one in _tables(info):
        fields = one.get("fields")
        listed = fields if isinstance(fields, list) else []
        named = [each for each in listed if isinstance(each, Mapping)]
        found += [(name, ""), *((name, str(each.get("name", ""))[:80]) for each in named)]
    return found[:MOST_NAMES]


def _numbers(info: Info, result: Mapping[str, Any]) -> dict[str, float]:
    """Every figure of the result by its name, and by its path where that is longer."""
    found: dict[str, float] = {}
    if isinstance(info.ranks, int):
        found["ranks"] = float(info.ranks)
    for name, one in _tables(info):
        if isinstance(one.get("rows"), int):
            found[f"{normal(name)}_records"] = float(one["rows"])
    for path, value in _figures(result, (), 0):
        name = normal(path[-1])
        # `predicted_time` finds `predicted_time_s`.
        for each in (name, normal("_".join(path)), name.removesuffix("_s")):
            found.setdefault(each, value)
    finite = ((name, value) for name, value in found.items() if name)
    return dict(list(finite)[:MOST_NUMBERS])


def _figures(
    node: Any, path: tuple[str, ...], depth: int
) -> Iterator[tuple[tuple[str, ...], float]]:
    if isinstance(node, bool) or depth > MOST_DEPTH:
        return
    if isinstance(node, int | float) and path:
        if abs(node) < 1e300:
            yield path, float(node)
    elif isinstance(node, Mapping):
        for key, value in node.items():
            if str(key) != "rows":
                yield from _figures(value, (*path, str(key)), depth + 1)
