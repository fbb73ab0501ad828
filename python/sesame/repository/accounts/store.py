"""The accounts of a repository."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Engine, RowMapping, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from sesame.errors import InputError
from sesame.repository.accounts.account import Account
from sesame.repository.accounts.passwords import (
    hash_password,
    is_outdated,
    is_password,
    require_strength,
)
from sesame.repository.store import schema
from sesame.web.server.roles import OF_REPOSITORY, Role

Row = Mapping[str, Any] | RowMapping
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
MAIL = re.compile(r"[^\s@<>\"',;]{1,64}@[A-Za-z0-9.-]{1,189}")
WINDOW_S = 900.0  # in which failed attempts to sign in count
# The most failed attempts. By name and address first, so that another user does not lock out the
# owner of a name; of a name, and of an address, as attackers have many of the other.
MOST_BY_BOTH, MOST_BY_NAME, MOST_BY_PEER = 5, 50, 50


class TooManyAttempts(InputError):
    """Further attempts to sign in are refused for a while."""

    status = 429


class Accounts:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(
        self,
        name: str,
        password: str | None,
        role: Role,
        *,
        display_name: str = "",
        email: str = "",
        trusted: bool = False,
    ) -> Account:
        """`password`: None for an account that signs in elsewhere. Raises InputError."""
        name = checked_name(name)
        if password is not None:
            require_strength(password, name)
        values = {
            "name": name,
            "display_name": checked_line(display_name, "name"),
            "email": checked_mail(email),
            "role": checked_role(role),
            "trusted": trusted,
            "disabled": False,
            "password": None if password is None else hash_password(password),
        }
        try:
            with self._engine.begin() as connection:
                made = connection.execute(insert(schema.account).values(values))
        except IntegrityError:
            raise InputError(f"there is an account {name} already") from None
        key = made.inserted_primary_key
        assert key is not None
        return account_of({**values, "id": key[0]})

    def find(self, name: str) -> Account | None:
        with self._engine.connect() as connection:
            row = _row(connection, name)
        return None if row is None else account_of(row)

    def by_id(self, identifier: int) -> Account | None:
        found = select(schema.account).where(schema.account.c.id == identifier)
        with self._engine.connect() as connection:
            row = connection.execute(found).mappings().first()
        return None if row is None else account_of(row)

    def all(self) -> list[Account]:
        ordered = select(schema.account).order_by(schema.account.c.name)
        with self._engine.connect() as connection:
            return [account_of(row) for row in connection.execute(ordered).mappings()]

    def change(
        self,
        name: str,
        *,
        role: Role | None = None,
        trusted: bool | None = None,
        disabled: bool | None = None,
    ) -> Account:
        """Changes what is not None. A disabled account has no sessions. Raises InputError."""
        given = {"role": role, "trusted": trusted, "disabled": disabled}
        values: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
        found = self.required(name)
        if values:
            with self._engine.begin() as connection:
                chosen = schema.account.c.id == found.id
                connection.execute(update(schema.account).where(chosen).values(values))
                if disabled:
                    connection.execute(
                        delete(schema.session).where(schema.session.c.account == found.id)
                    )
        return replace(found, **values)

    def set_password(self, name: str, password: str) -> None:
        """Ends the sessions of the account, too. Raises InputError."""
        found = self.required(name)
        require_strength(password, found.name)
        hashed = hash_password(password)
        with self._engine.begin() as connection:
            connection.execute(
                update(schema.account)
                .where(schema.account.c.id == found.id)
                .values(password=hashed)
            )
            connection.execute(delete(schema.session).where(schema.session.c.account == found.id))

    def required(self, name: str) -> Account:
        found = self.find(name)
        if found is None:
            raise InputError(f"there is no account {name}")
        return found

    def is_password_of(self, account: Account, password: str) -> bool:
        with self._engine.connect() as connection:
            row = _row(connection, account.name)
        return row is not None and is_password(row["password"], password)

    def sign_in(self, name: str, password: str, peer: str) -> Account | None:
        """The account, if the password is right. The same answer, after the same time, for a wrong
        name. Raises TooManyAttempts."""
        name = name.strip().lower()[:64]
        with self._engine.connect() as connection:
            _require_few_attempts(connection, name, peer)
            row = _row(connection, name)
        right = is_password(None if row is None else row["password"], password)
        if row is None or row["disabled"] or not right:
            self._note_failure(name, peer)
            return None
        with self._engine.begin() as connection:
            connection.execute(
                delete(schema.attempt).where(
                    schema.attempt.c.name == name, schema.attempt.c.peer == peer
                )
            )
            if is_outdated(row["password"]):
                chosen = schema.account.c.id == row["id"]
                renewed = hash_password(password)
                connection.execute(update(schema.account).where(chosen).values(password=renewed))
        return account_of(row)

    def _note_failure(self, name: str, peer: str) -> None:
        now = time.time()
        with self._engine.begin() as connection:
            connection.execute(delete(schema.attempt).where(schema.attempt.c.time < now - WINDOW_S))
            connection.execute(insert(schema.attempt).values(name=name, peer=peer[:64], time=now))


def _row(connection: Connection, name: str) -> RowMapping | None:
    found = select(schema.account).where(schema.account.c.name == name.lower())
    return connection.execute(found).mappings().first()


def _require_few_attempts(connection: Connection, name: str, peer: str) -> None:
    failed, since = schema.attempt.c, time.time() - WINDOW_S
    by_name, by_peer = failed.name == name, failed.peer == peer[:64]
    for chosen, most in (
        (by_name & by_peer, MOST_BY_BOTH),
        (by_name, MOST_BY_NAME),
        (by_peer, MOST_BY_PEER),
    ):
        counted = select(func.count()).where(chosen, failed.time > since)
        if connection.execute(counted).scalar_one() >= most:
            raise TooManyAttempts(
                "too many wrong attempts to sign in",
                hint=f"wait {WINDOW_S / 60:.0f} minutes, or ask an administrator",
            )


def account_of(row: Row) -> Account:
    return Account(
        id=row["id"],
        name=row["name"],
        role=Role(row["role"]),
        display_name=row["display_name"],
        email=row["email"],
        trusted=row["trusted"],
        disabled=row["disabled"],
    )


# ---- Checks ----


def checked_name(name: str) -> str:
    lower = name.strip().lower()
    if not NAME.fullmatch(lower):
        raise InputError(
            f"{name[:70]!r}: expected a name of letters, digits, '.', '_' and '-', at most 64"
        )
    return lower


def checked_role(role: Role) -> Role:
    if role not in OF_REPOSITORY:
        raise InputError(f"{role}: expected one of {', '.join(OF_REPOSITORY)}")
    return role


def checked_mail(mail: str) -> str:
    """An address without a line break or a comma: it becomes a header of a mail."""
    if mail and not MAIL.fullmatch(mail):
        raise InputError(f"{mail[:70]!r}: expected a mail address")
    return mail


def checked_line(text: str, what: str, most: int = 200) -> str:
    """Text of one line without control characters."""
    if len(text) > most or any(not one.isprintable() for one in text):
        raise InputError(f"{what}: expected one line of at most {most} characters")
    return text.strip()
