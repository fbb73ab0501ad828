"""Reasons to doubt a prediction from a traced run: other work disturbed the recording, so that its
times are too long, or parts of the run have no record."""

from __future__ import annotations

from collections import Counter

import numpy as np

from sesame.datasets import DataSet
from sesame.datasets.describe import count_of
from sesame.simulation.trace.events import Span
from sesame.simulation.trace.excluded import Preempted
from sesame.trust import Doubt, Reason

# Above this share of a rank's time, the time lost to other work affects the prediction.
MOST_LOST = 0.01
HINT = "trace the program on an idle machine with a core for each rank"


def doubts_of_trace(data_set: DataSet, preempted: Preempted, span: Span) -> list[Doubt]:
    return [
        *_of_preemption(preempted, span),
        *_of_crowding(data_set),
        *_of_completeness(data_set),
    ]


def _of_completeness(data_set: DataSet) -> list[Doubt]:
    """Doubts about accesses that the tracer did not record (tracing/completeness.py)."""
    return [
        Doubt(
            Reason.INCOMPLETE_INPUT,
            f"of the traced run {doubt['text']}: this I/O is not predicted",
            "take the predicted I/O for a lower bound",
        )
        for doubt in data_set.info.get("result", {}).get("doubts", [])
        if doubt["reason"] == Reason.INCOMPLETE_INPUT
    ]


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
    """The doubt that a host had more ranks than processors, if the number of these is recorded."""
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
