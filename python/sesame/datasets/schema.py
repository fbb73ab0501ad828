"""Record types: what a record of each type is and what its fields mean.

The types that are written while a simulated program runs come from the core's one list
(records.def); its file_call becomes the io of traced runs. The types that are computed when a run
is over (who sent how much to whom) are listed here, those of file systems in `storage`, those of
traced runs in `traced` and `totals`, those of block devices in `block`, those of characterisations
in `characterised`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from sesame import native
from sesame.datasets.block import BLOCK_REQUEST
from sesame.datasets.characterised import CHARACTERISED_TYPES
from sesame.datasets.critical_path import CRITICAL_PATH
from sesame.datasets.fields import Field, RecordType
from sesame.datasets.links import LINK_TYPES
from sesame.datasets.measured import MEASURED_TYPES
from sesame.datasets.storage import STORAGE_TYPES
from sesame.datasets.totals import FILE_TOTAL
from sesame.datasets.traced import TRACE_TYPES

SUMMARY_TYPES = (
    RecordType(
        "rank",
        "What one rank did in the whole run",
        (
            Field("rank", "uint32", "rank", "the rank"),
            Field("end_s", "float64", "s", "simulated time at which the rank ended"),
            Field("compute_s", "float64", "s", "simulated time spent in computation"),
            Field("communication_s", "float64", "s", "simulated time spent in MPI calls, at work"),
            Field(
                "wait_s",
                "float64",
                "s",
                "simulated time spent in MPI calls, waiting for late ranks or for messages in "
                "flight (latency, transfer); an explanation of the run divides it",
            ),
            Field(
                "io_s", "float64", "s", "simulated time spent in file systems, in MPI calls or not"
            ),
            Field("messages_sent", "uint64", "", "messages that the rank sent"),
            Field("bytes_sent", "uint64", "B", "data in these messages"),
            Field(
                "compute_after_calls_ps",
                "int64",
                "ps",
                "computation after the rank's last call, in time of the host machine, unscaled",
            ),
            Field("exit_status", "int32", "", "exit status of the rank"),
            Field(
                "begin_s",
                "float64",
                "s",
                "simulated time at which the rank began; above 0 if it was spawned",
            ),
            Field(
                "world", "int32", "", "its MPI_COMM_WORLD: 0 that of the start, then by the spawns"
            ),
            Field("world_rank", "int32", "rank", "its rank in that MPI_COMM_WORLD"),
        ),
    ),
    RecordType(
        "call_total",
        "All calls of one MPI function together",
        (
            Field("name", "text", "", "the function"),
            Field("count", "uint64", "", "number of calls by all ranks"),
            Field("time_s", "float64", "s", "simulated time in these calls, over all ranks"),
            Field("bytes", "uint64", "B", "data given to these calls"),
            Field("max_rank_time_s", "float64", "s", "the largest time of one rank"),
        ),
    ),
    RecordType(
        "pair",
        "All messages from one rank to another together",
        (
            Field("source", "uint32", "rank", "the sender"),
            Field("destination", "uint32", "rank", "the receiver"),
            Field("messages", "uint64", "", "number of messages"),
            Field("bytes", "uint64", "B", "data in these messages"),
        ),
    ),
    RecordType(
        "figure",
        "A result of a workload",
        (
            Field("name", "text", "", "what it is"),
            Field("value", "float64", "", "its value, in `unit`"),
            Field("unit", "text", "", "the unit of the value"),
        ),
    ),
    RecordType(
        "check",
        "A comparison of a workload's answer with the one expected",
        (
            Field("name", "text", "", "what is compared"),
            Field("value", "float64", "", "the answer"),
            Field("expected", "float64", "", "the answer expected"),
            Field("relative_error", "float64", "", "their difference over the answer expected"),
            Field("tolerance", "float64", "", "the largest relative error that is right"),
            Field("right", "uint8", "", "1 when the answer is right"),
        ),
    ),
    RecordType(
        "message_size",
        "Messages by size, in powers of two",
        (
            Field("at_least_bytes", "uint64", "B", "smallest size in this class; up to twice it"),
            Field("count", "uint64", "", "number of messages"),
            Field("bytes", "uint64", "B", "data in these messages"),
        ),
    ),
)


def is_io(described: dict[str, Any]) -> bool:
    """Whether a record type of the core is a call on files, which has one form for all runs."""
    return bool(described["name"] == "file_call")


def _raw_type(described: dict[str, Any]) -> RecordType:
    """A record type of the core, as Parquet holds it: names in words, the rank as a column."""
    fields = (
        []
        if described["name"] == "message"
        else [Field("rank", "uint32", "rank", "the rank that this record is about")]
    )
    for field in described["fields"]:
        kind = "name" if field["names"] else _type_of(field["dtype"])
        fields.append(Field(field["name"], kind, field["unit"], field["meaning"]))
    return RecordType(described["name"], described["meaning"], tuple(fields), complete=True)


def _type_of(dtype: str) -> str:
    return {"i": "int", "u": "uint"}[dtype[1]] + str(8 * int(dtype[2:]))


@cache
def all_record_types() -> dict[str, RecordType]:
    raw = [_raw_type(described) for described in native.record_types() if not is_io(described)]
    computed = (
        *SUMMARY_TYPES,
        CRITICAL_PATH,
        *LINK_TYPES,
        *STORAGE_TYPES,
        *TRACE_TYPES,
        FILE_TOTAL,
    )
    types = (*raw, *computed, *MEASURED_TYPES, BLOCK_REQUEST, *CHARACTERISED_TYPES)
    return {record.name: record for record in types}


def record_type(name: str) -> RecordType:
    return all_record_types()[name]
