"""Runs a command of a probe so that nothing of it is left: not after its time limit, not if it
forks away, not if the caller dies.

A forked supervisor becomes the subreaper of all that the command starts (prctl(2)), so that even
a process in a session of its own has the supervisor as its parent in the end. The supervisor kills
all of them when the command ends, at the time limit, and when the caller closes its pipe. If the
command kills the supervisor, processes with the mark in their environment are killed.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
KEPT_BYTES = 32 << 10  # of the begin of the output, and as much of its end
MOST_OUTPUT_BYTES = 64 << 20  # a command that prints more is ended
CHUNK_BYTES = 1 << 16
GRACE_S = 2.0  # from SIGTERM, with which srun, mpiexec and ssh end what they started, to SIGKILL
PATIENCE_S = 10.0  # to end processes; one in an uninterruptible call may take longer
MARK = "SESAME_PROBE_MARK"
PROBER_ENDED = "the prober was ended"


@dataclass(frozen=True)
class Ended:
    """How a command ended. `problem` is empty if it ended by itself."""

    exit_status: int | None  # below 0: minus the signal
    problem: str
    output: str  # stdout and stderr; its middle is left out if it is long
    left_behind: int  # processes that were still there when the command had ended
    processor_s: float  # of the supervisor: the framework's own cost
    is_ours: bool = False  # the prober, not the machine, is to blame for the problem


def run_command(
    command: Sequence[str],
    directory: Path,
    timeout: float,
    environment: Mapping[str, str],
    user: str | None = None,
) -> Ended:
    """Runs a command as `user` (by default the caller's) in `directory`, without a shell."""
    mark = os.urandom(16).hex()
    surroundings = {**environment, MARK: mark}
    result_read, result_write = os.pipe()
    alive_read, alive_write = os.pipe()
    _library()  # loaded once, not in each fork
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        os.close(result_read)
        os.close(alive_write)
        _supervise(command, directory, timeout, surroundings, user, result_write, alive_read)
    os.close(result_write)
    os.close(alive_read)
    try:
        with os.fdopen(result_read, "rb") as file:
            text = file.read()
    finally:  # also at Ctrl-C: the supervisor ends everything when the pipe is closed
        os.close(alive_write)
        os.waitpid(process, 0)
    try:
        return Ended(**json.loads(text))
    except ValueError:
        left = _kill_marked(mark)
        return Ended(None, "it killed the process that supervises it", "", left, 0.0)


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def _ignore(*_: object) -> None:
    pass


def end_with_parent(parent: int, number: signal.Signals) -> None:
    """The calling process gets the signal when its parent ends."""
    _library().prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    if os.getppid() != parent:  # it ended before
        os.kill(os.getpid(), number)


def _supervise(
    command: Sequence[str],
    directory: Path,
    timeout: float,
    environment: Mapping[str, str],
    user: str | None,
    result: int,
    alive: int,
) -> None:
    """In the fork; does not return."""
    status = 1
    try:
        os.setsid()  # Ctrl-C of the terminal is the caller's
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _ignore)  # not SIG_IGN, which the command would inherit
        if _library().prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
            raise OSError("the kernel does not support subreapers")
        ended = _run(command, directory, timeout, environment, user, alive)
        text = json.dumps(asdict(ended)).encode()
        with suppress(BrokenPipeError), os.fdopen(result, "wb") as file:
            file.write(text)
        status = 0
    finally:
        os._exit(status)


def _run(
    command: Sequence[str],
    directory: Path,
    timeout: float,
    environment: Mapping[str, str],
    user: str | None,
    alive: int,
) -> Ended:
    began = time.process_time()
    read, write = os.pipe()
    try:
        child = subprocess.Popen(
            command,
            cwd=directory,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=write,
            stderr=write,
            start_new_session=True,
            restore_signals=True,
            **_identity(user),
        )
    except (OSError, KeyError, ValueError, subprocess.SubprocessError) as error:
        is_ours = isinstance(error, KeyError) or (user is not None and not _is_missing(error))
        return Ended(None, _why(command, user, error), "", 0, 0.0, is_ours)
    os.close(write)
    output = _Output(read)
    problem = _wait(child, output, time.monotonic() + timeout, timeout, alive)
    if problem:
        _end_gently(child, output)
    status = None if problem else child.returncode
    left = _kill_descendants(child)
    output.read_rest()
    own = time.process_time() - began
    return Ended(status, problem, output.text(), left, own, problem == PROBER_ENDED)


def _is_missing(error: Exception) -> bool:
    return isinstance(error, FileNotFoundError)


def _end_gently(child: subprocess.Popen[bytes], output: _Output) -> None:
    """Sends SIGTERM to the command's process group, and waits a little for its end."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    while child.poll() is None and time.monotonic() < deadline:
        output.read()  # so that a full pipe does not hold it
        time.sleep(0.005)


def _identity(user: str | None) -> dict[str, Any]:
    if user is None:
        return {}
    import pwd

    entry = pwd.getpwnam(user)
    groups = os.getgrouplist(user, entry.pw_gid)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": groups}


def _why(command: Sequence[str], user: str | None, error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"there is no user {user}"
    if isinstance(error, PermissionError) and user is not None:
        return f"{command[0]} cannot be started as {user}: {error.strerror}"
    said = f"{command[0]} cannot be started: {getattr(error, 'strerror', None) or error}"
    if isinstance(error, FileNotFoundError) and "/" in command[0] and command[0][0] != "/":
        said += "; it is looked for in the probe's new directory: give its whole path"
    return said


class _Output:
    """What a command prints: its begin and its end."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.size = 0
        self.is_open = True
        self._begin = b""
        self._end = b""
        os.set_blocking(descriptor, False)

    def read(self) -> None:
        try:
            chunk = os.read(self.descriptor, CHUNK_BYTES)
        except BlockingIOError:
            return
        if not chunk:
            self.is_open = False
        self.size += len(chunk)
        kept = chunk[: KEPT_BYTES - len(self._begin)]
        self._begin += kept
        self._end = (self._end + chunk[len(kept) :])[-KEPT_BYTES:]

    def read_rest(self) -> None:
        """What is in the pipe; all writers have ended."""
        size = -1
        while self.is_open and self.size != size:
            size = self.size
            self.read()

    def text(self) -> str:
        begin, end = (part.decode(errors="replace") for part in (self._begin, self._end))
        left_out = self.size - len(self._begin) - len(self._end)
        return begin + (f"\n… {left_out:,} bytes left out …\n" if left_out else "") + end


def _wait(
    child: subprocess.Popen[bytes], output: _Output, deadline: float, timeout: float, alive: int
) -> str:
    """Waits for the command's end; returns why it has to be ended, or ""."""
    ended = os.pidfd_open(child.pid)
    try:
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return f"it took longer than {timeout:g} s"
            files = [ended, alive, *([output.descriptor] if output.is_open else [])]
            ready = select.select(files, [], [], left)[0]
            if output.descriptor in ready:
                output.read()
            if output.size > MOST_OUTPUT_BYTES:
                return f"it printed more than {MOST_OUTPUT_BYTES >> 20} MiB"
            if alive in ready:
                return PROBER_ENDED
            if ended in ready:
                child.wait()
                return ""
    finally:
        os.close(ended)


def _kill_descendants(child: subprocess.Popen[bytes]) -> int:
    """Kills all descendants of this process until there are none; returns how many there were
    beside the command itself."""
    killed: set[int] = set()
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = _descendants(os.getpid())
        for one in found:
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        killed.update(found)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            break
        time.sleep(0.001)
    return len(killed - {child.pid})


def _descendants(process: int) -> list[int]:
    found = []
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *_descendants(int(child))]
    return found


def _kill_marked(mark: str) -> int:
    """Kills the processes whose environment has the mark; returns how many there were."""
    wanted = f"{MARK}={mark}".encode()
    killed: set[int] = set()
    deadline = time.monotonic() + PATIENCE_S
    while found := _processes_with(wanted):
        for one in found:
            with suppress(OSError):
                os.kill(one, signal.SIGKILL)
        killed.update(found)
        if time.monotonic() > deadline:
            break
        time.sleep(0.001)
    return len(killed)


def _processes_with(entry: bytes) -> list[int]:
    """Those whose environment has this entry; one that has ended has none."""
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if entry in environ.read_bytes().split(b"\0"):
                found.append(int(environ.parent.name))
    return found
