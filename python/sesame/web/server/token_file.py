"""Files of tokens: who may do what on a server, and until when.

A line has the name of a client, its role, the last day (UTC) and the token's hash:

    prometheus reader 2027-11-23 sha256:5994471a… (64 hexadecimal digits)

Tokens are random numbers of 256 bits, so their hashes reveal nothing about them. Lines that begin
with # are comments.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import NamedTemporaryFile

from sesame.errors import InputError, OutputError
from sesame.signals import uninterrupted
from sesame.web.server.roles import Client, Role

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
HASH = re.compile(r"sha256:([0-9a-f]{64})")
MOST_BYTES = 1 << 24
LINE = "NAME ROLE YYYY-MM-DD sha256:HASH"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Token:
    """A line of the file."""

    name: str
    role: Role
    last_day: date
    digest: str

    @property
    def id(self) -> str:
        """Distinguishes tokens of one name."""
        return self.digest[:8]

    @property
    def client(self) -> Client:
        return Client(self.name, self.role)

    def has_ended(self, today: date) -> bool:
        return self.last_day < today

    def line(self) -> str:
        return f"{self.name} {self.role} {self.last_day} sha256:{self.digest}\n"


def digest_of(token: bytes) -> str:
    return hashlib.sha256(token).hexdigest()


def utc_today() -> date:
    return datetime.now(UTC).date()


class TokenFile:
    """The tokens of a file. A changed file is read again at the next request, so tokens are added
    and revoked without a restart. A file that is missing has no tokens."""

    def __init__(self, path: Path, say: Say = lambda _: None) -> None:
        """Raises InputError for a file with a wrong line, or that others may read. If it becomes so
        later, that is reported by `say`; its valid lines hold, or none if others may read it."""
        self._path, self._say = path, say
        self._by_digest: dict[str, Token] = {}
        self._version: object = None
        for problem in self._update():
            raise InputError(problem, hint="`sesame token add` writes such lines")

    def client_of(self, token: bytes) -> Client | None:
        """The client with this token; None if there is none, or the token has ended."""
        for problem in self._update():
            self._say(problem)
        found = self._by_digest.get(digest_of(token))
        return found.client if found is not None and not found.has_ended(utc_today()) else None

    def _update(self) -> list[str]:
        """Reads the file if it has changed; returns what is wrong in it."""
        version = version_of(self._path)
        if version == self._version:
            return []
        self._version = version
        try:
            found, problems = parse(self._path, read_private(self._path))
        except FileNotFoundError:
            found, problems = [], []
        except InputError as error:
            found, problems = [], [str(error)]
        self._by_digest = {one.digest: one for one in found}
        return problems


def version_of(path: Path) -> object:
    """Differs when the file was changed or replaced."""
    try:
        found = path.stat()
    except OSError as error:
        return error.errno
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def read_private(path: Path) -> str:
    """The text of a plain file. Raises InputError if others may read it, FileNotFoundError if there
    is none."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise InputError(f"{path}: expected a plain file")
            if mode & 0o077:
                raise InputError(f"{path}: others may read these tokens", hint=f"chmod 600 {path}")
            return file.read(MOST_BYTES).decode("ascii", "replace")
    except FileNotFoundError:
        raise
    except OSError as error:
        raise InputError(f"{path}: cannot read the tokens: {error.strerror}") from error


def parse(path: Path, text: str) -> tuple[list[Token], list[str]]:
    """The tokens of a file's text, and what is wrong with the other lines. The problems do not
    repeat the lines, which may be secrets."""
    found: list[Token] = []
    problems: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            found.append(_token(line))
        except ValueError as error:
            problems.append(f"{path}:{number}: {error}")
    return found, problems


def _token(line: str) -> Token:
    """Raises ValueError."""
    fields = line.split()
    if len(fields) != 4:
        raise ValueError(f"expected {LINE}, got {len(fields)} words")
    name, role, last_day, digest = fields
    if not NAME.fullmatch(name):
        raise ValueError("expected a name of letters, digits, '.', '_' and '-'")
    if role not in {one.value for one in Role}:
        raise ValueError(f"expected a role ({', '.join(Role)})")
    match = HASH.fullmatch(digest)
    if match is None:
        raise ValueError("expected sha256: and 64 hexadecimal digits")
    try:
        day = date.fromisoformat(last_day)
    except ValueError:
        raise ValueError("expected the last day as YYYY-MM-DD") from None
    return Token(name, Role(role), day, match[1])


# ---- Changes ----


def add_token(path: Path, name: str, role: Role, last_day: date) -> str:
    """Appends a new token, and returns it: the file keeps its hash only. Raises InputError if the
    name has another role, OutputError if the file cannot be written."""
    if not NAME.fullmatch(name):
        raise InputError(
            f"{name}: expected a name of letters, digits, '.', '_' and '-', at most 128"
        )
    with _changed(path) as lines:
        for other in _tokens(path, lines):
            if other.name == name and other.role != role:
                raise InputError(
                    f"{name} has the role {other.role}", hint=f"sesame token revoke {name}"
                )
        token = secrets.token_urlsafe(32)
        lines.append(Token(name, role, last_day, digest_of(token.encode())).line())
    return token


def list_tokens(path: Path) -> list[Token]:
    """Raises InputError for a wrong line."""
    try:
        return _tokens(path, read_private(path).splitlines(keepends=True))
    except FileNotFoundError:
        return []


def revoke_tokens(path: Path, is_revoked: Callable[[Token], bool]) -> list[Token]:
    """Removes the lines of these tokens; returns them."""
    with _changed(path) as lines:
        revoked = [one for one in _tokens(path, lines) if is_revoked(one)]
        digests = {one.digest for one in revoked}
        lines[:] = [one for one in lines if one.strip()[-64:] not in digests]
    return revoked


def _tokens(path: Path, lines: Sequence[str]) -> list[Token]:
    found, problems = parse(path, "".join(lines))
    for problem in problems:
        raise InputError(problem, hint="correct or remove this line")
    return found


@contextmanager
def _changed(path: Path) -> Iterator[list[str]]:
    """The lines of the file, which is replaced by the changed lines at the end, unless there was an
    error. Processes do this one after the other."""
    try:
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise OutputError(
            f"{path.parent}: {error.strerror}", hint="start the server once: it makes the directory"
        ) from error
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        try:
            lines = read_private(path).splitlines(keepends=True)
        except FileNotFoundError:
            lines = []
        yield lines
        try:
            with uninterrupted():
                _replace(path, "".join(lines), directory)
        except OSError as error:
            raise OutputError(f"{path}: cannot write: {error.strerror}") from error
    finally:
        os.close(directory)


def _replace(path: Path, text: str, directory: int) -> None:
    """Writes a new file with the directory's owner, who is the server's user, and mode 600."""
    owner = os.fstat(directory)
    with NamedTemporaryFile("w", encoding="ascii", dir=path.parent, delete=False) as file:
        try:
            if os.geteuid() == 0:
                os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(path)
        except BaseException:
            with suppress(FileNotFoundError):
                Path(file.name).unlink()
            raise
