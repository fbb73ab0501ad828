"""Data sets of any kind compared by what their info.json says: results and settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sesame.analysis.quantities import format_quantity
from sesame.repository.compare.sides import label_of
from sesame.web.page import Section
from sesame.web.table import Column, table_html

RESULTS = ("result",)
SETTINGS = (
    "kind",
    "instrument",
    "importer",
    "host",
    "target_system.name",
    "ranks",
    "command",
    "compute",
    "seed",
    "scenario",
    "budget",
)
ENDINGS = {"_s": "s", "_bytes": "B", "_ns": "ns"}
NONE = "–"
MOST_TEXT = 200  # characters of a value


def sections_of(infos: Sequence[Mapping[str, Any]]) -> list[Section]:
    """Tables of the results, and of the settings that differ; a column for each data set."""
    results = _rows(infos, RESULTS)
    numbers = {key: values for key, values in results.items() if any(map(_is_number, values))}
    settings = {k: values for k, values in _rows(infos, SETTINGS).items() if _differ(values)}
    others = {k: v for k, v in results.items() if k not in numbers and _differ(v)}
    return [
        *_section("Results", "result", "What each data set says of its result.", numbers),
        *_section("Recorded settings", "setting", "What differs.", {**settings, **others}),
    ]


def _section(title: str, name: str, about: str, rows: Mapping[str, list[Any]]) -> list[Section]:
    if not rows:
        return []
    count = len(next(iter(rows.values())))
    columns = [Column(name, list(rows))]
    for i in range(count):
        shown = [_text(key, values[i]) for key, values in rows.items()]
        columns.append(Column(label_of(i), shown))
    return [Section(title, about, table_html(title, columns))]


def _rows(infos: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> dict[str, list[Any]]:
    """The value of every leaf below `keys` in each info; None where it is missing."""
    leaves = [dict(_leaves(info, keys)) for info in infos]
    names = dict.fromkeys(name for one in leaves for name in one)
    return {name: [one.get(name) for one in leaves] for name in names}


def _leaves(info: Mapping[str, Any], keys: Sequence[str]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key in keys:
        value: Any = info
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        found += _flat(key, value)
    return [(name.removeprefix("result."), value) for name, value in found]


def _flat(name: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        return [leaf for key, part in value.items() for leaf in _flat(f"{name}.{key}", part)]
    if isinstance(value, list):
        # Lists of tables, as doubts and findings, are on the pages of the data sets.
        plain = all(not isinstance(part, Mapping | list) for part in value)
        return [(name, " ".join(map(str, value)))] if plain and value else []
    return [] if value in (None, "") else [(name, value)]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _differ(values: Sequence[Any]) -> bool:
    return len({str(value) for value in values}) > 1


def _text(name: str, value: Any) -> str:
    if value is None:
        return NONE
    if not _is_number(value):
        text = str(value)
        return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]} …"
    unit = next((unit for ending, unit in ENDINGS.items() if name.endswith(ending)), "")
    if unit == "ns":
        return format_quantity(value * 1e-9, "s")
    return format_quantity(float(value), unit)
