"""How often and when each place is accessed. A place is the position where requests begin, rounded
down to `unit` bytes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

MOST_PLACES = 1 << 22  # limit for memory; if there are more places, a coarser unit is used
COARSER = 8  # factor of the unit
GAP_CLASSES = 64  # classes of times between accesses: powers of two of a nanosecond


class TooManyPlacesError(Exception):
    """There are more than MOST_PLACES places: count again in a coarser unit."""


def _none() -> Ints:
    return np.empty(0, np.int64)


@dataclass
class Locality:
    """Counts of accesses by place. Add requests in the order of time."""

    unit: int  # B
    places: Ints = field(default_factory=_none)  # in units, ascending
    counts: Ints = field(default_factory=_none)  # accesses to each place
    last_ns: Ints = field(default_factory=_none)  # time of the last one
    # Times between two accesses to the same place, by class.
    gaps: Ints = field(default_factory=lambda: np.zeros(GAP_CLASSES, np.int64))
    gap_sum_ns: float = 0.0

    def add(self, position: Ints, time_ns: Ints) -> None:
        """Counts requests, which must be later than those before. Raises TooManyPlacesError."""
        key = position // self.unit
        order = np.argsort(key, kind="stable")
        key, time = key[order], time_ns[order]
        new = np.concatenate(([True], np.diff(key) != 0))
        self._note(np.diff(time)[~new[1:]])
        first = np.flatnonzero(new)
        last = np.concatenate((first[1:], [len(key)])) - 1
        self._join(key[first], last - first + 1, time[first], time[last])

    def _join(self, key: Ints, count: Ints, first_ns: Ints, last_ns: Ints) -> None:
        at = np.searchsorted(self.places, key)
        known = np.zeros(len(key), bool)
        inside = at < len(self.places)
        known[inside] = self.places[at[inside]] == key[inside]
        old = at[known]
        self._note(first_ns[known] - self.last_ns[old])
        self.counts[old] += count[known]
        self.last_ns[old] = last_ns[known]
        fresh = ~known
        if len(self.places) + int(fresh.sum()) > MOST_PLACES:
            raise TooManyPlacesError
        self.places = np.insert(self.places, at[fresh], key[fresh])
        self.counts = np.insert(self.counts, at[fresh], count[fresh])
        self.last_ns = np.insert(self.last_ns, at[fresh], last_ns[fresh])

    def _note(self, gaps: Ints) -> None:
        self.gap_sum_ns += float(gaps.sum())
        kinds = np.frexp(np.maximum(gaps, 0).astype(np.float64))[1]
        self.gaps += np.bincount(kinds, minlength=GAP_CLASSES)[:GAP_CLASSES]

    @property
    def repeated(self) -> int:
        """Accesses to a place that was accessed before."""
        return int(self.counts.sum()) - len(self.counts)

    @property
    def mean_gap_s(self) -> float:
        return self.gap_sum_ns / self.repeated * 1e-9 if self.repeated else float("nan")

    def hottest(self, most: int) -> list[tuple[int, int]]:
        """(position in bytes, accesses), the hottest first."""
        order = np.lexsort((self.places, -self.counts))[:most]
        return [(int(self.places[i]) * self.unit, int(self.counts[i])) for i in order]

    def fewest(self, share: float) -> int:
        """The smallest number of places that take this share of the accesses."""
        return fewest(self.counts, share)


def fewest(counts: Ints, share: float) -> int:
    """The smallest number of places that together have this share of the accesses `counts`."""
    sums = np.cumsum(np.sort(counts)[::-1])
    if not len(sums) or sums[-1] == 0:
        return 0
    # As whole numbers: 90 % of 10 requests are 9.
    return int(np.searchsorted(sums, np.ceil(share * sums[-1] - 1e-9), "left")) + 1
