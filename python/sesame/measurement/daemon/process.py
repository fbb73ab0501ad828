"""The process `sesamed`: loads the probes, drops its privileges, serves HTTP requests."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import gc
import os
import platform
import pwd
import signal
import stat
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TextIO

from starlette.applications import Starlette

from sesame.errors import InputError, OutputError, SesameError
from sesame.measurement.cost import kept_costs
from sesame.measurement.daemon import privileges
from sesame.measurement.daemon.api import make_daemon_app
from sesame.measurement.daemon.node import Node
from sesame.measurement.daemon.page import make_page_in_child
from sesame.measurement.daemon.service import Service
from sesame.measurement.daemon.settings import Settings
from sesame.measurement.defaults import DEFAULT_ADDRESS, DEFAULT_BUDGET, default_state_directory
from sesame.measurement.mpi import default_counter_directory
from sesame.measurement.probes import CLASS_ASSIGNED, QUOTA_REACHED, Probes
from sesame.measurement.providers import Provider, providers, sources_of
from sesame.measurement.pump import EventPump
from sesame.measurement.systemd import notify_systemd
from sesame.settings import setting
from sesame.web.server.access import TokenPlaces
from sesame.web.server.audit import AuditLog
from sesame.web.server.limits import Limits
from sesame.web.server.listening import Listening, is_loopback, listen
from sesame.web.server.serve import run


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
    user: str | None = None
    keep_privileges: bool = False
    budget: float | None = DEFAULT_BUDGET


def say(text: str) -> None:
    with contextlib.suppress(OSError):  # stderr may be closed
        print(f"sesamed: {text}", file=sys.stderr, flush=True)


def make_directory(path: Path, owner: tuple[int, int] | None = None) -> None:
    try:
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
        if owner is not None:
            os.chown(path, *owner)
    except OSError as error:
        raise OutputError(f"{path}: cannot be created: {error.strerror}") from error


FILES = ("token", "tokens", "audit.log", "audit-no-token.log", "undelivered")


def give(directory: Path, user: pwd.struct_passwd) -> None:
    """Makes the user the owner of the files that an earlier daemon of root has left."""
    for name in FILES:
        with contextlib.suppress(FileNotFoundError):
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            file = os.open(directory / name, flags)
            with contextlib.closing(os.fdopen(file)):
                found = os.fstat(file)
                # A second link would be a file of somewhere else.
                if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
                    os.fchown(file, user.pw_uid, user.pw_gid)


def lock(directory: Path) -> TextIO:
    """Locks the state directory until the process ends, so that it has one daemon."""
    path = directory / "daemon.lock"
    try:
        # Another user may own the directory and root writes here, so follow no links.
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644), "r+")
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.seek(0)
        raise InputError(
            f"this node has a daemon already: process {file.read().strip() or 'unknown'}",
            hint=f"use it (`sesame measure status`), or give another "
            f"{setting('state_directory')} than {directory}",
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
    page = make_page_in_child()
    settings = how.read_settings()
    said: list[str] = []  # printed when the daemon listens
    user = None if how.keep_privileges else privileges.find_user(how.user, said.append)
    directory = how.state_directory or default_state_directory()
    make_directory(directory, (user.pw_uid, user.pw_gid) if user is not None else None)
    held = lock(directory)
    listening = listen(how.address, how.certificate, how.key)
    places = TokenPlaces(directory / "token", directory / "tokens")
    tokens = places.open(say)
    audit = AuditLog(directory / "audit.log")
    if user is not None:
        give(directory, user)
    own = how.state_directory / "counters" if how.state_directory is not None else None
    counters = how.counters or own or default_counter_directory()
    probes, refused = load_all(providers(counters, user.pw_uid if user is not None else None))
    costs = kept_costs() or []  # of the user who started it
    if not how.keep_privileges:
        privileges.drop(user)
    node = Node(
        how.node or platform.node(),
        probes,
        refused,
        budget=how.budget,
        interval_s=settings.interval,
        costs=costs,
    )
    messages = {QUOTA_REACHED: node.on_quota_reached, CLASS_ASSIGNED: node.name_classes}
    sources = sources_of(probes.values())
    with closing(EventPump(sources, node.stream.write, messages)) as pump:
        read = how.read_settings if how.settings_file is not None else None
        service = Service(node, settings, say, read, pump.flush, directory / "undelivered")
        limits = Limits(only_local_names=is_loopback(listening.address))
        app = make_daemon_app(service, tokens, audit, limits, page)
        report = partial(_report, node, listening, places, said)
        asyncio.run(_serve(service, app, listening, report))
        audit.close()
    held.close()


def _report(node: Node, listening: Listening, places: TokenPlaces, more: list[str]) -> None:
    say(f"{node.name}: {listening.url}, {places.describe()}")
    for line in (*filter(None, [places.advice()]), *more):
        say(line)
    if not is_loopback(listening.address) and listening.context is None:
        both = f"{setting('certificate')} and {setting('key')}"
        say(f"the token is sent unencrypted; use {both} for HTTPS")


async def _serve(
    service: Service, app: Starlette, listening: Listening, report: Callable[[], None]
) -> None:
    def ready() -> None:
        report()
        notify_systemd("READY=1")
        # Objects made until now stay: exempt them from garbage collection during readings.
        gc.collect()
        gc.freeze()
        privileges.return_memory()

    try:
        service.begin()
        await run(app, listening, ready, {signal.SIGHUP: service.reload})
    finally:
        notify_systemd("STOPPING=1")
        service.end()
