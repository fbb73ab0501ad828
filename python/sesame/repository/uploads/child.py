"""Starts the process that imports, watches it, and takes what it made.

The child may be controlled by the author of the file: of what it leaves, only plain files are
taken, without following links, after all of its processes have ended.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sesame.errors import InputError, SesameError
from sesame.repository.store.confinement import environment, import_user
from sesame.repository.uploads.importing import RESULT

LOOK_EVERY_S = 0.2
LARGEST_RESULT = 64 << 10
LAST_WORDS = 2000  # bytes of stderr that are kept
OUT_OF_MEMORY = ("MemoryError", "bad_alloc", "can't start new thread", "cannot allocate memory")


@dataclass(frozen=True)
class ImportLimits:
    memory_bytes: int = 4 << 30
    processor_s: int = 3600
    seconds: float = 7200.0
    written_bytes: int = 64 << 30


@dataclass(frozen=True)
class Imported:
    """`data`: the directory of the data set. `missing`: what could not be confined, `unprepared`:
    what could not be made of the data, in words. `seconds`: of importing and of preparing."""

    data: Path
    derived: Path
    missing: list[str] = field(default_factory=list)
    unprepared: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


class ImportRefused(InputError):
    """The upload cannot be imported; the message is for who sent it."""


async def run_import(received: Path, work: Path, limits: ImportLimits) -> Imported:
    """Imports the files below `received` in a process of its own. `work` is made anew, and removed
    by the caller. Raises ImportRefused."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    temporary = work / "tmp"
    temporary.mkdir()
    if os.geteuid() == 0:
        for one in (work, temporary):
            os.chown(one, *import_user())
    request = {
        "received": str(received.resolve()),
        "work": str(work.resolve()),
        "most_bytes": limits.written_bytes,
        "memory_bytes": limits.memory_bytes,
        "processor_s": limits.processor_s,
    }
    directories = {"TMPDIR": str(temporary.resolve()), "HOME": str(temporary.resolve())}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-m", "sesame.repository.uploads.importing", json.dumps(request)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=environment() | directories,
        start_new_session=True,
        cwd="/",
    )
    try:
        said = await _watch(process, work, limits)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return _taken(work, received, process.returncode or 0, said)


async def _watch(process: asyncio.subprocess.Process, work: Path, limits: ImportLimits) -> str:
    """Waits until the child ends; returns the end of its stderr. Raises ImportRefused."""
    assert process.stderr is not None
    end = asyncio.get_running_loop().time() + limits.seconds
    reading = asyncio.ensure_future(_last_words(process.stderr))
    try:
        while process.returncode is None:
            done, _ = await asyncio.wait([reading], timeout=LOOK_EVERY_S)
            if done:
                await process.wait()
            elif asyncio.get_running_loop().time() > end:
                raise ImportRefused(f"the import took more than {limits.seconds:.0f} s")
            elif await asyncio.to_thread(written_bytes, work) > limits.written_bytes:
                raise ImportRefused(f"the import wrote more than {limits.written_bytes} bytes")
        return reading.result() if reading.done() else ""
    finally:
        reading.cancel()


async def _last_words(stream: asyncio.StreamReader) -> str:
    last = b""
    while chunk := await stream.read(1 << 16):
        last = (last + chunk)[-LAST_WORDS:]
    return last.decode("utf-8", "replace")


def written_bytes(directory: Path) -> int:
    """The space of the files below it. Files may come and go meanwhile."""
    total = 0
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    total += written_bytes(Path(entry.path))
                else:
                    total += entry.stat(follow_symlinks=False).st_size
    return total


def _taken(work: Path, received: Path, status: int, said: str) -> Imported:
    result = _read_result(work / RESULT)
    if result is None:
        raise _death(status, said)
    missing, unprepared = (
        [str(one)[:200] for one in result.get(name, [])][:20] for name in ("missing", "unprepared")
    )
    if "error" in result:
        hint = result.get("hint")
        raise ImportRefused(str(result["error"])[:1000], hint=str(hint)[:500] if hint else None)
    data = Path(str(result.get("data", "")))
    allowed = (received, work)
    if not any(data.resolve().is_relative_to(one.resolve()) for one in allowed):
        raise ImportRefused("the import gave a wrong answer")
    given = result.get("seconds")
    seconds = {
        name: round(float(given[name]), 3)
        for name in ("import_s", "prepare_s")
        if isinstance(given, dict) and isinstance(given.get(name), float)
    }
    return Imported(data.resolve(), work / "derived", missing, unprepared, seconds)


def _death(status: int, said: str) -> SesameError:
    if status == -signal.SIGXCPU or (status == -signal.SIGKILL and not said):
        return ImportRefused("the import needed more time or memory than it may have")
    if any(one in said for one in OUT_OF_MEMORY):
        return ImportRefused("the import needed more memory than it may have")
    last = said.strip().splitlines()[-1][:200] if said.strip() else f"status {status}"
    return ImportRefused(
        f"the import failed: {last}",
        hint="it is damaged, needs too much memory, or Sesame has a mistake",
    )


def _read_result(path: Path) -> dict[str, Any] | None:
    try:
        with open_plain(path) as file:
            found = json.loads(file.read(LARGEST_RESULT))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def open_plain(path: Path) -> Any:
    """Opens a plain file; raises OSError for a link, a pipe, a device."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path.name}: expected a plain file")
    return os.fdopen(descriptor, "rb")


def plain_files(directory: Path) -> list[tuple[str, Path]]:
    """The plain files below a directory: path relative to it, path. Raises ImportRefused for
    anything else."""
    found: list[tuple[str, Path]] = []
    for place, directories, names in os.walk(directory):
        for name in [*directories, *names]:
            path = Path(place) / name
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode):
                found.append((path.relative_to(directory).as_posix(), path))
            elif not stat.S_ISDIR(mode):
                raise ImportRefused(f"{name[:80]!r}: expected files and directories only")
    return sorted(found)
