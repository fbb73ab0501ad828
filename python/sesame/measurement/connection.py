"""A connection to a daemon or a reception, kept from one request to the next.

By h11, which speaks HTTP and leaves the socket to us: a daemon sends one request at each pull, and
the standard library's client would take more processor time for it than all the rest of the pull.
"""

from __future__ import annotations

import json
import socket
import ssl
from typing import Any
from urllib.parse import urlsplit

import h11

from sesame.errors import InputError, SesameError

TIMEOUT_SECONDS = 10
RECEIVE_BYTES = 1 << 16
GONE = (EOFError, ConnectionResetError, BrokenPipeError)
FAILURES = (OSError, EOFError, h11.ProtocolError)


class Connection:
    def __init__(self, address: str, token: str, default_port: int, ca: str = "") -> None:
        """`ca`: a file with who has signed the other's certificate, when that is not public."""
        text = address if "://" in address else f"http://{address}"
        try:
            parts = urlsplit(text)
            host, port = parts.hostname, parts.port or default_port
        except ValueError as error:
            raise InputError(f"{address}: {error}") from error
        if parts.scheme not in ("http", "https") or not host or parts.path.strip("/"):
            raise InputError(f"{address}: expected HOST, HOST:PORT or https://HOST:PORT")
        self.address, self._place = address, (host, port)
        self._headers = [
            ("Host", parts.netloc),
            ("Authorization", f"Bearer {token}"),
            ("Content-Type", "application/json"),
        ]
        self._context = _context(ca) if parts.scheme == "https" else None
        self._socket: socket.socket | None = None
        self._http = h11.Connection(h11.CLIENT)

    def ask(self, method: str, path: str, body: str | bytes | None = None) -> bytes:
        """Raises SesameError, which names the other side, when it does not do it."""
        was_open = self._socket is not None
        try:
            return self._exchange(method, path, body)
        except FAILURES as error:
            self.close()
            if not (was_open and isinstance(error, GONE)):
                raise SesameError(f"{self.address}: {_reason(error)}") from error
        # The other side may have closed a connection that was idle for long.
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
            raise SesameError(f"{self.address}: this is no daemon of sesame") from error

    def ask_clock(self) -> int:
        try:
            return int(self.ask_json("GET", "/v1/clock")["time_ns"])
        except (TypeError, KeyError, ValueError) as error:
            raise SesameError(
                f"{self.address}: this is no daemon or reception of sesame"
            ) from error

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def _open(self) -> socket.socket:
        if self._socket is None:
            opened = socket.create_connection(self._place, TIMEOUT_SECONDS)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._context is not None:
                opened = self._context.wrap_socket(opened, server_hostname=self._place[0])
            self._socket, self._http = opened, h11.Connection(h11.CLIENT)
        return self._socket

    def _exchange(self, method: str, path: str, body: str | bytes | None) -> bytes:
        content = body.encode() if isinstance(body, str) else body or b""
        opened, http = self._open(), self._http
        headers = [*self._headers, ("Content-Length", str(len(content)))]
        request = http.send(h11.Request(method=method, target=path, headers=headers)) or b""
        data = http.send(h11.Data(content)) or b""
        opened.sendall(request + data + (http.send(h11.EndOfMessage()) or b""))
        status, text = self._receive(opened)
        if http.our_state is h11.MUST_CLOSE:
            self.close()
        else:
            http.start_next_cycle()
        if status == 401:
            raise InputError(f"{self.address}: this is not its token")
        if status >= 300:
            message, hint = _error_in(text)
            kind = InputError if status in (400, 404) else SesameError
            raise kind(f"{self.address}: {message or f'HTTP status {status}'}", hint=hint)
        return text

    def _receive(self, opened: socket.socket) -> tuple[int, bytes]:
        status, parts = 0, []
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                data = opened.recv(RECEIVE_BYTES)
                if not data and not status:
                    raise EOFError("it has closed the connection")
                self._http.receive_data(data)
            elif isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                parts.append(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage):
                return status, b"".join(parts)


def _context(ca: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca or None)
    except OSError as error:
        raise InputError(f"{ca}: this is no certificate: {error.strerror}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not to be trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"no HTTPS there: {error.reason}"
    if isinstance(error, TimeoutError):
        return f"no answer in {TIMEOUT_SECONDS} s"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _error_in(text: bytes) -> tuple[str, str | None]:
    try:
        answer = json.loads(text)
        return str(answer["error"]), answer.get("hint")
    except (ValueError, KeyError, TypeError, AttributeError):
        return "", None
