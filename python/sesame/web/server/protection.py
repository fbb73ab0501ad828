"""Around every application: tokens, limits, security headers, the audit log."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sesame.web.server.access import CLIENT, SAFE_METHODS, Access
from sesame.web.server.audit import REFUSED, AuditLog
from sesame.web.server.limits import Limits
from sesame.web.server.roles import Client, Role

# A page has a policy of its own. No other answer is to be shown or run in a browser.
POLICY = b"content-security-policy"
HEADERS = {
    POLICY: b"default-src 'none'; frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"cache-control": b"no-store",
}
REASONS = {
    401: "wrong token, or none; a token may have ended",
    403: "the role of this token does not permit this request",
    408: "the request took too long",
    413: "the request is too large",
    421: "this server listens for its own machine only, by the names localhost and 127.0.0.1",
    431: "the headers are too large",
    500: "an error inside the server",
    503: "too many requests at the same time",
}


LEAST_PART = 256  # bytes that a part of a body counts at least
# The key in scope["state"] of a function, which is called when the connection's client is known.
ON_CLIENT = "sesame.on-client"


def _do_nothing() -> None: ...


class Protection:
    """An ASGI application around another one."""

    def __init__(
        self, app: ASGIApp, limits: Limits, access: Access, audit: AuditLog | None = None
    ) -> None:
        self._app, self._limits, self._access, self._audit = app, limits, access, audit
        self._active: Counter[str] = Counter()  # requests by client; without a token by ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # web sockets, which no application of ours has
            await send({"type": "websocket.close", "code": 1008})
            return
        exchange = _Exchange(receive, send, self._limits, partial(self._note, scope))
        status = self._refused_at_once(scope)
        if status:
            await exchange.refuse(status)
            return
        client = scope[CLIENT].name if CLIENT in scope else ""
        self._active[client] += 1
        try:
            await self._app(scope, exchange.receive, exchange.send)
        except Exception:  # the application's answer would not come through `exchange`
            if not exchange.is_answered:
                await exchange.refuse(500)
            raise
        finally:
            self._active[client] -= 1
            if not self._active[client]:
                del self._active[client]

    def _refused_at_once(self, scope: Scope) -> int:
        """The status to refuse a request with, or 0. Headers and token are checked first, so that
        requests without a token do not use up the other limits."""
        headers = scope["headers"]
        if sum(len(name) + len(value) for name, value in headers) > self._limits.header_bytes:
            return 431
        if not self._limits.hosts_include(dict(headers).get(b"host", b"")):
            return 421
        if refused := self._access.check(scope):
            return refused
        if CLIENT in scope or self._access.is_public:
            scope.get("state", {}).get(ON_CLIENT, _do_nothing)()
        if self._has_too_many(scope.get(CLIENT)) or self._active.total() >= self._limits.requests:
            return 503
        length = dict(headers).get(b"content-length", b"0")
        return 413 if length.isdigit() and int(length) > self._limits.body_bytes else 0

    def _has_too_many(self, client: Client | None) -> bool:
        """Whether a client has as many requests as it may. An administrator's token may be that of
        all clients, as the server's own one was."""
        if client is None or client.role == Role.ADMINISTRATOR:
            return False
        return self._active[client.name] >= self._limits.requests_of_client

    def _note(self, scope: Scope, status: int) -> None:
        changes = scope["method"] not in SAFE_METHODS and "sesame.routine" not in scope
        if self._audit is None or not (changes or status in REFUSED):
            return
        self._audit.write(
            peer=(scope.get("client") or ("unknown",))[0],
            client=scope.get(CLIENT),
            method=scope["method"],
            path=scope["path"],
            status=status,
        )


class _Exchange:
    """One request and its answer; `note` is called with the status before it is sent."""

    def __init__(
        self, receive: Receive, send: Send, limits: Limits, note: Callable[[int], None]
    ) -> None:
        self._receive, self._send, self._note = receive, send, note
        self._end = time.monotonic() + limits.body_seconds
        self._left = limits.body_bytes + LEAST_PART  # the last part is empty
        self._is_read = False
        self.is_answered = False

    async def receive(self) -> Message:
        if self._is_read:  # what follows only tells that the client has disconnected
            return await self._receive()
        try:
            async with asyncio.timeout(self._end - time.monotonic()):
                message = await self._receive()
        except TimeoutError:
            raise self._refusal(408) from None
        # Each part takes time, and could be one byte.
        self._left -= max(len(message.get("body", b"")), LEAST_PART)
        self._is_read = not message.get("more_body", False)
        if self._left < 0:
            raise self._refusal(413)
        return message

    def _refusal(self, status: int) -> HTTPException:
        """Ends the application's reading: it must not act on an incomplete body."""
        self._is_read = True
        return HTTPException(status, REASONS[status], headers={"connection": "close"})

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.is_answered = True
            self._note(message["status"])
            message["headers"] = _with_security(message.get("headers", []))
        await self._send(message)

    async def refuse(self, status: int) -> None:
        self.is_answered = True
        self._note(status)
        body = json.dumps({"error": REASONS[status], "hint": None}).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        start: dict[str, Any] = {"type": "http.response.start", "status": status}
        await self._send({**start, "headers": _with_security(headers)})
        await self._send({"type": "http.response.body", "body": body})


def _with_security(headers: Any) -> list[tuple[bytes, bytes]]:
    given = list(headers)
    names = {name.lower() for name, _ in given}
    return [*given, *((name, value) for name, value in HEADERS.items() if name not in names)]
