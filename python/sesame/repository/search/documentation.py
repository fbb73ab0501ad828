"""Entries of the documentation: a page for each record type, with all of its fields, and the pages
of formats, models and workloads."""

from __future__ import annotations

import re

from sqlalchemy import select

from sesame.datasets import RecordType, all_record_types
from sesame.repository.documentation import Document, documents
from sesame.repository.store import Repository, schema
from sesame.repository.store.search_index import Entry, put_entry, remove_entry
from sesame.repository.store.search_tables import search_entry

KIND = "page"
# What Markdown has beside its text: targets of links, rules of tables, marks of headings and code.
MARKS = re.compile(r"\]\([^)]*\)|^\|[-| ]+\|$|^#+ |[`*\[|]", re.M)


def index_documentation(repository: Repository) -> int:
    """Adds what is new in this version of Sesame, and removes what is gone; returns the number of
    changes."""
    entries = [_of_record_type(one) for one in all_record_types().values()]
    entries += [_of_document(one) for one in documents().values()]
    wanted = {one.item: one for one in entries}
    columns = search_entry.c
    with repository.connection() as connection:
        found = connection.execute(
            select(columns.item, columns.body).where(columns.kind == KIND)
        ).all()
        known: dict[str, str] = {str(item): str(body) for item, body in found}
        changed = [one for one in entries if known.get(one.item) != one.body]
        gone = set(known) - set(wanted)
        for one in changed:
            put_entry(connection, one)
        for name in gone:
            remove_entry(connection, KIND, name)
    return len(changed) + len(gone)


def _of_record_type(described: RecordType) -> Entry:
    fields = [f"{one.name}: {one.meaning}" for one in described.fields]
    name = described.name
    return Entry(
        kind=KIND,
        item=name,
        address=f"/records/{name}",
        title=f"Record type {name}",
        body="\n".join([described.meaning, *fields]),
        changed=schema.now(),
        records=[(name, ""), *((name, of.name) for of in described.fields)],
    )


def _of_document(one: Document) -> Entry:
    return Entry(
        kind=KIND,
        item=one.name,
        address=one.address,
        title=one.title,
        body=MARKS.sub(" ", re.sub(r"\A# .*\n", "", one.text)),
        changed=schema.now(),
    )
