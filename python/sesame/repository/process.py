"""The process `sesame serve`."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from pathlib import Path

from sesame.errors import InputError
from sesame.repository.app import make_app
from sesame.repository.local import STATE, LocalUser, add_found
from sesame.repository.store import Repository
from sesame.web.server.listening import Listening, listen
from sesame.web.server.serve import run

DEFAULT_ADDRESS = "127.0.0.1:7120"


def say(text: str) -> None:
    with contextlib.suppress(OSError):  # stderr may be closed
        print(f"sesame serve: {text}", file=sys.stderr, flush=True)


def open_directory(directory: Path) -> Repository:
    """The repository of a directory. Raises InputError."""
    if not directory.is_dir():
        raise InputError("this is no directory", path=str(directory))
    try:
        return Repository.in_directory(directory / STATE)
    except OSError as error:
        raise InputError(f"cannot write there: {error.strerror}", path=str(directory)) from error


def serve_directory(directory: Path, address: str) -> None:
    """Serves the data sets of a directory until SIGTERM or Ctrl-C."""
    listening = listen(address, None, None)
    repository = open_directory(directory)
    user = LocalUser(repository, directory / STATE / "secret")
    app = make_app(repository, title=directory.resolve().name, recognisers=[user.recognise])
    app.router.routes.insert(0, user.route())
    finding = threading.Thread(target=_find, args=(repository, directory), daemon=True)
    finding.start()
    try:
        asyncio.run(run(app, listening, lambda: _greet(listening, user), {}))
    finally:
        repository.close()


def _greet(listening: Listening, user: LocalUser) -> None:
    say("open this address in a browser; it lets you in as the administrator")
    print(f"{listening.url}{user.path}", flush=True)


def _find(repository: Repository, directory: Path) -> None:
    count = add_found(repository, directory, say)
    say(f"{count} data sets added from {directory}")
