"""Free space that is kept for data sets: a journal can become one even if the disk is full."""

from __future__ import annotations

import errno
import os
from pathlib import Path

RESERVE_BYTES = 16 << 20
RESERVE_SHARE = 0.05  # of a small file system
ENOUGH = 1.25  # times the reserve, until items are accepted again: no change at each item


class Space:
    """The space of the file system of a directory.

    A data set is smaller than its journal, so that as many bytes as all journals have are kept
    free, and some for other files.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._is_full = False
        self.free_bytes = 0
        self._read()

    def _read(self) -> int:
        """Reads the free space; returns the size of the file system."""
        state = os.statvfs(self._directory)
        self.free_bytes = state.f_bavail * state.f_frsize
        return state.f_blocks * state.f_frsize

    def check(self, journal_bytes: int, more: int) -> None:
        """Raises OSError (ENOSPC) unless `more` bytes can be added to journals."""
        least = min(RESERVE_BYTES, int(RESERVE_SHARE * self._read()))
        needed = least + journal_bytes + 2 * more
        self._is_full = self.free_bytes < (ENOUGH if self._is_full else 1.0) * needed
        if self._is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
