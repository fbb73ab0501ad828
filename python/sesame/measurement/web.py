"""What the daemon and the reception have in common as HTTP servers.

Hypercorn serves, since it does nothing at all while nobody asks.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import signal
import socket
import ssl
from asyncio import constants
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from hypercorn.asyncio import serve
from hypercorn.config import Config

from sesame import __version__
from sesame.errors import InputError, OutputError, SesameError

BEARER = HTTPBearer(auto_error=False, description="the token of the file that the daemon made")
KEEP_ALIVE_SECONDS = 3600
GRACE_SECONDS = 1  # for connections when the server ends


@dataclass(frozen=True)
class Listening:
    """An open socket, and how it is spoken on."""

    socket: socket.socket
    address: str
    certificate: Path | None
    key: Path | None

    @property
    def url(self) -> str:
        return f"{'https' if self.certificate else 'http'}://{self.address}"


def listen(address: str, certificate: Path | None, key: Path | None) -> Listening:
    """Opened before privileges are given up, so that a port below 1024 can be had."""
    host, port = split_address(address)
    if (certificate is None) != (key is None):
        raise InputError("--certificate and --key go together")
    if certificate is not None and key is not None:
        _check_certificate(certificate, key)
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        opened = socket.socket(family, socket.SOCK_STREAM)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, port))
        opened.listen(100)
    except OSError as error:
        raise InputError(
            f"--listen: {address}: {error.strerror}",
            hint="another daemon or reception may listen there; give another port",
        ) from error
    opened.setblocking(False)
    opened.set_inheritable(True)
    port = opened.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    return Listening(opened, f"{shown}:{port}", certificate, key)


def split_address(address: str) -> tuple[str, int]:
    match = re.fullmatch(r"(?:\[([0-9a-fA-F:]+)\]|([^:\[\]]+)):(\d{1,5})", address)
    if match is None or int(match[3]) > 65535:
        raise InputError(f"{address}: expected HOST:PORT")
    return match[1] or match[2], int(match[3])


def is_loopback(address: str) -> bool:
    host = split_address(address)[0]
    return host in ("localhost", "::1") or host.startswith("127.")


def _check_certificate(certificate: Path, key: Path) -> None:
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
    except OSError as error:  # which ssl's own are, too
        reason = error.strerror or str(error)
        raise InputError(f"{certificate}, {key}: no certificate and its key: {reason}") from error


Guard = Callable[[HTTPAuthorizationCredentials | None], Awaitable[None]]


def guard(token: str) -> Guard:
    """Lets in who knows the token; takes as long for each wrong one."""

    async def check(
        given: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)],
    ) -> None:
        text = given.credentials if given is not None else ""
        if not hmac.compare_digest(text.encode(), token.encode()):
            raise HTTPException(401, "wrong token, or none")

    return check


def make_app(title: str) -> FastAPI:
    app = FastAPI(title=title, version=__version__, docs_url=None, redoc_url=None)

    async def refused(_: Request, error: Any) -> JSONResponse:
        status = {InputError: 400, OutputError: 507}.get(type(error), 500)
        return JSONResponse({"error": error.message, "hint": error.hint}, status)

    async def http_error(_: Request, error: Any) -> JSONResponse:
        return JSONResponse({"error": str(error.detail), "hint": None}, error.status_code)

    async def invalid(_: Request, error: Any) -> JSONResponse:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:])
        return JSONResponse({"error": f"{place}: {first['msg']}", "hint": None}, 400)

    app.add_exception_handler(SesameError, refused)
    app.add_exception_handler(HTTPException, http_error)
    app.add_exception_handler(RequestValidationError, invalid)
    return app


async def run(
    app: FastAPI,
    listening: Listening,
    ready: Callable[[], None],
    handlers: dict[signal.Signals, Callable[[], None]],
) -> None:
    """Serves until SIGTERM or SIGINT; `ready` is called when signals and requests may come."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    ready()
    await serve_until(app, listening, ended)


def _without_slow_ends(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if not isinstance(context.get("exception"), TimeoutError):
        loop.default_exception_handler(context)


async def serve_until(app: FastAPI, listening: Listening, ended: asyncio.Event) -> None:
    config = Config()
    config.bind = [f"fd://{listening.socket.detach()}"]
    config.loglevel = "WARNING"
    config.keep_alive_timeout = KEEP_ALIVE_SECONDS
    config.graceful_timeout = GRACE_SECONDS
    if listening.certificate is not None:
        # Who keeps its connection does not answer that it ends, and asyncio waits 30 s for it.
        constants.SSL_SHUTDOWN_TIMEOUT = GRACE_SECONDS
        asyncio.get_running_loop().set_exception_handler(_without_slow_ends)
        config.certfile, config.keyfile = str(listening.certificate), str(listening.key)
    await serve(app, config, shutdown_trigger=ended.wait)  # type: ignore[arg-type]
