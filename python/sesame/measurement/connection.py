"""A connection to a daemon or a reception, kept from one request to the next."""

from __future__ import annotations

import http.client
import json
import ssl
from typing import Any
from urllib.parse import urlsplit

from sesame.errors import InputError, SesameError

TIMEOUT_SECONDS = 10
GONE = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)


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
        self.address, self._token = address, token
        self._connection: http.client.HTTPConnection
        if parts.scheme == "https":
            self._connection = http.client.HTTPSConnection(
                host, port, timeout=TIMEOUT_SECONDS, context=_context(ca)
            )
        else:
            self._connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)

    def ask(self, method: str, path: str, body: str | None = None) -> bytes:
        """Raises SesameError, which names the other side, when it does not do it."""
        was_open = self._connection.sock is not None
        try:
            return self._exchange(method, path, body)
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            if not (was_open and isinstance(error, GONE)):
                raise SesameError(f"{self.address}: {_reason(error)}") from error
        # The other side may have closed a connection that was idle for long.
        try:
            return self._exchange(method, path, body)
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise SesameError(f"{self.address}: {_reason(error)}") from error

    def ask_json(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.ask(method, path, None if body is None else json.dumps(body))
        try:
            return json.loads(answer)
        except ValueError as error:
            raise SesameError(f"{self.address}: this is no daemon of sesame") from error

    def ask_clock(self) -> int:
        return int(self.ask_json("GET", "/v1/clock")["time_ns"])

    def close(self) -> None:
        self._connection.close()

    def _exchange(self, method: str, path: str, body: str | None) -> bytes:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status == 401:
            raise InputError(f"{self.address}: this is not its token")
        if answer.status >= 300:
            message, hint = _error_in(text)
            kind = InputError if answer.status in (400, 404) else SesameError
            raise kind(f"{self.address}: {message or answer.reason}", hint=hint)
        return text


def _context(ca: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca or None)
    except OSError as error:
        raise InputError(f"{ca}: this is no certificate: {error.strerror}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return getattr(error, "verify_message", "") or error.reason or "no TLS there"
    if isinstance(error, TimeoutError):
        return f"no answer in {TIMEOUT_SECONDS} s"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _error_in(text: bytes) -> tuple[str, str | None]:
    try:
        answer = json.loads(text)
        return str(answer["error"]), answer.get("hint")
    except (ValueError, KeyError, TypeError, AttributeError):
        return "", None
