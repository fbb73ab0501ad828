"""Reads the raw records of a traced run by their metadata, for tests: nothing is shared with the
reader that makes data sets."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sesame.installed import find_installed

PACKET = struct.Struct("<IIIIQQQQQQ")
EVENT = re.compile(r'event \{\s+name = "(\w+)";\s+id = (\d+);.*?struct \{\n(.*?)\s*\};\n\};', re.S)


@dataclass
class Record:
    shape: str
    call: str
    pid: int
    thread: int
    fields: dict[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        return self.fields[name]


def tracing(directory: Path, **more: str) -> dict[str, str]:
    """The environment of a program that is to record itself in the directory. Its ranks yield as
    others do (conftest.py)."""
    libraries = [str(find_installed("libsesame-trace.so")), os.environ.get("LD_PRELOAD")]
    variables = {
        "LD_PRELOAD": ":".join(filter(None, libraries)),
        "SESAME_TRACE_DIRECTORY": str(directory),
    }
    return {**os.environ, **variables, **more}


def read_records(directory: Path) -> list[Record]:
    """All records: those of a stream in its order, streams in the order of their names."""
    metadata = (directory / "metadata").read_text()
    calls = re.findall(r'^  "(\w+)",$', metadata, re.M)
    events = {
        int(number): (name, re.findall(r"^ +(\w+) (\w+)(?:\[(\w+)\])?;", fields, re.M))
        for name, number, fields in EVENT.findall(metadata)
    }
    return [
        record
        for stream in sorted(directory.glob("*.stream"))
        for record in _records(stream.read_bytes(), events, calls)
    ]


def _records(
    data: bytes, events: dict[int, tuple[str, list[tuple[str, str, str]]]], calls: list[str]
) -> Iterator[Record]:
    at = 0
    while at < len(data):
        _, _, pid, thread, _, _, bits, *_ = PACKET.unpack_from(data, at)
        end, at = at + bits // 8, at + PACKET.size
        while at < end:
            shape, fields = events[data[at]]
            record = Record(shape, "", pid, thread)
            at += 5
            for kind, name, length in fields:
                at = _field(data, at, kind, name, length, record, calls)
            yield record


def _field(
    data: bytes, at: int, kind: str, name: str, length: str, record: Record, calls: list[str]
) -> int:
    if kind == "string":
        end = data.index(b"\0", at)
        record.fields[name] = data[at:end].decode()
        return end + 1
    if kind == "call_t":
        record.call = calls[int.from_bytes(data[at : at + 2], "little")]
        return at + 2
    size = int(kind[1:-2]) // 8
    values = [
        int.from_bytes(data[place : place + size], "little", signed=kind[0] == "s")
        for place in range(at, at + size * record.fields.get(length, 1), size)
    ]
    record.fields[name] = values if length else values[0]
    return at + size * len(values)
