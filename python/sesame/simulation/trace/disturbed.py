"""Whether a traced run had the machine for itself: on a crowded one its times, and so what is
predicted of them, are too long."""

from __future__ import annotations

from collections import Counter

import numpy as np

from sesame.datasets import DataSet
from sesame.datasets.describe import count_of
from sesame.simulation.trace.events import Span
from sesame.simulation.trace.excluded import Preempted
from sesame.trust import Doubt, Reason

# From this share of a rank's time on, what it lost to other work shows in what is predicted.
MOST_LOST = 0.01
HINT = "trace the program on an idle machine with a core for each rank"


def doubts_of_trace(data_set: DataSet, preempted: Preempted, span: Span) -> list[Doubt]:
    return [*_of_preemption(preempted, span), *_of_crowding(data_set)]


def _of_preemption(preempted: Preempted, span: Span) -> list[Doubt]:
    lost = np.bincount(preempted.rank, preempted.lost, span.ranks)
    share = lost / np.maximum(span.end - span.begin, 1)
    if share.max(initial=0) <= MOST_LOST:
        return []
    worst = int(share.argmax())
    return [
        Doubt(
            Reason.DISTURBED_INPUT,
            f"in the traced run other work had the processor for {100 * share.mean():.0f} % of the "
            f"ranks' time, of rank {worst} {100 * share[worst]:.0f} % "
            f"({count_of(len(preempted.rank), 'record')} of type preempted); the computation is "
            "taken without that, but caches and messages were disturbed, too",
            HINT,
        )
    ]


def _of_crowding(data_set: DataSet) -> list[Doubt]:
    """More ranks than processors; known where the trace says how many there are."""
    processors = data_set.info.get("host", {}).get("processors")
    if not processors:
        return []
    rows = data_set.table("process", ["host", "mpi_rank"]).to_pylist()
    ranks = Counter(row["host"] for row in rows if row["mpi_rank"] >= 0)
    host, most = max(ranks.items(), key=lambda item: item[1], default=("", 0))
    if most <= processors:
        return []
    return [
        Doubt(
            Reason.DISTURBED_INPUT,
            f"{most} ranks of the traced run shared {count_of(processors, 'processor')} of {host}",
            HINT,
        )
    ]
