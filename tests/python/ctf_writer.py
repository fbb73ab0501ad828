"""Writes a trace in the Common Trace Format, bit by bit from its description: all kinds of types,
compact headers as LTTng's, a clock that wraps."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := unsigned long;
typealias integer { size = 5; align = 1; signed = false; } := uint5_t;
typedef floating_point { exp_dig = 11; mant_dig = 53; align = 8; } real;
trace {
  major = 1; minor = 8; byte_order = %(order)s;
  packet.header := struct { uint32_t magic; uint32_t stream_id; };
};
env { hostname = "node7"; tracer_name = "hand"; tracer_major = 2; tracer_minor = 5; };
clock { name = "mono"; freq = 500000000; offset_s = 1700000000; offset = 250000000; };
typealias integer { size = 27; align = 1; map = clock.mono.value; } := uint27_clock_t;
typealias integer { size = 64; align = 8; map = clock.mono.value; } := uint64_clock_t;
struct header {
  enum : uint5_t { compact = 0 ... 30, extended = 31 } id;
  variant <id> {
    struct { uint27_clock_t timestamp; } compact;
    struct { uint32_t id; uint64_clock_t timestamp; } extended;
  } v;
} align(8);
stream {
  id = 3;
  packet.context := struct {
    uint64_clock_t timestamp_begin; unsigned long content_size; unsigned long packet_size;
    unsigned long events_discarded; uint32_t cpu_id;
  };
  event.header := struct header;
  event.context := struct { integer { size = 32; align = 8; signed = true; } _tid; };
};
event {
  stream_id = 3; id = 2; name = "disk:write";
  fields := struct {
    string _path;
    uint16_t _count;
    uint16_t _sizes[_count];
    integer { size = 8; align = 8; encoding = ASCII; } comm[6];
    enum kind : uint8_t { "read" = 1, write, other = 10 ... 20 } _kind;
    struct { real x; integer { size = 12; align = 1; signed = true; } y; } at;
    variant <_kind> { uint8_t read; string write; } what;
  };
};
event { stream_id = 3; id = 1000; name = "disk:write"; fields := struct { uint8_t a; }; };
"""


@dataclass
class BitWriter:
    order: str  # "le", "be"
    bits: str = ""  # of the packet; of "le" each byte is reversed at the end

    def number(self, value: int, size: int, align: int = 8) -> None:
        self.bits += "0" * (-len(self.bits) % align)
        text = format(value % (1 << size), f"0{size}b")
        if self.order == "be":
            self.bits += text
        else:
            self.bits += text[::-1]

    def data(self, content: bytes) -> None:
        for byte in content:
            self.number(byte, 8)

    def real(self, value: float) -> None:
        self.data(struct.pack("<d" if self.order == "le" else ">d", value))

    def content(self) -> bytes:
        bits = self.bits + "0" * (-len(self.bits) % 8)
        parts = [bits[at : at + 8] for at in range(0, len(bits), 8)]
        return bytes(int(one[::-1] if self.order == "le" else one, 2) for one in parts)


def packet(order: str, begin: int, events: str, cpu: int = 1, discarded: int = 0) -> bytes:
    """`events`: bits of events, which begin at a whole byte."""
    head, size = BitWriter(order), 32 + 32 + 4 * 64 + 32
    head.number(0xC1FC1FC1, 32)
    head.number(3, 32)
    head.number(begin, 64)
    head.number(size + len(events), 64)
    head.number(-(-(size + len(events)) // 64) * 64, 64)
    head.number(discarded, 64)
    head.number(cpu, 32)
    content = BitWriter(order, head.bits + events).content()
    return content + b"\0" * (-len(content) % 8)


def write_event(order: str, ticks: int, tid: int, sizes: list[int], kind: int, y: int) -> str:
    made = BitWriter(order)
    made.number(2, 5, 1)
    made.number(ticks, 27, 1)
    made.number(tid, 32)
    made.data("/tmp/ä\0".encode())
    made.number(len(sizes), 16)
    for one in sizes:
        made.number(one, 16)
    made.data(b"dd\0junk"[:6])
    made.number(kind, 8)
    made.real(0.5)
    made.number(y, 12, 1)
    if kind == 1:
        made.number(77, 8)
    else:
        made.data(b"text\0")
    return made.bits + "0" * (-len(made.bits) % 8)


def extended_event(order: str, ticks: int, tid: int, a: int) -> str:
    made = BitWriter(order)
    made.number(31, 5, 1)
    made.number(1000, 32)
    made.number(ticks, 64)
    made.number(tid, 32)
    made.number(a, 8)
    return made.bits


WRAP = 1 << 27


def write_trace(directory: Path, order: str) -> Path:
    """Two streams: the second has an event between those of the first, whose clock wraps."""
    directory.mkdir()
    (directory / "metadata").write_text(METADATA % {"order": order})
    begin = 5 * WRAP + 100
    first = write_event(order, 150, -4, [1, 2, 3], 1, -5)
    wrapped = write_event(order, 50, 8, [], 2, 6)  # 6 * WRAP + 50
    later = extended_event(order, 7 * WRAP, 9, 200)
    (directory / "a_0").write_bytes(
        packet(order, begin, first + wrapped) + packet(order, 7 * WRAP, later, discarded=2)
    )
    between = write_event(order, 160, 1, [9], 1, 0)
    (directory / "a_1").write_bytes(packet(order, begin, between, cpu=0))
    return directory
