"""Checks whether the records of a run cover all that its processes read and wrote.

The tracer records library calls. The kernel counts all bytes that a process reads and writes. A run
is incomplete if the kernel counted bytes that no record covers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sesame.datasets.describe import count_of
from sesame.trust import Doubt, Reason

# Accesses of the C library itself have no record. It reads aliases of locales (2,996 bytes in
# nearly every program of Debian 12), tables of users and hosts, and time zones: at most 7 KiB in
# programs without other unrecorded accesses. It writes some lines of messages (perror, error).
LIBRARY_READS_BYTES = 64 << 10
LIBRARY_MESSAGES_BYTES = 4 << 10

HINT = "the records lack these accesses: take sizes and counts of this run for lower bounds"

MAPPED_HINT = "take the written bytes of these files (mapped_access) for unknown, up to their size"


def unseen(processes: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Bytes that the kernel counted for all processes and no record covers."""
    found = dict.fromkeys(
        ("read_bytes", "written_bytes", "operations", "mapped_bytes", "processes"), 0
    )
    for process in processes:
        read, written = process["unseen_read_bytes"], process["unseen_written_bytes"]
        found["read_bytes"] += read
        found["written_bytes"] += written
        found["operations"] += process["unseen_operations"]
        found["mapped_bytes"] += process["unknown_mapped_bytes"]
        found["processes"] += is_incomplete(process)
    return found


def is_incomplete(process: Mapping[str, Any]) -> bool:
    return _went_past(process) or process["unknown_mapped_bytes"] > 0


def _went_past(process: Mapping[str, Any]) -> bool:
    """Whether more is missing than the C library's own accesses."""
    return bool(
        process["unseen_read_bytes"] > LIBRARY_READS_BYTES
        or process["unseen_written_bytes"] > LIBRARY_MESSAGES_BYTES
        or process["unseen_operations"] > 0
    )


def doubts(processes: Sequence[Mapping[str, Any]]) -> list[Doubt]:
    return [*_past_the_tracer(processes), *_in_mappings(processes)]


def _in_mappings(processes: Sequence[Mapping[str, Any]]) -> list[Doubt]:
    """The doubt about processes whose shared mappings may have been written."""
    found = [process for process in processes if process["unknown_mapped_bytes"] > 0]
    if not found:
        return []
    text = (
        f"{sum(process['unknown_mapped_bytes'] for process in found):,} bytes of files that "
        f"{_processes(len(found))} mapped shared and writable were accessed, and the records "
        "cannot tell which of them were written"
    )
    return [Doubt(Reason.INCOMPLETE_INPUT, text, MAPPED_HINT)]


def _processes(count: int) -> str:
    return f"{count} process{'' if count == 1 else 'es'}"


def _past_the_tracer(processes: Sequence[Mapping[str, Any]]) -> list[Doubt]:
    """The doubt about processes with accesses that the tracer did not record."""
    incomplete = [process for process in processes if _went_past(process)]
    if not incomplete:
        return []
    found = unseen(incomplete)
    moved = [
        f"{found[key]:,} bytes {verb}"
        for key, verb in (("read_bytes", "read"), ("written_bytes", "written"))
        if found[key] > 0
    ]
    if found["operations"] > 0:
        moved.append(f"{count_of(found['operations'], 'operation')} of io_uring")
    text = (
        f"the kernel counted {' and '.join(moved)} by {_processes(len(incomplete))} that no "
        "record tells"
    )
    return [Doubt(Reason.INCOMPLETE_INPUT, text, HINT)]
