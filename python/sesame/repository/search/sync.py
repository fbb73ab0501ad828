"""Keeps the entries of things as the things are.

Triggers list what has changed (`search_pending`); the next search brings the entries up to date.
"""

from __future__ import annotations

from sqlalchemy import Connection, delete, func, select

from sesame.repository.search.entries import content_of, figures_in
from sesame.repository.store import LibraryItem, Repository, schema
from sesame.repository.store.search_index import Entry, put_entry, remove_entry
from sesame.repository.store.search_tables import search_pending

AT_ONCE = 200  # things in one transaction


def bring_up_to_date(repository: Repository) -> int:
    """Makes the entries of all things that have changed; returns their number."""
    done = 0
    while True:
        with repository.connection() as connection:
            query = select(search_pending.c.thing).limit(AT_ONCE)
            if connection.dialect.name == "postgresql":  # several workers share the work
                query = query.with_for_update(skip_locked=True)
            pending = connection.scalars(query).all()
            if not pending:
                return done
            for identifier in pending:
                _renew(repository, connection, identifier)
            these = search_pending.c.thing.in_(pending)
            connection.execute(delete(search_pending).where(these))
        done += len(pending)


def is_up_to_date(connection: Connection) -> bool:
    return connection.scalar(select(search_pending.c.thing).limit(1)) is None


def _renew(repository: Repository, connection: Connection, identifier: str) -> None:
    thing = repository.things.get(connection, identifier)
    if thing is None:
        for library in schema.LIBRARIES:
            remove_entry(connection, library, identifier)
        return
    put_entry(connection, _entry(repository, connection, thing))


def _entry(repository: Repository, connection: Connection, thing: LibraryItem) -> Entry:
    account = schema.account.c
    shown = func.coalesce(func.nullif(account.display_name, ""), account.name)
    owner = connection.execute(select(shown, account.name).where(account.id == thing.owner)).first()
    version = repository.things.version(connection, thing.id)
    info = {} if version is None else version.info
    content = content_of(info if thing.library == "data" else {})
    numbers = dict(content.numbers)
    if version is not None and thing.library == "data":
        for name, value in figures_in(repository.derived(version) / "search").items():
            numbers.setdefault(name, value)
    said = [str(name) for name in (*(owner or ()), content.person) if name]
    persons = {name.lower(): name for name in reversed(said)}
    return Entry(
        kind=thing.library,
        item=thing.id,
        address=thing.address,
        title=thing.title,
        body="\n".join(part for part in (thing.description, content.text) if part),
        changed=thing.created,
        thing=thing.id,
        system=content.system,
        instrument=content.instrument,
        program=content.program,
        person=" ".join(reversed(persons.values()))[:400],
        started=content.started,
        numbers=numbers,
        records=content.records,
    )
