"""Uploads: started, received in parts, imported, and made into a version of a thing.

The row of an upload and the files of its directory are enough to continue after any break: what has
arrived is the length of files, an import that has ended is a directory with another name, and row,
thing and version are written in one transaction.
"""

from __future__ import annotations

import json
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, RowMapping, and_, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from sesame.errors import InputError, OutputError
from sesame.repository.accounts.account import Account
from sesame.repository.store import Repository, schema
from sesame.repository.uploads.child import ImportLimits
from sesame.repository.uploads.manifest import Manifest, parse_manifest
from sesame.repository.uploads.receiving import Staging
from sesame.repository.uploads.request import UploadRequest, parse_request

RECEIVING, IMPORTING, DONE, FAILED = "receiving", "importing", "done", "failed"
KEPT_S = 7 * 86400.0  # of an upload to which nothing is added
MOST_OPEN = 50  # of an account
SPARE_BYTES = 1 << 30  # of the disk, for everything else


class NotFound(InputError):
    """There is no such upload of this account."""

    status = 404


class NotPermitted(InputError):
    """The account may not do this."""

    status = 403


@dataclass(frozen=True)
class UploadLimits:
    most_bytes: int = 1 << 40
    imports: ImportLimits = field(default_factory=ImportLimits)


@dataclass(frozen=True)
class Upload:
    """A row, and what has arrived."""

    id: str
    account: int
    state: str
    request: dict[str, Any]
    result: dict[str, Any]
    thing: str | None
    version: int | None
    changed: float

    @property
    def manifest(self) -> Manifest:
        return parse_manifest(self.request["files"], 1 << 62)


class Uploads:
    def __init__(self, repository: Repository, limits: UploadLimits | None = None) -> None:
        self.repository = repository
        self.limits = limits or UploadLimits()
        self.directory = repository.cache / "uploads"
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)

    def staging(self, upload: Upload) -> Staging:
        return Staging(self.directory / upload.id)

    # ---- By those who send ----

    def begin(self, account: Account, given: Mapping[str, Any]) -> Upload:
        """A new upload; or the one of the same account that has the same files, which continues.
        Raises InputError, NotPermitted, OutputError."""
        if not account.may_contribute:
            raise NotPermitted("your role permits no uploads")
        request = parse_request(given, self.limits.most_bytes)
        self._require_own_thing(account, request)
        for relation, to in request.links:
            if self.repository.readable(account, to) is None:
                raise InputError(f"links: {relation}={to}: there is no such thing")
        key = request.manifest.key(request.library, request.version_of)
        found = self._with_key(account, key)
        if found is not None:
            return found
        with self.repository.connection() as connection:
            own = select(schema.upload.c.id).where(
                schema.upload.c.account == account.id,
                schema.upload.c.state.in_((RECEIVING, IMPORTING)),
            )
            if len(connection.execute(own).all()) >= MOST_OPEN:
                raise InputError(f"{MOST_OPEN} uploads are open", hint="finish or cancel some")
        self._require_space(request.manifest.size)
        return self._insert(account, key, request)

    def _require_own_thing(self, account: Account, request: UploadRequest) -> None:
        if not request.version_of:
            return
        thing = self.repository.readable(account, request.version_of)
        if thing is None:
            raise NotFound(f"{request.version_of}: there is no such thing")
        if not self.repository.may_change(account, thing):
            raise NotPermitted(f"{request.version_of}: only its owner adds versions")
        if thing.library != request.library:
            raise InputError(f"{request.version_of} is in the library {thing.library}")

    def _require_space(self, size: int) -> None:
        if shutil.disk_usage(self.directory).free < size + SPARE_BYTES:
            raise OutputError("the server has no space for this upload")

    def _with_key(self, account: Account, key: str) -> Upload | None:
        """The upload of these files, unless what was made of it is no longer there."""
        table = schema.upload.c
        with self.repository.connection() as connection:
            chosen = and_(table.account == account.id, table.key == key)
            row = connection.execute(select(schema.upload).where(chosen)).mappings().first()
            if row is None:
                return None
            found = _upload(row)
            thing = self.repository.things.get(connection, found.thing or "")
            if found.state == DONE and thing is None:
                connection.execute(delete(schema.upload).where(table.id == found.id))
                return None
        return found

    def _insert(self, account: Account, key: str, request: UploadRequest) -> Upload:
        now = time.time()
        values = {
            "id": secrets.token_hex(8),
            "account": account.id,
            "key": key,
            "state": RECEIVING,
            "request": json.dumps(request.as_json()),
            "result": "{}",
            "thing": None,
            "version": None,
            "created": now,
            "changed": now,
        }
        made = _upload(values)
        try:
            with self.repository.connection() as connection:
                connection.execute(insert(schema.upload).values(values))
        except IntegrityError:  # another request of the account was faster
            found = self._with_key(account, key)
            if found is None:
                raise
            return found
        return made

    def get(self, account: Account | None, identifier: str) -> Upload:
        """Raises NotFound, also for an upload of another account."""
        with self.repository.connection() as connection:
            chosen = schema.upload.c.id == identifier
            row = connection.execute(select(schema.upload).where(chosen)).mappings().first()
        if row is None or account is None or row["account"] != account.id:
            raise NotFound("there is no such upload")
        return _upload(row)

    def missing(self, account: Account, upload: Upload) -> list[tuple[int, int]]:
        """The files that have not arrived, by number, and how much of each has. What the server
        has already in things that the account may see need not be sent."""
        if upload.state != RECEIVING:
            return []
        staging, known = self.staging(upload), self.known(account, upload.manifest)
        found = []
        for number, file in enumerate(upload.manifest.files):
            offset = staging.offset(number)
            if number in known or (staging.received / file.path).exists():
                continue
            if offset < file.bytes:
                found.append((number, offset))
        return found

    def known(self, account: Account, manifest: Manifest) -> dict[int, str]:
        """Hashes of the files that the server has, in something that the account may see: a hash
        alone gives no file of another."""
        numbers = {file.sha256: one for one, file in enumerate(manifest.files) if file.sha256}
        wanted, have = list(numbers), set()
        columns = schema.file.c
        visible = self.repository.visible_to(account)
        with self.repository.connection() as connection:
            for first in range(0, len(wanted), 500):
                query = (
                    select(columns.sha256)
                    .join(schema.thing, schema.thing.c.id == columns.thing)
                    .where(columns.sha256.in_(wanted[first : first + 500]), visible)
                )
                have |= set(connection.scalars(query))
        files = enumerate(manifest.files)
        return {one: file.sha256 for one, file in files if file.sha256 and file.sha256 in have}

    async def append(
        self, upload: Upload, number: int, offset: int, body: AsyncIterator[bytes]
    ) -> int:
        """Returns the new offset. Raises InputError, OutputError, WrongOffset, Busy, NotFound."""
        if upload.state != RECEIVING:
            raise InputError("this upload receives nothing: it is complete")
        if not 0 <= number < len(upload.manifest.files):
            raise NotFound("there is no such file in this upload")
        file, staging = upload.manifest.files[number], self.staging(upload)
        staging.make()  # after its row, so that there is no directory without one
        return await staging.append(number, file, offset, body)

    def offset(self, upload: Upload, number: int) -> int:
        """How many bytes of a file have arrived."""
        if not 0 <= number < len(upload.manifest.files):
            raise NotFound("there is no such file in this upload")
        file, staging = upload.manifest.files[number], self.staging(upload)
        if upload.state == DONE or (staging.received / file.path).exists():
            return file.bytes
        return staging.offset(number)

    def finish(self, account: Account, upload: Upload) -> Upload:
        """All has arrived: the import begins. Raises InputError."""
        missing = self.missing(account, upload)
        if missing:
            path = upload.manifest.files[missing[0][0]].path
            raise InputError(f"{len(missing)} files have not arrived, such as {path}")
        table = schema.upload.c
        with self.repository.connection() as connection:
            chosen = and_(table.id == upload.id, table.state == RECEIVING)
            connection.execute(
                update(schema.upload)
                .where(chosen)
                .values(state=IMPORTING, changed=time.time(), result="{}")
            )
        return self.get(account, upload.id)

    def cancel(self, upload: Upload) -> None:
        """Removes the upload, not what was made of it. Raises InputError while it is imported."""
        if upload.state == IMPORTING:
            raise InputError("it is being imported; wait for the end")
        with self.repository.connection() as connection:
            connection.execute(delete(schema.upload).where(schema.upload.c.id == upload.id))
        self.staging(upload).remove()

    # ---- By the server ----

    def waiting_for_import(self) -> list[Upload]:
        with self.repository.connection() as connection:
            chosen = select(schema.upload).where(schema.upload.c.state == IMPORTING)
            rows = connection.execute(chosen.order_by(schema.upload.c.changed)).mappings().all()
        return [_upload(row) for row in rows]

    def set_state(
        self, connection: Connection, upload: Upload, state: str, result: dict[str, Any]
    ) -> None:
        connection.execute(
            update(schema.upload)
            .where(schema.upload.c.id == upload.id)
            .values(
                state=state,
                result=json.dumps(result),
                changed=time.time(),
                thing=result.get("thing"),
                version=result.get("version"),
            )
        )

    def clean(self) -> None:
        """Removes uploads that are not continued, and directories without an upload."""
        directories = [one for one in self.directory.iterdir() if one.is_dir()]
        table = schema.upload.c
        with self.repository.connection() as connection:
            old = and_(table.state.in_((RECEIVING, FAILED)), table.changed < time.time() - KEPT_S)
            for row in connection.execute(select(schema.upload).where(old)).mappings().all():
                if self._was_touched(_upload(row)):
                    continue
                connection.execute(delete(schema.upload).where(table.id == row["id"]))
            query = select(table.id).where(table.state.in_((RECEIVING, IMPORTING)))
            known = set(connection.scalars(query))
        for directory in directories:
            if directory.name not in known:
                shutil.rmtree(directory, ignore_errors=True)

    def _was_touched(self, upload: Upload) -> bool:
        parts = self.staging(upload).parts
        return parts.is_dir() and any(_age_s(one) < KEPT_S for one in parts.iterdir())


def _age_s(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


def _upload(row: Mapping[str, Any] | RowMapping) -> Upload:
    return Upload(
        id=row["id"],
        account=row["account"],
        state=row["state"],
        request=json.loads(row["request"]),
        result=json.loads(row["result"]),
        thing=row["thing"],
        version=row["version"],
        changed=row["changed"],
    )
