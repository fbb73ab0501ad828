"""Says of each request whose it is (`request.state.reader`), and refuses forged ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sesame.repository.accounts import forms
from sesame.repository.accounts.account import Account
from sesame.repository.accounts.sessions import LONGEST_S, AccessTokens, Sessions
from sesame.repository.accounts.store import Accounts
from sesame.repository.store.people import Reader
from sesame.web.server.access import CLIENT, SAFE_METHODS
from sesame.web.server.roles import Client, Role

SESSION_KEY = "sesame.session"  # in scope["state"]: set to a new session, or to "" to end it
SECURE_KEY = "sesame.secure"  # in scope["state"]: whether cookies are sent with https only


class Identify:
    """An ASGI application around another one.

    `others` find the account of a bearer token that is not in the database, such as the secret of
    the local user; they get "" for a request without one. `secure`: whether browsers use https, so
    that cookies are sent with it only.
    """

    def __init__(
        self,
        app: ASGIApp,
        engine: Engine,
        *,
        others: Sequence[Callable[[str], Reader | None]] = (),
        secure: bool = False,
    ) -> None:
        self._app, self._others, self._secure = app, others, secure
        self._accounts = Accounts(engine)
        self._sessions, self._tokens = Sessions(engine), AccessTokens(engine)
        # Browsers let no other host, and no page without https, set a cookie of this prefix.
        prefix = "__Host-" if secure else ""
        self._session_cookie, self._form_cookie = f"{prefix}sesame", f"{prefix}sesame-form"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope["state"] = dict(scope.get("state", {}))
        bearer, cookies = _bearer(scope), _cookies(scope)
        value = "" if bearer else cookies.get(self._session_cookie, "")
        reader, has_session = await run_in_threadpool(self._reader, bearer, value)
        state["reader"] = reader
        state[forms.COOKIE_KEY] = value if has_session else cookies.get(self._form_cookie, "")
        state[SECURE_KEY] = self._secure
        if reader is not None:  # for the audit log
            scope[CLIENT] = Client(reader.name, Role(reader.role))

        async def send_with_cookies(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *self._new_cookies(state)]
            await send(message)

        refused = 401 if bearer and reader is None else 0
        may_be_forged = has_session or reader is None  # browsers send cookies, not tokens
        if not refused and may_be_forged and scope["method"] not in SAFE_METHODS:
            token, receive = await forms.read_token(scope, receive)
            if forms.comes_from_elsewhere(scope) or not forms.is_right(
                token, state[forms.COOKIE_KEY]
            ):
                refused = 403
        if refused:
            await _refuse(refused, send_with_cookies)
            return
        await self._app(scope, receive, send_with_cookies)

    def _reader(self, bearer: str, session: str) -> tuple[Account | None, bool]:
        """Who sent a request, and whether its session says so."""
        if session and (found := self._sessions.account_of(session)):
            return found, True
        if bearer and (found := self._tokens.account_of(bearer)):
            return found, False
        more = (one(bearer) for one in self._others)
        known = next((one for one in more if one is not None), None)
        if known is None or isinstance(known, Account):
            return known, False
        return self._accounts.by_id(known.id), False

    def _new_cookies(self, state: dict[str, Any]) -> list[tuple[bytes, bytes]]:
        made = []
        if forms.NEW_KEY in state:
            made.append(self._cookie(self._form_cookie, state[forms.NEW_KEY], None))
        if SESSION_KEY in state:
            value = state[SESSION_KEY]
            age = int(LONGEST_S) if value else 0
            made.append(self._cookie(self._session_cookie, value, age))
        return [(b"set-cookie", one.encode("latin-1")) for one in made]

    def _cookie(self, name: str, value: str, age: int | None) -> str:
        """Lax: links in mails and in other pages lead to a signed-in page; forms have a token."""
        ends = "" if age is None else f"; Max-Age={age}"
        secure = "; Secure" if self._secure else ""
        return f"{name}={value}; Path=/; HttpOnly; SameSite=Lax{ends}{secure}"


def _bearer(scope: Scope) -> str:
    value: bytes = dict(scope["headers"]).get(b"authorization", b"")
    scheme, _, token = value.partition(b" ")
    return token.strip().decode("latin-1") if scheme.lower() == b"bearer" else ""


def _cookies(scope: Scope) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        if name == b"cookie":
            found |= cookie_parser(value.decode("latin-1"))
    return found


async def _refuse(status: int, send: Send) -> None:
    what = {
        401: ("wrong token; it may have ended", "make a new one at /account"),
        403: ("this form was not sent by a page of this server", "load the page again"),
    }[status]
    body = json.dumps({"error": what[0], "hint": what[1]}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
