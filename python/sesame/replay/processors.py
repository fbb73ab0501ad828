"""Which threads of a traced run kept their processor when they had nothing to read or write."""

from __future__ import annotations

import numpy as np

from sesame.replay.schedule import Schedule
from sesame.traced.groups import Array

# A process that computes, or asks its MPI again and again for messages, is near 1; one that sleeps
# until they come is far below.
KEPT = 0.8


def keeps_processor(schedule: Schedule) -> Array:
    """Of each stream. The records tell the processor time of processes only: all threads of one
    count as the process does on the whole."""
    trace, order, operations = schedule.trace, schedule.order, schedule.operations
    ranks = np.array([rank for rank, _ in order.streams], np.int64)
    is_io = operations.source >= 0
    duration = np.where(is_io, operations.end - operations.begin, 0)
    in_io = np.bincount(operations.stream, duration, minlength=len(ranks))
    active = np.bincount(operations.stream, minlength=len(ranks)) > 0
    kept = np.zeros(len(ranks), bool)
    for process in trace.processes:
        ours = (ranks == process.rank) & active
        elapsed = process.end_ns - process.begin_ns
        beside_io = np.maximum(elapsed - in_io[ours], 0).sum()
        kept[ours] = process.processor_ns >= max(KEPT * beside_io, 1)
    return kept
