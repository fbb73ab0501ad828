"""Files in which programs count their calls; tracer/cells.h is the other side.

Programs of any user write them, so nothing in them is believed: links are not followed, sizes must
be right, counters that go back are not taken, and files are read, not mapped, since who shortens a
file ends those that have mapped it.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import re
import stat
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sesame.errors import InputError, OutputError

MAGIC, FORMAT = b"sesamMPI", 1
GROUPS, MOST_POINTS = 8, 8
SETTINGS = np.dtype(
    [
        ("magic", "S8"),
        ("format", "u4"),
        ("epoch", "u4"),
        ("calls", "u4"),
        ("renewals", "u4"),
        ("allowance_ns", "u8"),
        ("detail", "u4", MOST_POINTS),
        ("cost_ns", "u4", MOST_POINTS),
        ("limits", "u8", GROUPS),
    ]
)
HEAD = np.dtype(
    [
        ("magic", "S8"),
        ("format", "u4"),
        ("pid", "u4"),
        ("began", "u8"),
        ("processes", "u8"),
        ("cpu", "u4"),
        ("calls", "u4"),
        ("spent_ns", "u8"),
        ("events", "u8", MOST_POINTS),
        ("unused", "u8", 2),
    ]
)
# count, bytes, timed, total_ns
SUMS = 4
CELL = np.dtype([("sums", "u8", SUMS), ("most_ns", "u8", 2), ("epochs", "u4", 2), ("unused", "u8")])
NAME = re.compile(r"[0-9]+\.[0-9]+")
MOST_FILES = 1 << 16
READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Folder:
    """A directory of cells with its settings, which one process at a time has."""

    def __init__(self, path: Path, calls: int, owner: int | None = None) -> None:
        """Makes what is not there. Raises InputError when it is another's, or in use.

        `owner`: the user that this process will become; this one unless given.
        """
        self.path = path
        try:
            self.descriptor = _open_directory(path, owner)
            self._file = self._open_settings(calls)
            self.spent = self._open_spent()
            # Only now: what others could have put into it is not what was opened.
            os.fchmod(self.descriptor, 0o1777)
        except OSError as error:
            raise OutputError(f"{path}: cannot be used for counts: {error.strerror}") from error
        self._memory = mmap.mmap(self._file, SETTINGS.itemsize)
        self.settings: NDArray[np.void] = np.frombuffer(self._memory, SETTINGS)

    def _open_settings(self, calls: int) -> int:
        """Programs that still run have them mapped, so what is there and ours stays."""
        try:
            file = os.open("settings", os.O_RDWR | READING, dir_fd=self.descriptor)
        except FileNotFoundError:
            file = self._make_settings(calls)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(file)
            raise InputError(
                f"{self.path}: another process measures with it",
                hint="give a directory of its own: --cells DIR",
            ) from error
        found = os.pread(file, SETTINGS.itemsize, 0).ljust(SETTINGS.itemsize)
        if _is_known(np.frombuffer(found, SETTINGS)[0], calls) and self._is_ours(file):
            return file
        os.close(file)
        return self._make_settings(calls)

    def _make_settings(self, calls: int) -> int:
        """In their place at once and whole: a program may be looking for them."""
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

    def _open_spent(self) -> int:
        """The pipe by which programs say that they have spent what they may."""
        with suppress(FileNotFoundError):
            os.unlink("spent", dir_fd=self.descriptor)
        os.mkfifo("spent", 0o600, dir_fd=self.descriptor)
        # With a writer of our own it never ends.
        flags = os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open("spent", flags, dir_fd=self.descriptor)
        os.fchmod(file, 0o622)
        return file

    def close(self) -> None:
        """Another may have the directory from now on."""
        fcntl.flock(self._file, fcntl.LOCK_UN)
        del self.settings
        with suppress(BufferError):  # somebody still has a view of it
            self._memory.close()
        for one in (self.spent, self._file, self.descriptor):
            os.close(one)


def _open_directory(path: Path, owner: int | None) -> int:
    """No link, which another could lead elsewhere."""
    with suppress(FileExistsError):
        path.mkdir(mode=0o755, parents=True)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    if os.fstat(descriptor).st_uid not in (os.geteuid(), owner):
        os.close(descriptor)
        raise InputError(
            f"{path}: belongs to another user",
            hint="give a directory of your own: --cells DIR",
        )
    if owner is not None:
        os.fchown(descriptor, owner, -1)
    return descriptor


def _is_known(begin: np.void, calls: int) -> bool:
    """Of a file of either kind, whether it is of this format and with these calls."""
    return bool(begin["magic"] == MAGIC and begin["format"] == FORMAT and begin["calls"] == calls)


class _Thread:
    """What was seen last in a file of cells."""

    def __init__(self, head: np.void, shape: tuple[int, ...]) -> None:
        self.pid, self.began = int(head["pid"]), int(head["began"])
        self.processes = int(head["processes"])
        self.sums = np.zeros(shape, np.uint64)
        self.summed = self.events = np.zeros(MOST_POINTS, np.uint64)
        self.spent_ns, self.time_ns = 0, 0

    def has_ended(self) -> bool:
        """Of a process in a namespace of its own that can never be told."""
        if self.processes != Path("/proc/self/ns/pid").stat().st_ino:
            return False
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_bytes().rpartition(b") ")[2].split()
        except OSError:
            return _is_gone(self.pid)
        # One that has died and was not waited for; its other threads may go on without the first.
        is_dead = fields[0] in (b"Z", b"X") and int(fields[17]) <= 1
        return is_dead or int(fields[19]) != self.began


def _is_gone(pid: int) -> bool:
    """/proc may hide others' processes."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


class Reader:
    """All cells of a folder, summed up: those of processes that have ended, too.

    Their files are removed when all in them has been taken.
    """

    def __init__(self, folder: Folder, calls: int, cpus: int) -> None:
        """What was counted before is left out."""
        self._directory = folder.descriptor
        self._shape = (calls, GROUPS, SUMS)
        self._cells_bytes = calls * GROUPS * CELL.itemsize
        self._threads: dict[str, _Thread] = {}
        self._done: set[str] = set()  # files that cannot be removed
        self._cpus = cpus
        self._begin()
        self.look(0)
        self._begin()

    def _begin(self) -> None:
        self.sums = np.zeros(self._shape, np.uint64)
        self.most_ns = np.zeros((2, *self._shape[:2]), np.uint64)
        self.spent_ns = np.zeros(self._cpus, np.uint64)
        self.events = np.zeros((self._cpus, MOST_POINTS), np.uint64)
        self.threads = np.zeros(self._cpus, np.int64)  # by where they were seen last
        self.has_more = False  # than the one who looked last has taken

    def look(self, epoch: int | None) -> None:
        """Adds what is new; None: only what was spent, and events by point."""
        with os.scandir(self._directory) as entries:
            found = [one.name for one in entries if NAME.fullmatch(one.name)]
        for name in self._threads.keys() - set(found):
            del self._threads[name]
        self._done &= set(found)
        self.threads[:] = 0
        for name in found[:MOST_FILES]:
            if name not in self._done:
                self._look_at(name, epoch)

    def _look_at(self, name: str, epoch: int | None) -> None:
        thread = self._threads.get(name)
        # Before it is read: what has ended counts no more.
        ended = epoch is not None and thread is not None and thread.has_ended()
        try:
            file = os.open(name, READING, dir_fd=self._directory)
        except OSError:
            return
        try:
            head = self._head(file)
            if head is None:
                return
            if thread is None:
                thread = self._threads[name] = _Thread(head, self._shape)
            self._add_head(thread, head)
            if epoch is not None and (thread.summed != thread.events).any():
                self._add_cells(thread, os.pread(file, self._cells_bytes, HEAD.itemsize), epoch)
        finally:
            os.close(file)
        if ended:
            self._remove(name)

    def _head(self, file: int) -> np.void | None:
        """None: this is no file of cells, or not yet."""
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_size != HEAD.itemsize + self._cells_bytes:
            return None
        head: np.void = np.frombuffer(os.pread(file, HEAD.itemsize, 0), HEAD)[0]
        return head if _is_known(head, self._shape[0]) else None

    def _add_head(self, thread: _Thread, head: np.void) -> None:
        """Charged to the processor on which the thread was seen last."""
        now = time.monotonic_ns()
        cpu = int(head["cpu"]) if head["cpu"] < self._cpus else 0
        events = head["events"].copy()
        self.events[cpu] += _new(events, thread.events)
        # Nobody can have spent more than the time that has passed.
        spent = int(head["spent_ns"]) - thread.spent_ns
        self.spent_ns[cpu] += np.uint64(min(max(spent, 0), now - thread.time_ns))
        self.threads[cpu] += 1
        thread.events, thread.spent_ns, thread.time_ns = events, int(head["spent_ns"]), now

    def _add_cells(self, thread: _Thread, data: bytes, epoch: int) -> None:
        if len(data) != self._cells_bytes:
            return
        cells = np.frombuffer(data, CELL).reshape(self._shape[:2])
        self.sums += _new(cells["sums"], thread.sums)
        now = epoch % 2
        most = np.where(cells["epochs"][:, :, now] == epoch, cells["most_ns"][:, :, now], 0)
        np.maximum(self.most_ns[now], most, out=self.most_ns[now])
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
