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
# Classes of fs that are no files of a device: calls on them wait for other programs, or not at all.
NOT_FILES = ("sockfs", "pipefs", "proc", "sysfs", "devtmpfs", "tmpfs", "anon_inodefs", "devpts")


@dataclass(frozen=True)
class Events:
    """File calls with their begin, and arrivals of messages, each ordered by thread, then time."""

    file_thread: Ints
    file_begin_ns: Ints
    file_end_ns: Ints
    message_thread: Ints
    message_ns: Ints

    def reasons(self, thread: int, begin_ns: Ints, end_ns: Ints, until_ns: Ints) -> Ints:
        """Why a thread waited from `begin_ns` to `end_ns`, when it worked until `until_ns`
        afterwards: it was in a file call, or the first thing that it did then was to receive a
        message."""
        found = np.full(len(begin_ns), OTHER)
        low, high = np.searchsorted(self.message_thread, [thread, thread + 1])
        times = self.message_ns[low:high]
        if len(times):
            places = np.searchsorted(times, end_ns)
            has = places < len(times)
            found[has & (times[np.minimum(places, len(times) - 1)] <= until_ns)] = MESSAGE
        low, high = np.searchsorted(self.file_thread, [thread, thread + 1])
        ends, begins = self.file_end_ns[low:high], self.file_begin_ns[low:high]
        if len(ends):
            places = np.searchsorted(ends, end_ns)
            has = places < len(ends)
            found[has & (begins[np.minimum(places, len(ends) - 1)] <= begin_ns)] = FILE
        return found


def events_of(table: Any) -> Events | None:
    """Of a table kernel_event; None if it has neither file calls nor messages."""
    import pyarrow.compute as pc

    subsystem = table["subsystem"].cast("string")
    fs = table.filter(pc.equal(subsystem, "fs"))
    kinds = pc.list_element(pc.split_pattern(fs["class"].cast("string"), " "), 0)
    fs = fs.filter(pc.invert(pc.is_in(kinds, _array(NOT_FILES))))
    received = pc.and_(
        pc.equal(subsystem, "ipc"), pc.equal(table["point"].cast("string"), "receive")
    )
    messages = table.filter(received)
    if not len(fs) and not len(messages):
        return None
    file_thread, file_end, file_length = (_ints(fs[n]) for n in ("pid", "time_ns", "duration_ns"))
    message_thread, message_ns = (_ints(messages[name]) for name in ("pid", "time_ns"))
    files = np.lexsort((file_end, file_thread))
    order = np.lexsort((message_ns, message_thread))
    return Events(
        file_thread[files],
        (file_end - file_length)[files],
        file_end[files],
        message_thread[order],
        message_ns[order],
    )


def _array(names: tuple[str, ...]) -> Any:
    import pyarrow as pa

    return pa.array(names)


def _ints(column: object) -> Ints:
    return np.asarray(column).astype(np.int64)
