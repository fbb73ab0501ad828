"""Reads the metadata of a trace in the Common Trace Format 1.8: text in its description language
(TSDL), or packets of such text.

https://diamon.org/ctf/v1.8.3/
"""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

from sesame.errors import InputError
from sesame.exchange.ctf_parser import Block, Parser
from sesame.exchange.ctf_types import Clock, Event, Stream, Structure, Trace

TEXT_MAGIC = b"/* CTF 1.8"
PACKET_MAGIC = 0x75D11D57
PACKET_HEAD = struct.Struct("I16sIIIBBBBB")  # magic, uuid, checksum, content and packet in bits, …
LARGEST = 64 << 20  # bytes


def is_metadata(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(len(TEXT_MAGIC))
    except OSError:
        return False
    return head == TEXT_MAGIC or _packet_order(head) is not None


def read_metadata(path: Path) -> Trace:
    """Raises InputError with path and line."""
    if path.stat().st_size > LARGEST:
        raise InputError(f"expected at most {LARGEST} bytes of metadata", path=str(path))
    content = path.read_bytes()
    order = _packet_order(content)
    content = content if order is None else _unpacked(content, order, path)
    try:
        return _trace(Parser(content.decode("utf-8", "replace").replace("\0", "")).file())
    except InputError as error:
        raise InputError(error.message, path=str(path), line=error.line) from error
    except RecursionError:
        raise InputError("types inside types, too many", path=str(path)) from None


def _packet_order(content: bytes) -> str | None:
    for order in "<>":
        if content[:4] == struct.pack(order + "I", PACKET_MAGIC):
            return order
    return None


def _unpacked(content: bytes, order: str, path: Path) -> bytes:
    """The text of the packets."""
    head = struct.Struct(order + PACKET_HEAD.format)
    text, begin = b"", 0
    while begin < len(content):
        if len(content) - begin < head.size:
            raise InputError("cut off inside a packet of metadata", path=str(path))
        magic, _, _, bits, whole, compression, *_ = head.unpack_from(content, begin)
        if magic != PACKET_MAGIC or compression or not head.size * 8 <= bits <= whole:
            raise InputError(f"at byte {begin}: no packet of metadata", path=str(path))
        text += content[begin + head.size : begin + bits // 8]
        begin += whole // 8
    return text


def _trace(blocks: list[Block]) -> Trace:
    found = Trace()
    for block in blocks:
        values = block.values
        if block.kind == "trace":
            found.order = {"le": "little", "be": "big"}.get(str(values.get("byte_order")), "little")
            found.packet_header = _structure(block, "packet.header")
        elif block.kind == "env":
            found.environment |= values
        elif block.kind == "clock":
            found.clocks[str(values.get("name", ""))] = _clock(block)
        elif block.kind == "stream":
            known = found.streams.setdefault(_number(block, "id"), Stream())
            known.packet_context = _structure(block, "packet.context")
            known.event_header = _structure(block, "event.header")
            known.event_context = _structure(block, "event.context")
        elif block.kind == "event":
            stream = found.streams.setdefault(_number(block, "stream_id"), Stream())
            name = str(values.get("name", "event"))
            stream.events[_number(block, "id")] = Event(
                name, None, _structure(block, "context"), _structure(block, "fields")
            )
    for stream in found.streams.values():
        for event in stream.events.values():
            event.common = stream.event_context
    return found


def _clock(block: Block) -> Clock:
    frequency = _number(block, "freq", 1_000_000_000)
    if frequency < 1:
        raise InputError(f"clock: expected a frequency, got {frequency}", line=block.line)
    return Clock(frequency, _number(block, "offset_s") * frequency + _number(block, "offset"))


def _structure(block: Block, name: str) -> Structure | None:
    found: Any = block.values.get(name)
    if found is not None and not isinstance(found, Structure):
        raise InputError(f"{block.kind}: {name}: expected a struct", line=block.line)
    return found


def _number(block: Block, name: str, default: int = 0) -> int:
    found = block.values.get(name, default)
    if isinstance(found, str) and re.fullmatch(r"\d{1,18}", found):
        found = int(found)
    if not isinstance(found, int):
        raise InputError(f"{block.kind}: {name}: expected a number", line=block.line)
    return found
