"""Writes entries of the search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection, delete, insert, select, update

from sesame.repository.store.search_tables import search_entry, search_number, search_record


@dataclass(frozen=True)
class Entry:
    """What a search finds; see the columns of `search_entry`."""

    kind: str
    item: str
    address: str
    title: str
    body: str
    changed: datetime
    thing: str | None = None
    thread: str | None = None
    several: bool = False
    system: str = ""
    instrument: str = ""
    program: str = ""
    person: str = ""
    started: str = ""
    numbers: dict[str, float] = field(default_factory=dict)
    records: Sequence[tuple[str, str]] = ()


def put_entry(connection: Connection, entry: Entry) -> None:
    """Adds an entry, or replaces the one of the same kind and item."""
    row = {name: value for name, value in vars(entry).items() if name not in ("numbers", "records")}
    known = connection.scalar(
        select(search_entry.c.id).where(
            search_entry.c.kind == entry.kind, search_entry.c.item == entry.item
        )
    )
    if known is None:
        made = insert(search_entry).values(row).returning(search_entry.c.id)
        number = connection.scalars(made).one()
    else:
        number = known
        connection.execute(update(search_entry).where(search_entry.c.id == number).values(row))
        for table in (search_number, search_record):
            connection.execute(delete(table).where(table.c.entry == number))
    if entry.numbers:
        rows = [{"entry": number, "name": k, "value": v} for k, v in entry.numbers.items()]
        connection.execute(insert(search_number), rows)
    if entry.records:
        named = dict.fromkeys(entry.records)
        rows = [{"entry": number, "name": name, "field": of} for name, of in named]
        connection.execute(insert(search_record), rows)


def remove_entry(connection: Connection, kind: str, item: str) -> None:
    found = select(search_entry.c.id).where(
        search_entry.c.kind == kind, search_entry.c.item == item
    )
    for number in connection.scalars(found).all():
        for table in (search_number, search_record):
            connection.execute(delete(table).where(table.c.entry == number))
        connection.execute(delete(search_entry).where(search_entry.c.id == number))
