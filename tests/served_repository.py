"""A repository of the data sets below a directory, on a port of this machine, which lets in all as
its local user."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from pathlib import Path

from sesame.repository.app import make_app
from sesame.repository.local import add_found
from sesame.repository.store import Repository
from sesame.web.server.listening import listen
from sesame.web.server.serve import serve_until

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
        self._listening = listen("127.0.0.1:0", None, None)
        self.url = self._listening.url
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
        self._loop.run_until_complete(serve_until(self._app, self._listening, self._ended))

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()
        self._loop.close()
        self.repository.close()
