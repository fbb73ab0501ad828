"""Values of Python as those of the database's columns, and back."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from sesame.evaluation.load import Load
from sesame.evaluation.probing import Curve, Outcome
from sesame.evaluation.records import Observation

Floats = tuple[float, ...]
DAY_US = 86_400_000_000
OUTCOMES = (Outcome.PASS, Outcome.FAIL, Outcome.NOT_OBSERVED)  # by their number in the database


def packed(curve: Curve) -> bytes:
    values = (*curve.x, *curve.y)
    return zlib.compress(struct.pack(f"<{len(values)}d", *values))


def unpacked(packed: bytes) -> tuple[Floats, Floats]:
    data = zlib.decompress(packed)
    values = struct.unpack(f"<{len(data) // 8}d", data)
    half = len(values) // 2
    return values[:half], values[half:]


def place_of(periods: Sequence[tuple[int, int]], first: int = 0) -> str:
    """An expression that finds the place of a day's period by halves."""
    if len(periods) == 1:
        return str(first)
    half = len(periods) // 2
    below, above = place_of(periods[:half], first), place_of(periods[half:], first + half)
    return f"CASE WHEN day < {periods[half][0]} THEN {below} ELSE {above} END"


def joined(days: Iterable[int]) -> list[tuple[int, int]]:
    """[begin, end) in microseconds of days that follow each other. `days` are in order."""
    found: list[tuple[int, int]] = []
    for day in days:
        begin = day * DAY_US
        if found and found[-1][1] == begin:
            begin = found.pop()[0]
        found.append((begin, (day + 1) * DAY_US))
    return found


def observations(probe: str, rows: Iterable[Sequence[Any]]) -> list[Observation]:
    return [
        Observation(
            *(probe, began / 1e6, OUTCOMES[outcome], step or "", reason or ""),
            load=None if average is None else Load(average, others),
        )
        for began, outcome, step, reason, average, others in rows
    ]


def bounds(begin: float, end: float) -> tuple[int, int]:
    most = (1 << 62) / 1e6  # of a database's integer, for an infinite end
    return round(1e6 * max(begin, 0.0)), round(1e6 * min(end, most))
