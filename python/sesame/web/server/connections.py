"""The connections of a server: how many there may be, and how long they wait for a client.

Hypercorn has no such limits, so its class of connections is extended. HTTP/2 and web sockets, which
Hypercorn offers unasked, are switched off: no client of ours needs them.

Encryption starts here, too, once a connection is within the limits: one that waits for its
handshake had 0.16 MB of memory.
"""

from __future__ import annotations

import asyncio
import gc
import ssl
from asyncio import sslproto
from collections.abc import Mapping
from typing import Any

from hypercorn.asyncio import run as hypercorn_run
from hypercorn.asyncio import tcp_server
from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.config import Config
from hypercorn.events import Event, RawData, Updated
from hypercorn.protocol import ProtocolWrapper
from hypercorn.protocol.h11 import H11Protocol

from sesame.web.server.access import CERTIFICATE
from sesame.web.server.limits import Limits
from sesame.web.server.protection import ON_CLIENT

# Closed connections are cycles of references: after so many, their memory is freed.
COLLECTION = 32


class ServerConfig(Config):
    """Hypercorn's configuration, with our limits and the server's connections."""

    limits = Limits()

    def __init__(self, limits: Limits, context: ssl.SSLContext | None) -> None:
        self.limits, self.context = limits, context
        self.loglevel = "WARNING"
        self.keep_alive_timeout = limits.idle_seconds
        # `Protection` refuses earlier, with a message.
        self.h11_max_incomplete_size = 2 * limits.header_bytes
        self.include_server_header = False
        # An encrypted one needs more memory.
        self.most_unidentified = limits.unidentified // (1 if context is None else 3)
        # asyncio accepts that many before it handles one: fewer, so that none of a burst of clients
        # closes another one before its request is read.
        self.backlog = max(1, min(100, limits.unidentified // (4 if context is None else 6)))
        self.connections = self.displaced = 0
        self.unidentified: dict[_Connection, None] = {}  # the oldest first


class _Http1(H11Protocol):
    async def _check_protocol(self, event: Any) -> None:
        """Does not change to HTTP/2."""


class _Protocol(ProtocolWrapper):
    """HTTP/1.1, whatever the client would prefer."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.protocol = _Http1(*arguments[:9])  # without the last one, what the client prefers


class _Connection(TCPServer):
    """A connection. If its client has gone, it ends at once; Hypercorn's own class keeps the
    descriptor until the idle time is over."""

    config: ServerConfig
    _deadline: asyncio.TimerHandle | None = None
    _is_idle = True  # between two requests
    _handshake: asyncio.Task[Any] | None = None  # the task of `run` meanwhile

    async def run(self) -> None:
        config = self.config
        if config.connections >= config.limits.connections:
            self.writer.close()
            return
        if len(config.unidentified) >= config.most_unidentified:
            next(iter(config.unidentified))._abort()
            config.displaced += 1
            if config.displaced % COLLECTION == 0:
                gc.collect(1)
        config.connections += 1
        config.unidentified[self] = None
        self._set_deadline()
        try:
            if await self._is_encrypted():
                certificate = self.writer.get_extra_info("peercert")
                self.state = {
                    **self.state,
                    ON_CLIENT: self._know_client,
                    CERTIFICATE: name_in(certificate) if certificate else None,
                }
                await super().run()
        finally:
            config.connections -= 1
            self._know_client()

    async def _is_encrypted(self) -> bool:
        """Starts encryption if the server has a certificate; returns whether that succeeded. Call
        it before anything is awaited: what the client sends would be read as it is."""
        if self.config.context is None:
            return True
        self._handshake = asyncio.current_task()
        try:
            await self.writer.start_tls(self.config.context)
        except (OSError, asyncio.CancelledError):  # by the client, or by `_abort`
            self.writer.transport.abort()
            return False
        finally:
            self._handshake = None
        return True

    def _know_client(self) -> None:
        """Called when a request had a valid token, and at the end."""
        self.config.unidentified.pop(self, None)
        self._clear_deadline()

    def _set_deadline(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.config.limits.head_seconds, self._abort)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _abort(self) -> None:
        self.config.unidentified.pop(self, None)
        self._clear_deadline()
        if self._handshake is not None:  # asyncio needs the transport until it has ended
            self._handshake.cancel()
        else:
            self.writer.transport.abort()

    async def protocol_send(self, event: Event) -> None:
        if isinstance(event, Updated):
            self._is_idle = event.idle
            if self not in self.config.unidentified:
                self._clear_deadline()
        await super().protocol_send(event)

    async def _read_data(self) -> None:
        handle = self.protocol.handle

        async def handle_and_watch(event: Event) -> None:
            await handle(event)
            if self._is_idle and isinstance(event, RawData) and self._has_part_of_headers():
                self._set_deadline()

        self.protocol.handle = handle_and_watch  # type: ignore[method-assign]
        await super()._read_data()
        await self.idle_task.stop()

    def _has_part_of_headers(self) -> bool:
        protocol = self.protocol.protocol
        return isinstance(protocol, H11Protocol) and bool(protocol.connection.trailing_data[0])


setattr(hypercorn_run, "TCPServer", _Connection)  # noqa: B010 - there is no setting for it
setattr(tcp_server, "ProtocolWrapper", _Protocol)  # noqa: B010
# Bytes that asyncio reserves for each encrypted connection; by default 256 KiB. Not less than a TLS
# record has (16 KiB).
sslproto.SSLProtocol.max_size = 17 << 10


def name_in(certificate: Mapping[str, Any]) -> str | None:
    """The node's name in a verified certificate: its first DNS name, else its common name."""
    for kind, name in certificate.get("subjectAltName", ()):
        if kind == "DNS":
            return str(name)
    for part in certificate.get("subject", ()):
        for key, value in part:
            if key == "commonName":
                return str(value)
    return None
