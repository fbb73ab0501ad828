"""A real sshd of this machine, on a port of its own. It needs root."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DEADLINE_S = 30


def free_port(address: str) -> int:
    with socket.socket() as free:
        free.bind((address, 0))
        return int(free.getsockname()[1])


def is_open(address: str, port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex((address, port)) == 0


@contextmanager
def ssh_server(
    sshd: str | Path, directory: Path, address: str = "127.0.0.1"
) -> Iterator[list[str]]:
    """The options of ssh to reach it at this address."""
    for name in ("host", "user"):
        key = str(directory / name)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    (directory / "authorized").write_text((directory / "user.pub").read_text())
    port = free_port(address)
    Path("/run/sshd").mkdir(exist_ok=True)
    settings = {"Port": port, "ListenAddress": address, "HostKey": directory / "host"}
    settings |= {"AuthorizedKeysFile": directory / "authorized", "StrictModes": "no"}
    settings |= {"PidFile": "none", "UsePAM": "no", "PermitRootLogin": "prohibit-password"}
    words = [f"-o{name}={value}" for name, value in settings.items()]
    with (directory / "log").open("w") as log:
        server = subprocess.Popen([sshd, "-D", "-f", "/dev/null", *words], stderr=log)
    deadline = time.monotonic() + DEADLINE_S
    while not is_open(address, port):
        assert time.monotonic() < deadline, (directory / "log").read_text()
        time.sleep(0.02)
    options = ["-p", str(port), "-i", str(directory / "user"), "-oStrictHostKeyChecking=no"]
    options += ["-oUserKnownHostsFile=/dev/null", "-F", "/dev/null", "-oLogLevel=ERROR"]
    try:
        yield options
    finally:
        server.terminate()
        server.wait(DEADLINE_S)
