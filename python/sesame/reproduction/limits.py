"""Limits the memory of a command by a control group, and provides swap space."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from sesame.errors import InputError

MOUNT = Path("/sys/fs/cgroup")
# For each version of control groups: the directory of memory groups, and the file of their limit.
VERSIONS = ((MOUNT / "memory", "memory.limit_in_bytes"), (MOUNT, "memory.max"))
MOST_SECONDS = 10.0  # within which a killed process must have ended


def _groups() -> tuple[Path, str]:
    for parent, name in VERSIONS:
        is_second = parent == MOUNT and (parent / "cgroup.controllers").is_file()
        if is_second or (parent / name).is_file():
            return parent, name
    raise InputError(
        "this machine has no control groups of memory", hint=f"looked for them in {MOUNT}"
    )


@contextmanager
def memory_limit(limit_bytes: int | None) -> Iterator[Sequence[str]]:
    """Yields a command prefix that limits the memory of a command and its children to
    `limit_bytes`; an empty one without a limit."""
    if limit_bytes is None:
        yield ()
        return
    parent, name = _groups()
    group = parent / f"sesame.{os.getpid()}"
    try:
        group.mkdir()
        (group / name).write_text(str(limit_bytes))
    except OSError as error:
        with suppress(OSError):
            group.rmdir()
        raise InputError(f"{group}: cannot be made: {error.strerror}") from error
    try:
        yield ("sh", "-c", 'echo $$ >"$0" && exec "$@"', str(group / "cgroup.procs"))
    finally:
        _remove(group)


def _remove(group: Path) -> None:
    """Removes a control group; kills processes that an interrupted run left in it."""
    end = time.monotonic() + MOST_SECONDS
    while True:
        try:
            return group.rmdir()
        except OSError:
            if time.monotonic() > end:
                raise
        for process in (group / "cgroup.procs").read_text().split():
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
        time.sleep(0.01)


@contextmanager
def swap_space(size_bytes: int) -> Iterator[None]:
    """Provides swap space if the machine has none: a device in memory, which is fast and spares
    disks. Pages on it do not count towards the limit of a control group."""
    if len(Path("/proc/swaps").read_text().splitlines()) > 1:
        yield
        return
    with tempfile.NamedTemporaryFile(prefix="sesame-swap-", dir="/dev/shm") as file:
        os.posix_fallocate(file.fileno(), 0, size_bytes)
        device = _run("losetup", "--find", "--show", file.name)
        try:
            _run("mkswap", device)
            _run("swapon", device)
            try:
                yield
            finally:
                _run("swapoff", device)
        finally:
            _run("losetup", "--detach", device)


def _run(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise InputError(f"{command[0]}: {error.strerror}, needed for swap space") from error
    if done.returncode != 0:
        raise InputError(f"no swap space: {' '.join(command)}: {done.stderr.strip()}")
    return done.stdout.strip()
