"""A persistent HTTP connection to a daemon or a collector.

The head of a request is fixed, and httptools parses replies. A daemon sends a request at each
reading, after it slept for seconds. The standard library's client would then take more processor
time than the rest of the reading (docs/decisions/0012-http-server.md).
"""

from __future__ import annotations

import json
import socket
import ssl
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import httptools

from sesame.errors import InputError, SesameError
from sesame.measurement.defaults import BEYOND_NS

TIMEOUT_SECONDS = 10
RECEIVE_BYTES = 1 << 16
MOST_ANSWER_BYTES = 64 << 20  # of a daemon with all readings that it keeps, or a block of 2.4 MB
GONE = (EOFError, ConnectionResetError, BrokenPipeError)
FAILURES = (OSError, EOFError, httptools.HttpParserError)


class TooLargeError(SesameError):
    """The server refuses a request of this size."""


KINDS = {400: InputError, 404: InputError, 413: TooLargeError}  # of errors, by status


class _Answer:
    """A reply, parsed as its bytes arrive."""

    def __init__(self) -> None:
        self._body: list[bytes] = []
        self._received = 0
        self._is_complete = self.keeps_open = False
        self._parser = httptools.HttpResponseParser(self)

    def on_body(self, part: bytes) -> None:
        self._body.append(part)

    def on_message_complete(self) -> None:
        self._is_complete, self.keeps_open = True, self._parser.should_keep_alive()

    def receive(self, opened: socket.socket) -> tuple[int, bytes]:
        """Receives the reply: status and body."""
        ended: Exception = EOFError("it closed the connection")
        while not self._is_complete:
            data = opened.recv(RECEIVE_BYTES)
            if not data:
                raise ended
            self._received += len(data)
            if self._received > MOST_ANSWER_BYTES:
                raise ConnectionAbortedError(f"its reply has more than {MOST_ANSWER_BYTES} bytes")
            self._parser.feed_data(data)
            ended = ConnectionAbortedError("it closed the connection before the end of its reply")
        return self._parser.get_status_code(), b"".join(self._body)


class Connection:
    """Opened at the first request, and again when the server has closed it. Not thread-safe."""

    def __init__(
        self,
        address: str,
        token: str,
        default_port: int,
        ca: str = "",
        certificate: str = "",
        key: str = "",
    ) -> None:
        """`address`: HOST, HOST:PORT or https://HOST:PORT. `ca`: file of the server's CA
        certificate, unless a public CA signed it. `certificate`, `key`: files by which the server
        knows this client if `token` is empty. Raises InputError."""
        text = address if "://" in address else f"http://{address}"
        try:
            parts = urlsplit(text)
            host, port = parts.hostname, parts.port or default_port
        except ValueError as error:
            raise InputError(f"{address}: {error}") from error
        if parts.scheme not in ("http", "https") or not host or parts.path.strip("/"):
            raise InputError(f"{address}: expected HOST, HOST:PORT or https://HOST:PORT")
        self.address, self._host_and_port = address, (host, port)
        if not (token.isascii() and token.isprintable()):
            raise InputError(f"{self.address}: its token has invalid characters")
        authorization = f"Authorization: Bearer {token}\r\n" if token else ""
        self._headers = f"Host: {parts.netloc}\r\n{authorization}Content-Type: application/json\r\n"
        if certificate and parts.scheme != "https":
            raise InputError(f"{address}: a certificate needs https://")
        self._context = _context(ca, certificate, key) if parts.scheme == "https" else None
        self._socket: socket.socket | None = None

    def ask(self, method: str, path: str, body: str | bytes | None = None) -> bytes:
        """Sends a request; returns the body of the reply. Raises SesameError, which names the
        server: InputError for a wrong token, and for status 400 and 404; TooLargeError for 413."""
        was_open = self._socket is not None
        try:
            return self._exchange(method, path, body)
        except FAILURES as error:
            self.close()
            if not (was_open and isinstance(error, GONE)):
                raise SesameError(f"{self.address}: {_reason(error)}") from error
        # The server may have closed the connection after a long idle time: try once more.
        try:
            return self._exchange(method, path, body)
        except FAILURES as error:
            self.close()
            raise SesameError(f"{self.address}: {_reason(error)}") from error

    def ask_json(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.ask(method, path, None if body is None else json.dumps(body))
        try:
            return json.loads(answer)
        except ValueError as error:
            raise SesameError(f"{self.address}: not a daemon of sesame") from error

    def ask_clock(self) -> int:
        """The server's clock in ns: a daemon's monotonic clock, a collector's time of day."""
        try:
            time_ns = int(self.ask_json("GET", "/v1/clock")["time_ns"])
            if not 0 <= time_ns < BEYOND_NS:
                raise ValueError("not a time")
            return time_ns
        except (TypeError, KeyError, ValueError, OverflowError) as error:
            raise SesameError(f"{self.address}: not a daemon or collector of sesame") from error

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def _open(self) -> socket.socket:
        if self._socket is None:
            opened = socket.create_connection(self._host_and_port, TIMEOUT_SECONDS)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._context is not None:
                opened = self._context.wrap_socket(opened, server_hostname=self._host_and_port[0])
            self._socket = opened
        return self._socket

    def _exchange(self, method: str, path: str, body: str | bytes | None) -> bytes:
        content = body.encode() if isinstance(body, str) else body or b""
        head = f"{method} {path} HTTP/1.1\r\n{self._headers}Content-Length: {len(content)}\r\n\r\n"
        opened = self._open()
        answer = _Answer()
        # A server that refuses a request answers and closes before it has read the body.
        with suppress(BrokenPipeError, ConnectionResetError):
            opened.sendall(head.encode() + content)
        status, text = answer.receive(opened)
        if not answer.keeps_open:
            self.close()
        if status == 401:
            raise InputError(f"{self.address}: it does not accept this token")
        if status >= 300:
            message, hint = _error_in(text)
            kind = KINDS.get(status, SesameError)
            raise kind(f"{self.address}: {message or f'HTTP status {status}'}", hint=hint)
        return text


def _context(ca: str, certificate: str, key: str) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=ca or None)
    except OSError as error:
        raise InputError(f"{ca}: not a certificate: {error.strerror}") from error
    if certificate:
        try:
            context.load_cert_chain(certificate, key or None)
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(
                f"{certificate}, {key}: no certificate and its key: {reason}"
            ) from error
    return context


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"it does not speak HTTPS: {error.reason}"
    if isinstance(error, TimeoutError):
        return f"no answer in {TIMEOUT_SECONDS} s"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _error_in(text: bytes) -> tuple[str, str | None]:
    try:
        answer = json.loads(text)
        return str(answer["error"]), answer.get("hint")
    except (ValueError, KeyError, TypeError, AttributeError):
        return "", None
