"""How the hosts of one simulation know each other before they exchange frames.

Both ends have the run's token, which no network has carried in the clear: each proves that it has
it, for random numbers of the other (HMAC-SHA256, RFC 2104). What comes from the network is read
here, in parts of known or limited size and limited time. The frames that follow are not encrypted.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager

TOKEN_BYTES = 32
_NUMBER = struct.Struct(">I")  # a host's number, or a length
_MOST_REASON_BYTES = 1 << 14
PATIENCE_S = 5.0  # for a handshake, whose parts each end sends at once
CONNECT_PATIENCE_S = 60.0  # until the first host answers: it starts all hosts before
CHECK_PATIENCE_S = 60.0  # until a host has compared programs
# A host that does not answer any more, for instance without power, is given up after 30 s.
_KEEP_ALIVE = {
    socket.TCP_KEEPIDLE: 10,
    socket.TCP_KEEPINTVL: 5,
    socket.TCP_KEEPCNT: 4,
    socket.TCP_USER_TIMEOUT: 30_000,
    socket.TCP_NODELAY: 1,
}


class HandshakeError(Exception):
    """The other end is no host of this run, or says nothing."""


def prepare(connection: socket.socket) -> None:
    """Sets what the simulators need of the connection."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEP_ALIVE.items():
        connection.setsockopt(socket.IPPROTO_TCP, option, value)
    connection.setblocking(True)


def accept(connection: socket.socket, token: bytes, hosts: int) -> int:
    """The number of the host at the other end, of `hosts`. Raises HandshakeError."""
    with _patiently(connection, PATIENCE_S) as deadline:
        mine = secrets.token_bytes(TOKEN_BYTES)
        connection.sendall(mine)
        number = _receive(connection, _NUMBER.size, deadline)
        theirs = _receive(connection, TOKEN_BYTES, deadline)
        proof = _receive(connection, TOKEN_BYTES, deadline)
        if not hmac.compare_digest(proof, _proof(token, b"further", mine, theirs, number)):
            raise HandshakeError("it has not the token of this run")
        (host,) = _NUMBER.unpack(number)
        if not 1 <= host < hosts:
            raise HandshakeError("it has no number of a host")
        connection.sendall(_proof(token, b"first", mine, theirs, number))
        return int(host)


def join(connection: socket.socket, token: bytes, host: int) -> None:
    """The other end of accept(). Raises HandshakeError."""
    with _patiently(connection, CONNECT_PATIENCE_S) as deadline:
        theirs = _receive(connection, TOKEN_BYTES, deadline)
    with _patiently(connection, PATIENCE_S) as deadline:
        mine = secrets.token_bytes(TOKEN_BYTES)
        number = _NUMBER.pack(host)
        connection.sendall(number + mine + _proof(token, b"further", theirs, mine, number))
        proof = _receive(connection, TOKEN_BYTES, deadline)
        if not hmac.compare_digest(proof, _proof(token, b"first", theirs, mine, number)):
            raise HandshakeError("it has not the token of this run")


def send_reason(connection: socket.socket, reason: str) -> None:
    """Tells the first host why this one cannot simulate; an empty one: it can."""
    text = reason.encode()[:_MOST_REASON_BYTES]
    connection.sendall(_NUMBER.pack(len(text)) + text)


def receive_reason(connection: socket.socket) -> str:
    """What send_reason() sent. Raises HandshakeError."""
    with _patiently(connection, CHECK_PATIENCE_S) as deadline:
        (length,) = _NUMBER.unpack(_receive(connection, _NUMBER.size, deadline))
        if length > _MOST_REASON_BYTES:
            raise HandshakeError("it sent what is no answer")
        return _receive(connection, length, deadline).decode(errors="replace")


def _proof(token: bytes, role: bytes, first: bytes, further: bytes, number: bytes) -> bytes:
    return hmac.digest(token, role + first + further + number, "sha256")


@contextmanager
def _patiently(connection: socket.socket, seconds: float) -> Iterator[float]:
    """The deadline of all that the block receives, by time.monotonic()."""
    connection.settimeout(seconds)
    try:
        yield time.monotonic() + seconds
    except OSError as error:
        raise HandshakeError(str(error)) from error
    finally:
        connection.setblocking(True)


def _receive(connection: socket.socket, size: int, deadline: float) -> bytes:
    received = b""
    while len(received) < size:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        connection.settimeout(left)
        part = connection.recv(size - len(received))
        if not part:
            raise HandshakeError("the connection was closed")
        received += part
    return received
