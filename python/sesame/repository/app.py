"""The web application of a repository."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount

from sesame.errors import InputError, SesameError
from sesame.repository import api, documentation, home, parts, start
from sesame.repository.page import ROUTES as ASSETS
from sesame.repository.page import page
from sesame.repository.store import Reader, Repository
from sesame.web.server.access import Access
from sesame.web.server.audit import AuditLog
from sesame.web.server.limits import Limits
from sesame.web.server.protection import Protection

Recogniser = Callable[[Request], Reader | None]
REASONS = {
    403: "You may not do this.",
    404: "There is no such page, or you may not read it. Signing in may help.",
}
# An upload sends parts of this size; a connection may be slow.
LIMITS = Limits(
    body_bytes=1 << 40,
    body_seconds=6 * 3600.0,
    header_bytes=32 << 10,
    requests=512,
    connections=2048,
    idle_seconds=75.0,
    unidentified=2048,
)


class _OpenToAll(Access):
    """What a request may do is decided by the pages: much of a repository is public."""

    def check(self, _: object) -> int:
        return 0


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
    status = 400 if isinstance(error, InputError) else 500
    if _wants_json(request):
        return JSONResponse({"error": error.message, "hint": error.hint}, status)
    return page(request, "error.html", status=status, text=error.message, hint=error.hint)


def _recognise(recognisers: Sequence[Recogniser]) -> type[BaseHTTPMiddleware]:
    class Recognition(BaseHTTPMiddleware):
        """Sets `request.state.reader`: the account that sent the request, or None."""

        async def dispatch(
            self, request: Request, call_next: Callable[[Request], Awaitable[Response]]
        ) -> Response:
            request.state.reader = None
            for recognise in recognisers:
                reader = await run_in_threadpool(recognise, request)
                if reader is not None:
                    request.state.reader = reader
                    break
            return await call_next(request)

    return Recognition


def _api(repository: Repository, title: str) -> FastAPI:
    made = api.make_api(repository, title)
    made.add_exception_handler(HTTPException, _http_error)
    made.add_exception_handler(SesameError, _refused)
    return made


def make_app(
    repository: Repository,
    *,
    title: str = "Sesame repository",
    address: str = "",
    recognisers: Sequence[Recogniser] = (),
    limits: Limits = LIMITS,
    audit: AuditLog | None = None,
) -> Starlette:
    """The application. `address`: its own in links that leave it; by default that of each request.
    `recognisers` find the account of a request, the first that does counts;
    parts add theirs (`recogniser(repository)`)."""
    found = [*recognisers, *parts.recognisers(repository)]
    app = Starlette(
        routes=[
            *ASSETS,
            *start.routes(repository),
            *home.routes(repository),
            *documentation.ROUTES,
            *parts.routes(repository),
            Mount("/api/v1", _api(repository, title)),
        ],
        middleware=[
            Middleware(Protection, limits=limits, access=_OpenToAll(()), audit=audit),
            Middleware(_recognise(found)),
        ],
        exception_handlers={HTTPException: _http_error, SesameError: _refused},
    )
    app.state.limits = limits
    app.state.site_title = title
    app.state.address = address
    app.state.repository = repository
    return app
