"""Daemons of several nodes and their collector, in network namespaces of one kernel.

Each daemon sees the events of the whole machine, since namespaces share its kernel.
"""

from __future__ import annotations

import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from tests.command_line import SESAME, Outcome, sesame


def ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"


PATIENCE_S = 100


class Network:
    """A bridge in a namespace of its own, and nodes at it: 10.77.0.1 is the collector's."""

    def __init__(self, directory: Path, nodes: int) -> None:
        self.directory = directory
        # Runs that were killed leave theirs, and numbers of processes come again.
        self.prefix = f"sesame-{secrets.token_hex(4)}-"
        self.nodes = [f"10.77.0.{number + 2}" for number in range(nodes)]
        self.hub = f"{self.prefix}hub"
        self.token_file = directory / "token"
        self.running: dict[str, subprocess.Popen[str]] = {}
        with ExitStack() as made:
            self._add_namespace(self.hub, made)
            ip("-n", self.hub, "link", "add", "hub", "type", "bridge")
            ip("-n", self.hub, "address", "add", "10.77.0.1/24", "dev", "hub")
            ip("-n", self.hub, "link", "set", "hub", "up")
            for address in self.nodes:
                self._add_namespace(self._namespace(address), made)
                self._connect(self._namespace(address), address)
            self._made = made.pop_all()

    def _namespace(self, address: str) -> str:
        return self.hub if address == "10.77.0.1" else f"{self.prefix}{address.split('.')[-1]}"

    @staticmethod
    def _add_namespace(name: str, made: ExitStack) -> None:
        ip("netns", "add", name)
        made.callback(ip, "netns", "delete", name)

    def _connect(self, name: str, address: str) -> None:
        port = f"port{address.split('.')[-1]}"
        ip("-n", self.hub, "link", "add", port, "type", "veth", "peer", "eth0", "netns", name)
        ip("-n", self.hub, "link", "set", port, "master", "hub", "up")
        ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            ip("-n", name, "link", "set", device, "up")

    def command(self, address: str, *words: str) -> list[str]:
        return ["ip", "netns", "exec", self._namespace(address), *SESAME, *words]

    def begin(self, name: str, address: str, *words: str) -> subprocess.Popen[str]:
        """Until it says where it listens."""
        process = subprocess.Popen(
            self.command(address, *words), stderr=subprocess.PIPE, text=True, cwd=self.directory
        )
        self.running[name] = process
        assert process.stderr is not None
        for line in process.stderr:
            if "token in" in line:
                return process
        raise AssertionError(f"{name} has ended with {process.wait()}")

    def begin_daemon(self, address: str, *words: str) -> subprocess.Popen[str]:
        directory = self.directory / address
        directory.mkdir(exist_ok=True)
        if address != self.nodes[0] and not (directory / "token").exists():
            shutil.copy(self.directory / self.nodes[0] / "token", directory / "token")
        self.token_file = directory / "token"
        place = (
            "--state-directory",
            str(directory),
            "--listen",
            f"{address}:7117",
            "--node",
            f"node{address[-1]}",
        )
        return self.begin(address, address, "measure", "daemon", "--budget", "none", *place, *words)

    def begin_collector(self, *words: str) -> subprocess.Popen[str]:
        where = ("--listen", "10.77.0.1:7118", "--token-file", str(self.directory / "rt"))
        output = ("-o", str(self.directory / "received"))
        return self.begin("collector", "10.77.0.1", "collect", *output, *where, *words)

    def control(self, verb: str, *words: str, nodes: list[str] | None = None) -> Outcome:
        where = ("--nodes", ",".join(nodes or self.nodes), "--token-file", str(self.token_file))
        return sesame("measure", verb, *where, *words, cwd=self.directory, network=self.hub)

    def states(self, nodes: list[str] | None = None) -> list[dict]:
        """What the daemons say of themselves."""
        return list(self.control("status", "--json", nodes=nodes).json.values())

    def wait_for(self, is_so: Callable[[dict], bool], nodes: list[str] | None = None) -> None:
        """Until it is so of the state of every daemon."""
        end = time.monotonic() + PATIENCE_S
        while not all(map(is_so, states := self.states(nodes))):
            assert time.monotonic() < end, states
            time.sleep(0.05)

    def end(self, name: str, number: signal.Signals = signal.SIGTERM) -> int:
        process = self.running.pop(name)
        process.send_signal(number)
        process.communicate(timeout=120)
        return process.returncode

    def close(self) -> None:
        for name in list(self.running):
            self.end(name)
        self._made.close()
