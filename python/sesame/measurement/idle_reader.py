"""Intervals that nobody has to be awake for: nothing is to be decided, so a thread of the library
closes them, and they become readings when somebody is.

Reading all counters takes some 0.1 ms; waking this interpreter and making a reading takes ten times
that.
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
from sesame.measurement.probes import CELL_READING, Still, library

MOST = 2**64 - 1


class _Order(ctypes.Structure):
    """As struct idle_order in probes/probes.h."""

    _fields_ = [
        ("due_ns", ctypes.c_uint64),
        ("interval_ns", ctypes.c_uint64),
        ("own_ns", ctypes.c_uint64),
        ("part_ns", ctypes.c_uint64),
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


WORD = 8


@dataclass(frozen=True)
class IntervalSample:
    """An interval, by its end; the rest by subsystem, in their order."""

    end: Moment
    charged_ns: list[int]  # by the CPU that spent most
    events: list[int]
    cells: list[bytes]
    processors: bytes  # the begin of /proc/stat


class IdleReader:
    """Somebody calls `wake` before anything else looks at the probes."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._count = len(counters.begins) - 1
        cpus, columns = counters.shape
        self._watch = library().sesame_probes_idle_open(cpus, columns, self._count)
        if not self._watch:
            raise SesameError("there is no memory for a watch, or no thread")
        self._sums: Sums = np.zeros(counters.shape, np.uint64)
        self._loaded = (ctypes.c_void_p * self._count)()
        self._head = struct.Struct(
            f"<{3 + 3 * self._count}Q"
        )  # struct interval_sample, struct subsystem_sample

    def fileno(self) -> int:
        """Readable when a rest has ended."""
        return int(library().sesame_probes_idle_descriptor(self._watch))

    def rest(
        self,
        calm: IdleLimits,
        still: Sequence[Still],
        processors: int,
        *,
        due_ns: int,
        interval_ns: int,
        most: int,
    ) -> None:
        """Closes at most so many intervals that are calm, the first when it is due.

        `processors`: /proc/stat.
        """
        self._sums[:] = calm.sums
        self._loaded[:] = [one.handle for one in still]
        seen = next((one for one in still if one.directory >= 0), Still())
        order = _Order(
            due_ns,
            interval_ns,
            calm.since.own_ns,
            MOST if calm.part_ns is None else calm.part_ns,
            MOST if calm.whole_ns is None else calm.whole_ns,
            calm.renewal_ns,
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
        library().sesame_probes_idle_start(self._watch, ctypes.byref(order))

    def wake(self) -> tuple[list[IntervalSample], Sums]:
        """What there is since `rest`, once; the sums are those of the last sample."""
        samples, size = ctypes.c_void_p(), ctypes.c_size_t()
        count = library().sesame_probes_idle_stop(
            self._watch, ctypes.byref(samples), ctypes.byref(size)
        )
        if not count:
            return [], self._sums
        memory, place = ctypes.string_at(samples.value or 0, size.value), 0
        found: list[IntervalSample] = []
        for _ in range(count):
            sample, place = self._read(memory, place)
            found.append(sample)
        return found, self._sums.copy()

    def _read(self, memory: bytes, place: int) -> tuple[IntervalSample, int]:
        """And where the next one is."""
        time_ns, own_ns, text_bytes, *each = self._head.unpack_from(memory, place)
        spent, events, counts = each[::3], each[1::3], each[2::3]
        place += self._head.size
        text = memory[place : place + text_bytes]
        place += -(-text_bytes // WORD) * WORD
        cells: list[bytes] = []
        for count in counts:
            end = place + CELL_READING.itemsize * count
            cells.append(memory[place:end])
            place = end
        return IntervalSample(Moment(time_ns, own_ns), spent, events, cells, text), place

    def acknowledge(self) -> None:
        """The end of a rest has been seen."""
        os.eventfd_read(self.fileno())

    def close(self) -> None:
        if self._watch:
            library().sesame_probes_idle_close(self._watch)
            self._watch = None
