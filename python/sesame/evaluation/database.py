"""SQLite and PostgreSQL behind the few calls that the store of results needs.

Statements are written once: `?` for values, `ON CONFLICT`, window functions, and the words `{id}`
(a number given by the database), `{clustered}` (a table in the order of its key) and `{bytes}` (the
type of binary values) in schemas.
docs/decisions/0050-evaluation-databases.md says why there is no library for this.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sesame.errors import InputError, SesameError
from sesame.extras import require

if TYPE_CHECKING:
    import psycopg

BUSY_SECONDS = 2  # to wait for another writer
CONNECT_SECONDS = 5
CACHE_KIBIBYTES = 65536
URLS = ("postgresql://", "postgres://")
LOCK = 0x5E5A3E  # the number of the advisory lock that writers hold
DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
NO_VALUE = (OverflowError, UnicodeError)  # raised before a value is sent
Row = tuple[Any, ...]


class Unavailable(SesameError):
    """The database is locked, full or gone: it may be there again later."""

    exit_status = 2


class Refused(InputError):
    """The database works, and does not accept these values."""


class NotAllowed(InputError):
    """The database works, and this user may not do this in it."""


class Database(Protocol):
    """An open connection. Statements raise Unavailable, or InputError if waiting does not help;
    for values that no row can have, Refused."""

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]: ...

    def rows_of_each(self, statement: str, values: Iterable[Sequence[Any]]) -> list[list[Row]]:
        """Those of the statement with each of the values, without waiting for one after another."""
        ...

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Returns how many rows the statement changed."""
        ...

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None: ...

    def script(self, statements: str) -> None:
        """Runs the statements of a schema."""
        ...

    def transaction(self) -> Any:
        """A context: all or nothing, and no other writer meanwhile."""
        ...

    def version(self) -> int: ...

    def set_version(self, version: int) -> None: ...

    def close(self) -> None: ...


def is_url(database: Path | str) -> bool:
    return str(database).startswith(URLS)


def open_database(database: Path | str) -> Database:
    """Raises InputError and Unavailable."""
    return Postgres(str(database)) if is_url(database) else Sqlite(Path(database))


class Sqlite:
    """A file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._explained():
            self._connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            self.rows("PRAGMA foreign_keys = ON")
            self.rows(f"PRAGMA cache_size = -{CACHE_KIBIBYTES}")
        except BaseException:
            self._connection.close()
            raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise Unavailable(f"{self._path}: the database is unavailable: {error}") from error
        except (sqlite3.Error, *NO_VALUE) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in DAMAGED:
                raise Refused(_one_line(error), path=str(self._path)) from error
            raise InputError(
                f"this is no database of results: {error}",
                path=str(self._path),
                hint="move it away: a new one is made, and results that wait come into it",
            ) from error

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        with self._explained():
            return self._connection.execute(statement, values).fetchall()

    def rows_of_each(self, statement: str, values: Iterable[Sequence[Any]]) -> list[list[Row]]:
        return [self.rows(statement, each) for each in values]

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        with self._explained():
            return self._connection.execute(statement, values).rowcount

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._explained():
            self._connection.executemany(statement, rows)

    def script(self, statements: str) -> None:
        words = {"id": "INTEGER PRIMARY KEY", "clustered": "WITHOUT ROWID", "bytes": "BLOB"}
        text = statements.format_map(words)
        for statement in text.split(";"):
            self.run(statement)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.run("BEGIN IMMEDIATE")
        try:
            yield
            self.run("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise

    def version(self) -> int:
        return int(self.rows("PRAGMA user_version")[0][0])

    def set_version(self, version: int) -> None:
        self.run(f"PRAGMA user_version = {version}")

    def close(self) -> None:
        self._connection.close()


class Postgres:
    """A server. The URL is libpq's, so a password may come from ~/.pgpass or PGPASSWORD."""

    def __init__(self, url: str) -> None:
        require("postgresql", "a PostgreSQL database")
        import psycopg

        self._errors = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError)
        self._refused = (psycopg.DataError, psycopg.IntegrityError)
        self._not_allowed = psycopg.errors.InsufficientPrivilege
        self._error = psycopg.Error
        self._shown = shown_url(url)
        with self._explained():
            self._connection: psycopg.Connection[Row] = psycopg.connect(
                url,
                autocommit=True,
                connect_timeout=CONNECT_SECONDS,
                options=f"-c lock_timeout={1000 * BUSY_SECONDS}",
            )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            text = f"{self._shown}: the database is unavailable: {_one_line(error)}"
            raise Unavailable(text) from error
        except (*self._refused, *NO_VALUE) as error:
            raise Refused(_one_line(error), path=self._shown) from error
        except self._not_allowed as error:
            raise NotAllowed(_one_line(error), path=self._shown) from error
        except self._error as error:
            text = f"the database does not do what it should: {_one_line(error)}"
            raise InputError(text, path=self._shown) from error

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        with self._explained():
            # In binary, numbers are read in half of the time.
            found = self._connection.execute(_for_psycopg(statement), values, binary=True)
            return found.fetchall()

    def rows_of_each(self, statement: str, values: Iterable[Sequence[Any]]) -> list[list[Row]]:
        wanted = list(values)
        found: list[list[Row]] = [[] for _ in wanted]
        if not wanted:
            return found
        with self._explained():
            columns = [list(column) for column in zip(*wanted, strict=True)]
            text = _for_each(statement, [_array_type(column) for column in columns])
            for row in self._connection.execute(text, columns, binary=True).fetchall():
                found[row[-1] - 1].append(row[:-1])
        return found

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        with self._explained():
            return self._connection.execute(_for_psycopg(statement), values).rowcount

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._explained(), self._connection.cursor() as cursor:
            cursor.executemany(_for_psycopg(statement), rows)

    def script(self, statements: str) -> None:
        identity = "INTEGER GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"
        text = statements.format(id=identity, clustered="", bytes="BYTEA")
        for statement in filter(None, map(str.strip, text.split(";"))):
            self.run(statement)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._explained(), self._connection.transaction():
            self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            yield

    def version(self) -> int:
        if self.rows("SELECT to_regclass('schema_version')") == [(None,)]:
            return 0
        return int(self.rows("SELECT MAX(version) FROM schema_version")[0][0])

    def set_version(self, version: int) -> None:
        self.run("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
        self.run("INSERT INTO schema_version VALUES (?)", (version,))

    def close(self) -> None:
        self._connection.close()


def shown_url(url: str) -> str:
    """Without a password."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    host = parts.netloc.rsplit("@", 1)[-1]
    return f"{parts.scheme}://{host}{parts.path}"


def _for_psycopg(statement: str) -> Any:
    return statement.replace("?", "%s")


def _for_each(statement: str, types: Sequence[str]) -> Any:
    """A statement that takes an array of each of its values, and returns the rows for all of them,
    each with the number (from 1) of its values at the end. Rows of one number are in the order of
    the statement."""
    names = [f"value{number}" for number in range(len(types))]
    arrays = ", ".join(f"%s::{one}[]" for one in types)
    *parts, last = statement.split("?")
    text = "".join(f"{part}given.{name}" for part, name in zip(parts, names, strict=True)) + last
    return (
        f"SELECT found.*, given.number FROM unnest({arrays}) WITH ORDINALITY "
        f"AS given({', '.join(names)}, number) CROSS JOIN LATERAL ({text}) AS found"
    )


def _array_type(values: Sequence[Any]) -> str:
    kinds = {type(value) for value in values if value is not None}
    return "text" if str in kinds else "double precision" if float in kinds else "bigint"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
