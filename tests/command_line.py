"""Runs the command line in a fork of a process that has loaded it: 0.03 s instead of 0.3 s.

It is a process like any other: with its own directory, environment, standard files, limits, exit
status. Whatever has to be started by its words (in the background, by another program) is started
with `SESAME`.

This file is the process that forks, too: `python command_line.py NUMBER`, a socket's.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import gc
import importlib
import json
import os
import pkgutil
import resource
import signal
import socket
import subprocess
import sys
import threading
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

SESAME = [sys.executable, "-c", "from sesame.cli import main; main()"]
LARGE = ("asyncio", "highspy", "jinja2", "numpy", "pyarrow.parquet", "starlette", "sesame.web.page")
# Packages that verbs load a part of.
COMMON = ("sesame.analysis", "sesame.datasets", "sesame.simulation", "sesame.web")
# And those of verbs that not all tests use, loaded with the first one.
USED = {
    "evaluate": ("sesame.evaluation",),
    "overhead": ("sesame.overhead",),
    "push": ("sesame.repository",),
    "serve": ("sesame.repository",),
}
LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]
REQUEST_BYTES = 1 << 20
PIPE_BYTES = 1 << 16
CLONE_NEWNET = 0x40000000  # sched.h


@dataclass
class Outcome:
    """What a program has answered."""

    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)

    def assert_refused(self, message: str) -> None:
        """Wrong input is reported once, whatever the number of ranks."""
        assert self.status == 2, self.stdout + self.stderr
        assert self.stderr.count("error: ") == 1
        assert message in self.stderr


def run(
    command: Sequence[str],
    cwd: Path,
    timeout: float = 300,
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
) -> Outcome:
    """Any program. One that `command` starts with SESAME is forked."""
    # The C library's output buffers make the order of ranks' lines a matter of chance otherwise.
    if list(command[: len(SESAME)]) == SESAME:
        return sesame(*command[len(SESAME) :], cwd=cwd, timeout=timeout, stdin=stdin, env=env)
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=timeout,
        check=False,
        input=stdin if stdin is not None else "",
        env=env,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def sesame(
    *arguments: str,
    cwd: Path | None = None,
    timeout: float = 300,
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
    network: str = "",
) -> Outcome:
    """`sesame ARGUMENTS`, in `cwd`, with `env` for all of its environment, in a network namespace
    that `ip netns` knows by its name."""
    request = {
        "arguments": arguments,
        "cwd": str(cwd or Path.cwd()),
        "environment": dict(env or os.environ),
        "limits": [(limit, resource.getrlimit(limit)) for limit in LIMITS],
        "network": network,
    }
    return _forks().run(request, timeout, stdin or "")


@functools.cache
def _forks() -> Forks:
    forks = Forks()
    atexit.register(forks.end)
    return forks


@dataclass
class Output:
    """The output in a pipe, read until its last writer closes it."""

    pipe: int
    chunks: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with os.fdopen(self.pipe, "rb", buffering=0) as file:
            while chunk := file.read(PIPE_BYTES):
                self.chunks.append(chunk)

    def text(self, timeout: float) -> str:
        self._reader.join(timeout)
        if self._reader.is_alive():
            raise subprocess.TimeoutExpired("sesame", timeout)
        return b"".join(self.chunks).decode()


class Forks:
    """The process that forks, one for this process; it ends with it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, REQUEST_BYTES)
        with theirs:
            command = [sys.executable, __file__, str(theirs.fileno())]
            # Threads of a library would not survive a fork.
            environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
            self._process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        self._socket = ours
        self._running: int | None = None  # the process of a command

    def end(self) -> None:
        self._socket.close()
        if self._running is not None:  # run() was interrupted
            os.kill(self._running, signal.SIGKILL)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def run(self, request: dict[str, Any], timeout: float, stdin: str) -> Outcome:
        pipes = [os.pipe() for _ in range(3)]
        (inner_in, outer_in), (outer_out, inner_out), (outer_err, inner_err) = pipes
        outputs = [Output(outer_out), Output(outer_err)]
        with os.fdopen(outer_in, "w") as file:
            inner = [inner_in, inner_out, inner_err]
            socket.send_fds(self._socket, [json.dumps(request).encode()], inner)
            for descriptor in inner:
                os.close(descriptor)
            assert len(stdin.encode()) < PIPE_BYTES, "more than a pipe holds"
            file.write(stdin)
        self._running = process = int(self._socket.recv(100))
        self._socket.settimeout(timeout)
        try:
            status = int(self._socket.recv(100))
        except TimeoutError:
            os.kill(process, signal.SIGKILL)
            self._socket.settimeout(None)
            self._socket.recv(100)
            self._running = None
            raise subprocess.TimeoutExpired(["sesame", *request["arguments"]], timeout) from None
        self._socket.settimeout(None)
        self._running = None
        return Outcome(status, *(one.text(timeout) for one in outputs))


def serve(requests: socket.socket) -> dict[str, Any]:
    """Forks for each request; only the forks return, with theirs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as Ctrl-C sends it to all of a terminal
    while True:
        text, descriptors, _, _ = socket.recv_fds(requests, REQUEST_BYTES, 3)
        if not text:
            os._exit(0)
        request: dict[str, Any] = json.loads(text)
        load_packages(USED.get(request["arguments"][0], ()) if request["arguments"] else ())
        process = os.fork()
        if process == 0:
            requests.close()
            for number, descriptor in enumerate(descriptors):
                os.dup2(descriptor, number)
                os.close(descriptor)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            return request
        for descriptor in descriptors:
            os.close(descriptor)
        requests.send(str(process).encode())
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        requests.send(str(status).encode())


def set_environment(wanted: Mapping[str, str]) -> None:
    """Sets what differs: each variable that is set writes to a page that forks share."""
    for name in os.environ.keys() - wanted.keys():
        del os.environ[name]
    for name, value in wanted.items() - os.environ.items():
        os.environ[name] = value


def enter_network(namespace: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/var/run/netns", namespace).open() as file:
        if libc.setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")


def end_at_once(status: object) -> None:
    """Ends as the interpreter does, but leaves its objects to the kernel. Returns where the
    interpreter has to report something.

    An interpreter that clears its modules writes to most pages that it shares with the process that
    forked it. That takes longer than many commands.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads
    atexit._run_exitfuncs()
    with contextlib.suppress(OSError, ValueError):  # a reader has ended; a stream is closed
        sys.stdout.flush()
        sys.stderr.flush()
        if isinstance(status, int):
            os._exit(status)


def load(names: Iterable[str]) -> None:
    for name in names:
        with contextlib.suppress(ImportError):  # the command reports what is missing
            importlib.import_module(name)


@functools.cache
def load_packages(packages: tuple[str, ...]) -> None:
    """Loads all modules of packages, once: forks have them then."""
    for package in packages:
        places = importlib.import_module(package).__path__
        load(found.name for found in pkgutil.walk_packages(places, f"{package}."))
    gc.freeze()


def load_templates() -> None:
    """Compiles the templates of pages: that takes longer than filling them in."""
    from sesame.web.page import template

    for path in files("sesame.web").joinpath("templates").iterdir():
        if path.name.endswith(".html"):
            template(path.name)


def main() -> None:
    from sesame import cli

    verbs = [target.split(":")[0] for target in cli.VERBS.values()]
    load((*LARGE, *verbs))
    load_templates()
    load_packages(COMMON)
    # nanobind calls these at exit: they clear caches of typing, on pages that all forks share.
    typing._cleanups.clear()  # type: ignore[attr-defined]
    request = serve(socket.socket(fileno=int(sys.argv[1])))
    if request["network"]:
        enter_network(request["network"])
    os.chdir(request["cwd"])
    set_environment(request["environment"])
    for limit, values in request["limits"]:
        resource.setrlimit(limit, tuple(values))
    sys.argv = ["-c", *request["arguments"]]
    sys.path[0] = ""
    try:
        cli.main()
    except SystemExit as ended:
        end_at_once(ended.code)
        raise


if __name__ == "__main__":
    main()
