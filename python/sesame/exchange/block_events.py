"""Shared by all importers of block traces: numbering of names, and conversion of events to
records."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa

from sesame.datasets.block import OPERATIONS, SECTOR_BYTES
from sesame.errors import InputError
from sesame.exchange.traced import Batches, Columns, Traced, names
from sesame.traced.block_requests import Depth, Events, Ints, Pairing, in_time_order

CHUNK_BYTES = 8 << 20
READ, WRITE, FLUSH, DISCARD, OTHER = range(len(OPERATIONS))


class Names:
    """Numbers for names, in the order in which they appear."""

    def __init__(self, *first: str) -> None:
        self.numbers: dict[str, int] = {name: number for number, name in enumerate(first)}

    def number(self, name: str) -> int:
        return self.numbers.setdefault(name, len(self.numbers))

    def codes(self, column: pa.Array) -> Ints:
        """The number of each name in a column of text."""
        encoded = column.dictionary_encode()
        own = np.array([self.number(text) for text in encoded.dictionary.to_pylist()], np.int64)
        places = encoded.indices.to_numpy(zero_copy_only=False)
        return own[places] if len(own) else np.empty(0, np.int64)

    def column(self, codes: Ints) -> pa.DictionaryArray:
        return names(list(self.numbers), codes)


def operation_of(flags: str) -> int:
    """The operation for the kernel's flag letters: `FWS` is a write with a flush before it."""
    bare = flags[1:] if flags.startswith("F") and len(flags) > 1 else flags
    letters = {"R": READ, "W": WRITE, "F": FLUSH, "D": DISCARD}
    return letters.get(bare[:1], OTHER)


def operations(column: pa.Array) -> Ints:
    encoded = column.dictionary_encode()
    own = np.array([operation_of(text) for text in encoded.dictionary.to_pylist()], np.int64)
    places = encoded.indices.to_numpy(zero_copy_only=False)
    return own[places] if len(own) else np.empty(0, np.int64)


UNKNOWN_PID, MOST_PID = -1, (1 << 31) - 1
LATEST_NS = 1 << 62
BEYOND = -(1 << 63)  # stands for a number of more than 64 bits


@dataclass
class BlockTrace:
    """Converts one trace to block requests.

    Call `of_events` when the tool records issues and completions as separate events; call
    `of_requests` when each of its records is a whole request. The returned run reads the batches
    only when it is written; until then its duration, title and damage are not set.
    """

    tool: str
    version: str = ""
    devices: Names = field(default_factory=Names)
    commands: Names = field(default_factory=lambda: Names(""))
    damage: list[str] = field(default_factory=list)
    not_imported: dict[str, int] = field(default_factory=dict)
    out_of_range: int = 0  # events left out
    lost: int = 0  # events that the tool lost, as its output says

    def of_events(self, batches: Iterator[Events]) -> Traced:
        """The requests of a trace with separate events for issue and completion."""
        run = self._traced()
        run.batches["block_request"] = self._paired(run, batches)
        return run

    def of_requests(self, batches: Iterator[Events]) -> Traced:
        """The requests of a trace whose tool has already matched issues and completions."""
        run = self._traced()
        run.batches["block_request"] = self._as_they_are(run, batches)
        return run

    def _traced(self) -> Traced:
        return Traced(self.tool, self.version, [], None, 0, 0, damage=self.damage)

    def _paired(self, run: Traced, batches: Iterator[Events]) -> Batches:
        pairing, late = Pairing(), list[int]()
        span = _Span()
        events = span.over(in_time_order(self._in_range(batches), late))
        for requests in pairing.requests(events):
            yield self._columns(requests, span.begin_ns)
        self.not_imported["completions of requests from before the trace"] = pairing.without_issue
        self._ended(run, span, late)

    def _as_they_are(self, run: Traced, batches: Iterator[Events]) -> Batches:
        depth, late, span = Depth(), list[int](), _Span()
        for part in span.over(in_time_order(self._in_range(batches), late)):
            end = part["time_ns"] + part["latency_ns"]
            span.end_ns = max(span.end_ns, int(end.max()))
            part["depth"] = depth.add(part["device"], part["time_ns"], end)
            yield self._columns(part, span.begin_ns)
        self._ended(run, span, late)

    def _in_range(self, batches: Iterator[Events]) -> Iterator[Events]:
        """Leaves out events with impossible numbers and counts them."""
        for batch in batches:
            wrong = (batch["pid"] < UNKNOWN_PID) | (batch["pid"] > MOST_PID)
            wrong |= (batch["time_ns"] < 0) | (batch["time_ns"] > LATEST_NS)
            wrong |= (batch["bytes"] < 0) | (batch["sector"] == BEYOND)
            if wrong.any():
                self.out_of_range += int(wrong.sum())
                batch = {name: values[~wrong] for name, values in batch.items()}
            yield batch

    def _ended(self, run: Traced, span: _Span, late: list[int]) -> None:
        if sum(late):
            self.damage.append(f"{sum(late):,} events are far out of the order of time")
        if self.out_of_range:
            self.damage.append(
                f"{self.out_of_range:,} events have a number that no record can hold"
            )
        if self.lost:
            self.damage.append(f"{self.tool} lost at least {self.lost:,} events while it recorded")
        run.duration_ns = max(span.end_ns - span.begin_ns, 0)
        run.lost += [f"{count:,} {what}" for what, count in self.not_imported.items() if count]
        devices = list(self.devices.numbers)
        of = devices[0] if len(devices) == 1 else f"{len(devices)} devices"
        run.title = f"block requests of {of}, traced by {self.tool}"

    def _columns(self, requests: Events, begin_ns: int) -> Columns:
        return {
            "time_ns": requests["time_ns"] - begin_ns,
            "device": self.devices.column(requests["device"]),
            "sector": requests["sector"],
            "bytes": requests["bytes"],
            "operation": names(OPERATIONS, requests["operation"]),
            "depth": requests["depth"],
            "latency_ns": requests["latency_ns"],
            "pid": requests["pid"],
            "command": self.commands.column(requests["command"]),
        }


@dataclass
class _Span:
    """The time from the first event to the last."""

    begin_ns: int = 0
    end_ns: int = 0
    _any: bool = False

    def over(self, batches: Iterator[Events]) -> Iterator[Events]:
        for batch in batches:
            if len(batch["time_ns"]):
                if not self._any:
                    self.begin_ns, self._any = int(batch["time_ns"][0]), True
                self.end_ns = max(self.end_ns, int(batch["time_ns"].max()))
                yield batch


def open_text(path: Path) -> BinaryIO:
    """Opens a file that may be compressed."""
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    return cast(BinaryIO, gzip.open(path) if zipped else path.open("rb"))


def first_lines(path: Path, size: int = 1 << 16) -> list[bytes]:
    """The complete lines in the first `size` bytes; none where `path` is not a file."""
    try:
        with open_text(path) as file:
            return file.read(size).split(b"\n")[:-1]
    except (OSError, EOFError):
        return []


def text_chunks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Complete lines in blocks of some MiB, each with the number of its first line.

    The last line of the file may lack its newline.
    """
    line, rest = 1, b""
    try:
        with open_text(path) as file:
            while block := file.read(CHUNK_BYTES):
                chunk, newline, rest = (rest + block).rpartition(b"\n")
                if newline:
                    yield line, chunk + newline
                    line += chunk.count(b"\n") + 1
    except (gzip.BadGzipFile, EOFError) as error:
        raise InputError(f"cannot be unpacked: {error}", path=str(path), line=line) from error
    if rest:
        yield line, rest


@dataclass(frozen=True)
class Lines:
    """The line format of one tool."""

    wanted: re.Pattern[bytes]  # lines of events to import; its groups become columns
    known: re.Pattern[bytes]  # all valid lines, those of `wanted` included
    expected: str  # the format of a line, for messages
    none: str  # message for a trace without any request
    hint: str  # follows `none`
    lost: re.Pattern[bytes] | None = None  # lines whose group says how many events are lost

    def batches(self, path: Path, trace: BlockTrace) -> Iterator[list[list[bytes]]]:
        """The groups of matching lines as columns, a block of lines at a time."""
        some = False
        for first, chunk in text_chunks(path):
            found = self.wanted.findall(chunk)
            lines = chunk.count(b"\n") + (not chunk.endswith(b"\n"))
            if len(found) < lines and len(self.known.findall(chunk)) < lines:
                self._say_what_is_wrong(path, first, chunk, trace)
            if self.lost and len(found) < lines:
                trace.lost += sum(map(int, self.lost.findall(chunk)))
            if found:
                some = True
                yield [list(column) for column in zip(*found, strict=True)]
        if not some:
            raise InputError(self.none, path=str(path), hint=self.hint)

    def _say_what_is_wrong(self, path: Path, first: int, chunk: bytes, trace: BlockTrace) -> None:
        """Reports the first invalid line. A last line that is cut off only counts as damage."""
        for number, line in enumerate(chunk.splitlines(keepends=True), first):
            if not line.strip() or self.known.fullmatch(line.removesuffix(b"\n")):
                continue
            if not line.endswith(b"\n"):
                trace.damage.append(f"{path.name}:{number}: the last line is cut off")
                return
            text = line.strip()[:60].decode(errors="replace")
            raise InputError(
                f"{text!r} is not a line of {trace.tool}, expected {self.expected}",
                path=str(path),
                line=number,
            )


def numbers(column: list[bytes]) -> Ints:
    """Unsigned 64-bit numbers as signed ones with the same bits (the kernel prints sector -1 as
    2^64 - 1). Larger numbers become BEYOND."""
    try:
        values = pa.array(column, pa.string()).cast(pa.uint64())
    except pa.ArrowInvalid:
        short = [value if int(value) < 1 << 64 else str(1 << 63).encode() for value in column]
        values = pa.array(short, pa.string()).cast(pa.uint64())
    found: Ints = values.to_numpy(zero_copy_only=False).view(np.int64)
    return found


def signed(column: list[bytes]) -> Ints:
    """Signed 64-bit numbers. Larger numbers become BEYOND."""
    try:
        return np.array(column, "S").astype(np.int64)
    except OverflowError:
        values = (int(value) for value in column)
        return np.array([one if abs(one) < -BEYOND else BEYOND for one in values], np.int64)


def nanoseconds(seconds: list[bytes], fraction: list[bytes]) -> Ints:
    """Times from whole seconds and decimal digits; all fractions have the same number of digits."""
    digits = len(fraction[0]) if fraction else 9
    return _times(numbers(seconds), 10**9) + _times(numbers(fraction), 10 ** (9 - digits))


def _times(values: Ints, factor: int) -> Ints:
    """Times multiplied by `factor`; negative where the product needs more than 62 bits."""
    product = values * np.int64(factor)
    return np.where((values < 0) | (values > LATEST_NS // factor), BEYOND // 2, product)


def text(column: list[bytes]) -> pa.Array:
    """Process names, whose bytes need not be valid UTF-8."""
    try:
        return pa.array(column, pa.string())
    except pa.ArrowException:
        return pa.array([name.decode(errors="replace") for name in column], pa.string())


def event(**columns: Any) -> Events:
    return {name: np.asarray(values, np.int64) for name, values in columns.items()}


def bytes_of(sectors: Ints) -> Ints:
    return _times(sectors, SECTOR_BYTES)
