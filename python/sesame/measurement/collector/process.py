"""The process `sesame collect`: receives readings from daemons, or fetches them, and stores or
forwards them."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from starlette.applications import Starlette

from sesame.errors import OutputError, SesameError
from sesame.measurement.collector.fetcher import Fetcher
from sesame.measurement.collector.intake import Intake
from sesame.measurement.collector.relay import Relay
from sesame.measurement.collector.server import make_collector_app
from sesame.measurement.collector.settings import Settings
from sesame.measurement.collector.store import Store
from sesame.measurement.connection import Connection
from sesame.measurement.defaults import (
    COLLECTOR_PORT,
    DAEMON_PORT,
    MOST_AT_ONCE,
    default_state_directory,
)
from sesame.measurement.systemd import notify_systemd
from sesame.web.server.access import TokenPlaces
from sesame.web.server.audit import AuditLog
from sesame.web.server.listening import Listening, listen
from sesame.web.server.serve import run
from sesame.web.server.tokens import read_token

LONGEST_WAIT = 10.0  # seconds until ended segments are written
# Settings that a running collector reads again.
CHANGEABLE = {"segment", "keep", "keep_size", "node_size"}


def say(text: str) -> None:
    with contextlib.suppress(OSError):  # stderr may be closed
        print(f"sesame collect: {text}", file=sys.stderr, flush=True)


class Collector:
    """The parts of the process. `read_settings` reads the settings again, for SIGHUP."""

    def __init__(self, settings: Settings, read_settings: Callable[[], Settings]) -> None:
        """Raises SesameError."""
        self._settings, self._read_settings = settings, read_settings
        output = Path(settings.output)
        self.listening = listen(
            settings.listen,
            _path(settings.certificate),
            _path(settings.key),
            _path(settings.client_ca),
        )
        nodes = connections_of_nodes(settings)
        upstream = connection_upstream(settings)
        token_file = _path(settings.token_file) or default_state_directory() / "collector-token"
        _make_directory(token_file.parent)
        self._places = TokenPlaces(token_file, token_file.with_name("collector-tokens"))
        tokens = self._places.open(say)
        self._audit = AuditLog(token_file.with_name("collector-audit.log"))
        self.store = Store(
            output,
            60 * settings.segment,
            say,
            keeping=settings.keeping,
            node_bytes=settings.node_bytes,
            is_relay=upstream is not None,
            makes_found=False,  # in the background, so that nodes are answered meanwhile
        )
        self.intake = Intake(self.store, output, say)
        self.relay = (
            Relay(self.store, upstream, say, self.intake.refuse) if upstream is not None else None
        )
        self.fetchers = [Fetcher(node, self.intake, say) for node in nodes]
        self.app = make_collector_app(self.store, self.intake, tokens, self._audit, self.relay)

    def report(self) -> None:
        to = f"data sets in {self._settings.output}"
        if self.relay is not None:
            to = f"forwarding to {self._settings.forward_to}"
        say(f"{self.listening.url}, {self._places.describe()}, {to}")
        if advice := self._places.advice():
            say(advice)
        notify_systemd("READY=1")

    def reload(self) -> None:
        """Reads the settings again. Invalid ones are reported and change nothing."""
        try:
            settings = self._read_settings()
        except SesameError as error:
            say(f"settings stay as they were: {error}")
            return
        self.store.segment_seconds = 60 * settings.segment
        self.store.keeping = settings.keeping
        self.store.quota.most_bytes = settings.node_bytes
        before, now = asdict(self._settings), asdict(settings)
        changed = [key for key in now if now[key] != before[key] and key not in CHANGEABLE]
        later = f"; after a restart: {', '.join(changed)}" if changed else ""
        say(f"settings: read again{later}")

    def tasks(self) -> dict[str, Coroutine[Any, Any, None]]:
        """What runs until the end, by what it does."""
        found = {
            f"fetching from node {number}": _fetch_always(fetcher, self._settings.interval)
            for number, fetcher in enumerate(self.fetchers, 1)
        }
        if self.relay is not None:
            return found | {"forwarding": _forward_always(self.relay)}
        return found | {"writing data sets": _end_segments(self.store)}

    def close(self) -> None:
        """Fetches, and writes or forwards what it has."""
        with ThreadPoolExecutor(MOST_AT_ONCE) as threads:
            list(threads.map(Fetcher.fetch, self.fetchers))
        if self.relay is not None:
            self.relay.close()
        self.store.close()
        self._audit.close()


def collect(settings: Settings, read_settings: Callable[[], Settings]) -> None:
    """Serves until SIGTERM or SIGINT; then writes what it has as a data set, or forwards it.

    Raises SesameError; also if a background task fails, so that whatever restarts the process does.
    """
    collector = Collector(settings, read_settings)
    # A node that does not answer keeps a thread busy until the timeout.
    threads = ThreadPoolExecutor(min(len(collector.fetchers), MOST_AT_ONCE) + 1)
    failed = asyncio.run(
        serve(
            collector.app,
            collector.listening,
            collector.report,
            collector.reload,
            collector.tasks(),
            threads,
        )
    )
    if failed:
        raise SesameError(failed, hint="journals are kept; the next start reads them")
    collector.close()


async def serve(
    app: Starlette,
    listening: Listening,
    ready: Callable[[], None],
    reload: Callable[[], None],
    background: dict[str, Coroutine[Any, Any, None]],
    threads: ThreadPoolExecutor,
) -> str:
    """Serves until a signal, or until a background task ends; returns why that has ended, or
    nothing after a signal."""
    asyncio.get_running_loop().set_default_executor(threads)
    server = asyncio.create_task(run(app, listening, ready, {signal.SIGHUP: reload}))
    tasks = [asyncio.create_task(one, name=name) for name, one in background.items()]
    try:
        await asyncio.wait([server, *tasks], return_when=asyncio.FIRST_COMPLETED)
        ended = [one for one in tasks if one.done()]
        if ended and not server.done():
            signal.raise_signal(signal.SIGTERM)
        await server
        return "; ".join(f"{one.get_name()} has failed: {one.exception()!r}" for one in ended)
    finally:
        notify_systemd("STOPPING=1")
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _fetch_always(fetcher: Fetcher, interval: float) -> None:
    while True:
        await asyncio.to_thread(fetcher.fetch)
        await asyncio.sleep(interval)


async def _forward_always(relay: Relay) -> None:
    while True:
        await asyncio.sleep(await asyncio.to_thread(relay.step))


async def _end_segments(store: Store) -> None:
    while True:
        await asyncio.sleep(min(store.segment_seconds, LONGEST_WAIT))
        if store.is_segment_over():
            store.end_segment()
        await asyncio.to_thread(store.make_segments)


def connections_of_nodes(settings: Settings) -> list[Connection]:
    """To the daemons from which the collector fetches. Raises InputError."""
    if not settings.nodes:
        return []
    token = read_token(_path(settings.nodes_token_file) or default_state_directory() / "token")
    return [Connection(one, token, DAEMON_PORT, settings.nodes_ca) for one in settings.nodes]


def connection_upstream(settings: Settings) -> Connection | None:
    """To the collector to which a relay forwards. Raises InputError."""
    if not settings.forward_to:
        return None
    token_file = settings.forward_token_file
    return Connection(
        settings.forward_to,
        read_token(Path(token_file)) if token_file else "",
        COLLECTOR_PORT,
        settings.forward_ca,
        settings.forward_certificate,
        settings.forward_key,
    )


def _path(text: str) -> Path | None:
    return Path(text) if text else None


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path}: cannot be created: {error.strerror}") from error
