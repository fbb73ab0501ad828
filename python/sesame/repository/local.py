"""The embedded repository: `sesame serve DIR` shows the data sets of a directory to its user.

Other users of the machine reach the loopback address too, so the local user is known by a secret in
the address that `sesame serve` prints. A request with it begins a session.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import select
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from sesame.datasets import DataSet, is_data_set
from sesame.errors import InputError
from sesame.repository.accounts.account import Account
from sesame.repository.accounts.middleware import SESSION_KEY
from sesame.repository.accounts.sessions import Sessions
from sesame.repository.preparing import prepare_confined
from sesame.repository.provenance import fill
from sesame.repository.store import DATABASE, NewThing, Repository, Version, schema
from sesame.web.server.roles import Role

STATE = ".repository"  # in the directory that is served


class LocalUser:
    """Recognises the person who started `sesame serve DIR`: an administrator."""

    def __init__(self, repository: Repository, secret_file: Path) -> None:
        reader = repository.local_reader()
        self.account = Account(reader.id, reader.name, Role.ADMINISTRATOR)
        self._sessions = Sessions(repository.engine)
        self.secret = _secret(secret_file)

    @property
    def path(self) -> str:
        """Where the browser begins."""
        return f"/begin?token={self.secret}"

    def recognise(self, bearer: str) -> Account | None:
        """For programs: the secret is a token, too."""
        return self.account if self._is_right(bearer) else None

    def route(self) -> Route:
        def begin(request: Request) -> Response:
            if self._is_right(request.query_params.get("token", "")):
                request.scope["state"][SESSION_KEY] = self._sessions.start(self.account)
            return RedirectResponse("/", 303)

        return Route("/begin", begin)

    def _is_right(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.secret.encode())


def _secret(file: Path) -> str:
    """The secret of this repository, the same at its next start. Made for its owner only."""
    if not file.exists():
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as stream:
            stream.write(secrets.token_urlsafe(32))
    return file.read_text().strip()


def add_found(repository: Repository, directory: Path, say: Callable[[str], None]) -> int:
    """Adds the data sets below `directory` that the repository lacks, and those that have changed
    as new versions. Returns how many."""
    owner = repository.local_reader().id
    return sum(_add(repository, directory, path, owner, say) for path in _data_sets(directory))


def _data_sets(directory: Path) -> list[Path]:
    found = []
    for root, below, _ in os.walk(directory):
        if Path(root) != directory and is_data_set(Path(root)):
            found.append(Path(root))
            below.clear()
        if (Path(root) / DATABASE).exists():  # another repository
            below.clear()
        below[:] = sorted(name for name in below if not name.startswith("."))
    return sorted(found)


def _add(
    repository: Repository, directory: Path, path: Path, owner: int, say: Callable[[str], None]
) -> bool:
    source = path.relative_to(directory).as_posix()
    try:
        info = DataSet(path).info
    except InputError as error:
        say(f"left out: {error.message}")
        return False
    with repository.connection() as connection:
        query = select(schema.thing.c.id).where(schema.thing.c.source == source)
        known = connection.scalar(query)
    new = repository.store_directory(path, info=info.as_json(), may_link=True)
    with repository.connection() as connection:
        if known is None:
            made = repository.things.add(
                connection,
                NewThing(
                    "data",
                    owner,
                    info.title or source,
                    info.description,
                    state="accepted",
                    source=source,
                ),
            )
            known = made.id
        before = repository.things.version(connection, known)
        after = repository.things.add_version(connection, known, new)
        thing = repository.things.get(connection, known)
    if thing is not None:
        fill(repository, thing, after)
    prepare(repository, after, say)
    return before is None or before.number != after.number


def prepare(repository: Repository, version: Version, say: Callable[[str], None]) -> None:
    """Makes what pages need of a version and lack, in a confined process: it may need minutes and
    much memory, and the data set may come from elsewhere."""
    data, derived = repository.directory(version), repository.derived(version)
    scratch = repository.cache / "partial"
    scratch.mkdir(parents=True, exist_ok=True)
    for line in prepare_confined(data, derived, scratch):
        say(f"{version.info.get('title')}: {line}")
    repository.keep_derived(version)
