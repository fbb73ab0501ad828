"""Record types of a traced run: what each process did with files and messages, and when.

Times are nanoseconds since the run began, on one clock for all processes. Records are sorted by
rank, thread and begin; a call comes before the calls made inside it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import IntFlag

from sesame.datasets.fields import Field, RecordType


class IoFlag(IntFlag):
    NESTED = 1  # made inside another recorded call, as the pwrite of an MPI_File_write
    MERGED = 2  # several calls of one byte each, that followed one another
    ASYNCHRONOUS = 4  # begin and duration are those of the submission; see `completion`
    COLLECTIVE = 8  # every process of `comm` takes part
    IMPLIED = 16  # not a call: page accesses to a mapped file, as far as they were seen
    WILL_NEED = 32  # of posix_fadvise: the data is going to be used
    DONT_NEED = 64  # of posix_fadvise: the data may be dropped from memory
    SCATTERED = 128  # through a file view with holes: several fragments, the first at `offset`


class MpiFlag(IntFlag):
    ANY_SOURCE = 1  # the receive accepted any source; `peer` is the actual sender
    ANY_TAG = 2
    POLL = 4  # a test or probe that found nothing
    NONBLOCKING = 8  # `completion` leads to the call that completed it
    PERSISTENT = 16
    SYNCHRONOUS = 32  # the send waits for its receive, whatever its size
    PRUNED_KEPT = 64  # pruning was asked for and this call was kept
    NESTED = 128  # made inside another recorded call
    CANCELLED = 256


IO = RecordType(
    "io",
    "One call that concerns files",
    (
        Field("rank", "uint32", "rank", "number of the process, see record type process"),
        Field("thread", "uint16", "", "thread of the process; the first is 0"),
        Field("begin_ns", "int64", "ns", "time at which the call began"),
        Field("duration_ns", "int64", "ns", "time until it returned"),
        Field("call", "name", "", "which function, without suffixes like 64"),
        Field("file", "int32", "", "index in record type file; -1 when there is none"),
        Field("other_file", "int32", "", "the second file, of rename, link or a copy; else -1"),
        Field(
            "handle", "int32", "", "number of the open file in this process; -1 when there is none"
        ),
        Field(
            "offset",
            "int64",
            "B",
            "position of the data in the file, tracked where the call does not say it; the new "
            "position of a seek, the new length of a truncation; -1 when unknown",
        ),
        Field("size", "int64", "B", "data asked for; for an open, its flags"),
        Field("bytes", "int64", "B", "data moved; 0 for calls that move none"),
        Field("comm", "int32", "", "communicator of a collective call on a file; else -1"),
        Field("completion", "int32", "", "records to the one that completed it; 0 for itself"),
        Field("error", "uint16", "", "errno of a call that failed, or MPI error class; else 0"),
        Field(
            "flags",
            "uint16",
            "bits",
            "1: inside another call; 2: several calls merged; 4: asynchronous; 8: collective; "
            "16: accesses to a mapped file; 32: advice that data will be needed; 64: that it will "
            "not; 128: through a file view with holes: only the first byte is at `offset`, the "
            "others are where file_view says",
        ),
    ),
)

MPI = RecordType(
    "mpi",
    "One MPI call of a traced run",
    (
        Field("rank", "uint32", "rank", "number of the process, see record type process"),
        Field("thread", "uint16", "", "thread of the process; the first is 0"),
        Field("begin_ns", "int64", "ns", "time at which the call began"),
        Field("duration_ns", "int64", "ns", "time until it returned"),
        Field("call", "name", "", "which function"),
        Field("comm", "int32", "", "index in record type communicator; -1 when there is none"),
        Field(
            "peer",
            "int32",
            "rank",
            "the other process, or the root; of a receive, the one that sent; -1 when there is "
            "none, -2 for MPI_PROC_NULL",
        ),
        Field("tag", "int32", "", "message tag; of a receive, the one that came; -1 for none"),
        Field("bytes", "int64", "B", "data given to the call; of a receive, taken"),
        Field(
            "completion",
            "int32",
            "",
            "records of this rank from this one to the call that completed it; 0 for itself, or "
            "when it never was",
        ),
        Field(
            "made",
            "int32",
            "",
            "the communicator that the call made, index in record type communicator; -1 for none",
        ),
        Field(
            "flags",
            "uint16",
            "bits",
            "1: any source; 2: any tag; 4: poll that found nothing; 8: non-blocking; "
            "16: persistent; 32: synchronous; 64: kept by pruning; 128: inside another call; "
            "256: cancelled",
        ),
        Field(
            "calls",
            "uint32",
            "",
            "1, or of polls that found nothing how many there were, less than 2 us apart",
        ),
    ),
)

FILE_VIEW = RecordType(
    "file_view",
    "A view of an MPI file, from the call that set it to the next for the same open file",
    (
        Field("rank", "uint32", "rank", "number of the process, see record type process"),
        Field("begin_ns", "int64", "ns", "time at which the call began, as in its record"),
        Field("handle", "int32", "", "number of the open file in this process"),
        Field("file", "int32", "", "index in record type file"),
        Field("displacement", "int64", "B", "where in the file the first filetype begins"),
        Field("data_bytes", "int64", "B", "data in a filetype"),
        Field("extent", "int64", "B", "from a filetype to the next"),
        Field(
            "runs",
            "text",
            "",
            "where the data lie in a filetype, in their order: OFFSET+BYTES for a block, "
            "OFFSET+BYTESxCOUNT/STRIDE for blocks at one distance, with commas between; empty "
            "when it is not known",
        ),
    ),
)

PREEMPTED = RecordType(
    "preempted",
    "A long time in a call, or before one, in which a thread wanted the processor and did not "
    "always have it",
    (
        Field("rank", "uint32", "rank", "number of the process, see record type process"),
        Field("thread", "uint16", "", "thread of the process; the first is 0"),
        Field("begin_ns", "int64", "ns", "its begin: of the call, or the end of the one before"),
        Field("duration_ns", "int64", "ns", "time until the call ended, or the next one began"),
        Field("lost_ns", "int64", "ns", "how much of it the processor ran something else"),
    ),
)

FILE = RecordType(
    "file",
    "One file, or another object that a descriptor referred to",
    (
        Field("index", "int32", "", "number by which other records name it"),
        Field("path", "text", "", "absolute path, as the program named it; or pipe, socket, …"),
        Field(
            "kind",
            "name",
            "",
            "regular, directory, terminal, pipe, socket, device, memory or unknown",
        ),
        Field(
            "size_before",
            "int64",
            "B",
            "size when the run first accessed it; -1 if it did not exist or the size is unknown; "
            "0 if it existed and was emptied",
        ),
        Field("block_size", "int64", "B", "preferred block size of its file system; 0 if unknown"),
        Field("filesystem", "text", "", "type of its file system, as ext4; empty if unknown"),
    ),
)

PROCESS = RecordType(
    "process",
    "One process of a traced run",
    (
        Field(
            "rank",
            "uint32",
            "rank",
            "its number: its rank in MPI_COMM_WORLD; processes without one follow",
        ),
        Field("mpi_rank", "int32", "rank", "its rank in MPI_COMM_WORLD; -1 for none"),
        Field("parent", "int32", "rank", "the process that forked it, if that was traced; else -1"),
        Field("host", "text", "", "the node it ran on"),
        Field("pid", "int32", "", "its process id there"),
        Field("command", "text", "", "its command line"),
        Field("interface", "name", "", "its MPI: MPICH, MPI 5 standard, Open MPI, none or unknown"),
        Field("begin_ns", "int64", "ns", "time at which recording began"),
        Field("end_ns", "int64", "ns", "time at which it ended"),
        Field("processor_ns", "int64", "ns", "processor time of all its threads; 0 when not known"),
        Field("threads", "uint32", "", "threads that left records"),
        Field("records", "uint64", "", "raw records read"),
        Field("discarded", "uint64", "", "records that were made and are lost"),
        Field("outcome", "name", "", "exited, replaced (by exec), or cut off"),
    ),
)

COMMUNICATOR = RecordType(
    "communicator",
    "One communicator of a traced run",
    (
        Field("index", "int32", "", "number by which other records name it; 0 is MPI_COMM_WORLD"),
        Field("parent", "int32", "", "the communicator it was made from; -1 for none"),
        Field(
            "remote_parent",
            "int32",
            "",
            "of an intercommunicator: the one that the other group made it from; -1 for none",
        ),
        Field("size", "uint32", "", "number of processes in it (of an intercommunicator: here)"),
        Field(
            "members",
            "text",
            "",
            "its processes in order of their rank in it: 0-7 or 0-14:2,1,3; -1 for one that was "
            "not traced",
        ),
        Field("remote", "text", "", "the other group of an intercommunicator; else empty"),
        Field("name", "text", "", "name given to it"),
    ),
)

REPLAYED = RecordType(
    "replayed",
    "One call that a replay issued",
    (
        Field("rank", "uint32", "rank", "number of the process, see record type process"),
        Field("thread", "uint16", "", "thread of the process; the first is 0"),
        Field("call", "name", "", "which function, as it was recorded"),
        Field("file", "int32", "", "index in record type file; -1 when there is none"),
        Field("recorded_begin_ns", "int64", "ns", "time at which the recorded call began"),
        Field("recorded_duration_ns", "int64", "ns", "time until it returned"),
        Field("begin_ns", "int64", "ns", "time since the replay began"),
        Field("duration_ns", "int64", "ns", "time until it returned in the replay"),
        Field("lateness_ns", "int64", "ns", "how much later it began than was scheduled"),
        Field("bytes", "int64", "B", "data moved in the replay"),
        Field("error", "uint16", "", "errno in the replay; else 0"),
    ),
)


def outcome_of(
    processes: Collection[str], damage: Sequence[str], discarded: int, *, incomplete: bool = False
) -> str:
    """The outcome of a recording: the worst of the outcomes of its processes, damage and lost
    records."""
    if "cut off" in processes:
        return "cut off"
    if damage:
        return "damaged"
    if discarded:
        return "records lost"
    return "incomplete" if incomplete else "complete"


TRACE_TYPES = (IO, MPI, FILE_VIEW, PREEMPTED, FILE, PROCESS, COMMUNICATOR, REPLAYED)
