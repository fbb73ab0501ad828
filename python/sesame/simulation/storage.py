"""Writes the activity of simulated file systems: converts the simulator's result to records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sesame.datasets import DataSetWriter
from sesame.datasets.storage import (
    STORAGE_ACTIVITY,
    STORAGE_CACHE,
    STORAGE_FILE,
    STORAGE_IONODE,
)

Rows = list[dict[str, Any]]


def write_storage(writer: DataSetWriter, result: dict[str, Any]) -> None:
    """Writes records of files, I/O nodes, caches and activity; none without simulated files."""
    systems = result.get("storage", [])
    for record, rows in (
        (STORAGE_FILE, _rows(systems, lambda system: system["files"])),
        (STORAGE_IONODE, _rows(systems, _ionodes)),
        (STORAGE_CACHE, _rows(systems, lambda system: system["cnode_caches"])),
        (STORAGE_ACTIVITY, _rows(systems, _activity)),
    ):
        if rows:
            names = [field.name for field in record.fields]
            writer.write_records(record.name, {name: [row[name] for row in rows] for name in names})


def write_files_of_records(writer: DataSetWriter, result: dict[str, Any]) -> None:
    """Writes records of the files to which records of type io refer by index, as in traced runs."""
    paths = result.get("recorded_files", [])
    if not paths:
        return
    count = len(paths)
    writer.write_records(
        "file",
        {
            "index": list(range(count)),
            "path": paths,
            "kind": ["regular"] * count,
            "size_before": [-1] * count,
            "block_size": [0] * count,
            "filesystem": ["simulated"] * count,
        },
    )


def _rows(systems: list[dict[str, Any]], of: Any) -> Rows:
    return [
        {"system": system["name"], "node": system["node"], **row}
        for system in systems
        for row in of(system)
    ]


def _ionodes(system: dict[str, Any]) -> Iterable[dict[str, Any]]:
    for number, ionode in enumerate(system["ionodes"]):
        device = {f"device_{name}": value for name, value in ionode["device"].items()}
        yield {**ionode, **ionode["cache"], **device, "ionode": number}


def _activity(system: dict[str, Any]) -> Iterable[dict[str, Any]]:
    for number, ionode in enumerate(system["ionodes"]):
        length = ionode["slice_s"]
        for i, busy in enumerate(ionode["busy_by_slice_s"]):
            yield {"ionode": number, "begin_s": i * length, "length_s": length, "busy_s": busy}
