"""Numbers as text: three significant digits and a suitable unit."""

from __future__ import annotations

LEAST_S = 5e-15  # smaller times are shown as 0


def format_seconds(seconds: float) -> str:
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")):
        if abs(seconds) >= factor * 0.9995:
            return f"{_three_digits(seconds / factor)} {unit}"
    return f"{_three_digits(seconds / 1e-12)} ps" if abs(seconds) >= LEAST_S else "0 s"


def format_bytes(size: float) -> str:
    for factor, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= factor * 0.9995:
            return f"{_three_digits(size / factor)} {unit}"
    return f"{size:.0f} B"


def format_size(size: int) -> str:
    """A size in powers of two, as sizes are usually chosen: 64 KiB. Other sizes are bytes."""
    for factor, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= factor:
            return f"{size / factor:g} {unit}" if size % factor == 0 else f"{size:,} B"
    return f"{size} B"


def format_count(count: float) -> str:
    for factor, unit in ((1e9, "G"), (1e6, "M")):
        if count >= factor:
            return f"{_three_digits(count / factor)} {unit}"
    return f"{count:,.0f}"


def format_quantity(value: float, unit: str) -> str:
    """A figure of a report; times, sizes and rates get a suitable prefix."""
    if unit == "s":
        return format_seconds(value)
    if unit in ("B", "byte") and value == int(value):
        return format_size(int(value))
    if unit in ("B", "B/s"):
        return format_bytes(value) + unit.removeprefix("B")
    if unit == "MB/s":
        return format_bytes(value * 1e6) + "/s"
    return f"{value:.5g} {unit}".rstrip()


def _three_digits(value: float) -> str:
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}"
