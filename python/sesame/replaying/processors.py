"""Finds which threads of a traced run kept their processor outside of I/O."""

from __future__ import annotations

import numpy as np

from sesame.replaying.preempted import Lost
from sesame.replaying.schedule import Schedule
from sesame.traced.groups import Array

# Share of the time outside of I/O in which a process had the processor. It is near 1 for a process
# that computes, or whose MPI polls for messages; far below for one that sleeps while it waits.
KEPT = 0.8


def keeps_processor(schedule: Schedule) -> Array:
    """Whether each stream kept its processor.

    Only the processor time of whole processes is recorded, so all threads of a process get the same
    answer. Time in which other processes had the processor counts as used.
    """
    trace, order, operations = schedule.trace, schedule.order, schedule.operations
    ranks = np.array([rank for rank, _ in order.streams], np.int64)
    is_io = operations.source >= 0
    duration = np.where(is_io, operations.end - operations.begin, 0)
    in_io = np.bincount(operations.stream, duration, minlength=len(ranks))
    active = np.bincount(operations.stream, minlength=len(ranks)) > 0
    lost = Lost(trace, order)
    all_lost = lost.between(np.arange(len(ranks)), np.zeros(len(ranks)), order.end.max(initial=0))
    io_lost = lost.between(operations.stream, operations.begin, operations.end)
    all_lost -= np.bincount(
        operations.stream, np.where(is_io, io_lost, 0), minlength=len(ranks)
    ).astype(np.int64)
    kept = np.zeros(len(ranks), bool)
    for process in trace.processes:
        ours = (ranks == process.rank) & active
        elapsed = process.end_ns - process.begin_ns
        beside_io = np.maximum(elapsed - in_io[ours], 0).sum()
        if process.processor_ns > 0:
            wanted = process.processor_ns + all_lost[ours].sum()
            kept[ours] = wanted >= KEPT * beside_io
    return kept
