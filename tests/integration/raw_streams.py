"""Reads the raw trace of processes by traced_records.def, without the project's own reader."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TYPES = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "s16": "h", "s32": "i", "s64": "q"}
SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "s16": 2, "s32": 4, "s40": 5, "s64": 8, "call": 2}
PACKET_START = struct.Struct("<IIIIQQQQQQ")
STATE_START = struct.Struct("<QIIIIi")
THREAD_STATE = 64


@dataclass
class Record:
    shape: str
    thread: int
    time: int  # the low 32 bits
    fields: dict[str, Any]

    @property
    def call(self) -> str:
        return str(self.fields.get("call", ""))


@dataclass
class Process:
    name: str
    pid: int
    ended: int
    made: int
    discarded: int
    threads: dict[int, list[Record]] = field(default_factory=dict)

    @property
    def records(self) -> list[Record]:
        return [record for thread in self.threads.values() for record in thread]


def shapes() -> dict[int, tuple[str, list[tuple[str, str, str]]]]:
    """For each id the name and the fields: name, narrow and wide type."""
    text = (ROOT / "core/trace/traced_records.def").read_text()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S).replace("\\\n", " ")
    macros = dict(re.findall(r"#define SESAME_TRACED_(CALL|ENVELOPE)\(record\)(.*)", text))
    found: dict[int, tuple[str, list[tuple[str, str, str]]]] = {}
    for shape, number, body in re.findall(
        r"^SESAME_TRACED_BEGIN\((\w+), (\d+),.*?\)\n(.*?)^SESAME_TRACED_END", text, re.M | re.S
    ):
        for name, meaning in macros.items():
            body = body.replace(f"SESAME_TRACED_{name}({shape})", meaning)
        fields = [
            (name, narrow or kind.lower(), wide or kind.lower())
            for kind, name, narrow, wide in re.findall(
                r"SESAME_TRACED_(FIELD|TEXT|LIST)\(\w+, (\w+),(?: (\w+), (\w+),)?", body
            )
        ]
        found[int(number)] = (shape, fields)
    return found


def number(data: bytes, at: int, kind: str) -> int:
    size = SIZES[kind]
    return int.from_bytes(data[at : at + size], "little", signed=kind.startswith("s"))


def decode(
    data: bytes, at: int, fields: list[tuple[str, str, str]], wide: bool, calls: list[str]
) -> tuple[dict[str, Any], int]:
    values: dict[str, Any] = {}
    for name, narrow_kind, wide_kind in fields:
        kind = wide_kind if wide else narrow_kind
        if kind == "text":
            end = data.index(b"\0", at)
            values[name] = data[at:end].decode(errors="surrogateescape")
            at = end + 1
        elif kind == "list":
            at += 4 + 4 * number(data, at, "u32")
        else:
            values[name] = number(data, at, kind)
            if kind == "call":
                values[name] = calls[values[name]]
            at += SIZES[kind]
    return values, at


def records_of(path: Path, calls: list[str], may_be_cut: bool) -> Iterator[Record]:
    known = shapes()
    data = path.read_bytes()
    at = 0
    while at < len(data) and not (may_be_cut and len(data) - at < PACKET_START.size):
        magic, _, _, thread, *_, bits, same, _, _ = PACKET_START.unpack_from(data, at)
        assert magic == 0xC1FC1FC1 and bits == same, path
        end = at + bits // 8
        if end > len(data) and may_be_cut:
            return  # the process was killed while it wrote
        at += PACKET_START.size
        while at < end:
            shape, fields = known[data[at] & 0x7F]
            time = number(data, at + 1, "u32")
            values, after = decode(data, at + 5, fields, bool(data[at] & 0x80), calls)
            yield Record(shape, thread, time, values)
            at = after
        assert at == end, path


def read(directory: Path) -> list[Process]:
    """All processes of a raw trace, in the order of their names."""
    metadata = (directory / "metadata").read_text() if (directory / "metadata").exists() else ""
    names = re.search(r"typealias enum : call_number_t \{(.*?)\}", metadata, re.S)
    calls = re.findall(r'"(\w+)"', names.group(1)) if names else []
    processes = []
    for state in sorted((directory / "state").glob("*")):
        data = state.read_bytes()
        _, _, pid, threads, ended, _ = STATE_START.unpack_from(data, 0)
        counts = [struct.unpack_from("<QQ", data, 64 + i * THREAD_STATE) for i in range(threads)]
        process = Process(
            state.name, pid, ended, sum(c[0] for c in counts), sum(c[1] for c in counts)
        )
        for stream in sorted(directory.glob(f"{state.name}.*.stream")):
            thread = int(stream.name.removeprefix(f"{state.name}.").split(".")[0])
            process.threads[thread] = list(records_of(stream, calls, ended == 0))
        processes.append(process)
    return processes
