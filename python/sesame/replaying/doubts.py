"""Doubts about the time of a replay: the run was disturbed when it was recorded, or is now.

A replay computes for the processor time that the recorded computation took, as far as the records
show what other processes took (docs/models/replay.md). Four things are detected: records are
incomplete; other processes took much processor time when the run was recorded; a process had the
processor for less time than its computation lasted; other processes disturbed the replay itself.
"""

from __future__ import annotations

import numpy as np

from sesame.replaying.player import Played
from sesame.replaying.preempted import Lost
from sesame.replaying.schedule import Schedule, Style
from sesame.trust import Doubt, Reason

# Share of the computation, or of the replay's time, from which a doubt is reported; the same share
# makes a machine busy (host_load).
WORTH_SAYING = 0.05
RECORD_AGAIN = "record it again on an idle machine"


def _seconds(value: float) -> str:
    return f"{value:.3g} s"


def doubts(schedule: Schedule, played: Played, style: Style) -> list[Doubt]:
    found = [
        *schedule.trace.doubts,
        *_of_recording(schedule, style),
        *_of_replay(schedule, played),
    ]
    return [doubt for doubt in found if doubt is not None]


def _of_recording(schedule: Schedule, style: Style) -> list[Doubt | None]:
    if style.as_fast_as_possible or style.scale_compute == 0:
        return []  # recorded computation is not replayed
    computed = _computation(schedule, style)
    lost = _lost_beside_io(schedule)
    if lost <= WORTH_SAYING * (computed + lost):
        return []
    return [_taken(computed, lost), _without_processor(schedule, computed)]


def _computation(schedule: Schedule, style: Style) -> float:
    """Seconds of computation in all threads, without the processor time of other processes."""
    return float(schedule.operations.gap.sum() / style.scale_compute) * 1e-9


def _lost_beside_io(schedule: Schedule) -> float:
    """Seconds for which other processes had the processor, outside calls on files."""
    order, operations = schedule.order, schedule.operations
    lost = Lost(schedule.trace, order)
    streams = np.arange(len(order.streams))
    end = np.full(len(streams), order.end.max(initial=0))
    whole = lost.between(streams, np.zeros(len(streams)), end)
    is_io = operations.source >= 0
    in_io = lost.between(operations.stream, operations.begin, operations.end)[is_io]
    return max(float(whole.sum() - in_io.sum()), 0.0) * 1e-9


def _taken(computed: float, lost: float) -> Doubt:
    text = (
        f"others had the processor for {_seconds(lost)} beside {_seconds(computed)} of "
        "computation when this was recorded; computation is replayed as the processor time that it "
        "took, which shared caches and cores make longer"
    )
    return Doubt(Reason.DISTURBED_INPUT, text, RECORD_AGAIN)


def _without_processor(schedule: Schedule, computed: float) -> Doubt | None:
    """The doubt that processes had the processor for less time than their computation lasted.

    A thread that yielded the processor may have waited for an event or for the processor. The
    records do not show which, so the replay keeps this time.
    """
    ranks = {schedule.order.streams[int(s)][0] for s in np.unique(schedule.operations.stream)}
    processes = [process for process in schedule.trace.processes if process.rank in ranks]
    if not processes or any(process.processor_ns <= 0 for process in processes):
        return None
    had = sum(process.processor_ns for process in processes) * 1e-9
    if computed - had <= WORTH_SAYING * computed:
        return None
    text = (
        f"of {_seconds(computed)} of computation the processes had the processor for only "
        f"{_seconds(had)}; in the rest they waited for something, or for the processor on a "
        "machine that was busy, and it is replayed as it was"
    )
    return Doubt(Reason.DISTURBED_INPUT, text, RECORD_AGAIN)


def _of_replay(schedule: Schedule, played: Played) -> list[Doubt | None]:
    threads = max(len(np.unique(schedule.operations.stream)), 1)
    taken, whole = played.preempted_ns * 1e-9, played.end_ns * 1e-9
    if taken <= WORTH_SAYING * whole * threads:
        return []
    text = f"others had the processor for {_seconds(taken)} of the replay's {_seconds(whole)}" + (
        f", {threads} threads together" if threads > 1 else ""
    )
    return [Doubt(Reason.BUSY_HOST, text, "repeat the replay on an idle machine")]
