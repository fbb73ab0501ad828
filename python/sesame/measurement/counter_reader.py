"""Reads the counter files of MPI programs (docs/formats/counter-files.md), which
tracer/counter_files.h writes.

Programs of any user write these files, so their contents are not trusted: links are not followed,
sizes must be right, counters that decrease are ignored, each user has a quota, and looking for
files has one. Files are read, not mapped: if a file were mapped, its owner could kill this process
by truncating it.
"""

from __future__ import annotations

import os
import struct
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sesame.measurement.counter_files import (
    CELL,
    FORMAT,
    GROUPS,
    MAGIC,
    MOST_POINTS,
    OWN_FILES,
    READING,
    SUMS,
    CounterDirectory,
)
from sesame.measurement.probes import ChangeCheck
from sesame.measurement.token_bucket import TokenBucket

# magic, format, pid, start_time, pid_namespace, cpu, calls, charged_ns, events by point, unused
_HEAD = struct.Struct(f"<8sIIQQIIQ{MOST_POINTS}Q16x")
MOST_FILES = 1 << 13  # of all users
MOST_SCANNED = 1 << 14  # names of the directory, at a scan
MOST_REMOVED = 1 << 10  # files beyond a quota, at a scan
# Scans of the directory may take this share of a processor's time, since any user can fill it.
SCAN_SHARE = 0.001
SCAN_NS = 50_000_000  # at once
INCOMPLETE_NS = 60 * 10**9  # after this time a file that is no counter file is removed
FORGOTTEN_NS = 86_400 * 10**9  # and one without a new count, if its process is in a container
# After this time without a change, the next change gives a directory another modification time:
# the clocks of file systems tick every 10 ms or less.
SETTLED_NS = 1_000_000_000


def most_files_of_user() -> int:
    """The quota: a file for each thread that calls MPI, of which a node rarely runs more than four
    for each processor."""
    return max(256, 4 * (os.cpu_count() or 1))


class _Head(NamedTuple):
    """The head of a counter file."""

    magic: bytes
    format: int
    pid: int
    start_time: int
    pid_namespace: int
    cpu: int
    calls: int
    charged_ns: int
    events: tuple[int, ...]

    @staticmethod
    def of(data: bytes) -> _Head:
        fields = _HEAD.unpack(data)
        return _Head._make((*fields[:8], fields[8:]))

    def has_ended(self) -> bool:
        """Whether its process, which is in this PID namespace, has ended."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_bytes().rpartition(b") ")[2].split()
        except OSError:
            return _is_gone(self.pid)
        # Dead if it is a zombie with one thread: the first thread alone may be a zombie while other
        # threads of the process still run.
        is_dead = fields[0] in (b"Z", b"X") and int(fields[17]) <= 1
        return is_dead or int(fields[19]) != self.start_time


def _no_cells() -> NDArray[np.intp]:
    return np.zeros(0, np.intp)


def _no_sums() -> NDArray[np.uint64]:
    return np.zeros((0, SUMS), np.uint64)


@dataclass
class _Thread:
    """What was read last from a counter file."""

    user: int  # the file's owner
    changed_ns: int  # when its head was found changed last, or the file was found; monotonic
    indexes: NDArray[np.intp] = field(default_factory=_no_cells)  # cells with counts
    sums: NDArray[np.uint64] = field(default_factory=_no_sums)  # of these cells
    summed: tuple[int, ...] = (0,) * MOST_POINTS  # the events that are in `sums`
    events: tuple[int, ...] = (0,) * MOST_POINTS
    charged_ns: int = 0
    time_ns: int = 0
    is_idle: bool = False  # no new events when its cells were last read


def _is_gone(pid: int) -> bool:
    """Whether there is no such process, also where /proc hides processes of other users."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


class CounterFileReader:
    """The sums of all counter files of a directory, including those of ended processes.

    `update` reads the files and adds what is new to `sums` [call and size group, field], `most_ns`,
    `charged_ns` and `events`, which the caller may read. The file of an ended process is removed
    when all its counters have been added. Also removed are the files of a user beyond the quota,
    files that are no counter files, and those of other PID namespaces without a new count for a
    day. Not thread-safe.
    """

    def __init__(self, directory: CounterDirectory, calls: int, cpus: int) -> None:
        """`calls`: the number of MPI functions. Counts before now are left out."""
        self._directory = directory.descriptor
        self._calls, self._cpus = calls, cpus
        self._threads: dict[str, _Thread] = {}
        self._files_of: Counter[int] = Counter()  # number in `_threads` by user
        self._before = np.zeros((calls * GROUPS, SUMS), np.uint64)  # zero between calls
        self._done: set[str] = set()  # files that cannot be removed
        self._scans = TokenBucket(SCAN_SHARE, SCAN_NS)
        self._empty_since = -1  # modification time of the directory when it had no files
        self._begin()
        self.update(0)
        self._begin()

    def _begin(self) -> None:
        cells = self._calls * GROUPS
        self.sums = np.zeros((cells, SUMS), np.uint64)
        self.most_ns = np.zeros((2, cells), np.uint64)
        self.charged_ns = np.zeros(self._cpus, np.uint64)
        self.events = np.zeros((self._cpus, MOST_POINTS), np.uint64)
        self.additions = 0  # changes of `charged_ns` and `events`
        self.threads: Counter[int] = Counter()  # number by the processor on which seen last
        self.has_more = False  # cells changed; `MpiProbes.read` resets it

    @property
    def most_threads(self) -> int:
        """The largest number of threads that were last seen on the same processor."""
        return max(self.threads.values(), default=0)

    def update(self, epoch: int | None) -> None:
        """Adds what is new since the last call. `epoch`: the one now in the settings; with None
        only charges and events by point are added."""
        changed_ns = os.fstat(self._directory).st_mtime_ns
        if changed_ns == self._empty_since:
            return
        if self._scans.is_left():
            begin_ns = time.thread_time_ns()
            self._scan(changed_ns)
            self._scans.charge(time.thread_time_ns() - begin_ns)
        self.threads.clear()
        for name in list(self._threads):
            self._update_file(name, epoch)

    def _scan(self, changed_ns: int) -> None:
        """Finds new files, and removes those beyond a quota."""
        is_settled = time.time_ns() - changed_ns > SETTLED_NS
        with os.scandir(self._directory) as entries:
            found = {one.name for one in islice(entries, MOST_SCANNED)} - OWN_FILES
        self._empty_since = changed_ns if is_settled and not found else -1
        for name in self._threads.keys() - found:
            self._forget(name)
        self._done &= found
        removed = 0
        for name in found - self._threads.keys() - self._done:
            if not self._admit(name):
                self._remove(name)
                removed += 1
                if removed == MOST_REMOVED:
                    break

    def _forget(self, name: str) -> None:
        thread = self._threads.pop(name, None)
        if thread is not None:
            self._files_of[thread.user] -= 1

    def change_check(self) -> ChangeCheck | None:
        """A check for new files; None while there are counter files, or may be."""
        if self._empty_since < 0:
            return None
        return ChangeCheck(directory=self._directory, changed_ns=self._empty_since)

    def _update_file(self, name: str, epoch: int | None) -> None:
        thread = self._threads[name]
        try:
            file = os.open(name, READING, dir_fd=self._directory)
        except OSError:  # no file, or a link
            is_over = self._is_unusable(thread)
        else:
            try:
                is_over = self._read(thread, file, epoch)
            finally:
                os.close(file)
        if is_over:
            self._remove(name)

    def _admit(self, name: str) -> bool:
        """Whether a new file is read from now on: not if its owner has too many."""
        try:
            user = os.stat(name, dir_fd=self._directory, follow_symlinks=False).st_uid
        except OSError:  # it is gone
            return True
        if self._files_of[user] >= most_files_of_user() or len(self._threads) >= MOST_FILES:
            return False
        self._files_of[user] += 1
        self._threads[name] = _Thread(user, time.monotonic_ns())
        return True

    @staticmethod
    def _is_unusable(thread: _Thread) -> bool:
        """Whether a file that is no counter file is to be removed. Its program may be making it."""
        return time.monotonic_ns() - thread.changed_ns > INCOMPLETE_NS

    def _read(self, thread: _Thread, file: int, epoch: int | None) -> bool:
        """Adds what is new in a file. Returns whether the file is to be removed."""
        head = self._head(file)
        if head is None:
            return self._is_unusable(thread)
        ended = epoch is not None and thread.is_idle and self._has_ended(thread, head)
        if ended:  # its counters are final by now
            head = self._head(file) or head
        self._add_head(thread, head)
        if epoch is not None:
            thread.is_idle = thread.summed == thread.events
            if not thread.is_idle:
                self._add_cells(thread, file, epoch)
        return ended

    @staticmethod
    def _has_ended(thread: _Thread, head: _Head) -> bool:
        """Whether its process has ended. In another PID namespace that cannot be known, so a file
        without changes for a day counts as one of an ended process."""
        if head.pid_namespace != Path("/proc/self/ns/pid").stat().st_ino:
            return time.monotonic_ns() - thread.changed_ns > FORGOTTEN_NS
        return head.has_ended()

    def _head(self, file: int) -> _Head | None:
        """The head; None if this is not a counter file, or not complete yet."""
        try:
            data = os.pread(file, _HEAD.size, 0)
        except OSError:  # no plain file
            return None
        head = _Head.of(data) if len(data) == _HEAD.size else None
        known = (MAGIC, FORMAT, self._calls)
        is_known = head is not None and (head.magic, head.format, head.calls) == known
        return head if is_known else None

    def _add_head(self, thread: _Thread, head: _Head) -> None:
        """Adds charges and events to the processor on which the thread was seen last."""
        now = time.monotonic_ns()
        cpu = head.cpu if head.cpu < self._cpus else 0
        self.threads[cpu] += 1
        if head.events != thread.events:
            before = np.array(thread.events, np.uint64)
            self.events[cpu] += _new(np.array(head.events, np.uint64), before)
            # A thread cannot be charged more than the time that has passed.
            charged_ns = min(max(head.charged_ns - thread.charged_ns, 0), now - thread.time_ns)
            self.charged_ns[cpu] += np.uint64(charged_ns)
            self.additions += 1
            thread.changed_ns = now
        thread.events, thread.charged_ns, thread.time_ns = head.events, head.charged_ns, now

    def _add_cells(self, thread: _Thread, file: int, epoch: int) -> None:
        size = self._calls * GROUPS * CELL.itemsize
        data = os.pread(file, size, _HEAD.size)
        if len(data) != size:
            return
        cells = np.frombuffer(data, CELL)
        before = self._before
        before[thread.indexes] = thread.sums
        indexes = np.flatnonzero(cells["sums"][:, 0] != before[:, 0])
        changed, now = cells[indexes], epoch % 2
        self.sums[indexes] += _new(changed["sums"], before[indexes])
        most_ns = np.where(changed["epochs"][:, now] == epoch, changed["most_ns"][:, now], 0)
        self.most_ns[now, indexes] = np.maximum(self.most_ns[now, indexes], most_ns)
        before[thread.indexes] = 0
        # Programs use few of the calls: the others need no memory here.
        thread.indexes = np.flatnonzero(cells["sums"][:, 0])
        thread.sums, thread.summed = cells["sums"][thread.indexes], thread.events
        self.has_more = True

    def _remove(self, name: str) -> None:
        self._forget(name)
        try:
            os.unlink(name, dir_fd=self._directory)
        except OSError:
            try:
                os.rmdir(name, dir_fd=self._directory)
            except OSError:
                self._done.add(name)


def _new(now: NDArray[np.uint64], before: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return np.where(now >= before, now - before, np.uint64(0))
