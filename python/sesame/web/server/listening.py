"""Open sockets of our servers."""

from __future__ import annotations

import re
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

from sesame.errors import InputError


@dataclass(frozen=True)
class Listening:
    """An open socket, and the certificate and key of its connections, if they are encrypted."""

    socket: socket.socket
    address: str
    certificate: Path | None
    key: Path | None

    @property
    def url(self) -> str:
        return f"{'https' if self.certificate else 'http'}://{self.address}"


def listen(address: str, certificate: Path | None, key: Path | None) -> Listening:
    """Opens a socket. Call it before privileges are given up, so that ports below 1024 are
    available. Raises InputError."""
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
            hint="another daemon or collector may listen there; give another port",
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
