"""A repository: its database, its files, and who may read what."""

from __future__ import annotations

import contextlib
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    and_,
    create_engine,
    event,
    or_,
    select,
    true,
)
from sqlalchemy.exc import SQLAlchemyError

from sesame.datasets import DataSet
from sesame.errors import InputError
from sesame.repository.store import schema
from sesame.repository.store.files import FileStore
from sesame.repository.store.migrate import upgrade
from sesame.repository.store.people import ADMINISTRATOR, Reader
from sesame.repository.store.things import LibraryItem, NewVersion, StoredFile, Things, Version

DATABASE = "repository.db"  # of SQLite, in the directory of a repository
LOCAL_NAME = "local"  # the account of the person who runs `sesame serve DIR`


class Repository:
    """Opened by `in_directory` or with a database and storage. Used by several threads at once;
    each has its own connection."""

    def __init__(self, database: str, files: FileStore, cache: Path) -> None:
        """`cache` is a local directory for copies of data sets and derived files. Raises
        InputError."""
        self.files, self.cache, self.things = files, cache, Things()
        cache.mkdir(parents=True, exist_ok=True)
        try:
            self.engine = _engine(database)
            upgrade(self.engine)
        except SQLAlchemyError as error:
            shown = str(getattr(error, "orig", None) or error).splitlines()[0]
            raise InputError(f"the database of the repository: {shown}") from error

    @classmethod
    def in_directory(cls, directory: Path) -> Repository:
        """With SQLite and files in `directory`, which is made."""
        directory.mkdir(parents=True, exist_ok=True)
        database = f"sqlite:///{directory.resolve() / DATABASE}"
        return cls(database, FileStore(str(directory.resolve())), directory.resolve() / "cache")

    @contextlib.contextmanager
    def connection(self) -> Iterator[Connection]:
        """A transaction: committed at the end, rolled back on an exception."""
        with self.engine.begin() as connection:
            yield connection

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Reads what was there at one moment, also while others write."""
        with self.engine.connect() as connection:
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql("begin")
                yield connection
            else:
                with connection.execution_options(isolation_level="REPEATABLE READ").begin():
                    yield connection

    def close(self) -> None:
        self.engine.dispose()

    # Who may read what.

    def visible_to(self, reader: Reader | None) -> ColumnElement[bool]:
        """The SQL condition on `schema.thing` of what lists, searches, feeds and counts show to a
        reader."""
        return self._permitted(reader, ("public",))

    def readable_by(self, reader: Reader | None) -> ColumnElement[bool]:
        """As `visible_to`, with unlisted things, which readers who have the address may read."""
        return self._permitted(reader, ("public", "unlisted"))

    def may_read(self, reader: Reader | None, thing: LibraryItem) -> bool:
        with self.connection() as connection:
            condition = and_(schema.thing.c.id == thing.id, self.readable_by(reader))
            return (
                connection.execute(select(schema.thing.c.id).where(condition)).first() is not None
            )

    def may_change(self, reader: Reader | None, thing: LibraryItem) -> bool:
        return reader is not None and (reader.may_administer or reader.id == thing.owner)

    def readable(self, reader: Reader | None, identifier: str) -> LibraryItem | None:
        """The thing, if there is one that the reader may read."""
        with self.connection() as connection:
            thing = self.things.get(connection, identifier)
        return thing if thing is not None and self.may_read(reader, thing) else None

    def _permitted(
        self, reader: Reader | None, visibilities: tuple[str, ...]
    ) -> ColumnElement[bool]:
        if reader is not None and reader.may_administer:
            return true()
        columns = schema.thing.c
        has_come = or_(columns.public_from.is_(None), columns.public_from <= schema.now())
        open_to_all = and_(
            columns.state == "accepted", columns.visibility.in_(visibilities), has_come
        )
        if reader is None:
            return open_to_all
        own = columns.owner == reader.id
        if not reader.may_review:
            return or_(open_to_all, own)
        return or_(open_to_all, own, columns.state.in_(("waiting", "asked", "refused")))

    # Accounts that the store itself needs.

    def local_reader(self) -> Reader:
        """The account of the person who runs `sesame serve DIR`, made if needed."""
        with self.connection() as connection:
            columns = schema.account.c
            query = select(columns.id).where(columns.name == LOCAL_NAME)
            number = connection.scalar(query)
            if number is None:
                values = {"name": LOCAL_NAME, "role": ADMINISTRATOR, "display_name": "local user"}
                connection.execute(schema.account.insert().values(values))
                number = connection.scalars(query).one()
        return Reader(number, LOCAL_NAME, ADMINISTRATOR)

    def account_name(self, number: int) -> str:
        with self.connection() as connection:
            columns = schema.account.c
            query = select(columns.display_name, columns.name).where(columns.id == number)
            row = connection.execute(query).first()
        return "unknown" if row is None else row.display_name or row.name

    # Contents.

    def store_directory(
        self, directory: Path, *, info: dict[str, Any] | None = None, may_link: bool = False
    ) -> NewVersion:
        """Stores the files below `directory`, and returns what `Things.add_version` takes. Without
        `info` that of the data set is used."""
        if info is None:
            info = DataSet(directory).info.as_json()
        files = []
        for path in sorted(directory.rglob("*")):
            if path.is_file() and not path.is_symlink():
                name = path.relative_to(directory).as_posix()
                size = path.stat().st_size
                files.append(StoredFile(name, self.files.put(path, may_link=may_link), size))
        return NewVersion(files, info)

    def directory(self, version: Version) -> Path:
        """A local directory with the files of a version; do not change them."""
        kept = self.cache / "versions" / version.content_hash
        if kept.is_dir():
            return kept
        partial = self.cache / "partial" / secrets.token_hex(8)
        try:
            with self.connection() as connection:
                files = self.things.files(connection, version)
            for one in files:
                self._fetch(one, partial)
            partial.mkdir(parents=True, exist_ok=True)
            kept.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(OSError):  # another thread or process was faster
                partial.replace(kept)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        return kept

    def _fetch(self, one: StoredFile, directory: Path) -> None:
        name = PurePosixPath(one.path)
        if name.is_absolute() or ".." in name.parts:
            raise InputError(f"{one.path}: this path leaves its data set")
        target = directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        self.files.fetch(one.sha256, target)

    def data_set(self, thing: str, number: int | None = None) -> DataSet:
        """The data set of a version, or of the newest. Raises InputError."""
        with self.connection() as connection:
            version = self.things.version(connection, thing, number)
        if version is None:
            raise InputError(f"{thing}: there is no such version")
        return DataSet(self.directory(version))

    def derived(self, version: Version) -> Path:
        """The local directory of files made from a version (aggregates, findings); it may be empty.
        Who writes into it calls `keep_derived` afterwards."""
        if self.files.is_local:
            directory = Path(self.files.derived_address(version.content_hash))
            directory.mkdir(parents=True, exist_ok=True)
            return directory
        directory = self.cache / "derived" / version.content_hash
        if not directory.is_dir():
            partial = self.cache / "partial" / secrets.token_hex(8)
            partial.mkdir(parents=True)
            self.files.fetch_derived(version.content_hash, partial)
            directory.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(OSError):  # another thread or process was faster
                partial.replace(directory)
            shutil.rmtree(partial, ignore_errors=True)
        return directory

    def keep_derived(self, version: Version) -> None:
        """Stores what was written into `derived(version)`, for all workers."""
        if not self.files.is_local:
            local = self.cache / "derived" / version.content_hash
            self.files.keep_derived(version.content_hash, local)


def _engine(database: str) -> Engine:
    if not database.startswith("sqlite"):
        # Of SQLAlchemy's drivers we install psycopg 3 only.
        database = database.replace("postgresql://", "postgresql+psycopg://", 1)
        return create_engine(database, pool_pre_ping=True, pool_size=10, max_overflow=10)
    engine = create_engine(database, connect_args={"timeout": 30})

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        connection.execute("pragma journal_mode=wal")
        connection.execute("pragma foreign_keys=on")
        connection.execute("pragma synchronous=normal")

    return engine
