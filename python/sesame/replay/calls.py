"""Which call the replayer issues for which recorded one."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache

from sesame.errors import ReplayError
from sesame.installed import find_installed

# Recorded name: issued name. Names that are not here and not the replayer's are not issued.
ISSUED_AS = {
    "openat": "open",
    "creat": "open",
    "mkstemp": "open",
    "mkostemp": "open",
    "preadv2": "preadv",
    "pwritev2": "pwritev",
    "dup2": "dup",
    "dup3": "dup",
    "newfstatat": "stat",
    "fstatat": "stat",
    "statx": "stat",
    "faccessat": "access",
    "euidaccess": "access",
    "eaccess": "access",
    "unlinkat": "unlink",
    "remove": "unlink",
    "renameat": "rename",
    "renameat2": "rename",
    "linkat": "link",
    "symlinkat": "symlink",
    "readlinkat": "readlink",
    "mkdirat": "mkdir",
    "fchmodat": "chmod",
    "statvfs": "statfs",
    "fread_unlocked": "fread",
    "fwrite_unlocked": "fwrite",
    "vfprintf": "fprintf",
    "printf": "fprintf",
    "vprintf": "fprintf",
    "fwprintf": "fprintf",
    "__fprintf_chk": "fprintf",
    "__printf_chk": "fprintf",
    "__vfprintf_chk": "fprintf",
    "puts": "fputs",
    "putc": "fputc",
    "putchar": "fputc",
    "getc": "fgetc",
    "getchar": "fgetc",
    "getline": "fgets",
    "getdelim": "fgets",
    "fscanf": "fgets",
    "vfscanf": "fgets",
    "scanf": "fgets",
    "fseeko": "fseek",
    "fsetpos": "fseek",
    "rewind": "fseek",
    "ftello": "ftell",
    "fgetpos": "ftell",
    "setbuf": "setvbuf",
    "setbuffer": "setvbuf",
    "setlinebuf": "setvbuf",
    "aio_return": "aio_wait",
    "aio_suspend": "aio_wait",
    "page_read": "touch_read",
    "page_write": "touch_write",
}
FORMATTED = {
    "vfprintf",
    "fprintf",
    "printf",
    "vprintf",
    "fwprintf",
    "__fprintf_chk",
    "__printf_chk",
    "__vfprintf_chk",
    "fscanf",
    "vfscanf",
    "scanf",
}
OPENINGS = {"open", "fopen", "opendir"}
CLOSINGS = {"close", "fclose", "closedir"}
STDIO = {"fopen", "fdopen", "fclose", "fread", "fwrite", "fprintf", "fputs", "fputc", "fgets"}
STDIO |= {"fgetc", "fflush", "fseek", "ftell", "setvbuf"}
# Their length is what they moved, not what was asked for.
SIZED_BY_RESULT = {"fprintf", "fputs", "fputc", "fgets", "fgetc"}
READS = {"read", "pread", "readv", "preadv", "fread", "fgets", "fgetc", "aio_read", "touch_read"}
WRITES = {"write", "pwrite", "writev", "pwritev", "fwrite", "fprintf", "fputs", "fputc"}
WRITES |= {"aio_write", "touch_write", "copy_file_range", "sendfile"}
NAMING = {"open", "fopen", "opendir", "stat", "lstat", "access", "unlink", "rename", "link"}
NAMING |= {"symlink", "readlink", "mkdir", "rmdir", "truncate", "chmod", "statfs"}

_MPI_DATA = re.compile(r"MPI_File_i?(read|write)(_at|_all|_at_all|_shared|_ordered)?(_begin)?$")
_MPI_OTHERS = {
    "MPI_File_open": "open",
    "MPI_File_close": "close",
    "MPI_File_sync": "fsync",
    "MPI_File_set_size": "ftruncate",
    "MPI_File_preallocate": "posix_fallocate",
}


def is_mpi_io(name: str) -> bool:
    return name.startswith("MPI_File_")


def issued_name(recorded: str) -> str | None:
    """The call that is issued for a recorded one; None when there is none."""
    data = _MPI_DATA.match(recorded)
    if data:
        return "pread" if data[1] == "read" else "pwrite"
    name = _MPI_OTHERS.get(recorded) or ISSUED_AS.get(recorded, recorded)
    return name if name in call_numbers() else None


@cache
def call_numbers() -> dict[str, int]:
    """The replayer's own numbers: it is asked, so that there is one list."""
    program = find_installed("sesame-replayer")
    answer = subprocess.run([program, "--calls"], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise ReplayError(f"{os.fspath(program)} does not answer: {answer.stderr.strip()}")
    return {name: number for number, name in enumerate(answer.stdout.split())}
