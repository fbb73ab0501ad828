"""Which files of the storage rows refer to: every column called `sha256` names one."""

from __future__ import annotations

from sqlalchemy import Connection, select

from sesame.repository.store.schema import METADATA

COLUMN = "sha256"


def referenced_files(connection: Connection) -> set[str]:
    found: set[str] = set()
    for table in METADATA.sorted_tables:
        if COLUMN in table.c:
            found |= set(connection.scalars(select(table.c[COLUMN]).distinct()))
    return found
