"""MPI functions in classes, for colours in plots."""

from __future__ import annotations

COMPUTE, POINT_TO_POINT, COMPLETION, COLLECTIVE, FILE_ACCESS, OTHER = range(6)

CLASS_NAMES = (
    "computation",
    "point-to-point",
    "wait and test",
    "collective",
    "file access",
    "other calls",
)
# Names of colours of pages. Computation is pale, so that calls stand out.
CLASS_COLOURS = ("pale", "blue", "vermillion", "purple", "orange", "grey")
IO_COLOUR = CLASS_COLOURS[FILE_ACCESS]

_POINT_TO_POINT = ("send", "recv", "probe", "start")
_COLLECTIVE = (
    "barrier",
    "bcast",
    "gather",
    "scatter",
    "alltoall",
    "reduce",
    "scan",
    "neighbor_",
)


def call_class(name: str) -> int:
    """The class of `MPI_Isend` and the like."""
    word = name.removeprefix("P").removeprefix("MPI_").lower()
    if word.startswith("file_"):
        return FILE_ACCESS
    if word.startswith(("wait", "test")):
        return COMPLETION
    if any(part in word for part in _COLLECTIVE) and word != "reduce_local":
        return COLLECTIVE
    if any(part in word for part in _POINT_TO_POINT):
        return POINT_TO_POINT
    return OTHER
