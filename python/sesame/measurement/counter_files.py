"""Reads the counter files of MPI programs (docs/formats/counter-files.md), which
tracer/counter_files.h writes.

Programs of any user write these files, so their contents are not trusted: links are not followed,
sizes must be right, counters that decrease are ignored. Files are read, not mapped: if a file were
mapped, its owner could kill this process by truncating it.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import re
import stat
import struct
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sesame.errors import InputError, OutputError
from sesame.measurement.probes import ChangeCheck

MAGIC, FORMAT = b"sesamMPI", 2
GROUPS, MOST_POINTS = 8, 8
SETTINGS = np.dtype(
    [
        ("magic", "S8"),
        ("format", "u4"),
        ("epoch", "u4"),
        ("calls", "u4"),
        ("renewals", "u4"),
        ("quota_ns", "u8"),
        ("detail", "u4", MOST_POINTS),
        ("cost_ns", "u4", MOST_POINTS),
        ("limits", "u8", GROUPS),
    ]
)
# magic, format, pid, start_time, pid_namespace, cpu, calls, charged_ns, events by point, unused
_HEAD = struct.Struct(f"<8sIIQQIIQ{MOST_POINTS}Q16x")
# count, bytes, timed, total_ns
SUMS = 4
CELL = np.dtype([("sums", "u8", SUMS), ("most_ns", "u8", 2), ("epochs", "u4", 2), ("unused", "u8")])
NAME = re.compile(r"[0-9]+\.[0-9]+")
MOST_FILES = 1 << 16
# After this time without a change, the next change gives a directory another modification time:
# the clocks of file systems tick every 10 ms or less.
SETTLED_NS = 1_000_000_000
READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class CounterDirectory:
    """A counter directory with its settings; one process at a time uses it (flock).

    `settings` is mapped: programs see changes at once. Call `close` at the end.
    """

    def __init__(self, path: Path, calls: int, owner: int | None = None) -> None:
        """Creates what is missing. Raises InputError if the directory belongs to another user, or
        another process uses it.

        `calls`: the number of MPI functions. `owner`: the user that this process will become; by
        default its own user.
        """
        self.path = path
        try:
            self.descriptor = _open_directory(path, owner)
            self._file = self._open_settings(calls)
            self.notifications = self._open_notifications()
            # Make it world-writable only now, so that no other user could create the files opened
            # above.
            os.fchmod(self.descriptor, 0o1777)
        except OSError as error:
            raise OutputError(f"{path}: cannot be used for counters: {error.strerror}") from error
        self._memory = mmap.mmap(self._file, SETTINGS.itemsize)
        self.settings: NDArray[np.void] = np.frombuffer(self._memory, SETTINGS)

    def _open_settings(self, calls: int) -> int:
        """Opens existing settings if they are valid, since running programs have them mapped;
        otherwise creates new ones."""
        try:
            file = os.open("settings", os.O_RDWR | READING, dir_fd=self.descriptor)
        except FileNotFoundError:
            file = self._make_settings(calls)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(file)
            raise InputError(
                f"{self.path}: another process uses this directory",
                hint="give a directory of its own: --counters DIR",
            ) from error
        found = os.pread(file, SETTINGS.itemsize, 0).ljust(SETTINGS.itemsize)
        begin = np.frombuffer(found, SETTINGS)[0]
        known = (MAGIC, FORMAT, calls)
        if (begin["magic"], begin["format"], begin["calls"]) == known and self._is_ours(file):
            return file
        os.close(file)
        return self._make_settings(calls)

    def _make_settings(self, calls: int) -> int:
        """Creates the settings by rename, so that a program never sees them incomplete."""
        made = np.zeros(1, SETTINGS)
        made["magic"], made["format"], made["calls"] = MAGIC, FORMAT, calls
        with suppress(FileNotFoundError):
            os.unlink(".settings", dir_fd=self.descriptor)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(".settings", flags, 0o644, dir_fd=self.descriptor)
        os.fchmod(file, 0o644)
        os.fchown(file, os.fstat(self.descriptor).st_uid, -1)
        os.pwrite(file, made.tobytes(), 0)
        os.rename(".settings", "settings", src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return file

    def _is_ours(self, file: int) -> bool:
        found = os.fstat(file)
        return (
            stat.S_ISREG(found.st_mode)
            and found.st_uid == os.fstat(self.descriptor).st_uid
            and found.st_size == SETTINGS.itemsize
        )

    def _open_notifications(self) -> int:
        """The pipe through which programs report that they reached their quota."""
        with suppress(FileNotFoundError):
            os.unlink("quota-reached", dir_fd=self.descriptor)
        os.mkfifo("quota-reached", 0o600, dir_fd=self.descriptor)
        # Opened for writing as well, so that it never is at its end.
        flags = os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open("quota-reached", flags, dir_fd=self.descriptor)
        os.fchmod(file, 0o622)
        return file

    def close(self) -> None:
        """Releases the directory for another process."""
        fcntl.flock(self._file, fcntl.LOCK_UN)
        del self.settings
        with suppress(BufferError):  # a view of it still exists
            self._memory.close()
        for one in (self.notifications, self._file, self.descriptor):
            os.close(one)


def _open_directory(path: Path, owner: int | None) -> int:
    """Opens or creates the directory. Refuses a symbolic link: another user could redirect it."""
    with suppress(FileExistsError):
        path.mkdir(mode=0o755, parents=True)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    if os.fstat(descriptor).st_uid not in (os.geteuid(), owner):
        os.close(descriptor)
        raise InputError(
            f"{path}: belongs to another user",
            hint="give a directory of your own: --counters DIR",
        )
    if owner is not None:
        os.fchown(descriptor, owner, -1)
    return descriptor


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
        """Whether its process has ended. False for a process in another PID namespace, where it
        cannot be known."""
        if self.pid_namespace != Path("/proc/self/ns/pid").stat().st_ino:
            return False
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_bytes().rpartition(b") ")[2].split()
        except OSError:
            return _is_gone(self.pid)
        # Dead if it is a zombie with one thread: the first thread alone may be a zombie while other
        # threads of the process still run.
        is_dead = fields[0] in (b"Z", b"X") and int(fields[17]) <= 1
        return is_dead or int(fields[19]) != self.start_time


@dataclass
class _Thread:
    """What was read last from a counter file."""

    sums: NDArray[np.uint64]
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
    when all its counters have been added. Not thread-safe.
    """

    def __init__(self, directory: CounterDirectory, calls: int, cpus: int) -> None:
        """`calls`: the number of MPI functions. Counts before now are left out."""
        self._directory = directory.descriptor
        self._calls, self._cpus = calls, cpus
        self._threads: dict[str, _Thread] = {}
        self._done: set[str] = set()  # files that cannot be removed
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
        is_settled = time.time_ns() - changed_ns > SETTLED_NS
        with os.scandir(self._directory) as entries:
            found = [one.name for one in entries if NAME.fullmatch(one.name)]
        self._empty_since = changed_ns if is_settled and not found else -1
        for name in self._threads.keys() - set(found):
            del self._threads[name]
        self._done &= set(found)
        self.threads.clear()
        for name in found[:MOST_FILES]:
            if name not in self._done:
                self._update_file(name, epoch)

    def change_check(self) -> ChangeCheck | None:
        """A check for new files; None while there are counter files, or may be."""
        if self._empty_since < 0:
            return None
        return ChangeCheck(directory=self._directory, changed_ns=self._empty_since)

    def _update_file(self, name: str, epoch: int | None) -> None:
        try:
            file = os.open(name, READING, dir_fd=self._directory)
        except OSError:
            return
        try:
            ended = self._read(name, file, epoch)
        except OSError:  # no plain file
            return
        finally:
            os.close(file)
        if ended:
            self._remove(name)

    def _read(self, name: str, file: int, epoch: int | None) -> bool:
        """Adds what is new in a file. Returns whether its process has ended and all is added."""
        head = self._head(file)
        if head is None:
            return False
        thread = self._threads.get(name)
        if thread is None:
            cells = np.zeros((self._calls * GROUPS, SUMS), np.uint64)
            thread = self._threads[name] = _Thread(cells)
        ended = epoch is not None and thread.is_idle and head.has_ended()
        if ended:  # its counters are final by now
            head = self._head(file) or head
        self._add_head(thread, head)
        if epoch is not None:
            thread.is_idle = thread.summed == thread.events
            if not thread.is_idle:
                self._add_cells(thread, file, epoch)
        return ended

    def _head(self, file: int) -> _Head | None:
        """The head; None if this is not a counter file, or not complete yet."""
        data = os.pread(file, _HEAD.size, 0)
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
        thread.events, thread.charged_ns, thread.time_ns = head.events, head.charged_ns, now

    def _add_cells(self, thread: _Thread, file: int, epoch: int) -> None:
        size = self._calls * GROUPS * CELL.itemsize
        data = os.pread(file, size, _HEAD.size)
        if len(data) != size:
            return
        cells = np.frombuffer(data, CELL)
        indexes = np.flatnonzero(cells["sums"][:, 0] != thread.sums[:, 0])
        changed, now = cells[indexes], epoch % 2
        self.sums[indexes] += _new(changed["sums"], thread.sums[indexes])
        most_ns = np.where(changed["epochs"][:, now] == epoch, changed["most_ns"][:, now], 0)
        self.most_ns[now, indexes] = np.maximum(self.most_ns[now, indexes], most_ns)
        thread.sums, thread.summed = cells["sums"], thread.events
        self.has_more = True

    def _remove(self, name: str) -> None:
        del self._threads[name]
        try:
            os.unlink(name, dir_fd=self._directory)
        except OSError:
            self._done.add(name)


def _new(now: NDArray[np.uint64], before: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return np.where(now >= before, now - before, np.uint64(0))
