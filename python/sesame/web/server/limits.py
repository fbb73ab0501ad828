"""Limits that protect a server from its clients."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """The limits of one server. A request beyond one is refused with the HTTP status beside it."""

    body_bytes: int = 1 << 20  # 413
    header_bytes: int = 16 << 10  # 431, or 400 from the server's parser
    body_seconds: float = 60.0  # from the headers to the end of the body: 408
    requests: int = 64  # at the same time: 503
    connections: int = 512  # further ones are closed
    idle_seconds: int = 3600  # of a connection between requests
