"""The counters of all subsystems in one array, for the governor.

The governor computes with them at each reading. After seconds of sleep neither code nor data are in
a cache, and an operation of NumPy takes 25 us, so few are used.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from sesame.measurement.probes import Probes, library

Sums = NDArray[np.uint64]
CHARGED, RUNS, EVENTS = 0, 1, 2  # the first columns of a subsystem; its events are by point


@dataclass(frozen=True)
class Snapshot:
    """The state of all counters at one moment."""

    sums: Sums  # [CPU, column]: the columns of one subsystem after those of another
    active_ns: list[int]  # for which each subsystem was attached


@dataclass(frozen=True)
class Change:
    """The difference between two snapshots."""

    charged: list[int]  # by subsystem: ns of the CPU that it charged most
    events: list[int]  # by subsystem: of all CPUs
    whole: int  # ns of the CPU that all subsystems together charged most


class Counters:
    """Reads the counters of some subsystems, identified by their index in the sequence."""

    def __init__(self, probes: Sequence[Probes]) -> None:
        self._probes = probes
        widths = (EVENTS + len(one.subsystem.points) for one in probes)
        begins = list(accumulate(widths, initial=0))
        self._columns = [slice(*both) for both in pairwise(begins)]
        self.shape = (len(probes[0].accounts) if probes else 0, begins[-1])  # of sums
        self.begins = (ctypes.c_uint * len(begins))(*begins)  # first column of each, and the end
        self._found = (ctypes.c_uint64 * (2 * len(probes) + 1))()

    def read(self) -> Sums:
        sums = np.empty(self.shape, np.uint64)
        for one, columns in zip(self._probes, self._columns, strict=True):
            one.sums(sums[:, columns])
        return sums

    def read_one(self, number: int) -> Sums:
        """Reads the columns of one subsystem."""
        columns = self._columns[number]
        sums = np.empty((self.shape[0], columns.stop - columns.start), np.uint64)
        self._probes[number].sums(sums)
        return sums

    def of(self, number: int, sums: Sums) -> Sums:
        """The columns of one subsystem in `sums`."""
        return sums[:, self._columns[number]]

    def change(self, before: Sums, now: Sums) -> Change:
        count, found = len(self._probes), self._found
        library().sesame_probes_compare(
            before.ctypes.data, now.ctypes.data, self.shape[0], self.begins, count, found
        )
        return Change(found[0 : 2 * count : 2], found[1 : 2 * count : 2], found[2 * count])
