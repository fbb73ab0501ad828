"""Writes the critical path of a run: converts the simulator's result to records."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sesame.datasets import DataSetWriter

NOWHERE = {"object": "", "address": 0, "function": "", "line": ""}


def write_critical_path(writer: DataSetWriter, result: dict[str, Any]) -> None:
    """Writes a record of each step; none without a critical path (a run without sensitivity)."""
    path = result.get("critical_path")
    if path is None or not path["rank"]:
        return
    places = [*_with_lines(path["places"]), NOWHERE]  # -1, no place, is the last
    at = [places[number] for number in path["place"]]
    writer.write_records(
        "critical_path",
        {
            "rank": path["rank"],
            "begin_s": [0.0, *path["end_s"][:-1]],
            "end_s": path["end_s"],
            "kind": path["kind"],
            "call": path["call"],
            **{name: [place[name] for place in at] for name in NOWHERE},
        },
    )


def _with_lines(places: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The places with their lines of source, as far as the debugging information tells."""
    lines: dict[tuple[str, int], str] = {}
    for file in {place["object"] for place in places}:
        addresses = [place["address"] for place in places if place["object"] == file]
        lines |= {(file, address): line for address, line in _lines_of(file, addresses)}
    return [
        {**place, "line": lines.get((place["object"], place["address"]), "")} for place in places
    ]


def _lines_of(file: str, addresses: list[int]) -> Iterable[tuple[int, str]]:
    """By addr2line of GNU binutils; nothing where it is not installed."""
    program = shutil.which("addr2line")
    if program is None or not Path(file).is_file():
        return
    command = [program, "-e", file, *map(hex, addresses)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    for address, line in zip(addresses, answer.stdout.splitlines(), strict=False):
        source, _, number = line.partition(" ")[0].rpartition(":")
        if source and "?" not in source and number.isdigit():
            yield address, f"{Path(source).name}:{number}"
