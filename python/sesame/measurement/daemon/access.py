"""Who may control a daemon: whoever knows its token."""

from __future__ import annotations

import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from sesame.errors import InputError, OutputError


def default_folder() -> Path:
    """Where a daemon of this user has its token and its lock."""
    if os.geteuid() == 0:
        return Path("/var/lib/sesame")
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local/state")
    return Path(state) / "sesame"


def read_token(path: Path) -> str:
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


def is_right(header: str | None, token: str) -> bool:
    """Whether the header Authorization has the token; takes as long for each wrong one."""
    given = (header or "").removeprefix("Bearer ").strip()
    return hmac.compare_digest(given.encode(), token.encode())
