"""Totals of a traced run: what one process did to one file, summed over the run.

An import fills them from the counters of the other tool; an analysis can count the same from io
records. For a file that all processes used, some tools keep only the sum over all processes: then
the rank is -1. In other fields -1 means not counted.
"""

from __future__ import annotations

from sesame.datasets.fields import Field, RecordType

# The largest request of each class but the last, which has no bound. The classes are Darshan's (K
# is 1,024 bytes), so that its counters can be imported exactly.
SIZE_CLASSES = (
    ("100", 100),
    ("1k", 1 << 10),
    ("10k", 10 << 10),
    ("100k", 100 << 10),
    ("1m", 1 << 20),
    ("4m", 4 << 20),
    ("10m", 10 << 20),
    ("100m", 100 << 20),
    ("1g", 1 << 30),
)


def _size_fields(kind: str) -> tuple[Field, ...]:
    names = [name for name, _ in SIZE_CLASSES]
    bounds = [f"{bound:,}" for _, bound in SIZE_CLASSES]
    classes = [
        Field(f"{kind}_to_100", "int64", "", f"{kind} of at most 100 B"),
        *(
            Field(
                f"{kind}_to_{name}", "int64", "", f"{kind} of more than {low} and at most {high} B"
            )
            for name, low, high in zip(names[1:], bounds, bounds[1:], strict=False)
        ),
    ]
    return (*classes, Field(f"{kind}_above_1g", "int64", "", f"{kind} of more than {bounds[-1]} B"))


FILE_TOTAL = RecordType(
    "file_total",
    "What one process did to one file through one layer, in the whole run",
    (
        Field("rank", "int32", "rank", "the process; -1 for all processes together"),
        Field("file", "int32", "", "index in record type file"),
        Field("layer", "name", "", "POSIX, MPI-IO or STDIO"),
        Field("opens", "int64", "", "opens"),
        Field("reads", "int64", "", "calls that read"),
        Field("writes", "int64", "", "calls that write"),
        Field("seeks", "int64", "", "seeks"),
        Field("stats", "int64", "", "inquiries, as stat"),
        Field("syncs", "int64", "", "calls that wait for the storage, as fsync; flushes of stdio"),
        Field("collective", "int64", "", "the reads and writes that were collective"),
        Field("bytes_read", "int64", "B", "data read"),
        Field("bytes_written", "int64", "B", "data written"),
        Field("read_s", "float64", "s", "time in calls that read"),
        Field("write_s", "float64", "s", "time in calls that write"),
        Field("meta_s", "float64", "s", "time in calls that move no data"),
        Field("max_read_s", "float64", "s", "the longest read"),
        Field("max_write_s", "float64", "s", "the longest write"),
        Field("first_s", "float64", "s", "time of the first call, since the run began"),
        Field("last_s", "float64", "s", "time at which the last call ended, since the run began"),
        Field("sequential_reads", "int64", "", "reads at a higher offset than the read before"),
        Field("sequential_writes", "int64", "", "writes at a higher offset than the write before"),
        Field("consecutive_reads", "int64", "", "reads that begin where the read before ended"),
        Field("consecutive_writes", "int64", "", "writes that begin where the write before ended"),
        Field("switches", "int64", "", "changes from reading to writing or back"),
        Field("min_offset", "int64", "B", "lowest byte read or written"),
        Field("max_offset_read", "int64", "B", "highest byte read"),
        Field("max_offset_written", "int64", "B", "highest byte written"),
        Field("alignment", "int64", "B", "alignment of the file, on which `unaligned` is based"),
        Field("unaligned", "int64", "", "reads and writes whose offset is not a multiple of it"),
        *_size_fields("reads"),
        *_size_fields("writes"),
        Field("usual_size", "int64", "B", "the most common size of reads and writes"),
        Field("usual_size_count", "int64", "", "how many had it"),
        Field("processes", "int64", "", "processes that these totals are of"),
        Field("fastest_rank", "int32", "rank", "of all processes together, the one of least time"),
        Field("fastest_rank_bytes", "int64", "B", "data that it moved"),
        Field("fastest_rank_s", "float64", "s", "time that it spent in calls"),
        Field("slowest_rank", "int32", "rank", "of all processes together, the one of most time"),
        Field("slowest_rank_bytes", "int64", "B", "data that it moved"),
        Field("slowest_rank_s", "float64", "s", "time that it spent in calls"),
    ),
)
