"""Tells systemd the state of a service, as sd_notify(3) does."""

from __future__ import annotations

import contextlib
import os
import socket


def notify_systemd(state: str) -> None:
    """`state`: READY=1, RELOADING=1, STOPPING=1 and their like. Does nothing without
    NOTIFY_SOCKET."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as way, contextlib.suppress(OSError):
        abstract = "\0" + address[1:] if address.startswith("@") else address
        way.sendto(state.encode(), abstract)
