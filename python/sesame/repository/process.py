"""The process `sesame serve`: of a directory, or of a site with several workers."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import fsspec

from sesame.errors import InputError, SesameError
from sesame.repository import parts
from sesame.repository.app import make_app
from sesame.repository.local import STATE, LocalUser, add_found
from sesame.repository.services import mail_of, openid_of
from sesame.repository.site import Site, make_cache
from sesame.repository.store import FileStore, Repository
from sesame.web.server.audit import AuditLog
from sesame.web.server.listening import Listening, listen
from sesame.web.server.serve import run

# A worker that ends sooner than this after its start is started again after as long.
SHORTEST_LIFE_S = 5.0


def say(text: str) -> None:
    with contextlib.suppress(OSError):  # stderr may be closed
        print(f"sesame serve: {text}", file=sys.stderr, flush=True)


def open_directory(directory: Path) -> Repository:
    """The repository of a directory. Raises InputError."""
    if not directory.is_dir():
        raise InputError("this is no directory", path=str(directory))
    try:
        (directory / STATE).mkdir(exist_ok=True, mode=0o700)  # it has what is private
        return Repository.in_directory(directory / STATE)
    except OSError as error:
        raise InputError(f"cannot write there: {error.strerror}", path=str(directory)) from error


def open_site(site: Site) -> Repository:
    """Raises InputError."""
    make_cache(site)
    try:
        files = FileStore(site.files, **site.file_options)
        files.check()
    except Exception as error:  # fsspec's file systems raise what they like
        raise InputError(f"files: cannot use {site.files}: {error}") from error
    return Repository(site.database, files, site.cache)


def serve_directory(directory: Path, address: str) -> None:
    """Serves the data sets of a directory until SIGTERM or Ctrl-C."""
    listening = listen(address, None, None)
    repository = open_directory(directory)
    user = LocalUser(repository, directory / STATE / "secret")
    audit = AuditLog(directory / STATE / "audit.log")
    app = make_app(
        repository,
        title=directory.resolve().name,
        recognisers=[user.recognise],
        audit=audit,
    )
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


def serve_site(site: Site) -> int:
    """Serves a site until SIGTERM or Ctrl-C; returns the exit status."""
    listening = listen(site.listen, site.certificate, site.key)
    if site.workers == 1:
        _work(site, listening, lambda: say(f"serving {listening.url}"))
        return 0
    _load(site)
    # What is made at the first start (tables, the index of the documentation) is made before the
    # workers start, by one process. It ends: its threads and connections must not be copied.
    status = _wait_for(_start(lambda: _make_first(site)))
    if status:
        return status
    return _Workers(site, listening).run()


def _load(site: Site) -> None:
    """Imports the parts and the file system before workers start. open_site() reports errors."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads would not be in a fork
    parts.load()
    with contextlib.suppress(Exception):  # fsspec's file systems raise what they like
        fsspec.get_filesystem_class(fsspec.core.split_protocol(site.files)[0])
    # A collection in a worker would write to all pages that it shares.
    gc.collect()
    gc.freeze()


def _make_first(site: Site) -> None:
    repository = open_site(site)
    make_app(repository)
    repository.close()


def _work(site: Site, listening: Listening, ready: Callable[[], None]) -> None:
    repository = open_site(site)
    audit = AuditLog(site.cache / "audit.log")
    try:
        app = make_app(
            repository,
            title=site.title,
            address=site.address,
            secure=site.certificate is not None or site.address.startswith("https://"),
            openid=openid_of(site.openid, site.address, repository.engine),
            mail=mail_of(site.mail),
            audit=audit,
        )
        asyncio.run(run(app, listening, ready, {}))
    finally:
        audit.close()
        repository.close()


def _start(work: Callable[[], None]) -> int:
    """Runs `work` in a child process; returns its number."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    except SesameError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        status = error.exit_status
    except KeyboardInterrupt:
        status = 130
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _wait_for(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class _Workers:
    """Processes that accept connections of one socket. One that ends is started again."""

    def __init__(self, site: Site, listening: Listening) -> None:
        self._site, self._listening = site, listening
        self._started: dict[int, float] = {}
        self._is_ended = False

    def run(self) -> int:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        for _ in range(self._site.workers):
            self._add()
        say(f"serving {self._listening.url} with {self._site.workers} workers")
        while self._started:
            child, status = os.waitpid(-1, 0)  # continues after a signal
            started = self._started.pop(child, None)
            if started is None or self._is_ended:
                continue
            say(f"a worker ended with status {os.waitstatus_to_exitcode(status)}; starting another")
            if time.monotonic() - started < SHORTEST_LIFE_S:
                time.sleep(SHORTEST_LIFE_S)
            if not self._is_ended:
                self._add()
        return 0

    def _add(self) -> None:
        child = _start(self._work)
        self._started[child] = time.monotonic()
        if self._is_ended:  # the signal came before the child was listed
            os.kill(child, signal.SIGTERM)

    def _work(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.default_int_handler)
        _work(self._site, self._listening, lambda: None)

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        self._is_ended = True
        for child in self._started:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGTERM)
