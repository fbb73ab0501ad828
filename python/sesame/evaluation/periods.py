"""Periods of a report and their parts, all in UTC, so that no hour is there twice."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta

from sesame.errors import InputError

DAY = 86400
WEEK = "week"
# The parts that plots show side by side, and their seconds; in a longer period it is weeks.
PARTS = {"minute": 60, "10 minutes": 600, "hour": 3600, "day": DAY}
MOST_PARTS = 72  # that a page shows side by side


def moment(text: str, option: str, *, is_end: bool = False) -> float:
    """Seconds since 1970 of `2026-05`, `2026-W18`, `2026-05-03`, `2026-05-03T14:00`; with `is_end`
    the end of the month, week or day. Without an offset it is UTC. Raises InputError."""
    try:
        begin, end = _span(text)
        return (end if is_end else begin).timestamp()
    except (ValueError, OverflowError):
        raise InputError(
            f"{option}: expected a month, a week, a day or a time, got {text!r}",
            hint="for instance 2026-05, 2026-W18, 2026-05-03 or 2026-05-03T14:00",
        ) from None


def _span(text: str) -> tuple[datetime, datetime]:
    """Raises ValueError and OverflowError. ISO 8601 has more forms, such as 20260503: `--to`
    would end where their day begins."""

    def is_like(pattern: str) -> bool:
        return re.fullmatch(pattern, text, re.ASCII) is not None

    if is_like(r"\d{4}-\d{2}"):
        begin = datetime.fromisoformat(f"{text}-01").replace(tzinfo=UTC)
        return begin, _next_month(begin)
    if is_like(r"\d{4}-W\d{2}"):
        begin = datetime.fromisoformat(f"{text}-1").replace(tzinfo=UTC)
        return begin, begin + timedelta(days=7)
    if is_like(r"\d{4}-\d{2}-\d{2}"):
        begin = datetime.fromisoformat(text).replace(tzinfo=UTC)
        return begin, begin + timedelta(days=1)
    if not is_like(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?"):
        raise ValueError(text)
    time = datetime.fromisoformat(text)
    time = time.replace(tzinfo=time.tzinfo or UTC)
    return time, time


def months(begin: float, end: float) -> list[tuple[str, float, float]]:
    """(name, begin, end) of the months that [begin, end) touches, cut at its ends."""
    first = datetime.fromtimestamp(begin, UTC)
    start = first.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    found = []
    while start.timestamp() < end:
        after = _next_month(start)
        low, high = max(start.timestamp(), begin), min(after.timestamp(), end)
        found.append((f"{start:%Y-%m}", low, high))
        start = after
    return found


def weeks(begin: float, end: float) -> list[tuple[str, float, float]]:
    """As `months`; ISO weeks, from Monday on."""
    first = datetime.fromtimestamp(begin, UTC)
    start = first.replace(hour=0, minute=0, second=0, microsecond=0)
    start -= timedelta(days=start.weekday())
    found = []
    while start.timestamp() < end:
        after = start + timedelta(days=7)
        low, high = max(start.timestamp(), begin), min(after.timestamp(), end)
        found.append((f"{start:%G-W%V}", low, high))
        start = after
    return found


def part_of(begin: float, end: float, least: float = 0.0) -> str:
    """The shortest of PARTS of which [begin, end) has no more than MOST_PARTS, and that is not
    shorter than `least` seconds, or WEEK."""
    return next(
        (
            name
            for name, length in PARTS.items()
            if length >= least and end - begin <= MOST_PARTS * length
        ),
        WEEK,
    )


def is_of_whole_days(part: str) -> bool:
    """Whether one of PARTS, a week or a month is not shorter than a day."""
    return PARTS.get(part, DAY) >= DAY


def parts(begin: float, end: float, part: str) -> list[tuple[str, float, float]]:
    """As `months`; weeks, or one of PARTS."""
    if part == WEEK:
        return weeks(begin, end)
    length = PARTS[part]
    first, last = math.floor(begin / length), math.ceil(end / length)
    return [
        (
            shown(number * length)[: 10 if length == DAY else 16],
            max(number * length, begin),
            min((number + 1) * length, end),
        )
        for number in range(first, last)
    ]


def shown(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M}"


def _next_month(time: datetime) -> datetime:
    return (time.replace(day=1) + timedelta(days=32)).replace(day=1)
