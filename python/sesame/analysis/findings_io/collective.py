"""Interleaved requests of several ranks in one file, without collective I/O."""

from __future__ import annotations

import numpy as np

from sesame.analysis.findings_io.found import ENOUGH_REQUESTS, Evidence, Finding, most, percent
from sesame.analysis.quantities import format_bytes
from sesame.analysis.traced.intervals import Array
from sesame.analysis.traced.sharing import Interleaving
from sesame.analysis.traced.totals import share

BETWEEN = 0.5  # of the requests lie next to another rank's; Drishti's share of collective calls
CONTIGUOUS = 0.9  # of the extent is touched: together the ranks access it without holes; ours
ONCE = 1.5  # bytes moved for each byte touched: if all access the same, that is another finding
SMALL = 1 << 20  # mean request; larger ones need no gathering; Drishti's bound of small requests


def no_collective_io(e: Evidence) -> list[Finding]:
    """Requests through POSIX or stdio, which have no collective calls."""
    return _found(e, through_mpi=False)


def independent_mpi_io(e: Evidence) -> list[Finding]:
    """Requests through MPI-IO, but with independent calls."""
    return _found(e, through_mpi=True)


def _found(e: Evidence, *, through_mpi: bool) -> list[Finding]:
    if e.sharing is None:
        return []
    found = []
    for word, part in (("write", e.sharing.write), ("read", e.sharing.read)):
        is_mpi = part.mpi_io > part.requests / 2
        much = _interleaved(part) & (is_mpi == through_mpi)
        if not much.any():
            continue
        file = most(np.where(much, part.requests, 0))
        found.append(_finding(e, word, part, file, float(part.seconds[much].sum()), through_mpi))
    return found


def _interleaved(part: Interleaving) -> Array:
    return np.asarray(
        (part.requests >= ENOUGH_REQUESTS)
        & (part.neighbours >= BETWEEN * part.requests)
        & (part.touched >= CONTIGUOUS * part.extent)
        & (part.moved < SMALL * part.requests)
        & (part.moved < ONCE * part.touched)
    )


def _finding(
    e: Evidence, word: str, part: Interleaving, file: int, seconds: float, through_mpi: bool
) -> Finding:
    requests = part.requests[file]
    how = "independent MPI-IO" if through_mpi else "POSIX or stdio calls"
    return Finding(
        "independent MPI-IO on interleaved parts" if through_mpi else "no collective I/O",
        f"{percent(part.neighbours[file] / requests)} of {requests:,.0f} {word}s in "
        f"{e.path(file)}, {format_bytes(part.moved[file] / requests)} each, lie next to another "
        f"rank's; together they cover {percent(part.touched[file] / part.extent[file])} of "
        f"{format_bytes(part.extent[file])}. They are {how}.",
        f"Set a file view of each rank's part and call MPI_File_{word}_all once: MPI-IO then makes "
        "few large requests of them."
        if through_mpi
        else f"MPI-IO with a file view and MPI_File_{word}_all, or a library on top of it (HDF5, "
        "PnetCDF), makes few large requests of them.",
        seconds,
        {
            "requests": float(requests),
            "next to another rank's": float(part.neighbours[file]),
            "share covered": float(share(part.touched, part.extent)[file]),
        },
    )
