"""Writes what cards and links carried: converts the simulator's result to records."""

from __future__ import annotations

from typing import Any

from sesame.datasets import DataSetWriter
from sesame.datasets.links import LINK, LINK_ACTIVITY, LINK_PAIR

Rows = list[dict[str, Any]]


def write_links(writer: DataSetWriter, result: dict[str, Any]) -> None:
    """Writes records of links, their activity and their messages; none if nothing is shared."""
    links: Rows = [{"link": i, **link} for i, link in enumerate(result.get("links", []))]
    activity = [row for link in links for row in _activity(link)]
    pairs = [
        {"link": link["link"], "source": source, "destination": destination, "bytes": size}
        for link in links
        for source, destination, size in link["pairs"]
    ]
    for record, rows in ((LINK, links), (LINK_ACTIVITY, activity), (LINK_PAIR, pairs)):
        if rows:
            names = [field.name for field in record.fields]
            writer.write_records(record.name, {name: [row[name] for row in rows] for name in names})


def _activity(link: dict[str, Any]) -> Rows:
    length = link["slice_s"]
    return [
        {"link": link["link"], "begin_s": i * length, "length_s": length, "busy_s": busy}
        for i, busy in enumerate(link["busy_by_slice_s"])
        if busy > 0
    ]
