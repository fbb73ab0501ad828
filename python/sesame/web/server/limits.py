"""Limits that protect a server from its clients."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """The limits of one server. A request beyond one is refused with the HTTP status beside it."""

    body_bytes: int = 1 << 20  # 413
    header_bytes: int = 16 << 10  # 431, or 400 from the server's parser
    body_seconds: float = 60.0  # from the headers to the end of the body: 408
    requests: int = 64  # at the same time: 503
    # Of these, of one client that is no administrator: 503
    requests_of_client: int = 64
    connections: int = 512  # further ones are closed
    idle_seconds: float = 3600.0  # of a connection between requests
    # Connections whose client is unknown yet (of a public server: without a request): a further one
    # closes the oldest one. A third of it with encryption.
    unidentified: int = 160
    # From the connection to its first request with a token, and for the headers of each request;
    # then the connection is closed.
    head_seconds: float = 10.0
    # Only requests for this machine itself, by address or as localhost: 421. A web page of another
    # name that leads to a loopback address thereby has no access.
    only_local_names: bool = False

    def hosts_include(self, host: bytes) -> bool:
        """Whether requests with this header Host are served."""
        return not (self.only_local_names and host) or _is_local(host.decode("latin-1"))


def _is_local(host: str) -> bool:
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    if name.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
