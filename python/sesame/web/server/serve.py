"""Makes and serves an application, such as those of the daemon and the collector.

It uses Hypercorn, which causes no load while there are no requests.
"""

from __future__ import annotations

import asyncio
import signal
from asyncio import constants
from collections.abc import Callable, Sequence
from typing import Any

from hypercorn.asyncio import serve
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from sesame.errors import InputError, OutputError, SesameError
from sesame.web.server.access import Access
from sesame.web.server.audit import AuditLog
from sesame.web.server.connections import ServerConfig
from sesame.web.server.description import describe
from sesame.web.server.limits import Limits
from sesame.web.server.listening import Listening
from sesame.web.server.operations import Operations
from sesame.web.server.protection import Protection

GRACE_SECONDS = 1  # for connections when the server ends


async def _refused(_: Request, error: Any) -> JSONResponse:
    status = {InputError: 400, OutputError: 507}.get(type(error), 500)
    return JSONResponse({"error": error.message, "hint": error.hint}, status)


async def _http_error(_: Request, error: Any) -> JSONResponse:
    content = {"error": str(error.detail), "hint": None}
    return JSONResponse(content, error.status_code, error.headers)


def make_app(
    title: str,
    limits: Limits,
    access: Access,
    operations: Operations,
    audit: AuditLog | None = None,
    routes: Sequence[Route] = (),
) -> Starlette:
    """Makes an application. Its requests need a token and are limited; its answers have security
    headers; its errors are JSON with `error` and `hint`. `/openapi.json` describes the operations,
    not the other routes."""

    async def description(_: Request) -> JSONResponse:
        return JSONResponse(describe(title, operations))

    app = Starlette(
        routes=[
            *(one.route() for one in operations),
            *routes,
            Route("/openapi.json", description),
        ],
        middleware=[Middleware(Protection, limits=limits, access=access, audit=audit)],
        exception_handlers={SesameError: _refused, HTTPException: _http_error},
    )
    app.state.limits = limits
    return app


async def run(
    app: Starlette,
    listening: Listening,
    ready: Callable[[], None],
    handlers: dict[signal.Signals, Callable[[], None]],
) -> None:
    """Serves until SIGTERM or SIGINT. `ready` is called once signals are handled; requests may
    arrive from then on. `handlers` are for other signals."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    ready()
    await serve_until(app, listening, ended)


def _without_slow_ends(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Ignores time-outs, which asyncio reports if a client does not confirm the end of TLS."""
    if not isinstance(context.get("exception"), TimeoutError):
        loop.default_exception_handler(context)


async def serve_until(app: Starlette, listening: Listening, ended: asyncio.Event) -> None:
    """Serves an application of `make_app` until `ended` is set; takes over the socket."""
    config = ServerConfig(app.state.limits, listening.context)
    config.bind = [f"fd://{listening.socket.detach()}"]
    config.graceful_timeout = GRACE_SECONDS
    if listening.context is not None:
        # Clients with open connections do not confirm the end, and asyncio waits 30 s for them.
        constants.SSL_SHUTDOWN_TIMEOUT = GRACE_SECONDS
        asyncio.get_running_loop().set_exception_handler(_without_slow_ends)
    await serve(app, config, shutdown_trigger=ended.wait)  # type: ignore[arg-type]
