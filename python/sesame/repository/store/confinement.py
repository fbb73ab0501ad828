"""Confines this process before it reads what was uploaded.

No network (a network namespace of its own, and no sockets), no files but those that it needs
(Landlock), no way to other processes, limits of memory, processor time and file size, and where
root serves another user. What the machine does not offer is returned in words.

Nothing here can be taken back: call `confine` in a child process, once, early.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import pwd
import resource
import signal
import struct
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

USER = "sesame-import"  # else the user 65534
_NEW_MOUNTS, _NEW_NETWORK, _NEW_IPC = 0x00020000, 0x40000000, 0x08000000  # CLONE_…, sched.h
_PRIVATE, _RECURSIVE, _BIND = 1 << 18, 1 << 14, 1 << 12  # MS_…, sys/mount.h
_NO_NEW_PRIVILEGES, _PARENT_DEATH_SIGNAL, _SET_SECCOMP = 38, 1, 22  # PR_…, linux/prctl.h
_MOST_PROCESSES, _MOST_FILES = 256, 1024
_libc = ctypes.CDLL(None, use_errno=True)
_INHERITED = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH")


@dataclass(frozen=True)
class ProcessLimits:
    """What a confined process may use."""

    memory_bytes: int = 4 << 30  # address space
    processor_s: int = 1800
    file_bytes: int = 32 << 30  # of one file


def confine(
    limits: ProcessLimits, *, readable: Sequence[Path], writable: Sequence[Path]
) -> list[str]:
    """Confines this process. Returns what is missing, in words. Python and its packages stay
    readable. Where root serves, the `writable` directories must belong to `import_user()`."""
    missing: list[str] = []
    is_root = os.geteuid() == 0
    if is_root:
        flags = _NEW_MOUNTS | _NEW_NETWORK | _NEW_IPC
        if _libc.unshare(flags):
            missing.append(f"a network namespace: {_reason()}")
        else:
            missing += _open_directories([*_python_directories(), *readable, *writable])
    _limit(limits)
    if is_root:
        missing += _change_user()
    _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    _libc.prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    missing += _restrict_files(readable, writable)
    missing += _restrict_calls()
    return missing


def environment() -> dict[str, str]:
    """The variables with which a process starts that will confine itself: no secrets. Its
    libraries start no threads, which it does not use."""
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return inherited | {"OPENBLAS_NUM_THREADS": "1"}


def _reason() -> str:
    return os.strerror(ctypes.get_errno())


def _limit(limits: ProcessLimits) -> None:
    for limit, most in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_CPU, limits.processor_s),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, _MOST_FILES),
        (resource.RLIMIT_NPROC, _MOST_PROCESSES),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(limit)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (most, most))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # an error of the call says which file


# ---- Another user ----


def import_user() -> tuple[int, int]:
    """User and group of confined processes where root serves."""
    with contextlib.suppress(KeyError):
        found = pwd.getpwnam(USER)
        return found.pw_uid, found.pw_gid
    return 65534, 65534


def _change_user() -> list[str]:
    user, group = import_user()
    try:
        os.setgroups([])
        os.setresgid(group, group, group)
        os.setresuid(user, user, user)
    except OSError as error:
        return [f"another user: {error.strerror}"]
    return []


def _python_directories() -> list[Path]:
    """Where Python, its packages and Sesame are."""
    named = {*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix, *sys.path}
    found = {Path(one).resolve() for one in named if one and Path(one).is_dir()}
    found = {one for one in found if one != Path("/")}
    return sorted(one for one in found if not any(other in one.parents for other in found))


def _open_directories(wanted: Sequence[Path]) -> list[str]:
    """Replaces directories that only root may enter, such as /root, by empty ones that have
    nothing but the `wanted` ones in them; for this process only."""
    if _libc.mount(None, b"/", None, _RECURSIVE | _PRIVATE, None):
        return [f"mounts of its own: {_reason()}"]
    closed: dict[Path, list[Path]] = {}
    for directory in wanted:
        above = [*reversed(directory.parents)][1:]
        shut = next((one for one in above if not one.stat().st_mode & 0o001), None)
        if shut is not None:
            closed.setdefault(shut, []).append(directory)
    for shut, directories in closed.items():
        opened = [os.open(one, os.O_PATH | os.O_DIRECTORY) for one in directories]
        if _libc.mount(b"none", bytes(shut), b"tmpfs", 0, b"mode=0755,size=64k"):
            return [f"{shut} readable for another user: {_reason()}"]
        for directory, descriptor in zip(directories, opened, strict=True):
            directory.mkdir(parents=True, exist_ok=True)
            source = f"/proc/self/fd/{descriptor}".encode()
            if _libc.mount(source, bytes(directory), None, _BIND | _RECURSIVE, None):
                return [f"{directory} readable for another user: {_reason()}"]
            os.close(descriptor)
    return []


# ---- Landlock: files. linux/landlock.h ----

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same numbers on every architecture
_EXECUTE, _READ_FILE, _READ_DIRECTORY = 1 << 0, 1 << 2, 1 << 3
_READ = _EXECUTE | _READ_FILE | _READ_DIRECTORY
_BITS = {1: 13, 2: 14, 3: 15, 4: 15}  # how many kinds of access each version knows; later ones: 16
_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/localtime", "/dev/urandom")
_SYSTEM_MORE = ("/dev/null", "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system")


def _restrict_files(readable: Sequence[Path], writable: Sequence[Path]) -> list[str]:
    version = _libc.syscall(_CREATE, None, 0, 1)
    if version < 1:
        return ["Landlock, so it can read all files of its user"]
    every = (1 << _BITS.get(version, 16)) - 1
    network = 3 if version >= 4 else 0  # bind and connect of TCP
    scoped = 3 if version >= 6 else 0  # abstract sockets and signals
    attributes = struct.pack("QQQ", every, network, scoped)
    size = 8 if version < 4 else 16 if version < 6 else 24
    rules = _libc.syscall(_CREATE, attributes, size, 0)
    if rules < 0:
        return [f"Landlock: {_reason()}"]
    system = [Path(one) for one in (*_SYSTEM, *_SYSTEM_MORE)]
    for path in (*system, *_python_directories(), *readable):
        _permit(rules, path, _READ)
    _permit(rules, Path("/dev/null"), _READ_FILE | 1 << 1)
    for path in writable:
        _permit(rules, path, every)
    failed = _libc.syscall(_RESTRICT, rules, 0)
    os.close(rules)
    return [f"Landlock: {_reason()}"] if failed else []


def _permit(rules: int, path: Path, access: int) -> None:
    """Permits access to a file, or to all below a directory; nothing if it is not there."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not path.is_dir():
        access &= _EXECUTE | 1 << 1 | _READ_FILE | 1 << 14
    _libc.syscall(_ADD, rules, 1, struct.pack("=Qi", access, descriptor), 0)
    os.close(descriptor)


# ---- seccomp: system calls. linux/seccomp.h, linux/bpf_common.h ----

# Sockets, other processes, sessions (a process that leaves its group would not be ended with it),
# mounts and namespaces, the kernel itself, and io_uring, which does such calls unseen.
_FORBIDDEN = {
    "x86_64": (0xC000003E, (
        41, 101, 109, 112, 155, 161, 165, 166, 169, 175, 246, 248, 249, 250, 272, 298, 304, 308,
        310, 311, 313, 320, 321, 323, 425, 428, 429, 430, 434, 438,
    )),
    "aarch64": (0xC00000B7, (
        198, 117, 154, 157, 41, 51, 40, 39, 142, 105, 104, 217, 218, 219, 97, 241, 265, 268,
        270, 271, 273, 294, 280, 282, 425, 428, 429, 430, 434, 438,
    )),
}  # fmt: skip
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # BPF instructions
_ALLOW, _DENY, _KILL = 0x7FFF0000, 0x00050000 | 13, 0x80000000  # 13: EACCES
_X32 = 0x40000000  # calls of another binary interface of the same architecture


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _restrict_calls() -> list[str]:
    machine = platform.machine()
    if machine not in _FORBIDDEN:
        return [f"a filter of system calls for {machine}"]
    architecture, numbers = _FORBIDDEN[machine]
    count = len(numbers)
    code = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, count + 1, 0, _X32),
        *((_EQUAL, count - index, 0, number) for index, number in enumerate(numbers)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _DENY),
    ]
    program = b"".join(struct.pack("HBBI", *one) for one in code)
    filter_ = _Program(len(code), program)
    if _libc.prctl(_SET_SECCOMP, 2, ctypes.byref(filter_), 0, 0):
        return [f"a filter of system calls: {_reason()}"]
    return []
