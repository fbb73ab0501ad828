"""Writes what cards and links carried: the simulator's result has it by record type and field."""

from __future__ import annotations

from typing import Any

from sesame.datasets import DataSetWriter


def write_links(writer: DataSetWriter, result: dict[str, Any]) -> None:
    """Writes records of links, their activity and their messages; none if nothing is shared."""
    for record, columns in result.get("links", {}).items():
        if columns:
            writer.write_records(record, columns)
