"""Looks at the times of records in their order. Finds records that stall, at regular distances or
not, and a change after the first records, for instance when a buffer is full."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sesame.analysis.findings.regions import Array
from sesame.analysis.quantities import format_bytes, format_seconds, format_size

SLOW = 3.0  # a record stalls if it takes this many times the median
MOSTLY = 0.75  # least share of the positions of a period that have a stall
FEWEST = 16  # records, for any statement about stalls
FEWEST_SLOW = 4  # stalls, likewise
CHANCE = 1e-3  # a pattern that chance makes more often than this does not count
FEWEST_EARLY = 8  # records before a change, and after it
CHANGED = 2.0  # least ratio of the medians before and after a change
CERTAIN = 5.0  # standard deviations of the rank sum at a change


@dataclass(frozen=True)
class Stalls:
    """Records that take much longer than the others."""

    count: int
    records: int  # of which `count` stall
    factor: float  # median time of the stalls over the median of all records
    period: int | None  # records from one stall to the next; None if irregular


@dataclass(frozen=True)
class Change:
    """A change of the usual time of a record."""

    after: int  # number of records before the change
    before_s: float  # median of these
    later_s: float  # median of the others


def find_stalls(times: Array) -> Stalls | None:
    """None if there are too few records or stalls for a statement."""
    if len(times) < FEWEST:
        return None
    middle = float(np.median(times))
    slow = np.flatnonzero(times > SLOW * middle)
    if len(slow) < FEWEST_SLOW:
        return None
    factor = float(np.median(times[slow])) / middle
    return Stalls(len(slow), len(times), factor, _period(slow, len(times)))


def _period(slow: Any, records: int) -> int | None:
    """The distance at which stalls recur, with or without other stalls between them; None if chance
    may explain them."""
    share = len(slow) / records
    best, period, tried = 0.0, None, 0
    for distance in range(2, records // FEWEST_SLOW + 1):
        hits = int(np.bincount(slow % distance).max())
        positions = records // distance
        tried += distance
        if hits < FEWEST_SLOW or hits < MOSTLY * positions:
            continue
        score = (hits - positions * share) / np.sqrt(positions * share * (1 - share))
        if score > best and _log_chance(min(hits / positions, 1), share, positions) < np.log(
            CHANCE / tried
        ):
            best, period = score, distance
    return period


def _log_chance(part: float, share: float, positions: int) -> float:
    """An upper bound (Chernoff) for the logarithm of the chance that at least `part` of the
    positions are slow, if each record is slow with probability `share`."""
    if part <= share:
        return 0.0
    rest = (1 - part) * np.log((1 - part) / (1 - share)) if part < 1 else 0.0
    return float(-positions * (part * np.log(part / share) + rest))


def find_change(times: Array) -> Change | None:
    """The position where the times before and after differ most (Wilcoxon's rank-sum test at every
    position); None if they do not differ clearly."""
    count = len(times)
    if count < 2 * FEWEST_EARLY:
        return None
    ranks = np.empty(count)
    ranks[np.argsort(times, kind="stable")] = np.arange(1.0, count + 1)
    places = np.arange(FEWEST_EARLY, count - FEWEST_EARLY + 1)
    sums = np.cumsum(ranks)[places - 1]
    expected = places * (count + 1) / 2
    deviation = np.sqrt(places * (count - places) * (count + 1) / 12)
    scores = abs(sums - expected) / deviation
    best = int(np.argmax(scores))
    after = int(places[best])
    before, later = float(np.median(times[:after])), float(np.median(times[after:]))
    is_large = max(before, later) >= CHANGED * min(before, later)
    return Change(after, before, later) if scores[best] > CERTAIN and is_large else None


def describe_records(mode: str, table: dict[str, Any] | None) -> list[str]:
    """Sentences about the records of a mode: regular stalls, then changes, then other stalls."""
    regular, changed, irregular = [], [], []
    for size, times in _series(table):
        stalls, change = find_stalls(times), find_change(times)
        subject = f"{mode} of {format_size(size)}"
        if stalls is not None and stalls.period is not None:
            regular.append(f"{subject}: {_regular(mode, stalls, size)}")
        elif stalls is not None:
            irregular.append(f"{format_size(size)} ({stalls.count} of {stalls.records:,})")
        if change is not None:
            changed.append(f"{subject}: {_changed(mode, change, size)}")
    sentences = [*regular, *changed]
    if irregular:
        sentences.append(
            f"{mode}: records that take more than {SLOW:.0f} times the median, at no regular "
            f"distance: {', '.join(irregular)}."
        )
    return sentences


def _series(table: dict[str, Any] | None) -> Iterator[tuple[int, Array]]:
    """For each size of records the times (s) of rank 0's records, in their order."""
    if table is None:
        return
    columns = {name: np.array(part["values"]) for name, part in table.items()}
    own = columns["rank"] == 0
    for size in np.unique(columns["size"][own]):
        times = columns["time"][own & (columns["size"] == size)] * 1e-6
        if np.median(times) > 0:
            yield int(size), times


def _regular(mode: str, stalls: Stalls, size: int) -> str:
    assert stalls.period is not None
    reason = {
        "write": "as when that much is buffered",
        "read": "as when that much is read ahead",
    }[mode]
    return (
        f"one record in {stalls.period}, always after {format_size(stalls.period * size)}, takes "
        f"{stalls.factor:.1f} times the median: {reason}."
    )


def _changed(mode: str, change: Change, size: int) -> str:
    text = (
        f"the first {change.after} records take {format_seconds(change.before_s)}, "
        f"later ones {format_seconds(change.later_s)}"
    )
    if mode == "write" and change.later_s > change.before_s:
        text += f", as when about {format_bytes(change.after * size)} are buffered"
    return text + "."
