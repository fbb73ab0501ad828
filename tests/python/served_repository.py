"""A repository that is served, with accounts, without a network."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from types import TracebackType

import pytest
from argon2 import PasswordHasher
from sqlalchemy import select
from starlette.testclient import TestClient
from tests.python.new_repository import new_repository

from sesame.repository.accounts import passwords
from sesame.repository.accounts.sessions import AccessTokens
from sesame.repository.accounts.store import Accounts
from sesame.repository.app import make_app
from sesame.repository.store import schema
from sesame.repository.uploads.publishing import Publisher
from sesame.repository.uploads.service import Uploads
from sesame.web.server.roles import Role

PASSWORD = "correct horse battery"


@pytest.fixture
def quick_hashes(monkeypatch):
    """A check of a password takes 0.1 s and 64 MiB otherwise."""
    quick = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(passwords, "_hasher", lambda: quick)
    passwords._of_no_account.cache_clear()
    yield
    passwords._of_no_account.cache_clear()


class Served:
    def __init__(self, directory: Path, **more: object) -> None:
        self.repository = new_repository(directory)
        self.accounts = Accounts(self.repository.engine)
        self.app = make_app(self.repository, **more)

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.repository.close()

    def bare(self) -> TestClient:
        """A program without a token."""
        return TestClient(self.app)

    def anonymous(self) -> TestClient:
        return TestClient(self.app)

    def account(self, name: str, role: str = "contributor", *, trusted: bool = False):
        found = self.accounts.find(name)
        mail = f"{name}@example.org"
        return found or self.accounts.add(name, PASSWORD, Role(role), email=mail, trusted=trusted)

    def client(self, name: str, role: str = "contributor", *, trusted: bool = False) -> TestClient:
        """A program with a token of the account, which is made."""
        account = self.account(name, role, trusted=trusted)
        token = AccessTokens(self.repository.engine).add(account, "test", Role.ADMINISTRATOR, 1)
        return TestClient(self.app, headers={"authorization": f"Bearer {token}"})

    def session(self, name: str, role: str = "contributor") -> TestClient:
        """A browser that has signed in."""
        self.account(name, role)
        client = TestClient(self.app)
        fields = {"csrf": self.csrf(client), "name": name, "password": PASSWORD}
        assert client.post("/sign-in", data=fields, follow_redirects=False).status_code == 303
        return client

    def csrf(self, client: TestClient) -> str:
        """The token of the browser's forms; of a page with a form."""
        for page in ("/account", "/sign-in"):
            if found := re.search(r'name="csrf" value="(\w+)"', client.get(page).text):
                return found[1]
        return "none"

    def import_all(self) -> None:
        publisher = Publisher(Uploads(self.repository))

        async def run() -> None:
            while await publisher.import_next():
                pass

        asyncio.run(run())

    def clean(self) -> None:
        Uploads(self.repository).clean()

    def mails(self) -> list[tuple[str, str]]:
        with self.repository.connection() as connection:
            row = schema.mail.c
            rows = connection.execute(select(row.recipient, row.subject).order_by(row.id))
            return [(recipient, subject) for recipient, subject in rows]
