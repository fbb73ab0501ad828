"""`sesame serve check`: every row and every file has its other half."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from sqlalchemy import Connection, select, text

from sesame.repository.store import Repository, schema
from sesame.repository.store.files import CHUNK
from sesame.repository.store.referenced import referenced_files
from sesame.repository.store.schema import METADATA
from sesame.repository.store.things import NewVersion, StoredFile


def check(repository: Repository, *, contents: bool = False) -> Iterator[str]:
    """What is wrong, a sentence each. With `contents` every file is read and its hash compared."""
    with repository.snapshot() as connection:
        wanted = referenced_files(connection)
        sized = connection.execute(select(schema.file.c.sha256, schema.file.c.bytes))
        sizes = {row[0]: row[1] for row in sized}
        yield from _rows(connection)
        known = set(connection.scalars(select(schema.version.c.content_hash)))
    stored = set(repository.files.all())
    yield from (f"the file {one} is missing" for one in sorted(wanted - stored))
    yield from (f"no row refers to the file {one}" for one in sorted(stored - wanted))
    for sha256 in sorted(stored & wanted):
        yield from _file(repository, sha256, sizes.get(sha256), contents)
    for one in sorted(repository.files.all_derived() - known):
        yield f"no version has the derived files {one}"


def _file(repository: Repository, sha256: str, size: int | None, contents: bool) -> Iterator[str]:
    found = repository.files.size(sha256)
    if size is not None and found != size:
        yield f"the file {sha256} has {found:,} bytes, expected {size:,}"
    elif contents:
        digest = hashlib.sha256()
        with repository.files.open(sha256) as stream:
            while part := stream.read(CHUNK):
                digest.update(part)
        if digest.hexdigest() != sha256:
            yield f"the content of the file {sha256} has another hash"


def _rows(connection: Connection) -> Iterator[str]:
    """Things without versions, versions whose files are others, rows whose other row is gone."""
    things, versions, files = schema.thing.c, schema.version.c, schema.file.c
    without = select(things.id).where(things.id.not_in(select(versions.thing)))
    yield from (f"the thing {one} has no version" for one in connection.scalars(without))
    every = select(versions.thing, versions.number, versions.content_hash, versions.size)
    for row in connection.execute(every):
        named = select(files.path, files.sha256, files.bytes).where(
            files.thing == row.thing, files.version == row.number
        )
        stored = [StoredFile(*one) for one in connection.execute(named)]
        if NewVersion(stored).content_hash != row.content_hash:
            yield f"version {row.number} of {row.thing} has other files than when it was made"
        elif sum(one.bytes for one in stored) != row.size:
            yield f"version {row.number} of {row.thing} has another size than its files"
    for table in METADATA.sorted_tables:
        for key in table.foreign_key_constraints:
            pairs = [(one.parent.name, one.column.name) for one in key.elements]
            own = " and ".join(f"a.{name} is not null" for name, _ in pairs)
            same = " and ".join(f"a.{name} = b.{to}" for name, to in pairs)
            to = key.referred_table.name
            query = (
                f'select count(*) from "{table.name}" a where {own} and not exists '
                f'(select 1 from "{to}" b where {same})'
            )
            if lost := connection.scalar(text(query)):
                yield f"{lost} rows of the table {table.name} refer to no row of {to}"
