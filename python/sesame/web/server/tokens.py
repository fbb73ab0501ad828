"""The server's own token, in a file that only its owner may read. It permits everything."""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from sesame.errors import InputError, OutputError
from sesame.signals import uninterrupted
from sesame.web.server.roles import Client, Role
from sesame.web.server.token_file import version_of


def read_token(path: Path) -> str:
    """Raises InputError for a file that is no token, or that others may read."""
    try:
        mode = path.stat().st_mode
        token = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "this is no token"
        raise InputError(
            f"{path}: cannot read the token: {reason}",
            hint="the daemon makes it at its first start; copy it from there with mode 600",
        ) from error
    if mode & 0o077:
        raise InputError(
            f"{path}: others may read this token", hint=f"chmod 600 {path}, or remove it"
        )
    if len(token) < 16:
        raise InputError(
            f"{path}: expected a token of at least 16 characters", hint="remove it for a new one"
        )
    return token


def make_token(path: Path) -> str:
    """Reads the token, or makes one when there is none."""
    if path.exists():
        return read_token(path)
    write_token(path, secrets.token_urlsafe(32))
    return read_token(path)


def write_token(path: Path, token: str) -> None:
    """Writes a new file with mode 600; one that exists stays as it is. Raises OutputError."""
    try:
        # The temporary file has mode 600.
        with uninterrupted(), NamedTemporaryFile("w", encoding="ascii", dir=path.parent) as file:
            file.write(token + "\n")
            file.flush()
            with suppress(FileExistsError):  # another process has just made it
                os.link(file.name, path)
    except OSError as error:
        raise OutputError(f"{path}: cannot make a token: {error.strerror}") from error


class OwnToken:
    """The server's own token; a changed file is read again at the next request. While the file is
    missing or wrong, nothing is permitted by it."""

    def __init__(self, path: Path, say: Callable[[str], None] = lambda _: None) -> None:
        self._path, self._say = path, say
        self._version = version_of(path)
        self._token = read_token(path).encode()

    def client_of(self, token: bytes) -> Client | None:
        version = version_of(self._path)
        if version != self._version:
            self._version = version
            try:
                self._token = read_token(self._path).encode()
            except InputError as error:
                self._token = b""
                self._say(str(error))
        is_own = bool(self._token) and hmac.compare_digest(token, self._token)
        return Client(self._path.name, Role.ADMINISTRATOR) if is_own else None
