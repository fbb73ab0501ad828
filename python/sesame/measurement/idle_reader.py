"""Closes intervals in a thread of the library while the daemon is idle (see daemon/idle.py).

Reading all counters takes some 0.1 ms. Waking this interpreter and making a reading takes ten times
as long.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sesame.errors import SesameError
from sesame.measurement.counters import Counters, Sums
from sesame.measurement.governor import IdleLimits, Moment
from sesame.measurement.probes import CELL_READING, ChangeCheck, library

MOST = 2**64 - 1


class _Order(ctypes.Structure):
    """As struct idle_order in probes/probes.h."""

    _fields_ = [
        ("due_ns", ctypes.c_uint64),
        ("interval_ns", ctypes.c_uint64),
        ("own_ns", ctypes.c_uint64),
        ("share_ns", ctypes.c_uint64),
        ("whole_ns", ctypes.c_uint64),
        ("renewal_ns", ctypes.c_uint64),
        ("changed_ns", ctypes.c_uint64),
        ("sums", ctypes.c_void_p),
        ("begins", ctypes.c_void_p),
        ("loaded", ctypes.c_void_p),
        ("subsystems", ctypes.c_uint),
        ("cpus", ctypes.c_uint),
        ("most_samples", ctypes.c_uint),
        ("directory", ctypes.c_int),
        ("processors", ctypes.c_int),
    ]


WORD = 8  # bytes; the text of a sample is padded to a multiple


@dataclass(frozen=True)
class IntervalSample:
    """One closed interval: its end, and lists with one item for each subsystem in order."""

    end: Moment
    charged_ns: list[int]  # of the CPU charged most
    events: list[int]
    cells: list[bytes]
    processors: bytes  # the text of /proc/stat


class IdleReader:
    """Call `start`, later `stop`; `stop` must be called before the probes are used otherwise."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._count = len(counters.begins) - 1
        cpus, columns = counters.shape
        self._reader = library().sesame_probes_idle_open(cpus, columns, self._count)
        if not self._reader:
            raise SesameError("cannot start the idle reader: no memory, or no thread")
        self._sums: Sums = np.zeros(counters.shape, np.uint64)
        self._loaded = (ctypes.c_void_p * self._count)()
        self._head = struct.Struct(
            f"<{3 + 3 * self._count}Q"
        )  # struct interval_sample, struct subsystem_sample

    def fileno(self) -> int:
        """A file descriptor that is readable when the idle period has ended."""
        return int(library().sesame_probes_idle_descriptor(self._reader))

    def start(
        self,
        limits: IdleLimits,
        checks: Sequence[ChangeCheck],
        processors: int,
        *,
        due_ns: int,
        interval_ns: int,
        most: int,
    ) -> None:
        """Closes up to `most` intervals within the limits, the first at `due_ns`.

        `checks`: one for each subsystem. `processors`: a descriptor of /proc/stat.
        """
        self._sums[:] = limits.sums
        self._loaded[:] = [one.handle for one in checks]
        seen = next((one for one in checks if one.directory >= 0), ChangeCheck())
        order = _Order(
            due_ns,
            interval_ns,
            limits.since.own_ns,
            MOST if limits.share_ns is None else limits.share_ns,
            MOST if limits.whole_ns is None else limits.whole_ns,
            limits.renewal_ns,
            seen.changed_ns,
            self._sums.ctypes.data,
            ctypes.addressof(self._counters.begins),
            ctypes.addressof(self._loaded),
            self._count,
            len(self._sums),
            most,
            seen.directory,
            processors,
        )
        library().sesame_probes_idle_start(self._reader, ctypes.byref(order))

    def stop(self) -> tuple[list[IntervalSample], Sums]:
        """Ends the period; returns the samples since `start`, and the sums at the last one.

        A second call returns no samples."""
        samples, size = ctypes.c_void_p(), ctypes.c_size_t()
        count = library().sesame_probes_idle_stop(
            self._reader, ctypes.byref(samples), ctypes.byref(size)
        )
        if not count:
            return [], self._sums
        memory, position = ctypes.string_at(samples.value or 0, size.value), 0
        found: list[IntervalSample] = []
        for _ in range(count):
            sample, position = self._read(memory, position)
            found.append(sample)
        return found, self._sums.copy()

    def _read(self, memory: bytes, position: int) -> tuple[IntervalSample, int]:
        """A sample, and the position of the next one."""
        time_ns, own_ns, text_bytes, *each = self._head.unpack_from(memory, position)
        spent, events, counts = each[::3], each[1::3], each[2::3]
        position += self._head.size
        text = memory[position : position + text_bytes]
        position += -(-text_bytes // WORD) * WORD
        cells: list[bytes] = []
        for count in counts:
            end = position + CELL_READING.itemsize * count
            cells.append(memory[position:end])
            position = end
        return IntervalSample(Moment(time_ns, own_ns), spent, events, cells, text), position

    def acknowledge(self) -> None:
        """Makes the descriptor unreadable again."""
        os.eventfd_read(self.fileno())

    def close(self) -> None:
        if self._reader:
            library().sesame_probes_idle_close(self._reader)
            self._reader = None
