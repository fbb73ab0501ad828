"""Tokens, in files that only their owner may read."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from sesame.errors import InputError, OutputError


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
    try:
        with NamedTemporaryFile("w", encoding="ascii", dir=path.parent) as file:  # mode 600
            file.write(secrets.token_urlsafe(32) + "\n")
            file.flush()
            with suppress(FileExistsError):  # another process has just made it
                os.link(file.name, path)
    except OSError as error:
        raise OutputError(f"{path}: cannot make a token: {error.strerror}") from error
    return read_token(path)
