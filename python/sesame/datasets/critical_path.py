"""The record type of the critical path of a simulated run."""

from __future__ import annotations

from sesame.datasets.fields import Field, RecordType

CRITICAL_PATH = RecordType(
    "critical_path",
    "A step of the critical path: where the time from the end of the step before was spent",
    (
        Field("rank", "uint32", "rank", "the rank on which the path is; of a message the receiver"),
        Field("begin_s", "float64", "s", "simulated time at which the step begins"),
        Field("end_s", "float64", "s", "simulated time at which it ends"),
        Field(
            "kind",
            "name",
            "",
            "computation, call (inside an MPI call), message (on the way) or file (in the file "
            "system)",
        ),
        Field("call", "name", "", "the MPI call; of computation the one after it; empty for none"),
        Field("function", "name", "", "the function of the program that makes the call, if known"),
        Field("line", "name", "", "where in the source it makes it, if known: FILE:LINE"),
        Field("object", "name", "", "the program or library that makes the call; empty for none"),
        Field("address", "uint64", "", "the address of the call in it"),
    ),
)
