"""Makes and serves an application, such as those of the daemon and the collector.

It uses Hypercorn, which causes no load while there are no requests.
"""

from __future__ import annotations

import asyncio
import signal
from asyncio import constants
from collections.abc import Callable
from typing import Any

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from hypercorn.asyncio import serve
from pydantic import BaseModel

from sesame import __version__
from sesame.errors import InputError, OutputError, SesameError
from sesame.web.server.access import BEARER, Access
from sesame.web.server.audit import AuditLog
from sesame.web.server.connections import ServerConfig
from sesame.web.server.limits import Limits
from sesame.web.server.listening import Listening
from sesame.web.server.protection import REASONS, Protection

GRACE_SECONDS = 1  # for connections when the server ends


class Problem(BaseModel):
    """Why a request was refused or failed, and what to do."""

    error: str
    hint: str | None = None


PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": reason}
    for status, reason in {
        400: "the request is wrong",
        **REASONS,
        507: "the server cannot write",
    }.items()
}


def make_app(title: str, limits: Limits, access: Access, audit: AuditLog | None = None) -> FastAPI:
    """Makes an application. Its requests need a token and are limited; its answers have security
    headers; its errors are JSON with `error` and `hint`."""
    app = FastAPI(
        title=title,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        dependencies=[Depends(BEARER)],
        responses=PROBLEMS,
    )

    async def refused(_: Request, error: Any) -> JSONResponse:
        status = {InputError: 400, OutputError: 507}.get(type(error), 500)
        return JSONResponse({"error": error.message, "hint": error.hint}, status)

    async def http_error(_: Request, error: Any) -> JSONResponse:
        content = {"error": str(error.detail), "hint": None}
        return JSONResponse(content, error.status_code, error.headers)

    async def invalid(_: Request, error: Any) -> JSONResponse:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"][1:])
        return JSONResponse({"error": f"{field}: {first['msg']}", "hint": None}, 400)

    app.add_exception_handler(SesameError, refused)
    app.add_exception_handler(HTTPException, http_error)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_middleware(Protection, limits=limits, access=access, audit=audit)
    app.state.limits = limits
    return app


async def run(
    app: FastAPI,
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


async def serve_until(app: FastAPI, listening: Listening, ended: asyncio.Event) -> None:
    """Serves an application of `make_app` until `ended` is set; takes over the socket."""
    config = ServerConfig(app.state.limits, listening.context)
    config.bind = [f"fd://{listening.socket.detach()}"]
    config.graceful_timeout = GRACE_SECONDS
    if listening.context is not None:
        # Clients with open connections do not confirm the end, and asyncio waits 30 s for them.
        constants.SSL_SHUTDOWN_TIMEOUT = GRACE_SECONDS
        asyncio.get_running_loop().set_exception_handler(_without_slow_ends)
    await serve(app, config, shutdown_trigger=ended.wait)  # type: ignore[arg-type]
