"""Plays a schedule: creates the files, runs `sesame-replayer`, reads its measurements."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import tempfile
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sesame.errors import AlreadyReported, Interrupted, ReplayError
from sesame.installed import find_installed
from sesame.replaying.plan import Share, layout, write_plan
from sesame.replaying.schedule import Schedule
from sesame.replaying.targets import Layout
from sesame.replaying.transport import build_transport
from sesame.traced.groups import Array

INCOMPLETE = 3
HEADER = layout(
    ("S8", "magic"),
    ("<u4", "version failed_error"),
    ("<i8", "failed_operation"),
    ("<u8", "operations streams not_aligned"),
    ("<i8", "wake_up_median_ns wake_up_latest_ns spin_ns"),
)
OPERATION = layout(("<i8", "begin_ns duration_ns lateness_ns bytes"), ("<i4", "error unused"))
STREAM = layout(("<i8", "scheduled_end_ns end_ns preempted_ns"))


@dataclass(frozen=True)
class Options:
    """Options of the command line."""

    payload: str = "random"  # contents of written data: zero, compressible or random
    direct: bool = False  # without the page cache (O_DIRECT)
    cold: bool = False  # drop the page cache first
    keep: bool = False  # leave the files
    force: bool = False  # write over existing files
    mpi: str | None = None  # the MPI with which several processes communicate


@dataclass(frozen=True)
class Failure:
    """The operation that ended a replay."""

    operation: int
    error: int

    @property
    def reason(self) -> str:
        return f"{errno.errorcode.get(self.error, self.error)}: {os.strerror(self.error)}"


@dataclass(frozen=True)
class Played:
    """The measurements of a replay."""

    operations: Array  # the result of each operation of the schedule (OPERATION)
    scheduled_end_ns: int
    end_ns: int
    preempted_ns: int  # of all threads
    failure: Failure | None
    not_aligned: int
    wake_up_median_ns: int
    wake_up_latest_ns: int
    caches: str | None  # a description of the caches that were dropped


def play(schedule: Schedule, share: Share, options: Options) -> Played | None:
    """Plays this process's share. Returns the result of all in the first process, else None."""
    library = build_transport(options.mpi) if share.processes > 1 else None
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sesame-")))
        plan, result = directory / "plan", directory / "result"
        write_plan(schedule, plan, share, payload=options.payload, direct=options.direct)
        caches = None
        if share.process == 0:
            layout = Layout(
                schedule.needed, payload=options.payload, force=options.force, keep=options.keep
            )
            stack.enter_context(layout)
            caches = layout.drop_caches() if options.cold else None
        command = [str(find_installed("sesame-replayer")), str(plan), str(result)]
        status = _run(command + ([str(library)] if library else []))
        _check(status)
        if share.process != 0:
            return None
        return _read(schedule, result.read_bytes(), share.processes, caches)


def _run(command: list[str]) -> int:
    # MPI libraries find their launcher through inherited file descriptors.
    process = subprocess.Popen(command, close_fds=False)
    try:
        return process.wait()
    except BaseException:  # such as Ctrl-C: the replayer must not write while files are removed
        with suppress(ProcessLookupError):
            process.kill()
        process.wait()
        raise


def _check(status: int) -> None:
    if status in (0, INCOMPLETE):
        return
    if status == 2:
        raise AlreadyReported(2)
    if status in (-signal.SIGINT, -signal.SIGTERM):
        raise Interrupted
    how = f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
    raise ReplayError(f"sesame-replayer ended {how}")


def _read(schedule: Schedule, data: bytes, processes: int, caches: str | None) -> Played:
    order, streams = schedule.order, schedule.operations.stream
    all_ = np.zeros(len(streams), OPERATION)
    scheduled = ended = preempted = not_aligned = at = 0
    median = latest = 0
    failure = None
    for process in range(processes):
        of_stream = Share(process, processes).of_streams(order)
        ours = np.flatnonzero(of_stream[streams] == process)
        head = np.frombuffer(data, HEADER, 1, at)[0]
        at += HEADER.itemsize
        all_[ours] = np.frombuffer(data, OPERATION, int(head["operations"]), at)
        at += OPERATION.itemsize * int(head["operations"])
        ends = np.frombuffer(data, STREAM, int(head["streams"]), at)
        at += STREAM.itemsize * int(head["streams"])
        scheduled = max(scheduled, int(ends["scheduled_end_ns"].max(initial=0)))
        ended = max(ended, int(ends["end_ns"].max(initial=0)))
        preempted += int(ends["preempted_ns"].sum())
        not_aligned += int(head["not_aligned"])
        median = max(median, int(head["wake_up_median_ns"]))
        latest = max(latest, int(head["wake_up_latest_ns"]))
        if head["failed_operation"] >= 0 and failure is None:
            failure = Failure(int(ours[head["failed_operation"]]), int(head["failed_error"]))
    return Played(all_, scheduled, ended, preempted, failure, not_aligned, median, latest, caches)
