"""Requests to block devices, as the kernel or a trace of another tool recorded them."""

from __future__ import annotations

from sesame.datasets.fields import Field, RecordType

OPERATIONS = ("read", "write", "flush", "discard", "other")
SECTOR_BYTES = 512  # the unit of sectors in Linux and in all traces, whatever the device has

BLOCK_REQUEST = RecordType(
    "block_request",
    "One request to a block device",
    (
        Field(
            "time_ns",
            "int64",
            "ns",
            "time at which it was issued to the device, since the first event of the trace",
        ),
        Field("device", "name", "", "the device: major,minor; or host.disk"),
        Field(
            "sector", "int64", "", "its first sector of 512 bytes; -1 for a request without data"
        ),
        Field("bytes", "int64", "B", "size of the range of the device that it concerns"),
        Field("operation", "name", "", "read, write, flush, discard or other"),
        Field(
            "depth",
            "int32",
            "",
            "requests at the device then, with this one, as far as the trace shows",
        ),
        Field("latency_ns", "int64", "ns", "time until it completed; -1 if that was not recorded"),
        Field("pid", "int32", "", "the process that was running then; -1 when unknown"),
        Field("command", "name", "", "the name of that process; empty when unknown"),
    ),
)
