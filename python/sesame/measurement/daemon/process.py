"""The process `sesamed`: loads the probes, drops its privileges, serves HTTP requests."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import gc
import os
import platform
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from sesame.errors import InputError, OutputError, SesameError
from sesame.measurement.daemon import privileges
from sesame.measurement.daemon.api import make_daemon_app
from sesame.measurement.daemon.node import Node
from sesame.measurement.daemon.service import Service
from sesame.measurement.daemon.settings import Settings
from sesame.measurement.defaults import DEFAULT_ADDRESS, DEFAULT_BUDGET, default_state_directory
from sesame.measurement.mpi import default_counter_directory
from sesame.measurement.probes import CLASS_ASSIGNED, QUOTA_REACHED, Probes
from sesame.measurement.providers import Provider, providers, sources_of
from sesame.measurement.pump import EventPump
from sesame.web.server.audit import AuditLog
from sesame.web.server.listening import Listening, is_loopback, listen
from sesame.web.server.serve import run
from sesame.web.server.tokens import make_token


@dataclass(frozen=True)
class DaemonOptions:
    """Options of the daemon's command line."""

    read_settings: Callable[[], Settings]
    settings_file: Path | None = None
    address: str = DEFAULT_ADDRESS
    state_directory: Path | None = None
    counters: Path | None = None
    node: str = ""
    certificate: Path | None = None
    key: Path | None = None
    user: str = ""
    keep_privileges: bool = False
    budget: float | None = DEFAULT_BUDGET


def say(text: str) -> None:
    with contextlib.suppress(OSError):  # stderr may be closed
        print(f"sesamed: {text}", file=sys.stderr, flush=True)


def notify_systemd(state: str) -> None:
    """Notifies systemd as sd_notify(3) does; does nothing without NOTIFY_SOCKET."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as way, contextlib.suppress(OSError):
        abstract = "\0" + address[1:] if address.startswith("@") else address
        way.sendto(state.encode(), abstract)


def make_directory(path: Path, owner: tuple[int, int] | None = None) -> None:
    try:
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
        if owner is not None:
            os.chown(path, *owner)
    except OSError as error:
        raise OutputError(f"{path}: cannot be created: {error.strerror}") from error


def lock(directory: Path) -> TextIO:
    """Locks the state directory until the process ends, so that it has one daemon."""
    path = directory / "daemon.lock"
    try:
        # Another user may own the directory (--user) and root writes here, so follow no links.
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644), "r+")
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.seek(0)
        raise InputError(
            f"this node has a daemon already: process {file.read().strip() or 'unknown'}",
            hint=f"use it (`sesame measure status`), or give another --state-directory than "
            f"{directory}",
        ) from error
    file.truncate(0)
    file.write(f"{os.getpid()}\n")
    file.flush()
    return file


def load_all(having: tuple[Provider, ...]) -> tuple[dict[str, Probes], dict[str, str]]:
    """Loads all probes; returns the available ones, and by subsystem why others are unavailable."""
    probes: dict[str, Probes] = {}
    refused: dict[str, str] = {}
    for provider in having:
        for name in provider.subsystems():
            try:
                probes[name] = provider.load(name)
            except SesameError as error:
                refused[name] = error.message
    if not probes:
        raise InputError(
            next(iter(refused.values()), "there are no probes"),
            hint="start sesamed as root, or with CAP_BPF and CAP_PERFMON",
        )
    for name, reason in refused.items():
        say(f"{name} is left out: {reason}")
    return probes, refused


def start(how: DaemonOptions) -> None:
    """Runs the daemon until SIGTERM or SIGINT."""
    settings = how.read_settings()
    user = privileges.find_user(how.user) if how.user else None
    directory = how.state_directory or default_state_directory()
    make_directory(directory, (user.pw_uid, user.pw_gid) if user is not None else None)
    held = lock(directory)
    listening = listen(how.address, how.certificate, how.key)
    token_file = directory / "token"
    token = make_token(token_file)
    if user is not None:
        os.chown(token_file, user.pw_uid, user.pw_gid, follow_symlinks=False)
    audit = AuditLog(directory / "audit.log")
    own = how.state_directory / "counters" if how.state_directory is not None else None
    counters = how.counters or own or default_counter_directory()
    probes, refused = load_all(providers(counters, user.pw_uid if user is not None else None))
    if not how.keep_privileges:
        privileges.drop(user)
    node = Node(
        how.node or platform.node(),
        probes,
        refused,
        budget=how.budget,
        interval_s=settings.interval,
    )
    messages = {QUOTA_REACHED: node.on_quota_reached, CLASS_ASSIGNED: node.name_classes}
    sources = sources_of(probes.values())
    with closing(EventPump(sources, node.stream.write, messages)) as pump:
        read = how.read_settings if how.settings_file is not None else None
        service = Service(node, settings, say, read, pump.flush, directory / "undelivered")
        asyncio.run(_serve(service, listening, token_file, token, audit))
    held.close()


def _report(node: Node, listening: Listening, token_file: Path) -> None:
    say(f"{node.name}: {listening.url}, token in {token_file}")
    if not is_loopback(listening.address) and listening.certificate is None:
        say("the token is sent unencrypted; use --certificate and --key for HTTPS")


async def _serve(
    service: Service, listening: Listening, token_file: Path, token: str, audit: AuditLog
) -> None:
    def ready() -> None:
        _report(service.node, listening, token_file)
        notify_systemd("READY=1")
        # Objects made until now stay: exempt them from garbage collection during readings.
        gc.collect()
        gc.freeze()

    try:
        service.begin()
        app = make_daemon_app(service, token, audit)
        await run(app, listening, ready, {signal.SIGHUP: service.reload})
    finally:
        notify_systemd("STOPPING=1")
        service.end()
        audit.close()
