"""Starts the further hosts of a simulation whose workers are on several hosts.

Each is started by a command such as ssh, which gets a description of the run (JSON) on its standard
input: `sesame.simulation.further_host` reads it there. The host connects to this one, proves that
it belongs to the run (`handshake`), and compares its simulator and program with this host's. The
simulators then exchange frames over this connection. The standard input stays open as long as the
run: its end is the end of the further host, whatever happens to this one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sesame.errors import InputError, SimulationError
from sesame.settings import setting
from sesame.simulation.handshake import (
    TOKEN_BYTES,
    HandshakeError,
    accept,
    prepare,
    receive_reason,
)

LAUNCHER = "ssh -o BatchMode=yes {host}"
MOST_HOSTS = 16
_CONNECT_PATIENCE_S = 60.0
_END_PATIENCE_S = 10.0
_POLL_S = 0.1


@dataclass
class Connected:
    """The further hosts, ready: what the simulator of this host gets."""

    scenario: dict[str, Any] = field(default_factory=dict)  # its key `hosts`
    descriptors: tuple[int, ...] = ()  # of the connections


def further_hosts(names: Sequence[str]) -> tuple[str, ...]:
    """The hosts without this one, which takes part in any case."""
    here = {"localhost", socket.gethostname(), socket.gethostname().partition(".")[0]}
    return tuple(name for name in dict.fromkeys(names) if name not in here)


def check_hosts(names: Sequence[str], launcher: str, workers: int) -> None:
    """Raises InputError if the workers cannot be on these hosts and this one."""
    if not names:
        return
    count = len(further_hosts(names)) + 1
    if not all(names) or any(name.startswith("-") for name in names):
        raise InputError(f"{setting('hosts', list(names))}: expected names of hosts")
    if count > MOST_HOSTS:
        raise InputError(f"{setting('hosts')}: expected at most {MOST_HOSTS} hosts")
    if workers < count:
        raise InputError(
            f"{setting('workers', workers)}: {count} hosts, this one included, need a worker each",
            hint=f"use {setting('workers', count)} or more",
        )
    if not shlex.split(launcher):
        raise InputError(f"{setting('launcher', launcher)}: expected a command")


@contextmanager
def connected_hosts(
    names: Sequence[str], launcher: str, executable: Path, scenario: dict[str, Any]
) -> Iterator[Connected]:
    """The further hosts while the block runs; afterwards none of them runs anything of this run.

    Raises SimulationError if one cannot be started, or cannot simulate with this one, with the
    reason.
    """
    further = further_hosts(names)
    if not further:
        yield Connected()
        return
    described = {
        "names": [socket.gethostname(), *further],
        "epoch_ns": time.time_ns(),
    }
    with ExitStack() as stack:
        run = _Run(further, stack)
        run.start(launcher, _description(executable, scenario, described))
        run.await_connections()
        descriptors = tuple(run.connections[host].fileno() for host in sorted(run.connections))
        described |= {"here": 0, "descriptors": list(descriptors)}
        yield Connected({"hosts": described}, descriptors)


class _Run:
    def __init__(self, names: Sequence[str], stack: ExitStack) -> None:
        self._names = names
        self._stack = stack
        self._token = secrets.token_bytes(TOKEN_BYTES)
        self._listening: dict[str, socket.socket] = {}  # by own address
        self._processes: list[subprocess.Popen[bytes]] = []  # by host, without this one
        self.connections: dict[int, socket.socket] = {}  # by host

    def start(self, launcher: str, description: dict[str, Any]) -> None:
        for host, name in enumerate(self._names, 1):
            address = _own_address_to(name)
            if address not in self._listening:
                self._listening[address] = self._stack.enter_context(_listen(address))
            own = {
                **description,
                "host": host,
                "token": self._token.hex(),
                "address": address,
                "port": self._listening[address].getsockname()[1],
            }
            self._processes.append(self._launch(launcher, name, own))

    def _launch(self, launcher: str, name: str, own: dict[str, Any]) -> subprocess.Popen[bytes]:
        words = [word.replace("{host}", name) for word in shlex.split(launcher)]
        command = [sys.executable, "-m", "sesame.simulation.further_host"]
        if Path(words[0]).name == "ssh":  # it gives the words to a shell
            command = [shlex.quote(word) for word in command]
        try:
            # Not in the terminal's group: on Ctrl-C this host ends it.
            process = subprocess.Popen(
                [*words, *command], stdin=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            raise InputError(f"{setting('launcher', launcher)}: {error.strerror}") from error
        self._stack.callback(_end, process)
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended; await_connections() says so
            process.stdin.write(json.dumps(own).encode() + b"\n")
            process.stdin.flush()
        return process

    def await_connections(self) -> None:
        deadline = time.monotonic() + _CONNECT_PATIENCE_S
        while missing := [h for h in range(1, len(self._names) + 1) if h not in self.connections]:
            name = self._names[missing[0] - 1]
            for host in missing:
                if (status := self._processes[host - 1].poll()) is not None:
                    raise SimulationError(
                        f"host {self._names[host - 1]}: the command that should start it ended "
                        f"with status {status}",
                        hint=f"{setting('launcher')} is the command",
                        exit_status=2,
                    )
            if time.monotonic() > deadline:
                raise SimulationError(
                    f"host {name} did not connect within {_CONNECT_PATIENCE_S:g} s",
                    hint="check that it can open connections to this host",
                    exit_status=2,
                )
            for listening in self._listening.values():
                self._accept_from(listening)
        for host, connection in self.connections.items():
            self._check(self._names[host - 1], connection)

    def _accept_from(self, listening: socket.socket) -> None:
        """Takes a connection; one that is not of this run is closed."""
        with suppress(TimeoutError):
            connection = self._stack.enter_context(listening.accept()[0])
            try:
                host = accept(connection, self._token, len(self._names) + 1)
            except HandshakeError:
                connection.close()
                return
            if host in self.connections:
                connection.close()
                return
            prepare(connection)
            self.connections[host] = connection

    @staticmethod
    def _check(name: str, connection: socket.socket) -> None:
        try:
            reason = receive_reason(connection)
        except HandshakeError as error:
            reason = str(error)
        if reason:
            raise SimulationError(f"host {name}: {reason}", exit_status=2)


def _own_address_to(name: str) -> str:
    """The address of this host that the other one can reach."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(name, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as unconnected:
            unconnected.connect(address)  # sends nothing
            return str(unconnected.getsockname()[0])
    except OSError as error:
        raise InputError(
            f"{setting('hosts')}: {name}: {error.strerror}",
            hint="give the host's address in place of its name",
        ) from error


def _listen(address: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.bind((address, 0))
    listening.listen(MOST_HOSTS)
    listening.settimeout(_POLL_S)
    return listening


def _end(process: subprocess.Popen[bytes]) -> None:
    """The further host ends itself when its standard input does."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(_END_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def digest_of(path: Path) -> str:
    """SHA-256 of the file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def find_program(name: str) -> Path:
    """The file of a program that a path or a name in PATH gives."""
    return Path(shutil.which(name) or name)


def _description(
    executable: Path, scenario: dict[str, Any], hosts: dict[str, Any]
) -> dict[str, Any]:
    """What a further host needs to simulate: everything but its own number and the token."""
    files = {"machine": scenario["machine"]}
    if scenario["placement"].startswith("file:"):
        files["placement"] = scenario["placement"].removeprefix("file:")
    if isinstance(recorded := scenario["compute"].get("recorded"), str):
        files["recorded"] = recorded
    return {
        "scenario": scenario | {"hosts": hosts},
        "files": {
            name: base64.b64encode(Path(path).read_bytes()).decode() for name, path in files.items()
        },
        "simulator": [executable.name, digest_of(executable)],
        "program": digest_of(find_program(scenario["program"])),
        "environment": dict(os.environ),
        "directory": str(Path.cwd()),
    }
