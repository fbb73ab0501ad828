"""Forms that only our own pages can send (against cross-site request forgery).

A request that changes something and has a cookie, no bearer token, must come from a page of ours:
its header Origin or Sec-Fetch-Site does not say otherwise, and it has a token that is computed from
the cookie. The token is the first field of a form (`csrf_field`), or the header X-CSRF-Token
(`csrf_token`, in a `data-` attribute of the page for scripts).
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

from markupsafe import Markup
from starlette.requests import Request
from starlette.types import Message, Receive, Scope

FIELD = "csrf"
HEADER = b"x-csrf-token"
COOKIE_KEY, NEW_KEY = "sesame.cookie", "sesame.new-form-cookie"  # in scope["state"]
# The token is searched in the first bytes of a body only: forms have it first.
FIRST_BYTES = 16 << 10
_PART = re.compile(
    rb'content-disposition:[^\r\n]*\bname="?' + FIELD.encode() + rb'"?[^\r\n]*\r\n\r\n([^\r\n]*)',
    re.IGNORECASE,
)


def csrf_token(request: Request) -> str:
    """The token of the browser's session; one without gets a cookie with the answer."""
    state = request.scope.setdefault("state", {})
    cookie = state.get(COOKIE_KEY)
    if not cookie:
        cookie = state[COOKIE_KEY] = state[NEW_KEY] = secrets.token_urlsafe(32)
    return _token_for(cookie)


def csrf_field(request: Request) -> Markup:
    """The field that every form must begin with."""
    return Markup('<input type="hidden" name="{}" value="{}">').format(FIELD, csrf_token(request))


def _token_for(cookie: str) -> str:
    return hmac.digest(cookie.encode(), b"form of this browser", "sha256").hex()


def comes_from_elsewhere(scope: Scope) -> bool:
    """Whether the browser says that a page of another origin has sent the request. Our pages have
    the policy to send no referrer, with which browsers say `Origin: null`: Sec-Fetch-Site, which
    they all have since 2023, is exact."""
    headers = dict(scope["headers"])
    if (site := headers.get(b"sec-fetch-site")) is not None:
        return site not in (b"same-origin", b"none")
    if (origin := headers.get(b"origin")) is None:
        return False
    host: str = headers.get(b"host", b"").decode("latin-1").lower()
    sent_by: str = urlsplit(origin.decode("latin-1")).netloc.lower()
    return sent_by != host


async def read_token(scope: Scope, receive: Receive) -> tuple[str, Receive]:
    """The token of a request, and a `receive` that gives the whole body again."""
    headers = dict(scope["headers"])
    if given := headers.get(HEADER):
        return given.decode("latin-1"), receive
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind not in (b"application/x-www-form-urlencoded", b"multipart/form-data"):
        return "", receive
    messages: list[Message] = []
    start = b""
    while len(start) < FIRST_BYTES:
        message = await receive()
        messages.append(message)
        start += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return _token_in(kind, start[:FIRST_BYTES]), _replay(iter(messages), receive)


def _replay(messages: Iterator[Message], receive: Receive) -> Receive:
    async def again() -> Message:
        for message in messages:
            return message
        return await receive()

    return again


def _token_in(kind: bytes, start: bytes) -> str:
    if kind == b"multipart/form-data":
        found = _PART.search(start)
        return found[1].decode("latin-1") if found else ""
    name, _, value = start.partition(b"&")[0].partition(b"=")
    fields = parse_qsl((name + b"=" + value).decode("latin-1"), max_num_fields=1)
    return next((text for name_, text in fields if name_ == FIELD), "")


def is_right(token: str, cookie: str) -> bool:
    """Whether the token belongs to the cookie."""
    return bool(cookie) and hmac.compare_digest(token.encode(), _token_for(cookie).encode())
