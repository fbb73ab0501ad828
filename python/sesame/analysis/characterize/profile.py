"""The requests to one device, or to all files of an application, as counts from which tables, plots
and findings are made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sesame.analysis.characterize.limits import Limits
from sesame.analysis.characterize.locality import (
    COARSER,
    Ints,
    Locality,
    TooManyPlacesError,
    fewest,
)
from sesame.analysis.characterize.source import Requests, Source
from sesame.datasets.block import SECTOR_BYTES
from sesame.errors import InputError

TIME_CELLS = 600
PLACE_CELLS = 200
FINE_BANDS = 1000
MOST_BANDS = 4000
SIZE_BITS = 48
MOST_POINTS = 6000  # requests that are drawn one by one
DEPTHS = 1024  # classes of queue depth
LATENCY_STEPS = 8  # classes of latency for each doubling
LATENCY_CLASSES = 48 * LATENCY_STEPS
CLASS_NAMES = ("small", "page", "medium", "large")
EXACT_BYTES = 64 << 10  # larger sizes are rounded down to 4 KiB, which limits their number
SHARE = 0.9  # of the requests, for `small_part`
READS, WRITES = 0, 1

Floats = npt.NDArray[np.float64]


@dataclass
class Who:
    requests: Ints
    bytes: Ints
    classes: Ints


def _zeros(*shape: int) -> Ints:
    return np.zeros(shape, np.int64)


@dataclass
class Profile:
    """The figures of one place (a device, or all files). Arrays over the direction have the index
    READS or WRITES. `add` requests in the order of time."""

    source: Source
    place: str
    limits: Limits
    begin_ns: int
    span_s: float
    extent: int  # B: the end of the highest request
    locality: Locality
    requests: Ints = field(default_factory=lambda: _zeros(2))
    bytes: Ints = field(default_factory=lambda: _zeros(2))
    classes: Ints = field(default_factory=lambda: _zeros(2, len(CLASS_NAMES)))
    sequential: Ints = field(default_factory=lambda: _zeros(2))
    sizes: dict[int, int] = field(default_factory=dict)
    over_time: Ints = field(default_factory=lambda: _zeros(2, TIME_CELLS))
    bytes_over_time: Ints = field(default_factory=lambda: _zeros(2, TIME_CELLS))
    size_over_time: Ints = field(default_factory=lambda: _zeros(SIZE_BITS, TIME_CELLS))
    place_over_time: Ints = field(default_factory=lambda: _zeros(PLACE_CELLS, TIME_CELLS))
    fine: Ints = field(default_factory=lambda: _zeros(2, FINE_BANDS))  # by thousandth of the space
    bands: Ints = field(default_factory=lambda: _zeros(2, 1))  # by band of `band_bytes`
    depths: Ints = field(default_factory=lambda: _zeros(DEPTHS))
    depth_sum: int = 0
    latencies: Ints = field(default_factory=lambda: _zeros(2, LATENCY_CLASSES))
    latency_sum_ns: Floats = field(default_factory=lambda: np.zeros(2))
    who: dict[int, Ints] = field(default_factory=dict)  # reads, writes, bytes, classes
    points: list[Requests] = field(default_factory=list)
    runs: int = 0  # sequences of requests that each continue the one before
    last_end: dict[int, int] = field(default_factory=dict)  # B, by stream

    @property
    def total(self) -> int:
        return int(self.requests.sum())

    @property
    def band_bytes(self) -> int:
        """The size of a band: for a disk that of the limits, for files a hundredth of the space. It
        is larger if there would be more than MOST_BANDS."""
        own = self.limits.band_sectors * SECTOR_BYTES
        if not self.source.is_disk:
            own = max(-(-self.extent // 100), 1)
        return max(own, -(-self.extent // MOST_BANDS))

    def add(self, part: Requests, *, keep: bool) -> None:
        kind = part.write.astype(np.int64)
        size_class = self.limits.classes(part.bytes)
        self.requests += np.bincount(kind, minlength=2)
        self.bytes += _sums(kind, part.bytes, 2)
        self.classes += _counts2(kind, size_class, self.classes.shape)
        self._note_order(part, kind)
        self._note_sizes(part.bytes)
        self._note_time_and_place(part, kind)
        self._note_service(part, kind)
        self._note_who(part, kind, size_class)
        self.locality.add(part.position, part.time_ns)
        if keep:
            self.points.append(part)

    def _note_order(self, part: Requests, kind: Ints) -> None:
        """Counts sequential requests, which begin where the one before of their stream ended."""
        order = np.argsort(part.stream, kind="stable")
        stream, position = part.stream[order], part.position[order]
        end = position + part.bytes[order]
        first = np.flatnonzero(np.concatenate(([True], np.diff(stream) != 0)))
        last = np.concatenate((first[1:], [len(stream)])) - 1
        before = np.concatenate(([-1], end[:-1]))
        before[first] = [self.last_end.get(one, -1) for one in stream[first].tolist()]
        follows = position == before
        self.sequential += np.bincount(kind[order][follows], minlength=2)
        self.runs += int((~follows).sum())
        self.last_end |= zip(stream[last].tolist(), end[last].tolist(), strict=True)

    def _note_sizes(self, size: Ints) -> None:
        rounded = np.where(size > EXACT_BYTES, size & ~4095, size)
        for one, count in zip(
            *(a.tolist() for a in np.unique(rounded, return_counts=True)), strict=True
        ):
            self.sizes[one] = self.sizes.get(one, 0) + count

    def _note_time_and_place(self, part: Requests, kind: Ints) -> None:
        span = max(self.span_s * 1e9, 1.0)
        cell = np.clip((part.time_ns - self.begin_ns) * (TIME_CELLS / span), 0, TIME_CELLS - 1)
        cell = cell.astype(np.int64)
        self.over_time += _counts2(kind, cell, self.over_time.shape)
        moved = _sums(kind * TIME_CELLS + cell, part.bytes, 2 * TIME_CELLS)
        self.bytes_over_time += moved.reshape(2, TIME_CELLS)
        bits = np.frexp(part.bytes.astype(np.float64))[1] - 1
        self.size_over_time += _counts2(bits, cell, self.size_over_time.shape)
        where = _cells(part.position, self.extent, PLACE_CELLS)
        self.place_over_time += _counts2(where, cell, self.place_over_time.shape)
        self.fine += _counts2(kind, _cells(part.position, self.extent, FINE_BANDS), self.fine.shape)
        self.bands += _counts2(kind, part.position // self.band_bytes, self.bands.shape)

    def _note_service(self, part: Requests, kind: Ints) -> None:
        self.depths += np.bincount(np.clip(part.depth, 0, DEPTHS - 1), minlength=DEPTHS)
        self.depth_sum += int(part.depth.sum())
        known = part.latency_ns >= 0
        latency, kind = part.latency_ns[known], kind[known]
        steps = (np.log2(np.maximum(latency, 1)) * LATENCY_STEPS).astype(np.int64)
        steps = np.minimum(steps, LATENCY_CLASSES - 1)
        self.latencies += _counts2(kind, steps, self.latencies.shape)
        self.latency_sum_ns += np.bincount(kind, latency, 2)

    def _note_who(self, part: Requests, kind: Ints, size_class: Ints) -> None:
        most = int(part.who.max()) + 1
        rows = np.concatenate(
            (
                _counts2(kind, part.who, (2, most)),
                _sums(part.who, part.bytes, most)[None],
                _counts2(size_class, part.who, (len(CLASS_NAMES), most)),
            )
        )
        for number in np.flatnonzero(rows[:2].sum(axis=0)).tolist():
            self.who[number] = self.who.get(number, 0) + rows[:, number]

    def latency_s(self, part: float, kinds: Any = slice(None)) -> float:
        """The quantile `part` of the latencies, at most 5 % off: the middle of a class, which is a
        factor of 2^(1/8) wide."""
        counts = np.atleast_2d(self.latencies[kinds]).sum(axis=0)
        if not counts.sum():
            return float("nan")
        at = int(np.searchsorted(np.cumsum(counts), part * counts.sum(), "left"))
        return float(2 ** ((at + 0.5) / LATENCY_STEPS)) * 1e-9

    @property
    def mean_latency_s(self) -> float:
        known = self.latencies.sum()
        return float(self.latency_sum_ns.sum() / known) * 1e-9 if known else float("nan")

    @property
    def small_part(self) -> float:
        """The smallest share of the space, in thousandths, that gets 90 % of the requests."""
        return fewest(self.fine.sum(axis=0), SHARE) / FINE_BANDS

    @property
    def rate(self) -> float:
        return self.total / self.span_s if self.span_s else float("nan")

    @property
    def peak_rate(self) -> float:
        """Requests per second in the busiest cell of time."""
        cell_s = self.span_s / TIME_CELLS
        return float(self.over_time.sum(axis=0).max() / cell_s) if cell_s else float("nan")


def _sums(key: Ints, values: Ints, length: int) -> Ints:
    # Sums of floating point are exact to 2^53 bytes.
    return np.bincount(key, values, length).astype(np.int64)


def _counts2(row: Ints, column: Ints, shape: tuple[int, ...]) -> Ints:
    flat = np.bincount(row * shape[1] + column, minlength=shape[0] * shape[1])
    return flat.reshape(shape)


def _cells(position: Ints, extent: int, cells: int) -> Ints:
    # In floating point: bytes times cells may be more than 64 bits hold.
    return np.minimum((position * (cells / extent)).astype(np.int64), cells - 1)


def characterize(source: Source, place: str | None = None, limits: Limits | None = None) -> Profile:
    """The profile of `place`, by default of the busiest one. Reads the requests once; again with a
    coarser unit while they begin at too many positions.

    Raises InputError if there are no requests to `place`.
    """
    limits = limits or Limits()
    over = source.overview
    if place is None:
        place = source.places[max(over.requests, key=lambda p: over.requests[p])]
    there = [source.places[p] for p in over.requests]
    if place not in there:
        raise InputError(
            f"no requests to {place}, there are some to {', '.join(sorted(there))}",
            path=source.name,
        )
    number = source.places.index(place)
    unit = SECTOR_BYTES if source.is_disk else 1
    while True:
        try:
            return _counted(source, number, limits, unit)
        except TooManyPlacesError:
            unit *= COARSER


def _counted(source: Source, number: int, limits: Limits, unit: int) -> Profile:
    over = source.overview
    span_s = source.duration_s or (over.end_ns - over.begin_ns) * 1e-9
    # The times of a recording count from its begin, those of an import may have any origin.
    begin_ns = 0 if over.end_ns <= span_s * 1e9 else over.begin_ns
    profile = Profile(
        source, source.places[number], limits, begin_ns, span_s, over.end[number], Locality(unit)
    )
    profile.bands = _zeros(2, -(-profile.extent // profile.band_bytes))
    keep = over.requests[number] <= MOST_POINTS
    for part in source.read():
        part = part.where(part.place == number)
        if len(part):
            profile.add(part, keep=keep)
    return profile
