"""Numbers with units, for people: three significant digits and the unit that fits."""

from __future__ import annotations


def format_seconds(seconds: float) -> str:
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")):
        if abs(seconds) >= factor * 0.9995:
            return f"{_three_digits(seconds / factor)} {unit}"
    return "0 s" if seconds == 0 else f"{_three_digits(seconds / 1e-12)} ps"


def format_bytes(size: float) -> str:
    for factor, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= factor * 0.9995:
            return f"{_three_digits(size / factor)} {unit}"
    return f"{size:.0f} B"


def format_size(size: int) -> str:
    """A size of a message, in powers of two as sizes are chosen: 64 KiB."""
    for factor, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= factor:
            return f"{size / factor:g} {unit}" if size % factor == 0 else f"{size:,} B"
    return f"{size} B"


def format_count(count: float) -> str:
    for factor, unit in ((1e9, "G"), (1e6, "M")):
        if count >= factor:
            return f"{_three_digits(count / factor)} {unit}"
    return f"{count:,.0f}"


def _three_digits(value: float) -> str:
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}"
