"""Connections to daemons and collectors: what other servers, or none, answer."""

from __future__ import annotations

import socket
import threading
from contextlib import closing

import pytest

from sesame.errors import InputError, SesameError
from sesame.measurement import connection as connection_module
from sesame.measurement.connection import Connection, TooLargeError


class Server:
    """Answers each request on each connection with the next of some texts, and hangs up after."""

    def __init__(self, *answers: list[bytes]) -> None:
        self._answers = answers
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.requests: list[bytes] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        for answers in self._answers:
            connection, _ = self._listening.accept()
            with connection:
                for answer in answers:
                    self.requests.append(connection.recv(65536))
                    connection.sendall(answer)
        self._listening.close()


def answer(body: bytes, status: str = "200 OK") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: x\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def test_requests_go_over_one_connection_and_carry_token_and_length():
    server = Server([answer(b"one"), answer(b"")])
    with closing(Connection(server.address, "secret", 1)) as connection:
        assert connection.ask("GET", "/a") == b"one"
        assert connection.ask("POST", "/b", "body") == b""
    first, second = server.requests
    assert first.startswith(b"GET /a HTTP/1.1\r\n")
    assert b"\r\nAuthorization: Bearer secret\r\n" in first
    assert second.endswith(b"\r\nContent-Length: 4\r\n\r\nbody")


def test_a_connection_that_the_other_has_closed_meanwhile_is_opened_again():
    server = Server([answer(b"one")], [answer(b"two")])
    with closing(Connection(server.address, "t", 1)) as connection:
        assert [connection.ask("GET", "/"), connection.ask("GET", "/")] == [b"one", b"two"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"SSH-2.0-x y\r\n\r\n", "Expected HTTP/"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", "before the end of its reply"),
        (b"", "closed the connection"),
        (answer(b'{"error": "full", "hint": null}', "507 x"), "full"),
        (answer(b"<html>", "502 Bad Gateway"), "HTTP status 502"),
    ],
)
def test_what_is_no_answer_is_an_error_that_names_the_other(text, words):
    server = Server([text])
    with (
        closing(Connection(server.address, "t", 1)) as connection,
        pytest.raises(SesameError, match=words) as caught,
    ):
        connection.ask("GET", "/")
    assert server.address in caught.value.message


def test_a_wrong_token_is_wrong_input():
    server = Server([answer(b"", "401 Unauthorized")])
    with (
        closing(Connection(server.address, "t", 1)) as connection,
        pytest.raises(InputError, match="does not accept this token"),
    ):
        connection.ask("GET", "/")


def test_a_server_that_refuses_a_request_before_it_has_read_it_is_understood():
    server = Server([answer(b'{"error": "the request is too large"}', "413 x")])
    with (
        closing(Connection(server.address, "t", 1)) as connection,
        pytest.raises(TooLargeError, match="the request is too large"),
    ):
        connection.ask("POST", "/", bytes(8 << 20))


def test_a_reply_that_is_too_long_is_not_received(monkeypatch):
    monkeypatch.setattr(connection_module, "MOST_ANSWER_BYTES", 1000)
    server = Server([answer(bytes(500)), answer(bytes(1000))])
    with closing(Connection(server.address, "t", 1)) as connection:
        assert connection.ask("GET", "/") == bytes(500)
        with pytest.raises(SesameError, match="its reply has more than 1000 bytes"):
            connection.ask("GET", "/")


def test_a_token_cannot_bring_in_headers_of_its_own():
    with pytest.raises(InputError, match="invalid characters"):
        Connection("here", "secret\r\nX-Other: 1", 1)


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"time_ns": "noon"}'])
def test_a_server_without_a_clock_is_none_of_ours(body):
    server = Server([answer(body)])
    with (
        closing(Connection(server.address, "t", 1)) as connection,
        pytest.raises(SesameError, match="not a daemon or collector of sesame"),
    ):
        connection.ask_clock()
