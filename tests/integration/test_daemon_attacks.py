"""What clients without a valid token can do to a daemon: nothing that takes memory or time."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.command_line import SESAME
from tests.integration.certificates import make_authority, sign

pytestmark = pytest.mark.usefixtures("kernel_probes")

MOST_GROWTH_BYTES, MOST_NS = 10 << 20, 10_000_000
HEAD = "{} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
WRONG = "Authorization: Bearer wrong-token-0123456789\r\n"


class Attacked:
    """A daemon as a user starts it."""

    def __init__(self, directory: Path, *options: str | Path) -> None:
        where = ["--state-directory", str(directory / "node"), "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(
            [*SESAME, "measure", "daemon", "--interval", "3600", *where, *options],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        assert "://127.0.0.1:" in line, line
        self.port = int(line.split("://127.0.0.1:")[1].split(",")[0])
        self._said = threading.Thread(target=self.process.stderr.read)
        self._said.start()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def send(self, text: str, body_bytes: int = 0) -> bytes:
        """Sends a request; returns the beginning of the answer."""
        with self.connect() as client, contextlib.suppress(ConnectionError):
            client.sendall(text.encode())
            sent = 0
            with contextlib.suppress(ConnectionError):
                while sent < body_bytes:
                    sent += client.send(b"x" * min(1 << 16, body_bytes - sent))
            return client.recv(100)
        return b""

    def used(self, name: str) -> int:
        """A size of the process in bytes: RssAnon is what only this process has."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))

    def spent_ns(self) -> int:
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(60)
        self._said.join()
        self.process.stderr.close()


@pytest.fixture(scope="module")
def attacked(tmp_path_factory) -> Iterator[Attacked]:
    made = Attacked(tmp_path_factory.mktemp("attacked"))
    made.send("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")  # what is loaded only once
    yield made
    made.close()


REQUESTS = {
    "a body of 400 MB": (HEAD.format("PUT /v1/level") + f"Content-Length: {400 << 20}\r\n\r\n", 1),
    "a chunked body": (HEAD.format("PUT /v1/level") + "Transfer-Encoding: chunked\r\n\r\n", 1),
    "a wrong token": (HEAD.format("PUT /v1/level") + WRONG + "Content-Length: 9000000\r\n\r\n", 1),
    "a large head": (HEAD.format("GET /v1/state") + "A: " + "x" * 15000 + "\r\n\r\n", 0),
    "a head without an end": (HEAD.format("GET /v1/state") + "A: ", 1),
    "the page": (HEAD.format("GET /") + "\r\n", 0),
    "the description": (HEAD.format("GET /openapi.json") + "\r\n", 0),
    "metrics": (HEAD.format("GET /metrics") + "\r\n", 0),
    "no path": (HEAD.format("GET /" + "a/" * 4000) + "\r\n", 0),
    "HTTP/2": ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0),
    "a web socket": (
        HEAD.format("GET /") + "Connection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        0,
    ),
    "nonsense": ("\x00\x01\x02" * 1000 + "\r\n\r\n", 0),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_without_a_valid_token_takes_neither_memory_nor_time(attacked, name):
    text, has_body = REQUESTS[name]
    before = attacked.used("RssAnon")
    least_ns = 10**12
    for _ in range(5):
        begin_ns = attacked.spent_ns()
        answer = attacked.send(text, (400 << 20) * has_body)
        least_ns = min(least_ns, attacked.spent_ns() - begin_ns)
        assert name == "the page" or b" 200 " not in answer
    assert attacked.used("RssAnon") - before < MOST_GROWTH_BYTES
    assert least_ns < MOST_NS  # the least, since others of this machine disturb


def test_many_connections_without_a_token_take_little_memory_and_no_place(attacked):
    before = attacked.used("RssAnon")
    opened = [attacked.connect() for _ in range(300)]
    for one in opened:
        with contextlib.suppress(ConnectionError):
            one.sendall(b"GET / HTTP/1.1\r\nA: " + b"x" * 14_000)
    assert attacked.send(HEAD.format("GET /v1/state") + "\r\n").startswith(b"HTTP/1.1 401")
    assert attacked.used("RssAnon") - before < MOST_GROWTH_BYTES
    for one in opened:
        one.close()


def test_connections_that_wait_for_a_tls_handshake_take_little_memory(tmp_path):
    """3,000 had taken 484 MB, which stayed."""
    authority = make_authority(tmp_path, "site")
    sign(tmp_path, "site", "node", "IP:127.0.0.1", "node")
    pair = ("--certificate", tmp_path / "node.pem", "--key", tmp_path / "node.key")
    attacked = Attacked(tmp_path, *pair)
    context = ssl.create_default_context(cafile=authority)

    def is_refused() -> bool:
        with context.wrap_socket(attacked.connect(), server_hostname="127.0.0.1") as client:
            client.sendall(f"{HEAD.format('GET /v1/state')}\r\n".encode())
            return client.recv(100).startswith(b"HTTP/1.1 401")

    assert is_refused()
    before = attacked.used("RssAnon")
    opened = [attacked.connect() for _ in range(150)]
    assert is_refused()
    assert attacked.used("RssAnon") - before < MOST_GROWTH_BYTES
    for one in opened:
        one.close()
    attacked.close()


def test_a_daemon_has_less_than_60_mb_of_memory(tmp_path):
    """Also what it shares with others, such as libraries; it had 71."""
    started = Attacked(tmp_path, "--level", "summary")
    started.send("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert started.used("VmRSS") < 60 << 20
    started.close()
