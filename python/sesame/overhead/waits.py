"""What the threads of an application wait for between two processor requests: files or messages.

From the events of a kernel trace other than the scheduler's (`sesame measure run --trace
sched,fs,ipc`). Times are in nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
OTHER, FILE, MESSAGE = 0, 1, 2
# Classes of fs: calls on these wait for other programs, and on the others below for nothing or for
# what is not known. The rest are files.
TALKS = ("socket", "pipe")
NO_FILES = ("unknown", "other", "proc", "sysfs", "cgroup", "cgroup2", "anon", "tmpfs", "devtmpfs")


@dataclass(frozen=True)
class Events:
    """Calls on files, sockets and pipes, and arrivals of messages; each ordered by thread, then by
    the time of its end."""

    call_thread: Ints
    call_begin_ns: Ints
    call_end_ns: Ints
    call_reason: Ints
    message_thread: Ints
    message_ns: Ints

    def reasons(self, thread: int, begin_ns: Ints, end_ns: Ints, until_ns: Ints) -> Ints:
        """Why a thread waited from `begin_ns` to `end_ns`, when it worked until `until_ns`
        afterwards: it was in a call, or the first thing that it did then was to receive a
        message."""
        found = np.full(len(begin_ns), OTHER)
        low, high = np.searchsorted(self.message_thread, [thread, thread + 1])
        times = self.message_ns[low:high]
        if len(times):
            places = np.searchsorted(times, end_ns)
            has = places < len(times)
            found[has & (times[np.minimum(places, len(times) - 1)] <= until_ns)] = MESSAGE
        low, high = np.searchsorted(self.call_thread, [thread, thread + 1])
        ends, begins = self.call_end_ns[low:high], self.call_begin_ns[low:high]
        if len(ends):
            places = np.searchsorted(ends, end_ns)
            nearest = np.minimum(places, len(ends) - 1)
            is_in_call = (places < len(ends)) & (begins[nearest] <= begin_ns)
            found[is_in_call] = self.call_reason[low:high][nearest[is_in_call]]
        return found


def events_of(table: Any) -> Events | None:
    """Of a table kernel_event; None if it has neither calls nor messages."""
    import pyarrow.compute as pc

    subsystem = table["subsystem"].cast("string")
    calls = table.filter(pc.equal(subsystem, "fs"))
    kinds = pc.list_element(pc.split_pattern(calls["class"].cast("string"), " "), 0)
    names = np.asarray(kinds.to_pylist(), object)
    reason = np.where(np.isin(names, TALKS), MESSAGE, FILE)
    reason[np.isin(names, NO_FILES)] = OTHER
    received = pc.and_(
        pc.equal(subsystem, "ipc"), pc.equal(table["point"].cast("string"), "receive")
    )
    messages = table.filter(received)
    if not len(calls) and not len(messages):
        return None
    thread, end, length = (ints_of(calls[name]) for name in ("pid", "time_ns", "duration_ns"))
    message_thread, message_ns = (ints_of(messages[name]) for name in ("pid", "time_ns"))
    order = np.lexsort((end, thread))
    others = np.lexsort((message_ns, message_thread))
    return Events(
        thread[order],
        (end - length)[order],
        end[order],
        reason[order],
        message_thread[others],
        message_ns[others],
    )


def ints_of(column: object) -> Ints:
    return np.asarray(column).astype(np.int64)
