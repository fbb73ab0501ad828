"""Calls on files: the kind and the layer of each.

A run has few names and many records, so results are cached by name.
"""

from __future__ import annotations

from functools import cache

READ, WRITE, OPEN, CLOSE, SEEK, SYNC, QUERY, CHANGE, OTHER, PROCESS = range(10)
KIND_NAMES = (
    *("read", "write", "open", "close", "seek", "sync", "query", "change", "other"),
    "process",  # starts a program: recorded, and no I/O
)
# Kinds that concern a file's name, position and attributes, not its data.
METADATA = (OPEN, CLOSE, SEEK, QUERY, CHANGE)

POSIX, STDIO, MPI_IO = range(3)
LAYER_NAMES = ("POSIX", "stdio", "MPI-IO")

_STDIO = {
    READ: "fread fgets fgetc fgetwc fgetws getc getchar gets getw getline getdelim fscanf scanf "
    "vfscanf vscanf getwchar fwscanf vfwscanf wscanf vwscanf fgetpwent fgetgrent fgetspent "
    "fgetsgent getmntent ungetc",
    WRITE: "fwrite fputs fputc fputwc fputws putc putchar puts putw fprintf printf vfprintf "
    "vprintf perror fwprintf wprintf vfwprintf vwprintf putwchar putpwent putgrent putspent "
    "putsgent addmntent malloc_info",
    OPEN: "fopen freopen fdopen fopencookie tmpfile popen setmntent",
    CLOSE: "fclose fcloseall pclose endmntent",
    SEEK: "fseek fseeko ftell ftello rewind fgetpos fsetpos",
    OTHER: "fflush setvbuf setbuf setlinebuf",
}
_POSIX = {
    READ: "read readv pread preadv preadv2 aio_read copy_file_range sendfile splice",
    WRITE: "write writev pwrite pwritev pwritev2 aio_write lio_listio dprintf vdprintf "
    "backtrace_symbols_fd",
    OPEN: "open openat openat2 creat mkstemp mkostemp mkstemps mkostemps opendir fdopendir "
    "mkdtemp fts_open shm_open memfd_create open_by_handle_at posix_openpt getpt",
    CLOSE: "close closedir close_range closefrom fts_close",
    SEEK: "lseek rewinddir seekdir",
    SYNC: "fsync fdatasync sync syncfs sync_file_range msync aio_fsync",
    QUERY: "stat lstat fstat fstatat newfstatat statx statfs fstatfs statvfs fstatvfs access "
    "faccessat faccessat2 euidaccess eaccess readlink readlinkat realpath readdir getdents "
    "getdirentries scandir scandirat ftw nftw glob fts_read fts_children mktemp name_to_handle_at "
    "getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr getcwd",
    CHANGE: "shm_unlink lchmod lutimes futimesat mkfifoat unlink unlinkat remove rename "
    "renameat renameat2 mkdir mkdirat rmdir link linkat symlink symlinkat truncate ftruncate "
    "fallocate posix_fallocate chmod fchmod fchmodat chown fchown lchown fchownat utime utimes "
    "futimes utimensat futimens mknod mknodat mkfifo setxattr lsetxattr fsetxattr removexattr "
    "lremovexattr fremovexattr",
    OTHER: "fcntl flock lockf dup dup2 dup3 mmap munmap mremap umask posix_fadvise fadvise madvise "
    "readahead",
    PROCESS: "fork vfork clone execve execv execvp execvpe fexecve execveat execl execlp execle "
    "posix_spawn posix_spawnp system",
}
_STDIO_KINDS = {name: kind for kind, names in _STDIO.items() for name in names.split()}
_POSIX_KINDS = {name: kind for kind, names in _POSIX.items() for name in names.split()}
_MPI_IO_KINDS = {
    "read": READ,
    "iread": READ,
    "write": WRITE,
    "iwrite": WRITE,
    "open": OPEN,
    "close": CLOSE,
    "seek": SEEK,
    "sync": SYNC,
    "get": QUERY,
    "set": CHANGE,
    "delete": CHANGE,
    "preallocate": CHANGE,
}


COPIES = {"copy_file_range", "sendfile", "splice"}  # read one file and write another
# Calls with a format string.
PRINTING = {name for name in _STDIO[WRITE].split() if name.endswith("printf")}
SCANNING = {name for name in _STDIO[READ].split() if name.endswith("scanf")}


@cache
def is_mpi_io(name: str) -> bool:
    return name.removeprefix("P").startswith("MPI_File_")


@cache
def io_layer(name: str) -> int:
    """The layer of `pwrite`, `fwrite`, `MPI_File_write_at` and the like."""
    if name.removeprefix("P").startswith("MPI_"):
        return MPI_IO
    return STDIO if _plain(name) in _STDIO_KINDS else POSIX


@cache
def io_kind(name: str) -> int:
    """The kind of a call. The end of a split collective call is OTHER: it moves no data."""
    if is_mpi_io(name):
        words = name.removeprefix("P").removeprefix("MPI_File_").split("_")
        return OTHER if words[-1] == "end" else _MPI_IO_KINDS.get(words[0], OTHER)
    plain = _plain(name)
    if plain in _STDIO_KINDS:
        return _STDIO_KINDS[plain]
    return _POSIX_KINDS.get(plain, _mapped(plain))


def _mapped(name: str) -> int:
    """The kind of records of accesses to a mapped file, which are not calls: `mapped_read`, …"""
    if name.startswith("map"):
        return READ if "read" in name else WRITE if "writ" in name else OTHER
    return OTHER


def _plain(name: str) -> str:
    """The name without the C library's additions: __fxstat64, fputs_unlocked, __printf_chk."""
    plain = name.lstrip("_").removesuffix("64").removesuffix("_unlocked").removesuffix("_chk")
    if plain.removeprefix("f").removeprefix("l").startswith("xstat"):
        plain = plain.replace("xstat", "stat")
    return plain.removeprefix("IO_")
