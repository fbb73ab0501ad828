"""Open sockets of our servers."""

from __future__ import annotations

import re
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

from sesame.errors import InputError
from sesame.settings import setting


@dataclass(frozen=True)
class Listening:
    """An open socket, and the context of its connections, if they are encrypted."""

    socket: socket.socket
    address: str
    context: ssl.SSLContext | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self.context else 'http'}://{self.address}"


def listen(
    address: str, certificate: Path | None, key: Path | None, client_ca: Path | None = None
) -> Listening:
    """Opens a socket, and reads certificate and key. Call it before privileges are given up, so
    that ports below 1024 and keys of root are available. Raises InputError.

    `client_ca`: the CA of clients' certificates; clients may have none, and are refused with a
    wrong one.
    """
    host, port = split_address(address)
    context = _context(certificate, key, client_ca)
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        opened = socket.socket(family, socket.SOCK_STREAM)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, port))
        opened.listen(100)
    except OSError as error:
        raise InputError(
            f"{setting('listen', address)}: {error.strerror}",
            hint="another daemon or collector may listen there; give another port",
        ) from error
    opened.setblocking(False)
    opened.set_inheritable(True)
    port = opened.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    return Listening(opened, f"{shown}:{port}", context)


def split_address(address: str) -> tuple[str, int]:
    match = re.fullmatch(r"(?:\[([0-9a-fA-F:]+)\]|([^:\[\]]+)):(\d{1,5})", address)
    if match is None or int(match[3]) > 65535:
        raise InputError(f"{address}: expected HOST:PORT")
    return match[1] or match[2], int(match[3])


def is_loopback(address: str) -> bool:
    host = split_address(address)[0]
    return host in ("localhost", "::1") or host.startswith("127.")


def _context(
    certificate: Path | None, key: Path | None, client_ca: Path | None
) -> ssl.SSLContext | None:
    if (certificate is None) != (key is None):
        raise InputError(f"{setting('certificate')} and {setting('key')} go together")
    if certificate is None or key is None:
        if client_ca is not None:
            raise InputError(
                f"{setting('client_ca')} needs {setting('certificate')} and {setting('key')}"
            )
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:  # which ssl's own are, too
        reason = error.strerror or str(error)
        raise InputError(f"{certificate}, {key}: no certificate and its key: {reason}") from error
    if client_ca is not None:
        context.verify_mode = ssl.CERT_OPTIONAL
        try:
            context.load_verify_locations(client_ca)
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(
                f"{setting('client_ca', client_ca)}: no certificate: {reason}"
            ) from error
    return context
