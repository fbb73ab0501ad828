"""Record types of a characterisation: sums of requests by size, time, position and requester."""

from __future__ import annotations

from sesame.datasets.fields import Field, RecordType

_READS = Field("reads", "int64", "", "requests that read")
_WRITES = Field("writes", "int64", "", "requests that write")
REQUEST_SIZE = RecordType(
    "request_size",
    "All requests of one size",
    (
        Field("size_bytes", "int64", "B", "size; above 64 KiB in steps of 4 KiB"),
        Field("requests", "int64", "", "requests of this size"),
    ),
)
REQUEST_RATE = RecordType(
    "request_rate",
    "All requests in one interval of time",
    (
        Field("begin_s", "float64", "s", "begin of the interval, since the begin of the recording"),
        Field("end_s", "float64", "s", "its end"),
        _READS,
        _WRITES,
        Field("bytes_read", "int64", "B", "data read"),
        Field("bytes_written", "int64", "B", "data written"),
    ),
)
REQUEST_BAND = RecordType(
    "request_band",
    "All requests that begin in one band of the space: of a disk, or of the files concatenated",
    (
        Field("begin_bytes", "int64", "B", "position at which the band begins"),
        Field("end_bytes", "int64", "B", "its end"),
        _READS,
        _WRITES,
    ),
)
REQUESTER = RecordType(
    "requester",
    "All requests of one process or rank",
    (
        Field("name", "text", "", "the process that was running, or the rank"),
        _READS,
        _WRITES,
        Field("bytes", "int64", "B", "their data"),
        Field("small", "int64", "", "requests smaller than a page"),
        Field("page", "int64", "", "requests of a page"),
        Field("medium", "int64", "", "requests of more than a page that are not large"),
        Field("large", "int64", "", "large requests"),
    ),
)
REQUEST_FINDING = RecordType(
    "request_finding",
    "What the figures mean, the most important first",
    (
        Field("topic", "text", "", "what it is about"),
        Field("sentence", "text", "", "what was found"),
        Field("hint", "text", "", "what to do about it; may be empty"),
    ),
)

CHARACTERISED_TYPES = (REQUEST_SIZE, REQUEST_RATE, REQUEST_BAND, REQUESTER, REQUEST_FINDING)
