"""The counters of all subsystems in one array, for the governor.

The governor computes with them at each reading, after seconds of sleep, when code and data are in
no cache: an operation of numpy takes 25 us then, so there are few.
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
    """Sums [CPU, column], the columns of one subsystem after another; ns for which each was
    attached."""

    sums: Sums
    active_ns: list[int]


@dataclass(frozen=True)
class Change:
    """Between two snapshots: ns of the CPU charged most for a subsystem (`charged`), and of the CPU
    charged most for all (`whole`)."""

    charged: list[int]  # by subsystem
    events: list[int]
    whole: int


class Counters:
    """Of some subsystems, identified by their number in the sequence."""

    def __init__(self, probes: Sequence[Probes]) -> None:
        self._probes = probes
        widths = (EVENTS + len(one.subsystem.points) for one in probes)
        begins = list(accumulate(widths, initial=0))
        self._columns = [slice(*both) for both in pairwise(begins)]
        self.shape = (len(probes[0].accounts) if probes else 0, begins[-1])  # of sums
        self.begins = (ctypes.c_uint * len(begins))(*begins)  # of columns, and their end
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
