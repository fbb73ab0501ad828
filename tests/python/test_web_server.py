"""What protects every server: limits, roles, security headers, the audit log; over real sockets."""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sesame.errors import OutputError
from sesame.web.server import audit as audit_module
from sesame.web.server.access import Access, FixedTokens, Rule
from sesame.web.server.audit import AuditLog
from sesame.web.server.limits import Limits
from sesame.web.server.listening import listen
from sesame.web.server.operations import Body, Given, Operations
from sesame.web.server.protection import Protection
from sesame.web.server.roles import ANY, Client, Role
from sesame.web.server.serve import make_app, serve_until

CLIENTS = {
    "a-token-to-control": Client("anna", Role.OPERATOR),
    "a-token-to-read-only": Client("prometheus", Role.READER),
}
CONTROL, READ = CLIENTS
ANNA = CLIENTS[CONTROL]
LIMITS = Limits(
    body_bytes=1000,
    header_bytes=4096,
    body_seconds=0.5,
    requests=2,
    connections=4,
    head_seconds=0.5,
    only_local_names=True,
)


class Served:
    def __init__(
        self, audit: AuditLog, limits: Limits = LIMITS, *, is_public: bool = False
    ) -> None:
        open_paths = frozenset({"/openapi.json", "/slow"})
        access = Access([FixedTokens(CLIENTS)], open_paths=open_paths, is_public=is_public)
        self.resume = threading.Event()
        self.stored: list[int] = []
        operations = Operations()

        @operations.add("POST", "/store", body=Body({"type": "integer"}))
        async def store(given: Given) -> int:
            self.stored.append(given.body)
            return int(given.body)

        @operations.add("POST", "/broken")
        async def broken(_: Given) -> int:
            raise ZeroDivisionError

        @operations.add("POST", "/length", body=Body({}, "text/plain"))
        async def length(given: Given) -> int:
            return len(given.body)

        @operations.add("POST", "/routine", is_routine=True)
        async def often(_: Given) -> int:
            return 1

        @operations.add("GET", "/number")
        async def number(_: Given) -> int:
            return 7

        @operations.add("GET", "/slow")
        async def slow(_: Given) -> int:
            await asyncio.to_thread(self.resume.wait, 10)
            return 1

        app = make_app("test", limits, access, operations, audit)
        self.listening = listen("127.0.0.1:0", None, None)
        self.port = int(self.listening.address.split(":")[1])
        started, self._ended = threading.Event(), asyncio.Event()

        async def run() -> None:
            self._loop = asyncio.get_running_loop()
            started.set()
            await serve_until(app, self.listening, self._ended)

        self._thread = threading.Thread(target=lambda: asyncio.run(run()))
        self._thread.start()
        started.wait()

    def close(self) -> None:
        self.resume.set()
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    def ask(self, method: str, path: str, body: Any = None, token: str = "", **headers: str):
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if not isinstance(body, bytes | None):
            headers["Transfer-Encoding"] = "chunked"
            body = chunked(body)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        with closing(connection):
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read()), dict(answer.getheaders())


def chunked(chunks: Iterable[bytes]) -> bytes:
    """A body in chunks. It is sent as a whole: a server that refuses it in the middle closes the
    connection, and the next chunk could not be sent."""
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in (*chunks, b""))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "audit.log"


@pytest.fixture
def served(log: Path) -> Iterator[Served]:
    made = Served(AuditLog(log))
    yield made
    made.close()


def entries(log: Path) -> list[tuple[str, str, str, int]]:
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert all(line["peer"] == "127.0.0.1" and line["time"] > 1e9 for line in lines)
    return [(line["client"], line["method"], line["path"], line["status"]) for line in lines]


def test_roles(served):
    assert served.ask("GET", "/number", token=READ)[:2] == (200, 7)
    assert served.ask("GET", "/number", token=CONTROL)[:2] == (200, 7)
    assert served.ask("POST", "/length", b"abc", CONTROL)[:2] == (200, 3)
    status, content, _ = served.ask("POST", "/length", b"abc", READ)
    assert (status, content["error"]) == (
        403,
        "the role of this token does not permit this request",
    )
    assert served.ask("GET", "/number")[0] == 401
    assert served.ask("GET", "/number", token=CONTROL[:-1])[0] == 401


def test_a_body_is_limited_whether_its_length_is_given_or_not(served):
    assert served.ask("POST", "/length", b"x" * 1000, CONTROL)[:2] == (200, 1000)
    assert served.ask("POST", "/length", b"x" * 1001, CONTROL)[0] == 413
    chunks = (b"x" * 500 for _ in range(2))
    assert served.ask("POST", "/length", chunks, CONTROL)[:2] == (200, 1000)
    chunks = (b"x" * 500 for _ in range(3))
    assert served.ask("POST", "/length", chunks, CONTROL)[0] == 413


def test_a_body_of_many_small_chunks_is_refused(served):
    """1 MB in chunks of a byte had taken 7 s of processor time."""
    chunks = (b"x" for _ in range(10))
    status, content, _ = served.ask("POST", "/length", chunks, CONTROL)
    assert (status, content["error"]) == (413, "the request is too large")


@pytest.mark.parametrize(("role", "is_limited"), [(Role.NODE, True), (Role.ADMINISTRATOR, False)])
def test_a_client_has_a_share_of_the_requests_at_the_same_time(role, is_limited):
    """Bodies of one node could fill a collector's memory. Administrators may share a token."""
    limits = dataclasses.replace(LIMITS, requests=5, requests_of_client=2)
    clients = {"one": Client("a", role), "other": Client("b", Role.READER)}
    protection = Protection(wait_for_ever, limits, Access([FixedTokens(clients)], ANYTHING))

    async def statuses() -> list[int]:
        answers: list[int] = []

        async def send(message: Any) -> None:
            answers.append(message.get("status", 0))

        tasks = [asyncio.create_task(protection(scope_of(token), None, send)) for token in ASKED]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return [status for status in answers if status]

    assert asyncio.run(statuses()) == ([503] if is_limited else [])
    assert not protection._active


ASKED = ["one", "one", "one", "other"]
ANYTHING = [Rule("POST", ".*", ANY)]


def scope_of(token: str) -> dict[str, Any]:
    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {token}".encode())]
    return {"type": "http", "method": "POST", "path": "/", "headers": headers, "state": {}}


async def wait_for_ever(*_: Any) -> None:
    await asyncio.get_running_loop().create_future()


def test_headers_are_limited(served):
    assert served.ask("GET", "/number", token=READ, A="x" * 2000)[0] == 200
    assert served.ask("GET", "/number", token=READ, A="x" * 4200)[0] == 431


def test_a_body_that_does_not_come_is_not_waited_for(served):
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as client:
        head = f"POST /length HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {CONTROL}\r\n"
        client.sendall(f"{head}Content-Length: 10\r\n\r\nabc".encode())
        assert client.recv(100).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("token", ["", READ, CONTROL[:-1]])
def test_a_body_without_the_right_token_is_not_waited_for(served, token):
    """Also where the route has a model of the body, which the framework reads first; and such
    requests take no place of others."""
    head = f"POST /store HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    head += "Content-Type: application/json\r\nContent-Length: 10\r\n\r\n1"
    refused = b"HTTP/1.1 403" if token == READ else b"HTTP/1.1 401"
    for _ in range(2 * LIMITS.requests):
        with socket.create_connection(("127.0.0.1", served.port), timeout=10) as client:
            client.sendall(head.encode())
            assert client.recv(100).startswith(refused)
    assert served.ask("POST", "/store", b"no number", token)[0] in (401, 403)
    assert served.stored == []


def test_a_body_that_is_cut_off_is_not_carried_out(served):
    json_type = {"Content-Type": "application/json"}
    chunks = (chunk for chunk in [b"1", *([b" " * 100] * 10)])
    status, content, _ = served.ask("POST", "/store", chunks, CONTROL, **json_type)
    assert (status, content["error"]) == (413, "the request is too large")
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as client:
        head = f"POST /store HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {CONTROL}\r\n"
        head += "Content-Type: application/json\r\nContent-Length: 10\r\n\r\n2"
        client.sendall(head.encode())
        assert client.recv(100).startswith(b"HTTP/1.1 408")
    assert served.stored == []
    assert served.ask("POST", "/store", b"3", CONTROL, **json_type)[0] == 200
    assert served.stored == [3]


def test_an_error_inside_the_server_is_answered_and_logged_as_any_other(served, log):
    status, content, headers = served.ask("POST", "/broken", token=CONTROL)
    assert (status, content["error"]) == (500, "an error inside the server")
    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert entries(log) == [("anna", "POST", "/broken", 500)]


def test_requests_at_the_same_time_are_limited(served):
    found: list[int] = []
    slow = [
        threading.Thread(target=lambda: found.append(served.ask("GET", "/slow")[0]))
        for _ in range(LIMITS.requests)
    ]
    for one in slow:
        one.start()
    end = time.monotonic() + 10
    while (status := served.ask("GET", "/number", token=READ)[0]) != 503:
        assert status == 200 and time.monotonic() < end
    served.resume.set()
    for one in slow:
        one.join()
    assert found == [200, 200]
    assert served.ask("GET", "/number", token=READ)[0] == 200


def connect(served: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", served.port), timeout=10)


def ask_on(connection: socket.socket, token: str = READ, more: str = "") -> bytes:
    """The answer to a request, without closing the connection; empty if the server closed it."""
    head = f"GET /number HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{more}\r\n"
    answer = b""
    try:
        connection.sendall(head.encode())
        while answer.partition(b"\r\n\r\n")[2] != b"7":
            chunk = connection.recv(10_000)
            if not chunk:
                break
            answer += chunk
    except OSError:
        pass
    return answer


def test_connections_are_limited_and_places_become_free(served):
    held = [connect(served) for _ in range(LIMITS.connections)]
    assert all(ask_on(one).startswith(b"HTTP/1.1 200") for one in held)
    with connect(served) as one_more:
        assert ask_on(one_more) == b""
    for one in held:
        one.close()
    end = time.monotonic() + 10
    while True:
        try:
            assert served.ask("GET", "/number", token=READ)[0] == 200
            break
        except (OSError, http.client.HTTPException):
            assert time.monotonic() < end


def test_connections_without_a_token_displace_only_each_other(log):
    limits = dataclasses.replace(LIMITS, connections=100, unidentified=3, head_seconds=60)
    served = Served(AuditLog(log), limits)
    known = connect(served)
    assert ask_on(known).startswith(b"HTTP/1.1 200")
    unidentified = [connect(served) for _ in range(20)]
    assert unidentified[0].recv(1) == b""
    assert ask_on(known).startswith(b"HTTP/1.1 200")
    assert ask_on(unidentified[-1]).startswith(b"HTTP/1.1 200")
    for one in (known, *unidentified):
        one.close()
    served.close()


@pytest.mark.parametrize("sent", [b"", b"GET /number HTTP/1.1\r\nHost: local"])
def test_a_client_that_sends_no_whole_head_is_not_waited_for(served, sent):
    """A connection that no request comes on is closed, too; 100 had stayed for an hour."""
    with connect(served) as client:
        client.sendall(sent)
        assert client.recv(100) == b""


def test_a_known_client_may_wait_between_requests_but_not_within_a_head(log):
    limits = dataclasses.replace(LIMITS, head_seconds=0.2)
    served = Served(AuditLog(log), limits)
    with connect(served) as client:
        for _ in range(2):
            assert ask_on(client).startswith(b"HTTP/1.1 200")
            client.settimeout(2 * limits.head_seconds)
            with pytest.raises(TimeoutError):
                client.recv(1)
            client.settimeout(10)
        client.sendall(b"GET /number HTTP/1.1\r\n")
        assert client.recv(100) == b""
    served.close()


def test_an_answer_of_a_public_server_may_take_longer_than_a_head(log):
    """The connection of a reader without a token was closed in the middle of a long answer."""
    limits = dataclasses.replace(LIMITS, head_seconds=0.2)
    served = Served(AuditLog(log), limits, is_public=True)
    threading.Timer(4 * limits.head_seconds, served.resume.set).start()
    assert served.ask("GET", "/slow")[:2] == (200, 1)
    served.close()


@pytest.mark.parametrize(
    "request_",
    [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
        b"GET /number HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\n"
        b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
        b"GET /number HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    ],
)
def test_there_is_http_1_only(served, request_):
    with connect(served) as client:
        client.sendall(request_)
        status = client.recv(1000).split(b" ")[:2]
    assert status[0] == b"HTTP/1.1"
    assert status[1] in (b"400", b"401", b"403")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:7117", 200),
        ("127.0.0.1:80", 200),
        ("[::1]:80", 200),
        ("[::1]", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example:80", 421),
        ("10.0.0.1", 421),
    ],
)
def test_a_local_server_has_local_names_only(served, host, status):
    """A page of another site whose name leads to this machine has no access."""
    assert served.ask("GET", "/number", token=READ, Host=host)[0] == status


def test_every_answer_has_security_headers(served):
    for path, status in (("/number", 401), ("/nothing", 404), ("/openapi.json", 200)):
        found, _, headers = served.ask("GET", path, token=READ if status == 404 else "")
        assert found == status
        assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


def test_changes_and_refusals_are_in_the_audit_log_and_reading_is_not(served, log):
    served.ask("GET", "/number", token=READ)
    served.ask("POST", "/length", b"abc", CONTROL)
    served.ask("POST", "/routine", b"", CONTROL)
    served.ask("POST", "/length", b"abc", READ)
    served.ask("GET", "/number?token=secret")
    served.ask("POST", "/length", b"x" * 1001, CONTROL)
    assert entries(log) == [
        ("anna", "POST", "/length", 200),
        ("prometheus", "POST", "/length", 403),
        ("anna", "POST", "/length", 413),
    ]
    without_token = log.with_name("audit-no-token.log")
    assert entries(without_token) == [(None, "GET", "/number", 401)]
    for file in (log, without_token):
        assert file.stat().st_mode & 0o777 == 0o600


def test_the_audit_log_begins_anew_when_it_is_large(log, monkeypatch):
    monkeypatch.setattr(audit_module, "MOST_BYTES", 800)
    written = AuditLog(log)
    for status in range(8):
        written.write(peer="127.0.0.1", client=ANNA, method="GET", path="/", status=status)
    written.close()
    old = entries(log.with_name("audit.log.1"))
    assert [status for *_, status in [*old, *entries(log)]] == list(range(8))
    assert written.lost == 0


def test_requests_without_a_token_displace_no_change(log, monkeypatch):
    monkeypatch.setattr(audit_module, "MOST_BYTES", 500)
    written = AuditLog(log)
    written.write(peer="127.0.0.1", client=ANNA, method="PUT", path="/v1/level", status=200)
    for _ in range(100):
        written.write(peer="127.0.0.1", client=None, method="GET", path="/", status=401)
    written.close()
    assert entries(log) == [("anna", "PUT", "/v1/level", 200)]
    assert sum(file.stat().st_size for file in log.parent.iterdir()) < 3 * 500
    assert written.lost == 0


def test_an_audit_log_that_cannot_begin_anew_keeps_its_descriptor(log, tmp_path, monkeypatch):
    """A closed one would be that of the next file or connection."""
    monkeypatch.setattr(audit_module, "MOST_BYTES", 100)
    written = AuditLog(log)
    line = {"peer": "127.0.0.1", "client": ANNA, "method": "PUT", "path": "/", "status": 200}
    with monkeypatch.context() as patched:
        patched.setattr(audit_module.os, "open", refuse_to_open)
        written.write(**line)
        written.write(**line)
    assert written.lost > 0
    other = tmp_path / "other"
    with other.open("wb"):
        written.write(**line)
        assert other.read_bytes() == b""
    written.write(**line)
    written.close()
    assert log.exists()


def refuse_to_open(*_: Any, **__: Any) -> int:
    raise OSError(errno.EMFILE, "too many open files")


def test_an_audit_log_is_no_link(log, tmp_path):
    log.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match="cannot write"):
        AuditLog(log)
