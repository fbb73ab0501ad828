"""Communication that waits for I/O of another rank, and collective I/O that waits for a late
rank."""

from __future__ import annotations

import numpy as np

from sesame.analysis.findings_io.found import Evidence, Finding, most, percent
from sesame.analysis.quantities import format_seconds

BEHIND = 0.05  # of all ranks' time: what could be gained by Amdahl's law, as for little I/O


def waiting_behind_io(e: Evidence) -> list[Finding]:
    if e.waits is None or e.activity.share(e.waits.behind_io) < BEHIND:
        return []
    by_culprit = np.bincount(e.waits.culprit, e.waits.io, len(e.activity.span)) * 1e-9
    rank = most(by_culprit)
    seconds = e.waits.behind_io
    return [
        Finding(
            "waiting for a slow writer or reader",
            f"Ranks spend {percent(e.activity.share(seconds))} of their time waiting in MPI for "
            f"others that are busy with files ({format_seconds(seconds)} of all ranks together), "
            f"{percent(by_culprit[rank] / seconds)} of it for rank {rank}.",
            "Make that rank's I/O shorter, or let the others continue: non-blocking I/O, or a "
            "thread or rank that only writes.",
            seconds,
            {
                "wait behind I/O, s": seconds,
                "share of time": e.activity.share(seconds),
                "rank waited for": rank,
            },
        )
    ]


def late_to_collective_io(e: Evidence) -> list[Finding]:
    waits = e.file_waits
    if waits is None or e.activity.share(waits.seconds) < BEHIND:
        return []
    by_culprit = np.bincount(waits.culprit, waits.waited, len(e.activity.span)) * 1e-9
    rank, seconds = most(by_culprit), waits.seconds
    share = e.activity.share(seconds)
    return [
        Finding(
            "late to collective I/O",
            f"Ranks spend {percent(share)} of their time inside collective calls of MPI-IO before "
            f"the last rank has come ({format_seconds(seconds)} of all ranks together), "
            f"{percent(by_culprit[rank] / seconds)} of it for rank {rank}. This time counts as "
            "I/O, and no faster file system makes it shorter.",
            "See in the time line what keeps that rank, and even out the work before the call.",
            seconds,
            {
                "wait for the last rank, s": seconds,
                "share of time": share,
                "calls that waited": float(len(waits.waited)),
                "rank waited for": rank,
            },
        )
    ]
