"""For programs that are measured: switch measurement on and off, name phases, read summaries.

The functions ask the daemon of this node. Without a daemon they do nothing; `error()` says why.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from sesame.installed import find_installed


@dataclass(frozen=True)
class Counts:
    """What one point has counted since the daemon started."""

    count: int  # events
    bytes: int  # of all of them
    timed: int  # events whose duration was measured
    duration_ns: int  # sum of these


class _Counts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("count", "bytes", "timed", "duration_ns")]


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(find_installed("libsesame.so")))
    for name in ("on", "off", "phase_begin", "phase_end"):
        getattr(library, f"sesame_{name}").argtypes = [ctypes.c_char_p]
    library.sesame_read.argtypes = [ctypes.c_char_p, ctypes.POINTER(_Counts)]
    library.sesame_error.restype = ctypes.c_char_p
    return library


def _text(where: str | None) -> bytes | None:
    return None if where is None else where.encode()


def on(where: str | None = None) -> bool:
    """Switches on a subsystem (`fs`), a point (`fs.read`) or, by default, everything.

    Returns whether it is on now.
    """
    return bool(_library().sesame_on(_text(where)) == 0)


def off(where: str | None = None) -> bool:
    """Switches off what `on` switches on. Returns whether it is off now."""
    return bool(_library().sesame_off(_text(where)) == 0)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Records the `with` block as a phase with this name: its begin, end and process."""
    _library().sesame_phase_begin(name.encode())
    try:
        yield
    finally:
        _library().sesame_phase_end(name.encode())


def read(point: str) -> Counts | None:
    """Reads the counters of a point such as `fs.read`; None if that failed (see `error`)."""
    counts = _Counts()
    if _library().sesame_read(point.encode(), ctypes.byref(counts)) != 0:
        return None
    return Counts(counts.count, counts.bytes, counts.timed, counts.duration_ns)


def error() -> str:
    """Why the last call of this thread did nothing."""
    text: bytes = _library().sesame_error()
    return text.decode(errors="replace")
