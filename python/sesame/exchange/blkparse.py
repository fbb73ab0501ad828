"""Imports block requests from the text of `blkparse` in its own format, without -f."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sesame.errors import InputError
from sesame.exchange.block_events import (
    BlockTrace,
    Lines,
    bytes_of,
    event,
    first_lines,
    nanoseconds,
    numbers,
    operations,
    text,
)
from sesame.exchange.record_file import Scratch
from sesame.exchange.traced import Traced
from sesame.traced.block_requests import COMPLETE, ISSUE, Events

# What each event line begins with: device, seconds, fraction, pid.
PLACE = rb"^ *(\d+,\d+) +\d+ +\d+ +(\d+)\.(\d{9}) +(\d+) +"
# Then action, flags, first sector, number of sectors, name of the process.
WANTED = re.compile(
    PLACE + rb"([DC]) +(\w+)(?: +(\d+)(?: \+ (\d+))?)?(?: \( *\d+\))? \[([^\n]*)\][ \r]*$", re.M
)
# Other lines: other actions, packet commands, and the summary at the end.
KNOWN = re.compile(
    rb"(?:" + WANTED.pattern + rb")|(?:" + PLACE + rb"(?:[ABFGIMPQRSTUXm]|UT)[ \t].*$)|"
    rb"(?:" + PLACE + rb"[DC] +\w+ (?:\d+ )?\([0-9a-f][0-9a-f ]*\.*\).*$)|"
    rb"(?:^(?:CPU\d+|Total) \(.*\):[ \r]*$)|(?:^Throughput .*$)|(?:^Events \(.*$)|"
    rb"(?:^Skips: .*$)|(?:^Input file .* added[ \r]*$)|(?:^(?!\Z)[ \r]*$)|"
    rb"(?:^ (?:Reads|Read|Writes|Write|PC|IO|Allocation|Timer|Partial|Read depth)[ a-zA-Z]*:.*$)",
    re.M,
)
LINES = Lines(
    WANTED,
    KNOWN,
    "MAJOR,MINOR CPU NUMBER SECONDS PID ACTION FLAGS SECTOR + SECTORS …",
    none="expected requests that were issued (action D), found none",
    hint="blktrace -a issue -a complete records the events needed",
)


def recognises(path: Path) -> bool:
    anything = re.compile(PLACE + rb"[A-Zm]")
    return path.is_file() and any(anything.match(line) for line in first_lines(path))


def read(path: Path, _scratch: Scratch) -> Traced:
    if path.is_dir():
        raise InputError("a directory, expected a file of text from blkparse", path=str(path))
    trace = BlockTrace("blktrace")
    return trace.of_events(_events(path, trace))


def _events(path: Path, trace: BlockTrace) -> Iterator[Events]:
    for columns in LINES.batches(path, trace):
        device, seconds, fraction, pid, kind, flags, sector, count, command = columns
        yield event(
            time_ns=nanoseconds(seconds, fraction),
            kind=np.where(np.array(kind) == b"D", ISSUE, COMPLETE),
            device=trace.devices.codes(text(device)),
            sector=numbers(
                [s if n else b"18446744073709551615" for s, n in zip(sector, count, strict=True)]
            ),
            bytes=bytes_of(numbers([n or b"0" for n in count])),
            operation=operations(text(flags)),
            pid=numbers(pid),
            command=trace.commands.codes(text(command)),
        )
