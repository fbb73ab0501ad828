"""For programs that are measured: switch measurement on and off, name phases, read summaries.

Where there is no daemon nothing happens; `error()` says why.
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
    """Of one point, since the daemon began."""

    count: int
    bytes: int
    timed: int
    duration_ns: int


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
    """A subsystem `fs`, a point `fs.read`, or everything; whether it is on now."""
    return bool(_library().sesame_on(_text(where)) == 0)


def off(where: str | None = None) -> bool:
    return bool(_library().sesame_off(_text(where)) == 0)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """What lies within becomes a record with this name."""
    _library().sesame_phase_begin(name.encode())
    try:
        yield
    finally:
        _library().sesame_phase_end(name.encode())


def read(point: str) -> Counts | None:
    counts = _Counts()
    if _library().sesame_read(point.encode(), ctypes.byref(counts)) != 0:
        return None
    return Counts(counts.count, counts.bytes, counts.timed, counts.duration_ns)


def error() -> str:
    """Why the last call of this thread did nothing."""
    text: bytes = _library().sesame_error()
    return text.decode(errors="replace")
