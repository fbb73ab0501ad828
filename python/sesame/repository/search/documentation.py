"""Entries of the documentation: a page for each record type, with all of its fields."""

from __future__ import annotations

from sqlalchemy import select

from sesame.datasets import RecordType, all_record_types
from sesame.repository.store import Repository, schema
from sesame.repository.store.search_index import Entry, put_entry, remove_entry
from sesame.repository.store.search_tables import search_entry

KIND = "page"


def index_documentation(repository: Repository) -> int:
    """Adds what is new in this version of Sesame, and removes what is gone; returns the number of
    changes."""
    wanted = {name: _body(one) for name, one in all_record_types().items()}
    columns = search_entry.c
    with repository.connection() as connection:
        found = connection.execute(
            select(columns.item, columns.body).where(columns.kind == KIND)
        ).all()
        known: dict[str, str] = {str(item): str(body) for item, body in found}
        changed = [name for name, body in wanted.items() if known.get(name) != body]
        gone = set(known) - set(wanted)
        for name in changed:
            put_entry(
                connection,
                Entry(
                    kind=KIND,
                    item=name,
                    address=f"/records/{name}",
                    title=f"Record type {name}",
                    body=wanted[name],
                    changed=schema.now(),
                    records=[
                        (name, ""),
                        *((name, of.name) for of in all_record_types()[name].fields),
                    ],
                ),
            )
        for name in gone:
            remove_entry(connection, KIND, name)
    return len(changed) + len(gone)


def _body(described: RecordType) -> str:
    fields = [f"{one.name}: {one.meaning}" for one in described.fields]
    return "\n".join([described.meaning, *fields])
