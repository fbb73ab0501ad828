"""What the simulated file systems did, as a table on the terminal."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from sesame.analysis.quantities import format_bytes, format_count, format_seconds

NAMES = {"storage": "shared", "node.storage": "local"}


def storage_table(result: dict[str, Any]) -> Table:
    """One row for the parallel file system, and one for all local file systems together. Times are
    sums over all accesses of all ranks."""
    table = Table(
        "file system",
        "files",
        "requests",
        "read",
        "written",
        "reading",
        "writing",
        "metadata",
        "cache hits",
        "busiest device",
        box=None,
        header_style="bold",
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for column in table.columns:
        column.min_width = max(map(len, str(column.header).split()))
    for column in table.columns[1:]:
        column.justify = "right"
    for name, title in NAMES.items():
        systems = [system for system in result["storage"] if system["name"] == name]
        if systems:
            table.add_row(title, *_figures(systems, result["predicted_time_s"]))
    return table


def seconds_left(result: dict[str, Any]) -> float:
    """For how long a device still had to write after the last rank ended, as a lower bound: its
    busy time less that of the run. If it was idle during the run, it was longer."""
    busy = [
        ionode["device"]["busy_s"] for system in result["storage"] for ionode in system["ionodes"]
    ]
    return max(max(busy, default=0.0) - float(result["predicted_time_s"]), 0.0)


def _figures(systems: list[dict[str, Any]], end_s: float) -> list[str]:
    files = [file for system in systems for file in system["files"]]
    ionodes = [ionode for system in systems for ionode in system["ionodes"]]
    caches = [
        *(ionode["cache"] for ionode in ionodes),
        *(cache for system in systems for cache in system["cnode_caches"]),
    ]
    hits = sum(cache["read_hits"] + cache["write_hits"] for cache in caches)
    lookups = hits + sum(cache["read_misses"] + cache["write_misses"] for cache in caches)
    busy = [ionode["device"]["busy_s"] for ionode in ionodes]
    used = min(max(busy, default=0.0) / end_s, 1.0) if end_s else 0.0
    return [
        format_count(len(files)),
        format_count(sum(file["reads"] + file["writes"] for file in files)),
        format_bytes(sum(file["bytes_read"] for file in files)),
        format_bytes(sum(file["bytes_written"] for file in files)),
        *(
            format_seconds(sum(file[name] for file in files))
            for name in ("read_s", "write_s", "metadata_s")
        ),
        f"{100 * hits / lookups:.0f} %" if lookups else "",
        # The busiest device limits the file system.
        f"{100 * used:.0f} %" if any(busy) else "",
    ]
