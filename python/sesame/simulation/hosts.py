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
import queue
import secrets
import selectors
import shlex
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from sesame.errors import InputError, SimulationError
from sesame.settings import setting
from sesame.simulation.handshake import (
    CONNECT_PATIENCE_S,
    TOKEN_BYTES,
    HandshakeError,
    accept,
    prepare,
    receive_reason,
)
from sesame.simulation.host import Host, Pump

MOST_HOSTS = 16
_END_PATIENCE_S = 10.0
_POLL_S = 0.1
_HANDSHAKE_POLL_S = 0.01
_MOST_HANDSHAKES = 64  # at once: further clients wait until one of these has said what it is


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
    try:
        words = shlex.split(launcher)
    except ValueError as error:
        raise InputError(f"{setting('launcher', launcher)}: {error}") from error
    if not words:
        raise InputError(f"{setting('launcher', launcher)}: expected a command")


@contextmanager
def connected_hosts(
    names: Sequence[str],
    launcher: str,
    simulator: Host,
    scenario: dict[str, Any],
    *,
    pump: Pump | None = None,
) -> Iterator[Connected]:
    """The further hosts while the block runs; afterwards none of them runs anything of this run.

    What they print goes where the output of `simulator` goes; through `pump`, as that of Host.run,
    if its streams are pipes. Raises SimulationError if one cannot be started, or cannot simulate
    with this one, with the reason.
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
        run = _Run(further, stack, simulator, pump)
        run.start(launcher, _description(simulator.executable, scenario, described))
        run.await_connections()
        descriptors = tuple(run.connections[host].fileno() for host in sorted(run.connections))
        described |= {"here": 0, "descriptors": list(descriptors)}
        yield Connected({"hosts": described}, descriptors)


class _Run:
    def __init__(
        self, names: Sequence[str], stack: ExitStack, simulator: Host, pump: Pump | None
    ) -> None:
        self._names = names
        self._stack = stack
        self._simulator = simulator
        self._pump = pump
        self._token = secrets.token_bytes(TOKEN_BYTES)
        self._listening: dict[str, socket.socket] = {}  # by own address
        self._processes: list[subprocess.Popen[bytes]] = []  # by host, without this one
        self._unsent: dict[int, bytes] = {}  # of the descriptions, by place in `_processes`
        self._selector = stack.enter_context(selectors.DefaultSelector())
        self._handshakes = 0  # that have not ended
        self._shaken: queue.SimpleQueue[tuple[socket.socket, int | None]] = queue.SimpleQueue()
        self.connections: dict[int, socket.socket] = {}  # by host

    def start(self, launcher: str, description: dict[str, Any]) -> None:
        for host, name in enumerate(self._names, 1):
            address = _own_address_to(name)
            if address not in self._listening:
                listening = self._stack.enter_context(_listen(address, name))
                self._listening[address] = listening
                self._selector.register(listening, selectors.EVENT_READ)
            own = {
                **description,
                "host": host,
                "token": self._token.hex(),
                "address": address,
                "port": self._listening[address].getsockname()[1],
            }
            self._launch(launcher, name, json.dumps(own).encode() + b"\n")

    def _launch(self, launcher: str, name: str, description: bytes) -> None:
        words = [word.replace("{host}", name) for word in shlex.split(launcher)]
        command = [sys.executable, "-m", "sesame.simulation.further_host"]
        if Path(words[0]).name == "ssh":  # it gives the words to a shell
            command = [shlex.quote(word) for word in command]
        try:
            # Not in the terminal's group: on Ctrl-C this host ends it.
            process = subprocess.Popen(
                [*words, *command],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=self._simulator.stdout,
                stderr=self._simulator.stderr,
                start_new_session=True,
            )
        except OSError as error:
            raise InputError(f"{setting('launcher', launcher)}: {error.strerror}") from error
        if self._pump is not None and process.stdout and process.stderr:
            self._stack.enter_context(_pumped([process.stdout, process.stderr], self._pump))
        self._stack.callback(_end, process)
        assert process.stdin is not None
        # A command that does not read must not keep the others from being started.
        os.set_blocking(process.stdin.fileno(), False)
        place = len(self._processes)
        self._selector.register(process.stdin, selectors.EVENT_WRITE, place)
        self._unsent[place] = description
        self._processes.append(process)

    def await_connections(self) -> None:
        """Sends the descriptions, and takes the connections; nothing listens any more then."""
        deadline = time.monotonic() + CONNECT_PATIENCE_S
        while missing := [h for h in range(1, len(self._names) + 1) if h not in self.connections]:
            self._check_processes(missing)
            if time.monotonic() > deadline:
                raise SimulationError(
                    f"host {self._names[missing[0] - 1]} did not connect within "
                    f"{CONNECT_PATIENCE_S:g} s",
                    hint="check that it can open connections to this host",
                    exit_status=2,
                )
            self._take_events()
            while not self._shaken.empty():
                self._add(*self._shaken.get())
        for listening in self._listening.values():
            listening.close()
        for host, connection in self.connections.items():
            self._check(self._names[host - 1], connection)

    def _check_processes(self, missing: list[int]) -> None:
        for host in missing:
            if (status := self._processes[host - 1].poll()) is not None:
                raise SimulationError(
                    f"host {self._names[host - 1]}: the command that should start it ended "
                    f"with status {status}",
                    hint=f"{setting('launcher')} is the command",
                    exit_status=2,
                )

    def _take_events(self) -> None:
        for key, _ in self._selector.select(_HANDSHAKE_POLL_S if self._handshakes else _POLL_S):
            if key.data is not None:
                self._send_description(key.data)
            elif self._handshakes < _MOST_HANDSHAKES:
                self._accept_from(key.fileobj)  # type: ignore[arg-type]
            else:
                time.sleep(_HANDSHAKE_POLL_S)

    def _send_description(self, place: int) -> None:
        stdin = self._processes[place].stdin
        assert stdin is not None
        try:
            sent = os.write(stdin.fileno(), self._unsent[place])
        except BlockingIOError:
            return
        except BrokenPipeError:  # it has ended; _check_processes() says so
            sent = len(self._unsent[place])
        self._unsent[place] = self._unsent[place][sent:]
        if not self._unsent[place]:
            self._selector.unregister(stdin)

    def _accept_from(self, listening: socket.socket) -> None:
        """Each client is heard in a thread, so that one that says nothing keeps none waiting."""
        try:
            connection, _ = listening.accept()
        except OSError:  # it is gone already
            return
        self._stack.callback(_close, connection)
        self._handshakes += 1
        threading.Thread(target=self._shake_hands, args=[connection], daemon=True).start()

    def _shake_hands(self, connection: socket.socket) -> None:
        host = None
        with suppress(HandshakeError, OSError):
            host = accept(connection, self._token, len(self._names) + 1)
        self._shaken.put((connection, host))

    def _add(self, connection: socket.socket, host: int | None) -> None:
        """A connection that is not of this run, or a second one, is closed."""
        self._handshakes -= 1
        if host is None or host in self.connections:
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
            own = str(unconnected.getsockname()[0])
    except OSError as error:
        raise InputError(
            f"{setting('hosts')}: {name}: {error.strerror}",
            hint="give the host's address in place of its name",
        ) from error
    if own == address[0]:  # the kernel sends from the address to which it sends
        raise InputError(
            f"{setting('hosts')}: {name} is an address of this host, which takes part in any case",
            hint="leave it out",
        )
    return own


def _listen(address: str, name: str) -> socket.socket:
    """Listens for the host `name` at its own address."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.bind((address, 0))
        listening.listen(MOST_HOSTS)
    except OSError as error:
        listening.close()
        raise InputError(
            f"{setting('hosts')}: {name}: cannot listen at {address}: {error.strerror}"
        ) from error
    listening.setblocking(False)
    return listening


@contextmanager
def _pumped(pipes: Sequence[IO[bytes]], pump: Pump) -> Iterator[None]:
    """What is written to the pipes goes through the pump, until their process has ended."""
    pumping = threading.Thread(target=pump, args=[pipes], daemon=True)
    pumping.start()
    try:
        yield
    finally:
        pumping.join(_END_PATIENCE_S)
        if not pumping.is_alive():  # else a process that the launcher has left behind has them
            for pipe in pipes:
                pipe.close()


def _close(connection: socket.socket) -> None:
    """Wakes the thread that listens to it, if there is one."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    """The further host ends itself when its standard input does."""
    assert process.stdin is not None
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
