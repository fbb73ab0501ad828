"""Data that are read more than once, or read back after they were written."""

from __future__ import annotations

import numpy as np

from sesame.analysis.findings_io.found import LEAST_BYTES, Evidence, Finding, most, percent
from sesame.analysis.quantities import format_bytes
from sesame.analysis.traced.totals import share

MANY_TIMES = 2.0  # ranks that read the same bytes; at least half the readers, too; ours
ALL = 0.999  # of the readers: counts as all of them, which allows for rounding
AGAIN_SHARE = 0.5  # of the bytes that a rank reads, those it has read before; ours
BACK_SHARE = 0.1  # of the bytes read, those that the run has written itself; ours


def redundant_reads(e: Evidence) -> list[Finding]:
    """Several ranks read the same bytes; a rank's own re-reading is another finding."""
    if e.sharing is None:
        return []
    once = e.sharing.read_once
    times = share(once, e.sharing.read_distinct)
    much = (times >= np.maximum(MANY_TIMES, e.sharing.readers / 2)) & (e.sharing.readers >= 2)
    spare = np.where(much, once - e.sharing.read_distinct, 0)
    if spare.sum() < LEAST_BYTES:
        return []
    file = most(spare)
    own = e.totals.own
    read = own.by_file("bytes_read")
    seconds = own.by_file("read_s") * share(spare, read)
    return [
        Finding(
            "ranks read the same",
            f"{_who_reads(e, file, times[file])} {format_bytes(once[file])} in all."
            + _unlocated(e, file),
            "Let one rank of each node, or one of all, read it and broadcast (MPI_Bcast, or "
            "MPI_File_read_all, which reads each byte once).",
            float(seconds.sum()),
            {
                "bytes read too often": float(spare.sum()),
                "times": float(times[file]),
                "bytes at unknown places": float(e.sharing.read_unlocated[file]),
            },
        )
    ]


def _who_reads(e: Evidence, file: int, times: float) -> str:
    assert e.sharing is not None
    readers, distinct = e.sharing.readers[file], format_bytes(e.sharing.read_distinct[file])
    who = f"{readers:,} of {e.ranks:,} ranks"
    if times > readers * ALL:
        return f"{who} read the same {distinct} of {e.path(file)},"
    return f"{who} read {distinct} of {e.path(file)}, each byte {times:.1f} times on average,"


def _unlocated(e: Evidence, file: int) -> str:
    assert e.sharing is not None
    unknown = e.sharing.read_unlocated[file]
    if not unknown:
        return ""
    return f" Of another {format_bytes(unknown)} it is not known exactly where they were read."


def reading_again(e: Evidence) -> list[Finding]:
    own = e.totals.own
    again, read = own.sum("read_again"), own.sum("bytes_read")
    if again < LEAST_BYTES or again < AGAIN_SHARE * read:
        return []
    file = most(own.by_file("read_again"))
    return [
        Finding(
            "reading again",
            f"{percent(again / read)} of the bytes read ({format_bytes(again)}) the same rank has "
            f"read before, most in {e.path(file)}.",
            "Keep in memory what is needed again, or read the file in larger tiles.",
            own.sum("read_s") * again / read,
            {"bytes read again": again, "bytes read": read},
        )
    ]


def read_after_write(e: Evidence) -> list[Finding]:
    if e.sharing is None:
        return []
    back = e.sharing.read_after_write
    own = e.totals.own
    read = own.sum("bytes_read")
    if back.sum() < LEAST_BYTES or back.sum() < BACK_SHARE * read:
        return []
    file = most(back)
    part = share(back, own.by_file("bytes_read"))
    return [
        Finding(
            "reading what was written",
            f"{percent(back.sum() / read)} of the bytes read ({format_bytes(back.sum())}) the run "
            f"has written itself, most in {e.path(file)}.",
            "Pass such data in memory or in messages, or keep them on storage of the node "
            "(tmpfs, burst buffer).",
            float((own.by_file("read_s") * part).sum()),
            {"bytes": float(back.sum()), "bytes read": read},
        )
    ]
