"""Finds impossible constants in the storage tables of a machine file: bandwidths that no device
has, latencies of years. `machine_doubts` checks the intervals beside constants, for all tables."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sesame.analysis.quantities import format_bytes, format_seconds

BANDWIDTHS = (1e3, 2e12)  # bytes/s, of devices and of copies in memory
LATENCIES = (0.0, 10.0)  # s; tapes are changed in less than a minute, disks turn in milliseconds
UNITS = {"B/s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12}
UNITS |= {"KiB/s": 1024.0, "MiB/s": 1024.0**2, "GiB/s": 1024.0**3, "TiB/s": 1024.0**4}
TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def storage_texts(path: Path) -> Iterator[str]:
    """A text for each such constant, in the order of the file. The file must be a valid one."""
    with path.open("rb") as file:
        machine = tomllib.load(file)
    tables = {
        "storage": machine.get("storage"),
        "node.storage": machine.get("node", {}).get("storage"),
    }
    for name, table in tables.items():
        if isinstance(table, dict):
            yield from _texts(name, table)


def _texts(name: str, table: dict[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _texts(f"{name}.{key}", value)
        elif key.endswith("bandwidth"):
            found = _quantity(value, UNITS)
            if found is not None and not BANDWIDTHS[0] <= found <= BANDWIDTHS[1]:
                low, high = (format_bytes(bound) for bound in BANDWIDTHS)
                yield (
                    f"{name}.{key}: implausible, expected {low}/s to {high}/s, got "
                    f"{format_bytes(found)}/s"
                )
        elif key.endswith("latency"):
            found = _quantity(value, TIMES)
            if found is not None and not LATENCIES[0] <= found <= LATENCIES[1]:
                yield (
                    f"{name}.{key}: implausible, expected at most "
                    f"{format_seconds(LATENCIES[1])}, got {format_seconds(found)}"
                )


def _quantity(value: Any, units: dict[str, float]) -> float | None:
    """The value in s or bytes/s; None for other units, which the reader of machine files checks."""
    number, _, unit = str(value).strip().partition(" ")
    try:
        return float(number) * units[unit.strip()]
    except (ValueError, KeyError):
        return None
