"""The further host of a simulation: `hosts` starts this program there, with a description of the
run on its standard input. It ends when this input ends, and nothing of it remains.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from sesame.errors import SesameError
from sesame.installed import find_installed
from sesame.simulation.handshake import (
    CONNECT_PATIENCE_S,
    HandshakeError,
    join,
    prepare,
    send_reason,
)
from sesame.simulation.hosts import digest_of, find_program

_FAILED = 2
_FLAGS_BEHIND_NAME = 6  # place of the flags behind the name in /proc/PID/stat (proc_pid_stat(5))
_PF_EXITING = 0x4  # include/linux/sched.h
_ENDS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def main() -> int:
    """The exit status of the simulator here."""
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):  # the first host has ended
        return _FAILED
    for number in _ENDS:
        signal.signal(number, _end)
    threading.Thread(target=_end_with_input, daemon=True).start()
    run = json.loads(line)
    try:
        first = (run["address"], run["port"])
        with socket.create_connection(first, CONNECT_PATIENCE_S) as connection:
            join(connection, bytes.fromhex(run["token"]), run["host"])
            prepare(connection)
            reason = _why_not(run)
            send_reason(connection, reason)
            return _FAILED if reason else _simulate(run, connection)
    except (OSError, HandshakeError) as error:
        print(f"error: no connection to the first host: {error}", file=sys.stderr)
        return _FAILED


def _end(number: int, frame: FrameType | None) -> None:
    _ignore_ends()
    raise SystemExit(_FAILED)


def _ignore_ends() -> None:
    """What is to be removed is removed, whatever ends this process meanwhile."""
    for number in _ENDS:
        signal.signal(number, signal.SIG_IGN)


def _why_not(run: dict[str, Any]) -> str:
    """Why this host cannot simulate with the first one; empty: it can."""
    try:
        os.chdir(run["directory"])
    except OSError as error:
        return f"the directory {run['directory']}: {error.strerror}"
    os.environ.clear()  # the program's, so that it does what it does on the first host
    os.environ.update(run["environment"])
    name, digest = run["simulator"]
    try:
        if digest_of(find_installed(name)) != digest:
            return f"its {name} is not that of the first host: install the same version of Sesame"
        program = find_program(run["scenario"]["program"])
        if digest_of(program) != run["program"]:
            return f"its {program} is not that of the first host: copy the program there"
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    except SesameError as error:
        return error.message
    return ""


def _simulate(run: dict[str, Any], connection: socket.socket) -> int:
    with tempfile.TemporaryDirectory(prefix="sesame-") as name:
        directory = Path(name)
        scenario = _own_scenario(run, directory, connection.fileno())
        file = directory / "scenario.json"
        file.write_text(json.dumps(scenario), encoding="utf-8")
        process = subprocess.Popen(
            [find_installed(run["simulator"][0]), file, "--further-host"],
            stdin=subprocess.DEVNULL,
            pass_fds=[connection.fileno()],
        )
        connection.close()
        try:  # leaves the status there: this may be interrupted at any moment
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        finally:
            _ignore_ends()
            if not _has_ended(process):
                process.kill()  # its workers end with it
            elif process.wait() < 0:
                _tell_end(process.returncode, run["host"], run["scenario"]["hosts"]["names"])
            status = process.wait()
    return status if status >= 0 else 128 - status


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether the process has ended, or is about to: the kernel closes its connection to the first
    host before its parent can learn of the end."""
    if process.poll() is not None:
        return True
    stat = Path(f"/proc/{process.pid}/stat").read_text()  # not reaped, so it is there
    flags = int(stat.rpartition(")")[2].split()[_FLAGS_BEHIND_NAME])
    return bool(flags & _PF_EXITING)


def _tell_end(status: int, host: int, names: list[str]) -> None:
    """The first host only learns that the connection broke."""
    text = f"the simulator was ended by signal {-status} ({signal.strsignal(-status)})"
    print(f"host {names[host]}: {text}", file=sys.stderr, flush=True)


def _own_scenario(run: dict[str, Any], directory: Path, descriptor: int) -> dict[str, Any]:
    """The first host's scenario, with the files of this one."""
    scenario: dict[str, Any] = run["scenario"]
    for name, content in run["files"].items():
        path = directory / f"input-{name}"
        path.write_bytes(base64.b64decode(content))
        if name == "recorded":
            scenario["compute"]["recorded"] = str(path)
        else:
            scenario[name] = f"file:{path}" if name == "placement" else str(path)
    scenario["output_directory"] = str(directory)
    scenario["raw"] = False
    scenario["progress_fd"] = -1
    scenario["hosts"] |= {"here": run["host"], "descriptors": [descriptor]}
    return scenario


def _end_with_input() -> None:
    with suppress(OSError):
        while os.read(sys.stdin.fileno(), 1 << 12):
            pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
