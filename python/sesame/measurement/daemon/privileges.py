"""Drops all privileges that a daemon does not need once its probes are loaded.

It keeps CAP_BPF and CAP_PERFMON, which attaching and detaching need. On Linux each thread has its
own capabilities, so they must be dropped before other threads start.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sesame.errors import InputError, SesameError
from sesame.settings import setting

KEPT = "cap_bpf,cap_perfmon"
KEPT_MASK = 1 << 39 | 1 << 38  # as in linux/capability.h
PR_SET_KEEPCAPS, PR_SET_NO_NEW_PRIVS = 8, 38  # as in linux/prctl.h


DEFAULT_USER = "sesame"
CREATE_USER = f"`useradd --system --no-create-home --shell /usr/sbin/nologin {DEFAULT_USER}`"


def find_user(name: str | None, say: Callable[[str], None]) -> pwd.struct_passwd | None:
    """The user to become once the probes are loaded: by default DEFAULT_USER if it exists. None:
    this process keeps its user; `say` gets the reason if that is root. Raises InputError."""
    if os.geteuid() != 0:
        if name is not None:
            raise InputError(f"{setting('user')}: only root can change to another user")
        return None
    try:
        return pwd.getpwnam(name or DEFAULT_USER)
    except KeyError as error:
        if name is not None:
            raise InputError(f"{setting('user', name)}: there is no such user") from error
        say(
            f"there is no user {DEFAULT_USER}: the daemon stays root, without root's privileges; "
            f"better create it: {CREATE_USER}"
        )
        return None


# Environment variables that keep libraries from starting threads: NumPy's linear algebra, and
# Arrow's allocator, whose thread also wakes up at intervals. And one that keeps the C library from
# reserving memory for each thread.
WITHOUT_THREADS = {
    "MALLOC_ARENA_MAX": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}


def restart_without_threads() -> None:
    """Restarts the process once with these variables, which libraries read when they are loaded."""
    if any(os.environ.get(name) != value for name, value in WITHOUT_THREADS.items()):
        os.environ.update(WITHOUT_THREADS)
        os.execv(sys.executable, [sys.executable, "-m", "sesame", *sys.argv[1:]])


def return_memory() -> None:
    """Returns freed memory to the system: loading probes needs more than running (malloc_trim(3),
    of the GNU C library only)."""
    with suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def drop(user: pwd.struct_passwd | None) -> None:
    """Drops privileges, and becomes `user` if given. Does nothing unless called by root."""
    if os.geteuid() != 0:
        return
    process = ctypes.CDLL(None, use_errno=True)
    try:
        caps = ctypes.CDLL("libcap.so.2", use_errno=True)
    except OSError as error:
        raise SesameError(
            f"cannot drop privileges: {error}",
            hint=f"sudo apt-get install libcap2, or give {setting('keep_privileges', True)}",
        ) from error
    process.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if user is not None:
        process.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)
        os.initgroups(user.pw_name, user.pw_gid)
        os.setresgid(user.pw_gid, user.pw_gid, user.pw_gid)
        os.setresuid(user.pw_uid, user.pw_uid, user.pw_uid)
    _keep_only(caps)
    _check()


def _keep_only(caps: ctypes.CDLL) -> None:
    caps.cap_from_text.restype = ctypes.c_void_p
    wanted = ctypes.c_void_p(caps.cap_from_text(f"{KEPT}=ep".encode()))
    if not wanted or caps.cap_set_proc(wanted) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise SesameError(f"cannot drop privileges: {reason}")
    caps.cap_free(wanted)


def permitted() -> list[int]:
    """The permitted capabilities of each thread, as bit masks."""
    masks = []
    for thread in Path("/proc/self/task").iterdir():
        for line in (thread / "status").read_text().splitlines():
            if line.startswith("CapPrm:"):
                masks.append(int(line.split()[1], 16))
    return masks


def _check() -> None:
    if any(mask & ~KEPT_MASK for mask in permitted()):
        raise SesameError(
            "a thread of the daemon kept its privileges",
            hint=f"a library started it; use {setting('keep_privileges', True)} to run "
            "without dropping them",
        )
