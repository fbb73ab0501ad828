"""Requests that begin inside a block of the file system."""

from __future__ import annotations

from sesame.analysis.findings_io.found import Evidence, Finding, most, percent
from sesame.analysis.quantities import format_size

MISALIGNED = 0.1  # of the requests; Drishti
ENOUGH = 100  # requests; ours


def unaligned(e: Evidence) -> list[Finding]:
    """Counts only requests of a block or more. Smaller requests cannot be aligned, and are another
    finding."""
    rows = e.requests_below
    could = rows.sum("alignable_reads", "alignable_writes")
    wrong = rows.sum("unaligned_reads", "unaligned_writes")
    if could < ENOUGH or wrong <= MISALIGNED * could:
        return []
    by_file = rows.by_file("unaligned_reads", "unaligned_writes")
    file = most(by_file)
    block = int(e.files.block_size[file])
    seconds = rows.sum("read_s", "write_s") * wrong / rows.sum("reads", "writes")
    counted = rows.where(rows["counted"]).sum("alignable_reads", "alignable_writes") > 0
    size = "a block or more on average" if counted else "a block or more"
    return [
        Finding(
            "unaligned requests",
            f"{percent(wrong / could)} of the {could:,.0f} requests of {size} begin "
            f"inside one, {e.mainly(by_file)}, whose blocks have {format_size(block)}.",
            "Pad headers and records to multiples of the block, or tell the library: in HDF5 "
            "H5Pset_alignment, in MPI-IO the hint striping_unit.",
            seconds,
            {"unaligned": wrong, "requests of a block or more": could, "block": block},
        )
    ]
