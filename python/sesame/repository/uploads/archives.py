"""Unpacks archives (zip, tar) that were uploaded. Run it in a confined process."""

from __future__ import annotations

import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from sesame.errors import InputError
from sesame.repository.uploads.manifest import MOST_FILES, checked_path

CHUNK = 1 << 20
# Our Parquet files compress little again; text logs by 20 or so. Zip bombs by 1,000 and more.
MOST_RATIO = 200
RATIO_FROM = 100 << 20  # bytes: smaller ones do no harm
BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    RuntimeError,  # zipfile: encrypted
    NotImplementedError,  # zipfile: a compression that it does not know
    ValueError,
)


@dataclass(frozen=True)
class Member:
    path: str
    content: IO[bytes] | None  # None for a directory


def is_archive(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        return zipfile.is_zipfile(path) or tarfile.is_tarfile(path)
    except BROKEN:
        return False


def unpack(archive: Path, directory: Path, most_bytes: int) -> None:
    """Unpacks into `directory`, which exists and is empty. Raises InputError for what is neither
    file nor directory, a name that leads elsewhere, and too much: `most_bytes`, many files, or a
    file that is far larger than the archive."""
    allowed = min(most_bytes, max(RATIO_FROM, MOST_RATIO * archive.stat().st_size))
    files = used = 0
    try:
        for member in _members(archive):
            path = checked_path(member.path.removeprefix("./").rstrip("/"))
            files += 1
            if files > MOST_FILES:
                raise InputError(f"{archive.name}: more than {MOST_FILES} files")
            target = directory / path
            if member.content is None:
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            used += _copy(member.content, target, allowed - used, archive.name)
    except InputError:
        raise
    except BROKEN as error:
        raise InputError(f"{archive.name}: cannot unpack it: {error}") from error


def _copy(source: IO[bytes], target: Path, allowed: int, name: str) -> int:
    """Counts what is unpacked, whatever the archive says about it."""
    size = 0
    with target.open("xb") as file:
        while chunk := source.read(CHUNK):
            size += len(chunk)
            if size > allowed:
                raise InputError(
                    f"{name}: it unpacks to too much", hint="upload the data set as a directory"
                )
            file.write(chunk)
    return size


def _members(archive: Path) -> Iterator[Member]:
    if zipfile.is_zipfile(archive):
        yield from _of_zip(archive)
    else:
        yield from _of_tar(archive)


def _of_zip(archive: Path) -> Iterator[Member]:
    with zipfile.ZipFile(archive) as opened:
        for info in opened.infolist():
            kind = info.external_attr >> 28  # the type of a Unix file; 0 if made elsewhere
            if info.is_dir():
                yield Member(info.filename, None)
            elif kind not in (0, 0o10):
                raise InputError(f"{info.filename[:80]!r}: expected files and directories only")
            else:
                with opened.open(info) as content:
                    yield Member(info.filename, content)


def _of_tar(archive: Path) -> Iterator[Member]:
    """Reads it as a stream: nothing is searched for, and a link is refused when it comes."""
    with tarfile.open(archive, "r:*") as opened:
        while (info := opened.next()) is not None:
            opened.members = []  # type: ignore[attr-defined]  # else it keeps all of them
            if info.isdir():
                if info.name not in (".", "./"):
                    yield Member(info.name, None)
            elif info.isreg() and info.sparse is None:
                yield Member(info.name, opened.extractfile(info) or io.BytesIO())
            else:
                raise InputError(f"{info.name[:80]!r}: expected files and directories only")
