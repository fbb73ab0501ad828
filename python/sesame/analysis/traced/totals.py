"""Totals by process, file and layer, from which tables and most findings are made.

A row is about one process, one file and one layer. Rows with `own` are the application's calls.
Rows with `bottom` are the calls that reach the file system, as far as they were recorded: below
MPI-IO the calls that MPI-IO made, else the same calls as `own`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sesame.analysis.traced.intervals import Array
from sesame.analysis.traced.load import IoRecords, TracedRun
from sesame.analysis.traced.patterns import (
    PATTERN_NAMES,
    SIZE_BOUNDS,
    classify,
    repeated_bytes,
    size_class,
    syncs_after_writes,
)
from sesame.datasets.traced import IoFlag
from sesame.traced.io_calls import (
    CHANGE,
    CLOSE,
    METADATA,
    MPI_IO,
    OPEN,
    OTHER,
    PROCESS,
    QUERY,
    READ,
    SEEK,
    SYNC,
    WRITE,
)

COUNTS = {
    "opens": OPEN,
    "closes": CLOSE,
    "seeks": SEEK,
    "syncs": SYNC,
    "queries": QUERY,
    "changes": CHANGE,
}
DIRECTIONS = (("read", READ), ("write", WRITE))


@dataclass(frozen=True)
class Totals:
    """Columns by name, all of one length."""

    columns: dict[str, Array]
    ranks: int
    files: int

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    def __len__(self) -> int:
        return len(self.columns["rank"])

    def where(self, chosen: Array) -> Totals:
        return Totals({k: v[chosen] for k, v in self.columns.items()}, self.ranks, self.files)

    @property
    def own(self) -> Totals:
        return self.where(self["own"])

    @property
    def bottom(self) -> Totals:
        return self.where(self["bottom"])

    def sum(self, *names: str) -> float:
        return float(sum(self[name].sum() for name in names))

    @property
    def joint(self) -> Totals:
        """The rows that are known only for all processes together; their rank is negative."""
        return self.where(self["rank"] < 0)

    def by_rank(self, *names: str) -> Array:
        """The sum of columns for each process, without the rows that are `joint`."""
        return self.where(self["rank"] >= 0)._by("rank", self.ranks, names)

    def by_file(self, *names: str) -> Array:
        """The sum of columns for each file."""
        return self._by("file", self.files, names)

    def users(self) -> Array:
        """How many processes use each file, through whatever layers."""
        joint = np.zeros(self.files, np.int64)
        np.maximum.at(joint, self.joint["file"], self.joint["processes"])
        single = self.where(self["rank"] >= 0)
        pairs = np.unique(single["file"] * max(self.ranks, 1) + single["rank"])
        alone = np.bincount(pairs // max(self.ranks, 1), minlength=self.files)[: self.files]
        return np.maximum(joint, alone)

    def _by(self, key: str, length: int, names: tuple[str, ...]) -> Array:
        total = np.zeros(length)
        for name in names:
            total += np.bincount(self[key], self[name], length)[:length]
        return total


def sizes(direction: str) -> list[str]:
    """The columns with the requests of each class of sizes, for `read` or `write`."""
    return [f"{direction}_size_{i}" for i in range(len(SIZE_BOUNDS))]


def totals_of_records(run: TracedRun) -> Totals:
    """The totals of all records about files whose data are stored."""
    io = run.io
    stored = np.append(run.files.stored, False)  # file -1 is the last
    io = io.where(stored[io.file] & ((io.flags & IoFlag.IMPLIED) == 0) & (io.kind != PROCESS))
    files = len(run.files)
    key = ((io.rank * max(files, 1) + io.file) * 3 + io.layer) * 2 + io.own
    keys, group = np.unique(key, return_inverse=True)
    rest, own = np.divmod(keys, 2)
    rest, layer = np.divmod(rest, 3)
    rank, file = np.divmod(rest, max(files, 1))
    columns: dict[str, Array] = {"rank": rank, "file": file, "layer": layer, "own": own == 1}
    columns["bottom"] = _bottom(columns, files)
    columns["processes"] = np.ones(len(keys), np.int64)
    columns["counted"] = np.zeros(len(keys), bool)
    columns |= _counts(io, group, len(keys))
    columns |= _times(io, group, len(keys))
    columns |= _requests(io, group, len(keys), run)
    return Totals(columns, run.ranks, files)


def _bottom(columns: dict[str, Array], files: int) -> Array:
    """Rows of MPI-IO are at the bottom only if nothing was recorded below it for their file."""
    other = np.zeros(files, bool)
    other[columns["file"][columns["layer"] != MPI_IO]] = True
    return np.asarray((columns["layer"] != MPI_IO) | ~other[columns["file"]])


def _counts(io: IoRecords, group: Array, groups: int) -> dict[str, Array]:
    kinds = np.bincount(group * (OTHER + 1) + io.kind, minlength=groups * (OTHER + 1))
    kinds = kinds.reshape(groups, OTHER + 1)
    found = {name: kinds[:, kind] for name, kind in COUNTS.items()}
    found["failed"] = np.bincount(group[io.error != 0], minlength=groups)
    after = group[syncs_after_writes(io, group)]
    found["syncs_after_writes"] = np.bincount(after, minlength=groups)
    return found


def _times(io: IoRecords, group: Array, groups: int) -> dict[str, Array]:
    """Seconds in calls of each kind."""
    seconds = (io.end - io.begin) * 1e-9
    kinds = np.bincount(group * (OTHER + 1) + io.kind, seconds, groups * (OTHER + 1))
    kinds = kinds.reshape(groups, OTHER + 1)
    return {
        "read_s": kinds[:, READ],
        "write_s": kinds[:, WRITE],
        "sync_s": kinds[:, SYNC],
        "meta_s": kinds[:, list(METADATA)].sum(axis=1),
        "query_s": kinds[:, QUERY],
        "open_s": kinds[:, OPEN] + kinds[:, CLOSE],
        "other_s": kinds[:, OTHER],
        "io_s": kinds.sum(axis=1),
    }


def _requests(io: IoRecords, group: Array, groups: int, run: TracedRun) -> dict[str, Array]:
    moves = ((io.kind == READ) | (io.kind == WRITE)) & (io.error == 0)
    group, io = group[moves], io.where(moves)
    count = io.requests
    pattern = classify(io, group)
    sized = size_class(io.bytes // np.maximum(count, 1))
    block = run.files.block_size[io.file]
    alignable = (block > 0) & (io.bytes >= block) & io.located
    unaligned = alignable & (io.offset % np.maximum(block, 1) != 0)
    found: dict[str, Array] = {}
    for direction, kind in DIRECTIONS:
        one = io.kind == kind
        of, weight = group[one], count[one]
        found[f"{direction}s"] = _sum(of, weight, groups)
        moved = "bytes_read" if kind == READ else "bytes_written"
        found[moved] = _sum(of, io.bytes[one], groups)
        for name, what in (("alignable", alignable), ("unaligned", unaligned)):
            found[f"{name}_{direction}s"] = _sum(of, what[one], groups)
        found |= _shares(f"{direction}_", of, pattern[one], weight, groups, PATTERN_NAMES)
        numbers = tuple(f"size_{i}" for i in range(len(SIZE_BOUNDS)))
        found |= _shares(f"{direction}_", of, sized[one], weight, groups, numbers)
        again = "read_again" if kind == READ else "written_over"
        found[again] = repeated_bytes(group, io, kind, groups, run.views)
    return found | _extent(io, group, groups)


def _sum(group: Array, weight: Array, groups: int) -> Array:
    return np.bincount(group, weight, groups)


def _shares(
    prefix: str, group: Array, which: Array, weight: Array, groups: int, names: tuple[str, ...]
) -> dict[str, Array]:
    table = np.bincount(group * len(names) + which, weight, groups * len(names))
    columns = table.reshape(groups, len(names)).T
    return {prefix + name: column for name, column in zip(names, columns, strict=True)}


def _extent(io: IoRecords, group: Array, groups: int) -> dict[str, Array]:
    """First byte and one past the last byte touched; -1 where unknown."""
    known = io.known
    low = np.full(groups, np.iinfo(np.int64).max)
    high = np.full(groups, -1)
    np.minimum.at(low, group[known], io.offset[known])
    np.maximum.at(high, group[known], io.reach[known])
    return {"first_byte": np.where(high < 0, -1, low), "end_byte": high}


def share(part: Any, whole: Any) -> Array:
    """part / whole; 0 where whole is 0."""
    whole = np.asarray(whole, float)
    zeros = np.zeros_like(whole + np.asarray(part))
    return np.asarray(np.divide(part, whole, out=zeros, where=whole > 0))
