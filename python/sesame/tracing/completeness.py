"""Whether the records of a run tell all that its processes read and wrote.

The tracer sees calls of libraries. The kernel counts what a process really reads and writes, by
whatever way; what it counted and no record tells makes the run incomplete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sesame.trust import Doubt, Reason

# What the C library reads for itself has no record: its aliases of locales (2,996 bytes in nearly
# every program of Debian 12), tables of users and hosts, time zones. Programs that do nothing past
# the tracer have at most 7 KiB of it; of messages that it writes itself (perror, error) there
# are some lines.
LIBRARY_READS_BYTES = 64 << 10
LIBRARY_MESSAGES_BYTES = 4 << 10

HINT = "the records lack these accesses: take sizes and counts of this run for lower bounds"


def unseen(processes: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """What the kernel counted of all processes and no record tells."""
    found = {"read_bytes": 0, "written_bytes": 0, "operations": 0, "processes": 0}
    for process in processes:
        read, written = process["unseen_read_bytes"], process["unseen_written_bytes"]
        found["read_bytes"] += read
        found["written_bytes"] += written
        found["operations"] += process["unseen_operations"]
        found["processes"] += is_incomplete(process)
    return found


def is_incomplete(process: Mapping[str, Any]) -> bool:
    """Whether more is missing than the C library's own accesses."""
    return bool(
        process["unseen_read_bytes"] > LIBRARY_READS_BYTES
        or process["unseen_written_bytes"] > LIBRARY_MESSAGES_BYTES
        or process["unseen_operations"] > 0
    )


def doubts(processes: Iterable[Mapping[str, Any]]) -> list[Doubt]:
    """One reason for all processes whose accesses went past the tracer."""
    incomplete = [process for process in processes if is_incomplete(process)]
    if not incomplete:
        return []
    found = unseen(incomplete)
    moved = [
        f"{found[key]:,} bytes {verb}"
        for key, verb in (("read_bytes", "read"), ("written_bytes", "written"))
        if found[key] > 0
    ]
    if found["operations"] > 0:
        moved.append(f"{found['operations']:,} operations of io_uring")
    count = len(incomplete)
    text = (
        f"the kernel counted {' and '.join(moved)} by {count} "
        f"process{'' if count == 1 else 'es'} that no record tells"
    )
    return [Doubt(Reason.INCOMPLETE_INPUT, text, HINT)]
