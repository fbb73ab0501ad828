"""Backup and restore of a repository: one tar file with all rows and all files.

It does not depend on the database: what SQLite had may be restored into PostgreSQL. Rows are read
in one transaction while the repository is served. Files are never changed, so those of these rows
are there. Files made from others (`derived`) are left out, and made anew.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from sqlalchemy import Connection, LargeBinary, Table, delete, func, insert, select, text

from sesame.errors import InputError, OutputError
from sesame.repository.store import Repository
from sesame.repository.store.referenced import referenced_files
from sesame.repository.store.schema import METADATA, UtcTime, thing

FORMAT = "sesame repository backup 1"
END = "end"  # the last entry
ROWS_AT_ONCE = 1000


def back_up(repository: Repository, target: Path) -> tuple[int, int]:
    """Writes the backup; it appears when it is complete. Returns the numbers of things and files.
    Raises OutputError."""
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with partial.open("xb") as stream, tarfile.open(fileobj=stream, mode="w") as tar:
            os.fchmod(stream.fileno(), 0o600)  # it has what is private
            counts = _write(repository, tar)
            tar.close()
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(target)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"{target}: cannot write the backup: {reason}") from error
    finally:
        partial.unlink(missing_ok=True)
    return counts


def _write(repository: Repository, tar: tarfile.TarFile) -> tuple[int, int]:
    _add(tar, "backup.json", json.dumps({"format": FORMAT}).encode())
    with repository.snapshot() as connection:
        for table in METADATA.sorted_tables:
            with tempfile.TemporaryFile() as rows:
                for line in _lines(connection, table):
                    rows.write(line)
                _add_file(tar, f"tables/{table.name}.jsonl", rows, rows.tell())
        things = connection.scalar(select(func.count()).select_from(thing)) or 0
        hashes = sorted(referenced_files(connection))
    for sha256 in hashes:
        with repository.files.open(sha256) as stream:
            _add_file(tar, f"files/{sha256}", stream, stream.seek(0, os.SEEK_END))
    _add(tar, END, b"")  # without it the backup is not whole
    return things, len(hashes)


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    _add_file(tar, name, io.BytesIO(content), len(content))


def _add_file(tar: tarfile.TarFile, name: str, stream: IO[bytes], size: int) -> None:
    stream.seek(0)
    entry = tarfile.TarInfo(name)
    entry.size = size
    tar.addfile(entry, stream)


def _lines(connection: Connection, table: Table) -> Iterator[bytes]:
    for row in connection.execute(select(table)):
        yield json.dumps(dict(row._mapping), default=_plain).encode() + b"\n"


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(value).decode()
    raise TypeError(type(value).__name__)


def restore(repository: Repository, source: Path) -> tuple[int, int]:
    """Fills an empty repository from a backup. The rows are one transaction, written after the
    files. Raises InputError if the repository has things, or the backup is damaged."""
    with repository.connection() as connection:
        if connection.scalar(select(func.count()).select_from(thing)):
            raise InputError("the repository is not empty", hint="restore into a new one")
    try:
        with tarfile.open(source, mode="r:") as tar:
            files = _restore_files(repository, tar, source)
        with tarfile.open(source, mode="r:") as tar, repository.connection() as connection:
            _restore_rows(connection, tar, source)
            things = connection.scalar(select(func.count()).select_from(thing)) or 0
            if missing := referenced_files(connection) - files:
                raise InputError(f"the file {min(missing)} is missing", path=str(source))
    except (tarfile.TarError, EOFError) as error:
        raise InputError(f"not a whole backup: {error}", path=str(source)) from error
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror or error}", path=str(source)) from error
    return things, len(files)


def _restore_files(repository: Repository, tar: tarfile.TarFile, source: Path) -> set[str]:
    first = tar.next()
    content = tar.extractfile(first) if first is not None and first.isfile() else None
    if content is None or first is None or first.name != "backup.json":
        raise InputError("this is no backup of a repository", path=str(source))
    found = json.loads(content.read(1024))
    if found.get("format") != FORMAT:
        raise InputError(f"format {found.get('format')}, expected {FORMAT}", path=str(source))
    stored, last = set(), ""
    for entry in tar:
        last = entry.name
        if entry.isfile() and entry.name.startswith("files/"):
            _restore_file(repository, tar, entry, source)
            stored.add(entry.name.removeprefix("files/"))
    if last != END:
        raise InputError("not a whole backup: it ends early", path=str(source))
    return stored


def _restore_file(
    repository: Repository, tar: tarfile.TarFile, entry: tarfile.TarInfo, source: Path
) -> None:
    content = tar.extractfile(entry)
    assert content is not None
    with tempfile.TemporaryDirectory(dir=repository.cache) as scratch:
        copy = Path(scratch) / "file"
        digest = hashlib.sha256()
        with copy.open("wb") as stream:
            while part := content.read(1 << 20):
                digest.update(part)
                stream.write(part)
        if digest.hexdigest() != entry.name.removeprefix("files/"):
            raise InputError(f"{entry.name}: its content has another hash", path=str(source))
        repository.files.put(copy, may_link=True)


def _restore_rows(connection: Connection, tar: tarfile.TarFile, source: Path) -> None:
    contents = {
        entry.name: entry for entry in tar if entry.isfile() and entry.name.startswith("tables/")
    }
    for table in METADATA.sorted_tables:
        entry = contents.pop(f"tables/{table.name}.jsonl", None)
        stream = tar.extractfile(entry) if entry is not None else None
        if stream is None:
            continue  # a table that is newer than the backup
        connection.execute(delete(table))  # what the first start or a trigger has made
        rows = []
        for line in stream:
            rows.append(_row(table, line, source))
            if len(rows) == ROWS_AT_ONCE:
                connection.execute(insert(table), rows)
                rows = []
        if rows:
            connection.execute(insert(table), rows)
        _continue_numbers(connection, table)
    if contents:
        raise InputError(
            f"{min(contents)}: there is no such table",
            path=str(source),
            hint="restore it with the version of sesame that wrote it, or a newer one",
        )


def _row(table: Table, line: bytes, source: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(line)
    except ValueError as error:
        raise InputError(f"{table.name}: not JSON: {error}", path=str(source)) from error
    readers: dict[type, Callable[[Any], Any]] = {
        UtcTime: datetime.fromisoformat,
        LargeBinary: base64.b64decode,
    }
    for name, value in found.items():
        read = readers.get(type(table.c[name].type)) if name in table.c else None
        if read is not None and value is not None:
            found[name] = read(value)
    return found


def _continue_numbers(connection: Connection, table: Table) -> None:
    """PostgreSQL counts on after the largest number that was inserted."""
    column = table.autoincrement_column
    if column is None or connection.dialect.name != "postgresql":
        return
    connection.execute(
        text(
            f"select setval(pg_get_serial_sequence('{table.name}', '{column.name}'), "
            f"(select coalesce(max({column.name}), 0) + 1 from {table.name}), false)"
        )
    )
