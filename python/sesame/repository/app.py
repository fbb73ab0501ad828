"""The web application of a repository."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount

from sesame.errors import SesameError
from sesame.repository import api, documentation, home, parts, start
from sesame.repository.accounts.middleware import Identify
from sesame.repository.accounts.openid import OpenId
from sesame.repository.page import ROUTES as ASSETS
from sesame.repository.page import page
from sesame.repository.store import Reader, Repository
from sesame.repository.uploads.mail import MailServer
from sesame.web.server.access import Access
from sesame.web.server.audit import AuditLog
from sesame.web.server.limits import Limits
from sesame.web.server.protection import Protection

# What a request may do is decided by the pages.
PUBLIC = Access((), is_public=True)
Recogniser = Callable[[str], Reader | None]
REASONS = {
    403: "You may not do this.",
    404: "There is no such page, or you may not read it. Signing in may help.",
}
# An upload is sent in parts of 8 MiB, and in smaller ones over a slow connection.
LIMITS = Limits(
    body_bytes=32 << 20,
    body_seconds=300.0,
    header_bytes=32 << 10,
    requests=512,
    connections=2048,
    idle_seconds=75.0,
    unidentified=2048,
)


def _wants_json(request: Request) -> bool:
    return request.url.path.startswith("/api/")


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    text = REASONS.get(error.status_code, "")
    if error.detail and error.detail not in ("Not Found", "Forbidden"):
        text = str(error.detail)
    if _wants_json(request):
        return JSONResponse({"error": text, "hint": None}, error.status_code, error.headers)
    shown = page(request, "error.html", status=error.status_code, text=text, hint=None)
    shown.headers.update(error.headers or {})
    return shown


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, SesameError)
    status = api.status_of(error)
    if _wants_json(request):
        return JSONResponse({"error": error.message, "hint": error.hint}, status)
    return page(request, "error.html", status=status, text=error.message, hint=error.hint)


def make_app(
    repository: Repository,
    *,
    title: str = "Sesame repository",
    address: str = "",
    recognisers: Sequence[Recogniser] = (),
    limits: Limits = LIMITS,
    audit: AuditLog | None = None,
    secure: bool = False,
    openid: OpenId | None = None,
    mail: MailServer | None = None,
) -> Starlette:
    """The application. `address`: its own in links that leave it; by default that of each request.
    `recognisers` find the account of a bearer token that is none of an account;
    `secure`: browsers use https; `openid`: where people sign in; `mail`: the server of mail."""

    @contextlib.asynccontextmanager
    async def working(app: Starlette) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(work(app)) for work in parts.work()]
        yield
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    app = Starlette(
        routes=[
            *ASSETS,
            *start.routes(repository),
            *home.routes(repository),
            *documentation.ROUTES,
            *parts.routes(repository),
            Mount("/api/v1", api.make_api(repository, title)),
        ],
        middleware=[
            Middleware(Protection, limits=limits, access=PUBLIC, audit=audit),
            Middleware(Identify, repository.engine, others=recognisers, secure=secure),
        ],
        exception_handlers={HTTPException: _http_error, SesameError: _refused},
        lifespan=working,
    )
    app.state.limits = limits
    app.state.site_title = title
    app.state.address = address
    app.state.repository = repository
    app.state.openid, app.state.mail = openid, mail
    return app
