"""Whether files matter for the run's time at all."""

from __future__ import annotations

import numpy as np

from sesame.analysis.findings_io.found import Evidence, Finding, most, percent

# Amdahl's law: without any I/O the run would be 1 / (1 - 0.05), about 5 %, faster.
LITTLE = 0.05


def little_io(e: Evidence) -> list[Finding]:
    """Returns nothing if any rank spends more time in I/O: the others may wait for it."""
    if e.activity.whole <= 0:
        return []
    span, time = (values[e.activity.ranks] for values in (e.activity.span, e.activity.io))
    shares = np.divide(time, span, out=np.zeros_like(span), where=span > 0)
    behind = e.waits.behind_io if e.waits is not None else 0.0
    if shares.max() >= LITTLE or e.activity.share(behind) >= LITTLE:
        return []
    mean = e.activity.share(e.activity.sum(e.activity.io))
    mpi = e.activity.share(e.activity.sum(e.activity.mpi))
    rank = int(e.activity.ranks[most(shares)])
    # Times that are known only for all ranks together were divided evenly.
    uneven = f"; rank {rank} spends most in it, {percent(shares.max())}"
    return [
        Finding(
            "little I/O",
            f"I/O is {percent(mean)} of the time{'' if e.activity.even else uneven}.",
            f"Look elsewhere first: {_elsewhere(e, mpi, mean)}. Acting on the other findings gains "
            "little here, unless other data or another file system make the I/O slower.",
            None,
            {
                "I/O share": mean,
                "largest I/O share of a rank": float(shares.max()),
                "that rank": rank,
                "MPI share": mpi,
            },
        )
    ]


def _elsewhere(e: Evidence, mpi: float, io: float) -> str:
    rest = percent(max(1 - mpi - io, 0))
    if e.waits is None and e.ranks > 1:
        return f"{rest} of the time are other things; calls of MPI were not recorded"
    return f"MPI takes {percent(mpi)} of the time, the rest {rest}"
