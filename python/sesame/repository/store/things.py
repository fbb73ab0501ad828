"""Things of the libraries, their versions, files and links."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, insert, select, update

from sesame.errors import InputError
from sesame.repository.store import schema
from sesame.repository.store.identifiers import is_identifier, new_identifier

LARGEST_NUMBER = 2**31 - 1  # of a version: databases refuse to compare larger ones
PAGES = {"data": "d", "tool": "t", "model": "m", "document": "r", "report": "r"}


@dataclass(frozen=True)
class NewThing:
    """What is added; the store gives it an identifier."""

    library: str
    owner: int
    title: str
    description: str = ""
    licence: str = ""
    visibility: str = "private"
    public_from: datetime | None = None
    state: str = "waiting"
    source: str | None = None
    contact: str = ""
    contact_mail: str = ""
    file_type: str = ""


@dataclass(frozen=True)
class LibraryItem:
    id: str
    library: str
    owner: int
    title: str
    description: str
    licence: str
    visibility: str
    public_from: datetime | None
    state: str
    created: datetime
    source: str | None
    contact: str = ""  # who answers questions about it
    contact_mail: str = ""
    file_type: str = ""  # data, source code, graphics, text

    @property
    def address(self) -> str:
        return f"/{PAGES[self.library]}/{self.id}"


@dataclass(frozen=True)
class Version:
    thing: str
    number: int
    created: datetime
    content_hash: str
    info: Mapping[str, Any]
    size: int
    note: str


@dataclass(frozen=True)
class StoredFile:
    path: str
    sha256: str
    bytes: int


@dataclass(frozen=True)
class Link:
    """`relation` of a version to another thing."""

    thing: str
    version: int
    relation: str
    to_thing: str


@dataclass(frozen=True)
class NewVersion:
    files: Sequence[StoredFile]
    info: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    @property
    def content_hash(self) -> str:
        """The same for the same files by the same names."""
        named = sorted((one.path, one.sha256) for one in self.files)
        return hashlib.sha256(json.dumps(named).encode()).hexdigest()


class Things:
    """Reads and writes rows. Who may read a thing is decided by `Repository`. Every function takes
    the connection, so that a caller decides what is one transaction."""

    def add(self, connection: Connection, new: NewThing) -> LibraryItem:
        values = {**vars(new), "id": new_identifier(), "created": schema.now()}
        connection.execute(insert(schema.thing).values(values))
        return LibraryItem(**values)

    def get(self, connection: Connection, identifier: str) -> LibraryItem | None:
        if not is_identifier(identifier):
            return None
        row = connection.execute(
            select(schema.thing).where(schema.thing.c.id == identifier)
        ).first()
        return None if row is None else LibraryItem(**row._mapping)

    def find(
        self, connection: Connection, where: ColumnElement[bool], most: int = 100, first: int = 0
    ) -> list[LibraryItem]:
        """The newest first. `where` is `Repository.visible_to(reader)`, and what else is asked."""
        columns = schema.thing.c
        query = select(schema.thing).where(where).order_by(columns.created.desc(), columns.id)
        return [
            LibraryItem(**row._mapping)
            for row in connection.execute(query.limit(most).offset(first))
        ]

    def change(self, connection: Connection, identifier: str, **values: Any) -> None:
        query = update(schema.thing).where(schema.thing.c.id == identifier)
        connection.execute(query.values(values))

    def add_version(self, connection: Connection, identifier: str, new: NewVersion) -> Version:
        """Adds the next version, or returns the newest if it has the same files. The files'
        contents are stored already."""
        newest = self.version(connection, identifier)
        if newest is not None and newest.content_hash == new.content_hash:
            return newest
        number = 1 if newest is None else newest.number + 1
        values: dict[str, Any] = {
            "thing": identifier,
            "number": number,
            "created": schema.now(),
            "content_hash": new.content_hash,
            "info": dict(new.info),
            "size": sum(one.bytes for one in new.files),
            "note": new.note,
        }
        connection.execute(insert(schema.version).values(values))
        key = {"thing": identifier, "version": number}
        if new.files:
            connection.execute(insert(schema.file), [{**key, **vars(one)} for one in new.files])
        types = new.info.get("record_types") or {}
        rows = [{**key, "name": name, "rows": one.get("rows", 0)} for name, one in types.items()]
        if rows:
            connection.execute(insert(schema.record_type), rows)
        return Version(**values)

    def versions(self, connection: Connection, identifier: str) -> list[Version]:
        """The newest first."""
        columns = schema.version.c
        query = select(schema.version).where(columns.thing == identifier)
        found = connection.execute(query.order_by(columns.number.desc()))
        return [Version(**row._mapping) for row in found]

    def version(
        self, connection: Connection, identifier: str, number: int | None = None
    ) -> Version | None:
        """A version; without a number the newest."""
        columns = schema.version.c
        query = select(schema.version).where(columns.thing == identifier)
        if number is not None:
            if number > LARGEST_NUMBER:
                return None
            query = query.where(columns.number == number)
        row = connection.execute(query.order_by(columns.number.desc()).limit(1)).first()
        return None if row is None else Version(**row._mapping)

    def with_content(self, connection: Connection, content_hash: str) -> Sequence[str]:
        """The things that have a version with these files."""
        columns = schema.version.c
        query = select(columns.thing).where(columns.content_hash == content_hash).distinct()
        return connection.scalars(query).all()

    def files(self, connection: Connection, version: Version) -> list[StoredFile]:
        columns = schema.file.c
        query = (
            select(columns.path, columns.sha256, columns.bytes)
            .where(columns.thing == version.thing, columns.version == version.number)
            .order_by(columns.path)
        )
        return [StoredFile(*row) for row in connection.execute(query)]

    def add_link(self, connection: Connection, new: Link) -> None:
        """Adds a link that is not there yet."""
        if new.relation not in schema.RELATIONS:
            expected = ", ".join(schema.RELATIONS)
            raise InputError(f"relation {new.relation}, expected one of {expected}")
        same = [schema.link.c[name] == value for name, value in vars(new).items()]
        if connection.scalar(select(func.count()).select_from(schema.link).where(*same)) == 0:
            connection.execute(insert(schema.link).values(vars(new)))

    def links_from(self, connection: Connection, identifier: str) -> list[Link]:
        return self._links(connection, schema.link.c.thing == identifier)

    def links_to(self, connection: Connection, identifier: str, most: int = 1000) -> list[Link]:
        """The newest first."""
        return self._links(connection, schema.link.c.to_thing == identifier, most)

    def _links(
        self, connection: Connection, where: ColumnElement[bool], most: int = 1000
    ) -> list[Link]:
        columns = schema.link.c
        query = select(columns.thing, columns.version, columns.relation, columns.to_thing)
        return [
            Link(*row)
            for row in connection.execute(
                query.where(where).order_by(columns.id.desc()).limit(most)
            )
        ]
