"""Reads the events of a trace in the Common Trace Format: of each stream, packet by packet."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from sesame.errors import InputError
from sesame.exchange.ctf_decode import Bits, Decode, decoder
from sesame.exchange.ctf_types import Event, Stream, Structure, Trace

MAGIC = 0xC1FC1FC1
HEAD_BYTES = 1 << 16  # with the header and the context of a packet
MOST_DAMAGE = 20  # lines


class Found(NamedTuple):
    """An event. `parts`: contexts of packet, stream and event, and the fields; {} if it has none.
    `time_ns` is that of its clock; ticks if the clock is not described."""

    time_ns: int
    kind: Event
    parts: tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]


@dataclass
class _Decoders:
    """Of a stream class."""

    context: Decode
    header: Decode
    common: Decode  # context of all events
    events: dict[int, tuple[Event, Decode, Decode]]


@dataclass
class TraceReader:
    """The events of one trace: a directory with `metadata` and a file for each stream."""

    directory: Path
    trace: Trace
    damage: list[str] = field(default_factory=list)
    discarded: int = 0  # events that the tracer had no space for

    def __post_init__(self) -> None:
        order = self.trace.order
        self._header = _optional(self.trace.packet_header, order)
        self._decoders = {
            number: _decoders(stream, order) for number, stream in self.trace.streams.items()
        }

    def files(self) -> list[Path]:
        """Those that begin as a stream does."""
        has_magic = self._has_magic()
        found = []
        for path in sorted(self.directory.iterdir()):
            is_stream = path.is_file() and not path.name.startswith(".") and path.name != "metadata"
            if is_stream and path.stat().st_size and (not has_magic or self._begins_right(path)):
                found.append(path)
        return found

    def _has_magic(self) -> bool:
        header = self.trace.packet_header
        return header is not None and header.fields[:1] != () and header.fields[0][0] == "magic"

    def _begins_right(self, path: Path) -> bool:
        with path.open("rb") as file:
            head = file.read(4)
        return head == struct.pack("<I" if self.trace.order == "little" else ">I", MAGIC)

    def events(self, path: Path) -> Iterator[Found]:
        """The events of a stream. After damage in a packet the next one is read."""
        discarded = 0
        with path.open("rb") as file:
            size, begin = path.stat().st_size, 0
            while begin < size:
                try:
                    packet = self._packet(file, begin, size)
                except InputError as error:
                    self._damaged(path, begin, error)
                    break
                discarded = max(discarded, _whole(packet.context, "events_discarded", 0))
                yield from self._events_of(path, begin, packet)
                begin += packet.bytes
        self.discarded += discarded

    def _packet(self, file: BinaryIO, begin: int, size: int) -> _Packet:
        """Reads a packet. Raises InputError for one whose end is not known."""
        file.seek(begin)
        bits = Bits(head := file.read(HEAD_BYTES), len(head) * 8)
        header = self._header(bits)
        bits.scopes.append(header)
        if header.get("magic", MAGIC) != MAGIC:
            raise InputError("no packet begins here")
        number = _whole(header, "stream_id", 0)
        decoders = self._decoders.get(number)
        if decoders is None:
            raise InputError(f"a packet of the stream {number}, which the metadata lacks")
        context = decoders.context(bits)
        whole = _whole(context, "packet_size", _whole(context, "content_size", (size - begin) * 8))
        content = _whole(context, "content_size", whole)
        if not bits.position <= content <= whole or whole % 8 or whole == 0:
            raise InputError(f"a packet of {whole} bits with a content of {content}")
        file.seek(begin)
        data = file.read(min(whole // 8, size - begin))
        if len(data) * 8 < content:
            self.damage.append(f"{Path(file.name).name}: cut off in its last packet")
        full = Bits(data, min(content, len(data) * 8))
        full.position = bits.position
        full.scopes = [header, context]
        full.time = _whole(context, "timestamp_begin", 0)
        return _Packet(full, context, decoders, whole // 8)

    def _events_of(self, path: Path, begin: int, packet: _Packet) -> Iterator[Found]:
        bits, decoders = packet.bits, packet.decoders
        outer = len(bits.scopes)
        try:
            while bits.position < bits.end:
                before = bits.position
                del bits.scopes[outer:]
                bits.is_ticking = True
                header = decoders.header(bits)
                bits.is_ticking = False
                number = _number_of(header)
                known = decoders.events.get(number)
                if known is None:
                    raise InputError(f"an event {number}, which the metadata lacks")
                kind, context, fields = known
                bits.scopes.append(header)
                parts = []
                for decode in (decoders.common, context, fields):
                    parts.append(decode(bits))
                    bits.scopes.append(parts[-1])
                if bits.position == before:
                    raise InputError("events without bits")
                yield Found(self._time(bits), kind, (packet.context, *parts))
        except InputError as error:
            self._damaged(path, begin, error)

    def _time(self, bits: Bits) -> int:
        clock = self.trace.clocks.get(bits.clock)
        return bits.time if clock is None else clock.nanoseconds(bits.time)

    def _damaged(self, path: Path, begin: int, error: InputError) -> None:
        if len(self.damage) < MOST_DAMAGE:
            self.damage.append(f"{path.name}: packet at byte {begin}: {error.message}")


@dataclass
class _Packet:
    bits: Bits
    context: dict[str, Any]
    decoders: _Decoders
    bytes: int


def _optional(of: Structure | None, order: str) -> Decode:
    return (lambda _: {}) if of is None else decoder(of, order)


def _decoders(stream: Stream, order: str) -> _Decoders:
    return _Decoders(
        _optional(stream.packet_context, order),
        _optional(stream.event_header, order),
        _optional(stream.event_context, order),
        {
            number: (event, _optional(event.context, order), _optional(event.fields, order))
            for number, event in stream.events.items()
        },
    )


def _number_of(header: dict[str, Any]) -> int:
    """The number of an event's class: `id`, or that inside the option of a variant."""
    found = header.get("id", 0)
    for value in header.values():
        if isinstance(value, dict) and "id" in value:
            found = value["id"]
    return found if isinstance(found, int) else 0


def _whole(values: dict[str, Any], name: str, default: int) -> int:
    found = values.get(name, default)
    return found if isinstance(found, int) else default
