"""Makes a version of a thing from what has been received: checks it, imports it in a confined
process, stores it."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import shutil
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette

from sesame.errors import InputError, SesameError
from sesame.repository.accounts.account import Account
from sesame.repository.accounts.store import Accounts
from sesame.repository.provenance import fill
from sesame.repository.store import LibraryItem, Link, NewThing, Repository, Version, schema
from sesame.repository.store.things import NewVersion, StoredFile
from sesame.repository.uploads.child import Imported, ImportRefused, plain_files, run_import
from sesame.repository.uploads.importing import LARGEST_INFO
from sesame.repository.uploads.mail import MailServer, send_waiting_mail
from sesame.repository.uploads.receiving import DamagedFile, Staging, digest_of_file
from sesame.repository.uploads.review import tell_reviewers
from sesame.repository.uploads.service import DONE, FAILED, RECEIVING, Upload, Uploads

LOOK_EVERY_S, MAIL_EVERY_S = 0.2, 5.0


class Publisher:
    """The imports of one server process. Several may run: each upload is taken by one of them, by a
    lock that the system releases when it dies."""

    def __init__(self, uploads: Uploads, address: str = "") -> None:
        """`address`: of the site, in mail."""
        self._uploads, self._address = uploads, address
        self._repository = uploads.repository
        self.missing: list[str] | None = None  # what could not be confined at the last import

    async def run(self) -> None:
        """Imports what has arrived, until it is cancelled."""
        await asyncio.to_thread(self._uploads.clean)
        while True:
            try:
                if await self.import_next():
                    continue
            except Exception:  # a mistake of ours, or the database is gone: the next may succeed
                traceback.print_exc()
            await asyncio.sleep(LOOK_EVERY_S)

    async def import_next(self) -> bool:
        """Imports one upload; whether there was one."""
        for upload in await asyncio.to_thread(self._uploads.waiting_for_import):
            with _claimed(self._uploads.directory / f"{upload.id}.lock") as is_ours:
                if is_ours and await self._import_if_waiting(upload):
                    return True
        return False

    async def _import_if_waiting(self, upload: Upload) -> bool:
        waiting = await asyncio.to_thread(self._uploads.waiting_for_import)
        if all(one.id != upload.id for one in waiting):  # another process has just done it
            return False
        try:
            await self._publish(upload)
        except DamagedFile as error:
            await asyncio.to_thread(self._end, upload, RECEIVING, error)
        except SesameError as error:
            await asyncio.to_thread(self._end, upload, FAILED, error)
        except OSError as error:
            failed = SesameError(f"the server could not store it: {error.strerror}")
            await asyncio.to_thread(self._end, upload, FAILED, failed)
        except SQLAlchemyError:
            raise  # the database may come back
        except Exception:
            traceback.print_exc()
            failed = SesameError("a mistake in Sesame; the log of the server has it")
            await asyncio.to_thread(self._end, upload, FAILED, failed)
        return True

    def _end(self, upload: Upload, state: str, error: SesameError) -> None:
        staging = self._uploads.staging(upload)
        with self._repository.connection() as connection:
            result = {"error": error.message, "hint": error.hint}
            self._uploads.set_state(connection, upload, state, result)
        if state == FAILED:
            self._discard(staging)
            staging.remove()

    async def _publish(self, upload: Upload) -> None:
        owner = await asyncio.to_thread(Accounts(self._repository.engine).by_id, upload.account)
        if owner is None:
            raise InputError("the account is no longer there")
        staging = self._uploads.staging(upload)
        staging.make()  # there is none if the server had all files
        await asyncio.to_thread(self._assemble, owner, upload, staging)
        if upload.request["library"] == "data":
            await self._import(staging)
        await asyncio.to_thread(self._store, owner, upload, staging)

    def _assemble(self, owner: Account, upload: Upload, staging: Staging) -> None:
        """Checks the hashes of what was sent, and adds what the server had."""
        manifest = upload.manifest
        known = self._uploads.known(owner, manifest)
        sent = [
            one
            for one, file in enumerate(manifest.files)
            if one not in known or staging.offset(one) == file.bytes > 0
        ]
        staging.assemble(manifest, sent)
        for number, sha256 in known.items():
            target = staging.received / manifest.files[number].path
            if target.exists():
                continue
            staging.make_directories(target)
            self._repository.files.fetch(sha256, target)
            if target.stat().st_mode & 0o444 != 0o444:  # for the user of imports
                copy = target.with_name(target.name + ".copy")
                shutil.copyfile(target, copy)
                copy.chmod(0o444)
                copy.replace(target)

    async def _import(self, staging: Staging) -> None:
        """Leaves `imported` with `data` and `derived`. It appears when it is complete."""
        if staging.imported.exists():
            return
        made = await run_import(staging.received, staging.work, self._uploads.limits.imports)
        self.missing = made.missing
        await asyncio.to_thread(_take_over, staging, made)

    def _store(self, owner: Account, upload: Upload, staging: Staging) -> None:
        imported = staging.imported / "data"
        source = imported if imported.exists() else staging.received
        info = _info_of(source) if upload.request["library"] == "data" else {}
        with self._storing():
            files = [
                StoredFile(name, self._repository.files.put(path, may_link=True), _size(path))
                for name, path in plain_files(source)
            ]
            new = NewVersion(files, info)
            with self._repository.connection() as connection:
                thing, version = self._add(connection, owner, upload, new)
                self._move_derived(staging, version)
                result = {
                    "thing": thing.id,
                    "version": version.number,
                    "address": thing.address,
                    "review": thing.state,
                    **_seconds_of(staging),
                }
                self._uploads.set_state(connection, upload, DONE, result)
            fill(self._repository, thing, version)
        staging.remove()

    def _add(
        self, connection: Connection, owner: Account, upload: Upload, new: NewVersion
    ) -> tuple[LibraryItem, Version]:
        request, things = upload.request, self._repository.things
        state = "waiting" if owner.needs_review else "accepted"
        known = request["version_of"]
        if known:
            thing = things.get(connection, known)
            if thing is None:
                raise InputError(f"{known}: it is no longer there")
            if owner.needs_review and thing.state == "accepted":
                things.change(connection, thing.id, state=state)
                thing = things.get(connection, thing.id) or thing
        else:
            title = request["title"] or str(new.info.get("title") or "untitled")
            public_from = request["public_from"]
            thing = things.add(
                connection,
                NewThing(
                    library=request["library"],
                    owner=owner.id,
                    title=title,
                    description=request["description"],
                    licence=request["licence"],
                    visibility=request["visibility"],
                    public_from=public_from and datetime.fromtimestamp(public_from, UTC),
                    state=state,
                    contact=request["contact"],
                    contact_mail=request["contact_mail"],
                    file_type=request["kind"],
                ),
            )
        version = things.add_version(connection, thing.id, new)
        for relation, to in request.get("links", ()):
            if things.get(connection, to) is not None:
                things.add_link(connection, Link(thing.id, version.number, relation, to))
        if thing.state == "waiting":
            tell_reviewers(connection, owner, thing, self._address)
        return thing, version

    def _move_derived(self, staging: Staging, version: Version) -> None:
        """Each part appears when it is complete."""
        made = staging.imported / "derived"
        if not made.exists():
            return
        target = self._repository.derived(version)
        for part in made.iterdir():
            if part.is_dir() and not (target / part.name).exists():
                part.rename(target / part.name)
        self._repository.keep_derived(version)

    def _discard(self, staging: Staging) -> None:
        """Removes stored files that no version has."""
        imported = staging.imported / "data"
        source = imported if imported.exists() else staging.received
        if not source.exists():
            return
        with self._storing(), suppress(ImportRefused):
            found = [
                StoredFile(name, digest_of_file(path), _size(path))
                for name, path in plain_files(source)
            ]
            for one in found:
                self._remove_unused(one.sha256)
            content, things = NewVersion(found).content_hash, self._repository.things
            with self._repository.connection() as connection:
                if not things.with_content(connection, content):
                    self._repository.files.remove_derived(content)

    def _remove_unused(self, sha256: str) -> None:
        with self._repository.connection() as connection:
            used = select(schema.file.c.path).where(schema.file.c.sha256 == sha256).limit(1)
            if connection.execute(used).first() is None:
                self._repository.files.remove(sha256)

    @contextmanager
    def _storing(self) -> Iterator[None]:
        """One process at a time stores files and their rows, or removes files without rows."""
        with (self._uploads.directory / "storing.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


@contextmanager
def _claimed(path: Path) -> Iterator[bool]:
    with path.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        try:
            yield True
        finally:
            path.unlink(missing_ok=True)


def _take_over(staging: Staging, made: Imported) -> None:
    """Moves what the import made out of its reach, to `imported`."""
    partial = staging.directory / "partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(mode=0o700)
    (partial / "seconds.json").write_text(json.dumps(made.seconds))
    trees = [(made.derived, partial / "derived")]
    if not made.data.is_relative_to(staging.received.resolve()):
        trees.append((made.data, partial / "data"))
    for source, target in trees:
        for name, path in plain_files(source):
            if os.geteuid() == 0:
                os.chown(path, 0, 0, follow_symlinks=False)
            path.chmod(0o444)
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            path.rename(target / name)
    shutil.rmtree(staging.work, ignore_errors=True)
    partial.rename(staging.imported)


def _seconds_of(staging: Staging) -> dict[str, float]:
    try:
        found: dict[str, float] = json.loads((staging.imported / "seconds.json").read_text())
    except FileNotFoundError:  # nothing was imported
        return {}
    return found


def _info_of(data: Path) -> dict[str, Any]:
    from sesame.datasets import DataSet

    if _size(data / "info.json") > LARGEST_INFO:
        raise InputError(f"info.json: expected at most {LARGEST_INFO} bytes")
    return DataSet(data).info.as_json()


def _size(path: Path) -> int:
    return path.stat().st_size


async def work(app: Starlette) -> None:
    """Imports what has arrived and sends mail, until it is cancelled."""
    repository: Repository = app.state.repository
    publisher = Publisher(Uploads(repository), app.state.address)
    sending = asyncio.create_task(_send_mail(repository, app.state.mail))
    try:
        await publisher.run()
    finally:
        sending.cancel()


async def _send_mail(repository: Repository, server: MailServer | None) -> None:
    while server is not None:
        await asyncio.to_thread(send_waiting_mail, repository.engine, server)
        await asyncio.sleep(MAIL_EVERY_S)
