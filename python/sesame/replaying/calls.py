"""Maps recorded calls to the calls that the replayer issues."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache

from sesame.errors import ReplayError
from sesame.installed import find_installed
from sesame.traced.calls import is_completion
from sesame.traced.io_calls import CLOSE, COPIES, OPEN, PRINTING, READ, SCANNING, WRITE, io_kind

# By issued name: recorded names that are issued as this call. Recorded names that are neither here
# nor names of the replayer are not issued.
_SAME = {
    "open": ("openat", "creat", "mkstemp", "mkostemp", "mkstemps", "mkostemps"),
    "preadv": ("preadv2",),
    "pwritev": ("pwritev2",),
    "write": ("dprintf", "vdprintf"),
    "dup": ("dup2", "dup3"),
    "fstat": ("fstatfs", "fstatvfs"),
    "fchmod": ("fchown", "futimens", "futimes"),
    "stat": ("newfstatat", "fstatat", "statx"),
    "access": ("faccessat", "eaccess", "euidaccess"),
    "unlink": ("unlinkat", "remove"),
    "rename": ("renameat", "renameat2"),
    "link": ("linkat",),
    "symlink": ("symlinkat",),
    "readlink": ("readlinkat",),
    "mkdir": ("mkdirat", "mkdtemp"),
    "chmod": ("fchmodat", "chown", "fchownat", "utime", "utimes", "utimensat", "futimesat"),
    "statfs": ("statvfs",),
    "fopen": ("freopen",),
    "fread": ("getw", "fread_unlocked"),
    "fwrite": ("putw", "fwrite_unlocked"),
    "fputs": ("puts", "fputws"),
    "fputc": ("putc", "putchar", "putc_unlocked", "fputwc", "putwchar"),
    "fgets": ("gets", "getline", "getdelim", "fgetws"),
    "fgetc": ("getc", "getchar", "getc_unlocked", "fgetwc", "getwchar"),
    "fseek": ("fseeko", "fsetpos", "rewind"),
    "ftell": ("ftello", "fgetpos"),
    "setvbuf": ("setbuf", "setbuffer", "setlinebuf"),
    "aio_wait": ("aio_return", "aio_suspend"),
    "touch_read": ("mapped_read", "mapped_access"),
    "touch_write": ("mapped_write",),
}
FORMATTED = PRINTING | SCANNING
ISSUED_AS = {recorded: issued for issued, names in _SAME.items() for recorded in names}
ISSUED_AS |= dict.fromkeys(PRINTING, "fprintf") | dict.fromkeys(SCANNING, "fgets")

# Issued calls whose length is the number of bytes moved when recorded, not the number requested.
SIZED_BY_RESULT = {"fprintf", "fputs", "fputc", "fgets", "fgetc", "copy_file_range", "sendfile"}
PRINTS_TO_DESCRIPTOR = {"dprintf", "vdprintf"}
NAMING = {"open", "fopen", "opendir", "stat", "lstat", "access", "unlink", "rename", "link"}
NAMING |= {"symlink", "readlink", "mkdir", "rmdir", "truncate", "chmod", "statfs"}
OPEN_CALLS = {name for name in NAMING if io_kind(name) == OPEN}

_MPI_DATA = re.compile(r"MPI_File_(i?)(read|write)(_at|_all|_at_all|_shared|_ordered)?(_begin)?$")
_MPI_OTHERS = {
    "MPI_File_open": "open",
    "MPI_File_close": "close",
    "MPI_File_sync": "fsync",
    "MPI_File_set_size": "ftruncate",
    "MPI_File_preallocate": "posix_fallocate",
}


def issued_name(recorded: str) -> str | None:
    """The call that is issued for a recorded one; None if it is not replayed."""
    data = _MPI_DATA.match(recorded)
    if data:
        return f"{'aio_' if data[1] else 'p'}{data[2]}"
    if is_completion(recorded):
        return "aio_wait"
    name = _MPI_OTHERS.get(recorded) or ISSUED_AS.get(recorded, recorded)
    return name if name in call_numbers() else None


def reads() -> set[str]:
    """Issued calls that read; a copy counts as a write."""
    return _issued(READ) - COPIES


def writes() -> set[str]:
    return _issued(WRITE) | (COPIES & call_numbers().keys())


def closings() -> set[str]:
    return _issued(CLOSE)


def _issued(kind: int) -> set[str]:
    # The replayer has its own names for accesses to a mapped file.
    recorded = {name: name.replace("touch_", "mapped_") for name in call_numbers()}
    return {name for name in call_numbers() if io_kind(recorded[name]) == kind}


@cache
def call_numbers() -> dict[str, int]:
    """The replayer's number of each call. The replayer prints them, so that there is one list."""
    program = find_installed("sesame-replayer")
    answer = subprocess.run([program, "--calls"], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise ReplayError(f"{os.fspath(program)} does not answer: {answer.stderr.strip()}")
    return {name: number for number, name in enumerate(answer.stdout.split())}
