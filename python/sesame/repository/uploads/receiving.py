"""Files that are being received. What has arrived of a file is the length of its file on disk, so
that an upload continues after a break of the connection, of the client or of the server."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sesame.errors import InputError, OutputError
from sesame.repository.uploads.manifest import Manifest, SentFile

WRITE_AT_ONCE = 1 << 20  # bytes: so much of a body is in memory


class WrongOffset(InputError):
    """The client continues at another place than where the file ends: `at` is right."""

    status = 409

    def __init__(self, at: int) -> None:
        super().__init__(f"the file continues at byte {at}", hint="send the rest from there")
        self.at = at


class Busy(InputError):
    """Another request writes this file."""

    status = 423


class DamagedFile(InputError):
    """What arrived is not what was announced. It has been removed, to be sent again."""


class Staging:
    """The directory of one upload: `parts/N` of the file N of the manifest, `received/PATH` when
    all have arrived, `work` of the import, `imported` when that has ended."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.parts = directory / "parts"
        self.received = directory / "received"
        self.work = directory / "work"
        self.imported = directory / "imported"

    def make(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.parts.mkdir(exist_ok=True, mode=0o700)

    def remove(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)

    def offset(self, number: int) -> int:
        """How many bytes of a file have arrived."""
        try:
            return (self.parts / str(number)).stat().st_size
        except FileNotFoundError:
            return 0

    async def append(
        self, number: int, file: SentFile, offset: int, body: AsyncIterator[bytes]
    ) -> int:
        """Appends a body as it arrives; returns the new offset. Raises WrongOffset, Busy,
        InputError for too much, OutputError. What had arrived before an error stays."""
        with self._locked(number) as descriptor:
            size = os.fstat(descriptor).st_size
            if size != offset:
                raise WrongOffset(size)
            waiting = bytearray()
            try:
                async for chunk in body:
                    size += len(chunk)
                    if size > file.bytes:
                        raise InputError(f"{file.path}: longer than the {file.bytes} bytes said")
                    waiting += chunk
                    if len(waiting) >= WRITE_AT_ONCE:
                        await asyncio.to_thread(_write, descriptor, waiting)
                        waiting = bytearray()
            finally:
                _write(descriptor, waiting)
            return size

    @contextmanager
    def _locked(self, number: int) -> Iterator[int]:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = os.open(self.parts / str(number), flags, 0o600)
        except FileNotFoundError:
            raise InputError("this upload is over") from None
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise Busy(
                    "another request sends this file", hint="wait until it has ended"
                ) from None
            yield descriptor
        finally:
            os.close(descriptor)

    def assemble(self, manifest: Manifest, numbers: list[int]) -> None:
        """Checks the files `numbers` by their hashes and moves them to their paths below
        `received`. May be called again after a break. Raises DamagedFile, InputError."""
        incomplete = [
            manifest.files[one].path
            for one in numbers
            if self._is_incomplete(one, manifest.files[one])
        ]
        if incomplete:
            raise InputError(f"{len(incomplete)} files have not arrived, such as {incomplete[0]}")
        damaged = []
        for one in numbers:
            target = self.received / manifest.files[one].path
            if target.exists():  # moved before a break
                continue
            part, file = self.parts / str(one), manifest.files[one]
            if not file.bytes:
                part.touch(mode=0o600)
            if file.sha256 is not None and digest_of_file(part) != file.sha256:
                damaged.append(file.path)
                part.unlink()
                continue
            self.make_directories(target)
            part.chmod(0o444)  # for the user of imports; only root enters `directory` itself
            part.rename(target)
        if damaged:
            raise DamagedFile(
                f"{len(damaged)} files arrived damaged, such as {damaged[0]}",
                hint="send them again",
            )

    def make_directories(self, target: Path) -> None:
        """Makes the directories of a received file, which the user of imports may read."""
        for above in [*reversed(target.relative_to(self.directory).parents)][1:]:
            (self.directory / above).mkdir(exist_ok=True)
            (self.directory / above).chmod(0o755)

    def _is_incomplete(self, number: int, file: SentFile) -> bool:
        if (self.received / file.path).exists():
            return False
        return self.offset(number) != file.bytes


def digest_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write(descriptor: int, data: bytearray) -> None:
    """Raises OutputError for a full disk; what has been written stays."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError as error:
        raise OutputError(f"the server cannot store this: {error.strerror}") from error
    finally:
        with suppress(Exception):
            view.release()
