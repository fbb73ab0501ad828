"""The audit log: changes and refused requests, with the peer and client of each."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path

from sesame.errors import OutputError
from sesame.web.server.roles import Client

MOST_BYTES = 10_000_000  # then the file is renamed to .1 and a new one is started
REFUSED = (401, 403, 408, 413, 421, 431, 503)


class AuditLog:
    """A JSON object for each line: time (s since 1970), peer, client (the name of its token), role,
    method, path, status.

    Requests without a valid token are in a file of their own, NAME-no-token.log beside NAME.log, so
    that they cannot displace entries of clients with a token. Only their owner can read the files,
    which never contain tokens or bodies. An entry that cannot be written is counted in `lost`.
    """

    def __init__(self, path: Path) -> None:
        """Opens the files, before privileges are given up. Raises OutputError."""
        self._files = {True: _File(path)}
        try:
            self._files[False] = _File(path.with_name(f"{path.stem}-no-token{path.suffix}"))
        except OutputError:
            self.close()
            raise

    @property
    def lost(self) -> int:
        return sum(file.lost for file in self._files.values())

    def write(
        self, *, peer: str, client: Client | None, method: str, path: str, status: int
    ) -> None:
        """`client`: None without a valid token."""
        entry = {
            "time": round(time.time(), 3),
            "peer": peer,
            "client": client.name if client is not None else None,
            "role": client.role if client is not None else None,
            "method": method[:20],
            "path": path[:200],
            "status": status,
        }
        self._files[client is not None].write(json.dumps(entry) + "\n")

    def close(self) -> None:
        for file in self._files.values():
            file.close()


class _File:
    """A log file, and its predecessor NAME.1; each has at most about `MOST_BYTES`."""

    def __init__(self, path: Path) -> None:
        """Raises OutputError."""
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

    def write(self, line: str) -> None:
        try:
            os.write(self._file, line.encode())
            if os.fstat(self._file).st_size > MOST_BYTES:
                self._rotate()
        except OSError:
            self.lost += 1

    def _rotate(self) -> None:
        with suppress(FileNotFoundError):  # moved before, when no new one could be opened
            self._path.replace(self._path.with_name(self._path.name + ".1"))
        old = self._file
        self._open()  # where that fails, the old descriptor stays in use; a closed one is reused
        os.close(old)

    def close(self) -> None:
        with suppress(OSError):
            os.close(self._file)
