"""Sessions of browsers, and tokens of programs. Both are random numbers of 256 bits, of which only
hashes are stored."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, replace

from sqlalchemy import Engine, RowMapping, Table, delete, insert, select, update

from sesame.errors import InputError
from sesame.repository.accounts.account import Account
from sesame.repository.accounts.store import account_of, checked_line
from sesame.repository.store import schema
from sesame.web.server.roles import OF_REPOSITORY, Role
from sesame.web.server.token_file import digest_of

DAY_S = 86400.0
LONGEST_S = 14 * DAY_S  # of a session
IDLE_S = 2 * DAY_S  # of a session without a request
SEEN_EVERY_S = 300.0  # how often a session's last request is stored
MOST_TOKENS = 100  # of an account
LONGEST_DAYS = 3650
PREFIX = "sesame_"  # so that scanners for leaked secrets find tokens


class Sessions:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def start(self, account: Account) -> str:
        """Returns the value of the new session's cookie."""
        value, now = secrets.token_urlsafe(32), time.time()
        with self._engine.begin() as connection:
            connection.execute(delete(schema.session).where(schema.session.c.ends < now))
            connection.execute(
                insert(schema.session).values(
                    digest=_digest(value), account=account.id, seen=now, ends=now + LONGEST_S
                )
            )
        return value

    def account_of(self, value: str) -> Account | None:
        """The account of a session that has not ended."""
        row = _with_account(self._engine, schema.session, value)
        if row is None:
            return None
        now = time.time()
        if row["seen"] < now - IDLE_S:
            self.end(value)
            return None
        if row["seen"] < now - SEEN_EVERY_S:
            with self._engine.begin() as connection:
                connection.execute(
                    update(schema.session)
                    .where(schema.session.c.digest == _digest(value))
                    .values(seen=now)
                )
        return account_of(row)

    def end(self, value: str) -> None:
        with self._engine.begin() as connection:
            connection.execute(
                delete(schema.session).where(schema.session.c.digest == _digest(value))
            )


@dataclass(frozen=True)
class AccessToken:
    """`id` distinguishes tokens of one name: the first digits of its hash."""

    id: str
    name: str
    scope: Role
    created: float
    ends: float


class AccessTokens:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, account: Account, name: str, scope: Role, days: float) -> str:
        """Returns the new token, which is not stored. Raises InputError."""
        if scope not in OF_REPOSITORY:
            raise InputError(f"scope: expected one of {', '.join(OF_REPOSITORY)}")
        if not 0 < days <= LONGEST_DAYS:
            raise InputError(f"days: expected 1 to {LONGEST_DAYS}")
        if len(self.of(account)) >= MOST_TOKENS:
            raise InputError(f"there are {MOST_TOKENS} tokens already", hint="revoke old ones")
        token, now = PREFIX + secrets.token_urlsafe(32), time.time()
        with self._engine.begin() as connection:
            connection.execute(
                insert(schema.access_token).values(
                    digest=_digest(token),
                    account=account.id,
                    name=checked_line(name, "name", 100) or "token",
                    scope=scope,
                    created=now,
                    ends=now + days * DAY_S,
                )
            )
        return token

    def of(self, account: Account) -> list[AccessToken]:
        """Those that have not ended. Removes the others."""
        own, ends = schema.access_token.c.account == account.id, schema.access_token.c.ends
        with self._engine.begin() as connection:
            connection.execute(delete(schema.access_token).where(own, ends < time.time()))
            rows = connection.execute(
                select(schema.access_token).where(own).order_by(schema.access_token.c.created)
            ).mappings()
            return [
                AccessToken(
                    row["digest"][:12], row["name"], Role(row["scope"]), row["created"], row["ends"]
                )
                for row in rows
            ]

    def revoke(self, account: Account, identifier: str) -> None:
        """Raises InputError if the account has no such token."""
        if all(one.id != identifier for one in self.of(account)):
            raise InputError("there is no such token")
        table = schema.access_token.c
        chosen = (table.account == account.id) & table.digest.startswith(identifier)
        with self._engine.begin() as connection:
            connection.execute(delete(schema.access_token).where(chosen))

    def account_of(self, token: str) -> Account | None:
        """The account of a token that has not ended, limited to the token's scope."""
        row = _with_account(self._engine, schema.access_token, token)
        return None if row is None else replace(account_of(row), scope=Role(row["scope"]))


def _digest(value: str) -> str:
    return digest_of(value.encode("utf-8", "replace"))


def _with_account(engine: Engine, table: Table, value: str) -> RowMapping | None:
    """The row of a secret, with its account's; None if it has ended or the account is disabled."""
    joined = (
        select(schema.account, *(one for one in table.c if one.name in ("seen", "scope")))
        .join_from(table, schema.account, table.c.account == schema.account.c.id)
        .where(
            table.c.digest == _digest(value),
            table.c.ends > time.time(),
            schema.account.c.disabled.is_(False),
        )
    )
    with engine.connect() as connection:
        return connection.execute(joined).mappings().first()
