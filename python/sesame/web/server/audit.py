"""The audit log: who changed what, and who was refused."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path

from sesame.errors import OutputError

MOST_BYTES = 10_000_000  # then the file gets the suffix .1, and a new one begins
REFUSED = (401, 403, 408, 413, 431, 503)


class AuditLog:
    """A JSON object for each line: time (s since 1970), peer, role, method, path, status.

    The file can be read by its owner only. It never has tokens or bodies. An entry that cannot be
    written is counted in `lost`.
    """

    def __init__(self, path: Path) -> None:
        """Opens the file, before privileges are given up. Raises OutputError."""
        self._path = path
        self._file = -1
        self.lost = 0
        try:
            self._open()
        except OSError as error:
            raise OutputError(f"{path}: cannot write: {error.strerror}") from error

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(self._path, flags, 0o600)

    def write(self, *, peer: str, role: str, method: str, path: str, status: int) -> None:
        entry = {"time": round(time.time(), 3), "peer": peer, "role": role}
        entry |= {"method": method, "path": path[:200], "status": status}
        line = json.dumps(entry) + "\n"
        try:
            os.write(self._file, line.encode())
            if os.fstat(self._file).st_size > MOST_BYTES:
                self._rotate()
        except OSError:
            self.lost += 1

    def _rotate(self) -> None:
        self._path.replace(self._path.with_name(self._path.name + ".1"))
        os.close(self._file)
        self._open()

    def close(self) -> None:
        with suppress(OSError):
            os.close(self._file)
