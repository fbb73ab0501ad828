"""The directory of counter files of MPI programs (docs/formats/counter-files.md), and its settings.

Programs of any user write files there (tracer/counter_files.h); counter_reader.py reads them.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import stat
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sesame.errors import InputError, OutputError
from sesame.settings import setting
from sesame.signals import uninterrupted

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
# count, bytes, timed, total_ns
SUMS = 4
CELL = np.dtype([("sums", "u8", SUMS), ("most_ns", "u8", 2), ("epochs", "u4", 2), ("unused", "u8")])
OWN_FILES = {"settings", ".settings", "quota-reached"}  # all others are of programs
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
                hint=f"give a directory of its own: {setting('counters', 'DIR')}",
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
        with uninterrupted():
            with suppress(FileNotFoundError):
                os.unlink(".settings", dir_fd=self.descriptor)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            file = os.open(".settings", flags, 0o644, dir_fd=self.descriptor)
            os.fchmod(file, 0o644)
            os.fchown(file, os.fstat(self.descriptor).st_uid, -1)
            os.pwrite(file, made.tobytes(), 0)
            os.rename(
                ".settings", "settings", src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor
            )
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
            hint=f"give a directory of your own: {setting('counters', 'DIR')}",
        )
    if owner is not None:
        os.fchown(descriptor, owner, -1)
    return descriptor
