"""Converts Darshan's counters of a file to the fields of record type file_total."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sesame.exchange.darshan_log import Log
from sesame.exchange.darshan_reader import COUNTERS
from sesame.exchange.traced import Columns, names

LAYERS = COUNTERS  # Darshan and Sesame use the same layer names
# Size classes: Sesame's name and Darshan's.
SIZES = {
    "to_100": "0_100",
    "to_1k": "100_1K",
    "to_10k": "1K_10K",
    "to_100k": "10K_100K",
    "to_1m": "100K_1M",
    "to_4m": "1M_4M",
    "to_10m": "4M_10M",
    "to_100m": "10M_100M",
    "to_1g": "100M_1G",
    "above_1g": "1G_PLUS",
}

Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Counters:
    """The records of one module, one for each file and process.

    A file that all processes opened has one record with rank -1 for all.
    """

    prefix: str
    ids: npt.NDArray[np.uint64]
    ranks: npt.NDArray[np.int64]
    values: npt.NDArray[np.int64]
    times: npt.NDArray[np.float64]
    value_names: list[str]
    time_names: list[str]

    def count(self, *counters: str) -> npt.NDArray[np.int64]:
        """The sum of counters. Counters that Darshan did not keep (-1) add nothing; the sum is -1
        where this version of the module has none of them."""
        found = [self._value(name) for name in counters]
        known = [np.maximum(value, 0) for value in found if value is not None]
        if not known:
            return np.full(len(self.ids), -1, np.int64)
        total: npt.NDArray[np.int64] = np.sum(known, axis=0, dtype=np.int64)
        return total

    def seconds(self, counter: str) -> npt.NDArray[np.float64]:
        name = f"{self.prefix.upper()}_F_{counter}"
        return np.maximum(self.times[:, self.time_names.index(name)], 0.0)

    def has_time(self, counter: str) -> bool:
        return f"{self.prefix.upper()}_F_{counter}" in self.time_names

    def _value(self, counter: str) -> npt.NDArray[np.int64] | None:
        name = f"{self.prefix.upper()}_{counter}"
        return self.values[:, self.value_names.index(name)] if name in self.value_names else None


def read_counters(log: Log, module: str) -> Counters:
    value_names = log.counter_names[module]["counts"]
    time_names = log.counter_names[module]["times"]
    data = b"".join(log.records[module])
    table = np.frombuffer(
        data,
        [
            ("id", "<u8"),
            ("rank", "<i8"),
            ("values", "<i8", len(value_names)),
            ("times", "<f8", len(time_names)),
        ],
    )
    return Counters(
        COUNTERS[module],
        table["id"],
        table["rank"],
        table["values"],
        table["times"],
        value_names,
        time_names,
    )


def file_totals(
    counters: Mapping[str, Counters],
    index_of: Callable[[npt.NDArray[np.uint64]], npt.NDArray[np.int64]],
    processes: int,
) -> Columns:
    """The columns of record type file_total."""
    parts = [_layer_totals(number, c, index_of, processes) for number, c in _present(counters)]
    if not parts:
        return {}
    columns: Columns = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    columns["layer"] = names(list(LAYERS), columns["layer"])
    return columns


def _present(counters: Mapping[str, Counters]) -> list[tuple[int, Counters]]:
    return [(n, counters[name]) for n, name in enumerate(LAYERS) if name in counters]


def _layer_totals(
    layer: int,
    c: Counters,
    index_of: Callable[[npt.NDArray[np.uint64]], npt.NDArray[np.int64]],
    processes: int,
) -> dict[str, Array]:
    rows = len(c.ids)
    shared = c.ranks < 0
    totals: dict[str, Array] = {
        "rank": c.ranks,
        "file": index_of(c.ids),
        "layer": np.full(rows, layer),
        **_calls(c),
        **_positions(c),
        **_times(c),
        **_sizes(c),
        "processes": np.where(shared, processes, 1),
    }
    for ours, theirs in (("fastest", "FASTEST_RANK"), ("slowest", "SLOWEST_RANK")):
        totals[f"{ours}_rank"] = np.where(shared, c.count(theirs), -1)
        totals[f"{ours}_rank_bytes"] = np.where(shared, c.count(f"{theirs}_BYTES"), -1)
        totals[f"{ours}_rank_s"] = np.where(shared, c.seconds(f"{theirs}_TIME"), -1.0)
    return totals


def _calls(c: Counters) -> dict[str, Array]:
    if c.prefix == "mpiio":
        opens = c.count("INDEP_OPENS", "COLL_OPENS")
        reads = c.count("INDEP_READS", "COLL_READS", "SPLIT_READS", "NB_READS")
        writes = c.count("INDEP_WRITES", "COLL_WRITES", "SPLIT_WRITES", "NB_WRITES")
    else:
        # Darshan counts dup and fileno as one more open.
        opens = c.count("OPENS") - np.maximum(c.count("FILENOS", "DUPS"), 0)
        reads, writes = c.count("READS"), c.count("WRITES")
    return {
        "opens": opens,
        "reads": reads,
        "writes": writes,
        "seeks": c.count("SEEKS"),
        "stats": c.count("STATS"),
        "syncs": c.count("FSYNCS", "FDSYNCS", "SYNCS", "FLUSHES"),
        "collective": c.count("COLL_READS", "COLL_WRITES", "SPLIT_READS", "SPLIT_WRITES"),
        "bytes_read": c.count("BYTES_READ"),
        "bytes_written": c.count("BYTES_WRITTEN"),
    }


def _positions(c: Counters) -> dict[str, Array]:
    highest = {}
    for ours, counter, moved in (
        ("max_offset_read", "MAX_BYTE_READ", "BYTES_READ"),
        ("max_offset_written", "MAX_BYTE_WRITTEN", "BYTES_WRITTEN"),
    ):
        highest[ours] = np.where(c.count(moved) > 0, c.count(counter), -1)
    return {
        "sequential_reads": c.count("SEQ_READS"),
        "sequential_writes": c.count("SEQ_WRITES"),
        "consecutive_reads": c.count("CONSEC_READS"),
        "consecutive_writes": c.count("CONSEC_WRITES"),
        "switches": c.count("RW_SWITCHES"),
        "min_offset": np.full(len(c.ids), -1),
        **highest,
        "alignment": c.count("FILE_ALIGNMENT"),
        "unaligned": c.count("FILE_NOT_ALIGNED"),
    }


def _times(c: Counters) -> dict[str, Array]:
    rows = len(c.ids)
    kinds = ("OPEN", "READ", "WRITE", "CLOSE")
    begins = np.stack([c.seconds(f"{kind}_START_TIMESTAMP") for kind in kinds])
    ends = np.stack([c.seconds(f"{kind}_END_TIMESTAMP") for kind in kinds])
    first = np.where(begins > 0, begins, np.inf).min(axis=0)  # Darshan writes 0 for never
    longest = {
        f"max_{kind}_s": c.seconds(f"MAX_{kind.upper()}_TIME")
        if c.has_time(f"MAX_{kind.upper()}_TIME")
        else np.full(rows, -1.0)
        for kind in ("read", "write")
    }
    return {
        "read_s": c.seconds("READ_TIME"),
        "write_s": c.seconds("WRITE_TIME"),
        "meta_s": c.seconds("META_TIME"),
        **longest,
        "first_s": np.where(np.isfinite(first), first, -1.0),
        "last_s": ends.max(axis=0),
    }


def _sizes(c: Counters) -> dict[str, Array]:
    infix = "_AGG" if c.prefix == "mpiio" else ""
    classes: dict[str, Array] = {
        f"{ours}_{our_size}": c.count(f"SIZE_{theirs}{infix}_{size}")
        for ours, theirs in (("reads", "READ"), ("writes", "WRITE"))
        for our_size, size in SIZES.items()
    }
    size, count = c.count("ACCESS1_ACCESS"), c.count("ACCESS1_COUNT")
    for number in (2, 3, 4):  # Darshan does not sort the four by count
        other = c.count(f"ACCESS{number}_COUNT")
        size = np.where(other > count, c.count(f"ACCESS{number}_ACCESS"), size)
        count = np.maximum(other, count)
    known = count > 0
    return {
        **classes,
        "usual_size": np.where(known, size, -1),
        "usual_size_count": np.where(known, count, -1),
    }
