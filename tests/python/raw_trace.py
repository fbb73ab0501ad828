"""Writes raw traces as traced_records.def says, for tests: records by name, packets, state files.

It shares nothing with the tracer's own writer but the list of record types.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "s16": 2, "s32": 4, "s40": 5, "s64": 8, "call": 2}
WIDE = 0x80
MAGIC = 0xC1FC1FC1
PACKET = struct.Struct("<IIIIQQQQQQ")
FORMAT = 8
STATE_MAGIC = 0x45544154534D5353
STATE_THREADS = 1023
STATE_THREAD = struct.Struct("<QQ48x")


def _record_types() -> dict[str, tuple[int, list[tuple[str, str, str]]]]:
    """By name: the id, and (field, narrow, wide) of each field; texts and lists as types."""
    text = (ROOT / "core/trace/traced_records.def").read_text()
    text = re.sub(r"#define (SESAME_TRACED_\w+)\(record\)((?:.*\\\n)*.*\n)", _remember, text)
    for name, body in _MACROS.items():
        text = re.sub(rf"{name}\((\w+)\)", lambda m, body=body: body, text)
    types: dict[str, tuple[int, list[tuple[str, str, str]]]] = {}
    fields: list[tuple[str, str, str]] = []
    for match in re.finditer(
        r"^\s*SESAME_TRACED_(BEGIN|FIELD|TEXT|LIST)\((\w+), (\w+)(?:, (\w+), (\w+))?,", text, re.M
    ):
        kind, name, second, narrow, wide = match.groups()
        if kind == "BEGIN":
            fields = []
            types[name] = (int(second), fields)
        elif kind == "FIELD":
            fields.append((second, narrow, wide))
        else:
            fields.append((second, kind, kind))
    return types


_MACROS: dict[str, str] = {}


def _remember(match: re.Match[str]) -> str:
    name, body = match.groups()
    if "SESAME_TRACED_FIELD(" in body and name not in ("SESAME_TRACED_BEGIN", "SESAME_TRACED_END"):
        lines = re.findall(r"SESAME_TRACED_FIELD\(record, \w+, \w+, \w+,", body)
        _MACROS[name] = "\n" + "\n".join(lines) + "\n"
    return "\n"


RECORD_TYPES = _record_types()


def _fits(value: int, kind: str) -> bool:
    bits = 8 * SIZES[kind]
    low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if kind[0] == "s" else (0, 1 << bits)
    return low <= value < high


def _number(value: int, kind: str) -> bytes:
    return value.to_bytes(SIZES[kind], "little", signed=kind[0] == "s")


def encode(
    record_type: str, time: int, values: dict[str, Any], call: int, wide: bool = False
) -> bytes:
    number, fields = RECORD_TYPES[record_type]
    known = {name for name, _, _ in fields}
    assert set(values) <= known, f"{record_type} has no {set(values) - known}"
    numbers = {
        name: call if name == "call" else int(values.get(name, 0))
        for name, narrow, _ in fields
        if narrow in SIZES
    }
    wide = wide or not all(
        _fits(numbers[name], narrow) for name, narrow, _ in fields if narrow in SIZES
    )
    body = bytes([number | (WIDE if wide else 0)]) + struct.pack("<I", time & 0xFFFFFFFF)
    for name, narrow, broad in fields:
        if narrow == "TEXT":
            body += values.get(name, "").encode() + b"\0"
        elif narrow == "LIST":
            items = values.get(name, [])
            body += struct.pack(f"<I{len(items)}i", len(items), *items)
        else:
            body += _number(numbers[name], broad if wide else narrow)
    return body


@dataclass
class Stream:
    """One thread: `clock` is the time of the last record."""

    process: Process
    thread: int
    clock: int
    packet_records: int = 100
    records: list[tuple[int, bytes]] = field(default_factory=list)

    def put(
        self,
        record_type: str,
        call: str = "",
        *,
        begin: int | None = None,
        end: int | None = None,
        wide: bool = False,
        **values: Any,
    ) -> None:
        """A record that began at `begin` (10 ns after the last) and took 5 ns, or till `end`."""
        begin = self.clock + 10 if begin is None else begin
        end = begin + 5 if end is None else end
        if any(name == "duration" for name, _, _ in RECORD_TYPES[record_type][1]):
            values["duration"] = end - begin
        number = self.process.trace.call(call) if call else 0
        self.records.append((end, encode(record_type, end, values, number, wide)))
        self.clock = max(self.clock, end)

    def packets(self) -> bytes:
        data = b""
        for number, at in enumerate(range(0, len(self.records), self.packet_records)):
            part = self.records[at : at + self.packet_records]
            body = b"".join(record for _, record in part)
            bits = 8 * (PACKET.size + len(body))
            data += PACKET.pack(
                MAGIC,
                1,
                self.process.pid,
                self.thread,
                part[0][0],
                part[-1][0],
                bits,
                bits,
                number,
                self.process.discarded,
            )
            data += body
        return data


@dataclass
class Process:
    trace: RawTrace
    host: str
    pid: int
    number: int
    streams: dict[int, Stream] = field(default_factory=dict)
    ended: int = 0
    discarded: int = 0
    clock: int = 0

    def thread(self, number: int = 0) -> Stream:
        if number not in self.streams:
            self.streams[number] = Stream(self, number, self.clock)
        return self.streams[number]

    def put(self, record_type: str, call: str = "", **values: Any) -> None:
        self.thread().put(record_type, call, **values)

    def end(self, how: int = 1, processor: int = 0) -> None:
        self.put("ended", how=how, processor=processor)
        self.ended = how

    @property
    def name(self) -> str:
        return f"{self.host}.{self.pid}.{self.number}"

    def state(self) -> bytes:
        head = struct.pack(
            "<QIIIIi9I", STATE_MAGIC, FORMAT, self.pid, len(self.streams), self.ended, 0, *[0] * 9
        )
        threads = bytearray(STATE_THREADS * STATE_THREAD.size)
        for number, stream in self.streams.items():
            STATE_THREAD.pack_into(threads, number * STATE_THREAD.size, len(stream.records), 0)
        discarded = self.discarded, self.discarded
        STATE_THREAD.pack_into(threads, (STATE_THREADS - 1) * STATE_THREAD.size, *discarded)
        return head + threads


class RawTrace:
    """`trace.process(…)` as often as needed, `put` records, then `write(directory)`."""

    def __init__(self) -> None:
        self.calls = ["unknown"]
        self.processes: list[Process] = []

    def call(self, name: str) -> int:
        if name not in self.calls:
            self.calls.append(name)
        return self.calls.index(name)

    def process(
        self,
        rank: int = -1,
        size: int = 0,
        *,
        host: str = "node",
        pid: int | None = None,
        parent: int = 1,
        directory: str = "/job",
        command: str = "app",
        offset: int = 1_700_000_000_000_000_000,
        begin: int = 1000,
        number: int = 0,
        kernel: str = "",
        pid_namespace: int = 0,
        job: str = "",
    ) -> Process:
        pid = 100 + len(self.processes) if pid is None else pid
        process = Process(self, host, pid, number, clock=begin)
        self.processes.append(process)
        process.put(
            "process",
            begin=begin,
            end=begin,
            pid=pid,
            parent=parent,
            realtime_offset=offset,
            loaded=0,
            pid_namespace=pid_namespace,
            host=host,
            kernel=kernel,
            directory=directory,
            command=command,
        )
        if rank >= 0:
            process.put("joined", rank=rank, size=size, interface=1, job=job)
        return process

    def metadata(self, version: int = FORMAT) -> str:
        names = "".join(f'  "{name}",\n' for name in self.calls)
        return (
            "/* CTF 1.8 */\n"
            f"env {{\n  sesame_traced_format = {version};\n}};\n\n"
            "typealias integer { size = 16; align = 8; signed = false; } := call_number_t;\n"
            f"typealias enum : call_number_t {{\n{names}}} := call_t;\n"
        )

    def write(self, directory: Path, version: int = FORMAT) -> Path:
        (directory / "state").mkdir(parents=True)
        (directory / "metadata").write_text(self.metadata(version))
        for process in self.processes:
            (directory / "state" / process.name).write_bytes(process.state())
            for stream in process.streams.values():
                path = directory / f"{process.name}.{stream.thread}.stream"
                path.write_bytes(stream.packets())
        return directory
