"""Record types of simulated file systems: totals of the run for each file, I/O node and cache."""

from __future__ import annotations

from sesame.datasets.fields import Field, RecordType

# Which file system: every record type in this file begins with these fields.
SYSTEM = (
    Field("system", "name", "", "storage, or node.storage for the local one of a node"),
    Field("node", "int32", "", "the node that has it; -1 for all nodes"),
)

CACHE = (
    Field("read_hits", "uint64", "", "blocks read that were in the cache"),
    Field("read_misses", "uint64", "", "blocks read that were not"),
    Field("write_hits", "uint64", "", "blocks written that were in the cache"),
    Field("write_misses", "uint64", "", "blocks written that were not"),
    Field("evictions", "uint64", "", "blocks evicted for others"),
    Field("written_back", "uint64", "", "blocks written later than the program did"),
    Field("invalidations", "uint64", "", "blocks invalidated because another node wrote them"),
    Field("forwarded", "uint64", "", "blocks obtained from the cache of another compute node"),
    Field("read_ahead", "uint64", "", "blocks read before they were asked for"),
)

STORAGE_FILE = RecordType(
    "storage_file",
    "All accesses to one simulated file together",
    (
        *SYSTEM,
        Field("name", "text", "", "path of the file"),
        Field("opens", "uint64", "", "opens"),
        Field("read_seeks", "uint64", "", "reads that do not start where the previous one ended"),
        Field("write_seeks", "uint64", "", "writes that do not start where the previous one ended"),
        Field("reads", "uint64", "", "contiguous ranges read"),
        Field("writes", "uint64", "", "contiguous ranges written"),
        Field("bytes_read", "uint64", "B", "data read"),
        Field("bytes_written", "uint64", "B", "data written"),
        Field("read_s", "float64", "s", "simulated time of reads, over all accesses"),
        Field("write_s", "float64", "s", "simulated time of writes, over all accesses"),
        Field("metadata_s", "float64", "s", "simulated time of opening, closing and the like"),
    ),
)

STORAGE_IONODE = RecordType(
    "storage_ionode",
    "What one I/O node and its device did; of a local file system, the node itself",
    (
        *SYSTEM,
        Field("ionode", "int32", "", "number of the I/O node"),
        Field("requests", "uint64", "", "requests served"),
        Field("bytes_read", "uint64", "B", "data sent to compute nodes"),
        Field("bytes_written", "uint64", "B", "data taken from compute nodes"),
        Field("busy_s", "float64", "s", "simulated time in which its processor worked"),
        Field("longest_queue", "uint64", "", "most requests that waited for it"),
        *CACHE,
        Field("device_reads", "uint64", "", "reads of the device"),
        Field("device_writes", "uint64", "", "writes of the device"),
        Field("device_bytes_read", "uint64", "B", "data read from the device"),
        Field("device_bytes_written", "uint64", "B", "data written to the device"),
        Field("device_seeks", "uint64", "", "requests not where the one before ended"),
        Field("device_seek_s", "float64", "s", "simulated time of seeks"),
        Field("device_rotation_s", "float64", "s", "simulated time of rotational delay"),
        Field("device_transfer_s", "float64", "s", "simulated time of the transfer itself"),
        Field("device_busy_s", "float64", "s", "simulated time in which the device worked"),
        Field("device_queued_s", "float64", "s", "time that its requests waited, added up"),
        Field("device_longest_queue", "uint64", "", "most requests that waited for the device"),
    ),
)

STORAGE_CACHE = RecordType(
    "storage_cache",
    "What the cache of one compute node did",
    (*SYSTEM, *CACHE),
)

STORAGE_ACTIVITY = RecordType(
    "storage_activity",
    "How long the device of one I/O node worked in a slice of the run",
    (
        *SYSTEM,
        Field("ionode", "int32", "", "number of the I/O node"),
        Field("begin_s", "float64", "s", "simulated time at which the slice begins"),
        Field("length_s", "float64", "s", "length of the slice"),
        Field("busy_s", "float64", "s", "simulated time in it in which the device worked"),
    ),
)

STORAGE_TYPES = (STORAGE_FILE, STORAGE_IONODE, STORAGE_CACHE, STORAGE_ACTIVITY)
