"""Imports block requests from the text of `perf script`, with or without --ns.

The trace needs the events block:block_rq_issue and block:block_rq_complete; others are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sesame.datasets.block import SECTOR_BYTES
from sesame.errors import InputError
from sesame.exchange.block_events import (
    BEYOND,
    BlockTrace,
    Lines,
    bytes_of,
    event,
    first_lines,
    nanoseconds,
    numbers,
    operations,
    signed,
    text,
)
from sesame.exchange.record_file import Scratch
from sesame.exchange.traced import Traced
from sesame.traced.block_requests import COMPLETE, ISSUE, Events

# Command, pid, seconds, fraction, event, device, flags, sector, sectors.
HEAD = rb"^ *(\S.*?) +(?:\d+/)?(-?\d+) +(?:\[\d+\] +)?(?:[.a-zA-Z]{4,5} +)?(\d+)\.(\d{6,9}): +"
WANTED = re.compile(
    HEAD + rb"(?:\d+ +)?block:block_rq_(issue|complete): +(\d+,\d+) (\w+) (?:\d+ )?\([^\n]*?\) "
    rb"(\d+) \+ (\d+)(?: [^\[\n]*)? ?\[[^\n]*\][ \r]*$",
    re.M,
)
OTHER_EVENT = HEAD.replace(b"(\\S.*?)", b"\\S.*?") + rb"(?!\S*block:block_rq_(?:issue|complete):).+"
KNOWN = re.compile(
    rb"(?:" + WANTED.pattern + rb")|(?:" + OTHER_EVENT + rb"$)|(?:^#.*$)|(?:^(?!\Z)[ \t]*$)|"
    rb"(?:^[ \t]+[0-9a-f]{6,16} .*$)",
    re.M,
)
LINES = Lines(
    WANTED,
    KNOWN,
    "COMMAND PID [CPU] TIME: block:block_rq_issue: MAJOR,MINOR …",
    none="no event block:block_rq_issue in it",
    hint="`perf record -a -e block:block_rq_issue,block:block_rq_complete; "
    "perf script --ns --show-lost-events` "
    f"(sectors are of {SECTOR_BYTES} bytes)",
    lost=re.compile(rb": PERF_RECORD_LOST lost (\d{1,18})[ \r]*$", re.M),  # --show-lost-events
)


def recognises(path: Path) -> bool:
    return path.is_file() and any(WANTED.match(line) for line in first_lines(path))


def read(path: Path, _scratch: Scratch) -> Traced:
    if path.is_dir():
        raise InputError("a directory, expected a file of text from `perf script`", path=str(path))
    trace = BlockTrace("perf")
    return trace.of_events(_events(path, trace))


def _events(path: Path, trace: BlockTrace) -> Iterator[Events]:
    for columns in LINES.batches(path, trace):
        command, pid, seconds, fraction, kind, device, flags, sector, count = columns
        sectors = numbers(sector)
        operation = operations(text(flags))
        yield event(
            time_ns=nanoseconds(seconds, fraction),
            kind=np.where(np.array(kind) == b"issue", ISSUE, COMPLETE),
            device=trace.devices.codes(text(device)),
            sector=np.where((sectors < 0) & (sectors != BEYOND), -1, sectors),
            bytes=bytes_of(numbers(count)),
            operation=operation,
            pid=signed(pid),
            command=trace.commands.codes(text(command)),
        )
