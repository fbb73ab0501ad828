"""Finds doubtful constants of a machine file: implausible values, and those that the comments of
`sesame machine calibrate` state to be doubtful."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from sesame import native
from sesame.analysis.calibration import DOUBT, MEASURE_AGAIN, UNCERTAIN, WIDEST
from sesame.analysis.quantities import format_bytes, format_seconds, format_size
from sesame.analysis.storage_doubts import storage_texts
from sesame.errors import InputError
from sesame.trust import Doubt, Reason

# Plausible latencies: from below today's networks and memories up to a message around the earth.
LATENCIES = {"node_network": (1e-8, 1e-3), "network": (5e-8, 0.3)}  # s
BANDWIDTHS = (1e3, 2e12)  # bytes/s
# The time may fall where a protocol for larger messages begins: on the Paragon by 46 %. Constants
# of `calibrate` hardly fall.
MOST_FALL, MOST_CALIBRATED_FALL = 0.5, 0.02
CALIBRATED = "sesame machine calibrate"
NAMES = {"node_network": "node.network", "network": "network"}

INTERVAL = re.compile(r'\s*(\w+)\s*=\s*"?([^"#]+?)"?\s*#\s*±\s*([\d.,]+)\s*([^\s#]+)')
UNITS = {"%": 0.01}
OVERHEADS = ("send_overhead", "receive_overhead")  # parts of the latency, which bounds them


def doubts_of_machine(path: Path) -> list[Doubt]:
    """The doubts of a valid machine file: of its tables in their order, then of its lines."""
    model = native.read_machine(str(path))
    calibrated = any(source.startswith(CALIBRATED) for source in model["sources"])
    texts = [
        text
        for key, table in NAMES.items()
        for text in _network_doubts(model[key], table, LATENCIES[key], calibrated)
    ]
    texts += storage_texts(path)
    constants = [
        Doubt(Reason.OUTSIDE_RANGE, f"{path}: {text}", MEASURE_AGAIN)
        for text in dict.fromkeys(texts)
    ]
    lines = path.read_text(encoding="utf-8").splitlines()
    return constants + [
        Doubt(Reason.SCATTER, f"{path}:{number}: {text}", MEASURE_AGAIN)
        for number, line in enumerate(lines, 1)
        if (text := _line_doubt(line)) is not None
    ]


def uncertainties_of_machine(path: Path) -> list[str]:
    """The wide intervals that `calibrate` states, each with its line of the file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [
        f"{path}:{number}: {line.removeprefix(UNCERTAIN)}"
        for number, line in enumerate(lines, 1)
        if line.startswith(UNCERTAIN)
    ]


def _network_doubts(
    network: dict[str, Any], table: str, latencies: tuple[float, float], calibrated: bool
) -> Iterator[str]:
    least, most = latencies
    for latency in sorted({segment["latency_s"] for segment in network["segments"][:1]}):
        if not least <= latency <= most:
            yield (
                f"{table}.latency: implausible, expected {format_seconds(least)} to "
                f"{format_seconds(most)}, got {format_seconds(latency)}"
            )
    for bandwidth in sorted({s["bandwidth_bytes_per_s"] for s in network["segments"]}):
        if not BANDWIDTHS[0] <= bandwidth <= BANDWIDTHS[1]:
            low, high = (format_bytes(value) for value in BANDWIDTHS)
            yield (
                f"{table}.bandwidth: implausible, expected {low}/s to {high}/s, got "
                f"{format_bytes(bandwidth)}/s"
            )
    yield from _falls(network, table, MOST_CALIBRATED_FALL if calibrated else MOST_FALL)
    shortest = max(network[f"{key}_s"] for key in ("send_overhead", "receive_overhead", "gap"))
    if calibrated and shortest <= 0:
        yield f"{table}: an infinite number of small messages per second: no overhead and no gap"


def _falls(network: dict[str, Any], table: str, most: float) -> Iterator[str]:
    segments = network["segments"]
    for left, right in pairwise(segments):
        size = left["up_to_bytes"]
        before, after = (_time(segment, size) for segment in (left, right))
        if after < (1 - most) * before:
            yield (
                f"{table}: half a round trip falls from {format_seconds(before)} to "
                f"{format_seconds(after)} above {format_size(size)}, expected that it rises"
            )


def _time(segment: dict[str, Any], size: int) -> float:
    return float(segment["latency_s"] + size / segment["bandwidth_bytes_per_s"])


def _line_doubt(line: str) -> str | None:
    """The doubt that a comment of `calibrate` states: in words, or by a wide interval."""
    if line.startswith(DOUBT):
        return line.removeprefix(DOUBT)
    found = INTERVAL.match(line)
    if found is None or found[1] in OVERHEADS:
        return None
    key, value, half, unit = found.groups()
    share = _share(value, half.replace(",", ""), unit)
    if share is None or share <= WIDEST:
        return None
    return (
        f"{key} = {value} ± {half} {unit}: expected an interval of at most ± {100 * WIDEST:.0f} %"
    )


def _share(value: str, half: str, unit: str) -> float | None:
    """Half the interval over the value; None for another comment."""
    try:
        if unit in UNITS:
            return float(half) * UNITS[unit]
        whole = native.parse_duration_ps(value)
        return native.parse_duration_ps(f"{half} {unit}") / whole if whole else float("inf")
    except InputError:
        return None
