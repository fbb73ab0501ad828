"""A daemon with fake probes that is asked over HTTP."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, cast

from tests.python.fake_probes import all_probes

if TYPE_CHECKING:
    from sesame.measurement.probes import Probes

TOKEN = "page-token-0123456789"


class ServedDaemon:
    """A daemon with fake probes in a thread of this process."""

    def __init__(self) -> None:
        from sesame.measurement.daemon.api import make_daemon_app
        from sesame.measurement.daemon.node import Node
        from sesame.measurement.daemon.service import Service
        from sesame.measurement.daemon.settings import Settings
        from sesame.web.server.access import FixedTokens
        from sesame.web.server.listening import listen
        from sesame.web.server.roles import Client, Role
        from sesame.web.server.serve import serve_until

        self.probes = all_probes(open="hardened")
        self.node = Node("n1", cast("dict[str, Probes]", self.probes), {})
        service = self._service = Service(self.node, Settings(interval=1), print)
        tokens = FixedTokens({TOKEN: Client("test", Role.ADMINISTRATOR)})
        app = make_daemon_app(service, [tokens])
        self.listening = listen("127.0.0.1:0", None, None)
        self._ended = asyncio.Event()
        self._started = threading.Event()

        async def run() -> None:
            self._loop = asyncio.get_running_loop()
            self._started.set()
            service.begin()
            await serve_until(app, self.listening, self._ended)
            service.end()

        self._thread = threading.Thread(target=lambda: asyncio.run(run()))
        self._thread.start()
        self._started.wait()

    def levels(self) -> list[str]:
        return [self.node.level(place) for place in self.node.places()]

    def read(self) -> None:
        done = threading.Event()

        def read() -> None:
            self._service.read()
            done.set()

        self._loop.call_soon_threadsafe(read)
        assert done.wait(10)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()
