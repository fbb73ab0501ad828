"""A repository of the data sets below a directory, on a port of this machine, which lets in all as
its local user."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from pathlib import Path
from typing import Any

from hypercorn.asyncio import serve
from hypercorn.config import Config

from sesame.repository.app import make_app
from sesame.repository.local import add_found
from sesame.repository.store import Repository

SECONDS = 60


class ServedRepository:
    """`close` ends the server and closes the repository. With `has_accounts` people sign in."""

    def __init__(self, directory: Path, *, has_accounts: bool = False) -> None:
        self.repository = Repository.in_directory(directory / ".repository")
        add_found(self.repository, directory, lambda line: None)
        reader = self.repository.local_reader()
        self._app = make_app(
            self.repository, recognisers=[lambda _: None if has_accounts else reader]
        )
        self._config = Config()
        self._config.bind, self._config.loglevel = ["127.0.0.1:0"], "WARNING"
        (listening,) = self._config.create_sockets().insecure_sockets
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        self._config.bind = [f"fd://{listening.detach()}"]
        self._loop = asyncio.new_event_loop()
        self._ended = asyncio.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        self._wait()

    def _wait(self) -> None:
        """Until it accepts connections."""
        address = ("127.0.0.1", int(self.url.rpartition(":")[2]))
        end = time.monotonic() + SECONDS
        while True:
            try:
                socket.create_connection(address, 1.0).close()
                return
            except OSError:
                assert time.monotonic() < end and self._thread.is_alive()
                time.sleep(0.01)

    def _run(self) -> None:
        app: Any = self._app
        self._loop.run_until_complete(serve(app, self._config, shutdown_trigger=self._ended.wait))

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()
        self._loop.close()
        self.repository.close()
