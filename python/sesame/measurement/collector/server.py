"""The process `sesame collect`: receives readings from daemons, or fetches them, and stores
them."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from fastapi import APIRouter, Depends, FastAPI, Request

from sesame.errors import InputError, OutputError, SesameError
from sesame.measurement.collector.store import Store
from sesame.measurement.connection import Connection
from sesame.measurement.defaults import MOST_AT_ONCE
from sesame.measurement.events import Block
from sesame.measurement.feed import Feed
from sesame.measurement.frames import decode_blocks, decode_readings, whole_bytes
from sesame.measurement.readings import Reading
from sesame.web.server.access import Access, Role, routine
from sesame.web.server.audit import AuditLog
from sesame.web.server.limits import Limits
from sesame.web.server.listening import Listening, listen
from sesame.web.server.serve import make_app, run
from sesame.web.server.tokens import make_token


@dataclass(frozen=True)
class CollectorOptions:
    """Options of the command line. Times are in seconds."""

    directory: Path
    address: str
    token_file: Path
    segment_seconds: float
    certificate: Path | None = None
    key: Path | None = None
    nodes: list[Connection] = field(default_factory=list)
    interval: float = 10.0


def say(text: str) -> None:
    with contextlib.suppress(OSError):  # stderr may be closed
        print(f"sesame collect: {text}", file=sys.stderr, flush=True)


# Blocks of events are some megabytes, and a daemon sends several at once after a failure.
LIMITS = Limits(body_bytes=256 << 20, requests=256, connections=4096)


def make_collector_app(store: Store, token: str, audit: AuditLog | None = None) -> FastAPI:
    app = make_app("sesame collect", LIMITS, Access({token: Role.CONTROL}), audit)
    routes = APIRouter(prefix="/v1", dependencies=[Depends(routine)])

    @routes.post("/readings")
    async def readings(request: Request) -> dict[str, Any]:
        """Stores readings of a node, one on each line. Readings stored before are ignored."""
        return {"new": keep(store, await _items(request, decode_readings))}

    @routes.post("/events")
    async def events(request: Request) -> dict[str, Any]:
        """Stores blocks of events of a node. Blocks stored before are ignored."""
        return {"new": keep(store, await _items(request, decode_blocks))}

    @routes.get("/clock")
    async def clock() -> dict[str, int]:
        """The collector's time of day."""
        return {"time_ns": time.time_ns()}

    app.include_router(routes)
    return app


async def _items(
    request: Request, read: Callable[[BinaryIO], Iterator[Reading | Block]]
) -> list[Reading | Block]:
    body = BytesIO(await request.body())
    try:
        found = list(read(body))
        is_torn = not found or whole_bytes(body) < len(body.getbuffer())
    except ValueError:
        is_torn = True
    if is_torn:
        raise InputError("expected readings or events of this version of sesame")
    return found


def keep(store: Store, items: list[Reading | Block]) -> bool:
    """Stores items; returns whether any was new."""
    is_new = False
    try:
        for one in items:
            is_new |= store.add(one)
    except OSError as error:
        raise OutputError(f"the collector cannot write: {error.strerror}") from error
    return is_new


class Fetcher:
    """Fetches readings and events from a daemon that cannot connect to the collector."""

    def __init__(self, connection: Connection, store: Store) -> None:
        self._address, self._feed, self._store = connection.address, Feed(connection), store
        self._trouble = ""
        self._fetching = threading.Lock()

    def fetch(self) -> None:
        """Fetches and stores what is new; reports errors by `say`. Calls from several threads run
        one after the other."""
        with self._fetching:
            try:
                for item in self._feed.new():
                    keep(self._store, [item])
            except SesameError as error:
                self._report(error.message, str(error))
            else:
                self._report("", f"{self._address}: answers again")

    def _report(self, trouble: str, text: str) -> None:
        """Prints `text` if the state changed: a new trouble, or its end (`trouble` is "")."""
        before, self._trouble = self._trouble, trouble
        if trouble != before:
            say(text)


def collect(how: CollectorOptions) -> None:
    """Serves until SIGTERM or SIGINT; then writes what it has as a data set."""
    listening = listen(how.address, how.certificate, how.key)
    how.token_file.parent.mkdir(parents=True, exist_ok=True)
    token = make_token(how.token_file)
    audit = AuditLog(how.token_file.with_name("collector-audit.log"))
    store = Store(how.directory, how.segment_seconds, say)
    asyncio.run(_serve(how, store, listening, make_collector_app(store, token, audit)))
    audit.close()


async def _serve(how: CollectorOptions, store: Store, listening: Listening, app: FastAPI) -> None:
    fetchers = [Fetcher(node, store) for node in how.nodes]
    # A node that does not answer keeps a thread busy until the timeout.
    threads = ThreadPoolExecutor(min(len(fetchers), MOST_AT_ONCE) + 1)
    asyncio.get_running_loop().set_default_executor(threads)
    tasks = [asyncio.create_task(_fetch_always(one, how.interval)) for one in fetchers]
    tasks.append(asyncio.create_task(_end_segments(store, how.segment_seconds)))
    try:
        started = f"{listening.url}, token in {how.token_file}, data sets in {how.directory}"
        await run(app, listening, lambda: say(started), {})
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(asyncio.to_thread(one.fetch) for one in fetchers))
        store.close()


async def _fetch_always(fetcher: Fetcher, interval: float) -> None:
    while True:
        await asyncio.to_thread(fetcher.fetch)
        await asyncio.sleep(interval)


async def _end_segments(store: Store, seconds: float) -> None:
    while True:
        await asyncio.sleep(min(seconds, 10.0))
        if store.is_segment_over():
            store.end_segment()
        await asyncio.to_thread(store.make_segments)
